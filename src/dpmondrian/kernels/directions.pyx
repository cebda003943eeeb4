"""Directions between groups of points that have weights, and across the gaps between neighbours. Sees released numbers only."""

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int64_t

from dpmondrian.kernels.tiles cimport tile_squares, vectorised

__all__ = ["across_gaps", "between_groups"]


def between_groups(
    places, sizes, noise, joins, numbers_of_groups, double variance, double trusted, Py_ssize_t most_pairs, Py_ssize_t most_against_all
):
    """Return directions between pairs of groups, and between each group and all others; see `reference.between_groups`."""
    numbers = [k for k in numbers_of_groups if k <= len(sizes)]
    cdef _Groups groups = _Groups(places, sizes, noise, joins, max(numbers), variance, trusted)
    groups.room_for(sum(most_pairs + (k if k <= most_against_all else 0) for k in numbers))
    for k in numbers:
        groups.compare(k, most_pairs, k if 2 < k <= most_against_all else 0)
    return np.array(groups.found)[: groups.n_found]


cdef class _Groups:
    """The groups into which points fall apart, from many to two: their weights, means, noise and scatter.

    Groups are numbered in the order of `joins`: first those of the finest division, then the joined ones. A group and its scatter matrix
    follow from the two that were joined, so that points are looked at once.
    """

    cdef const int64_t[:, ::1] joins
    cdef double[::1] weight, noise, way
    cdef double[:, ::1] mean, found, matrix
    cdef double[:, :, ::1] scatter
    cdef unsigned char[:, ::1] seen
    cdef int64_t[::1] present
    cdef double variance, trusted
    cdef Py_ssize_t n_first, n_columns, n_found

    def __init__(self, places, sizes, noise, joins, n_first, variance, trusted):
        n_points, self.n_columns = places.shape
        self.n_first, self.variance, self.trusted, self.n_found = n_first, variance, trusted, 0
        group, self.joins = _finest(np.ascontiguousarray(joins), n_points, n_first)
        n_groups = 2 * n_first  # the last one has room for all others together
        self.weight, self.noise, self.way = np.zeros(n_groups), np.zeros(n_groups), np.empty(self.n_columns)
        self.mean, self.matrix = np.zeros((n_groups, self.n_columns)), np.empty((self.n_columns, self.n_columns))
        self.scatter = np.zeros((n_groups, self.n_columns, self.n_columns))
        self.seen = np.zeros((n_groups, n_groups), dtype=np.uint8)
        self.present = np.empty(n_first, dtype=np.int64)
        self._gather(np.ascontiguousarray(places), np.ascontiguousarray(sizes), np.ascontiguousarray(noise), group)
        for i in range(n_first - 1):
            self._take(n_first + i, self.joins[i, 0])
            self._join(n_first + i, self.joins[i, 1])

    def room_for(self, n_comparisons):
        self.found = np.empty((2 * n_comparisons, self.n_columns))

    cdef void _gather(
        self, const double[:, ::1] places, const double[::1] sizes, const double[::1] noise, const int64_t[::1] group
    ) noexcept:
        """Add the points to the groups of the finest division."""
        cdef Py_ssize_t i, j, g
        for i in range(places.shape[0]):
            g = group[i]
            self.weight[g] += sizes[i]
            self.noise[g] += sizes[i] * sizes[i] * noise[i]
            for j in range(self.n_columns):
                self.mean[g, j] += sizes[i] * places[i, j]
        for g in range(self.n_first):
            for j in range(self.n_columns):
                self.mean[g, j] /= self.weight[g]
        for i in range(places.shape[0]):
            g = group[i]
            for j in range(self.n_columns):
                self.way[j] = places[i, j] - self.mean[g, j]
            _add_square(&self.way[0], self.n_columns, sizes[i], &self.scatter[g, 0, 0])

    cdef void _take(self, Py_ssize_t to, Py_ssize_t group) noexcept:
        """Copy a group."""
        self.weight[to], self.noise[to] = self.weight[group], self.noise[group]
        self.mean[to, :] = self.mean[group, :]
        self.scatter[to, :, :] = self.scatter[group, :, :]

    cdef void _join(self, Py_ssize_t to, Py_ssize_t group) noexcept:
        """Add a group to another one."""
        cdef double both = self.weight[to] + self.weight[group]
        cdef Py_ssize_t i, j
        for i in range(self.n_columns):
            for j in range(i, self.n_columns):
                self.scatter[to, i, j] += self.scatter[group, i, j]
        for j in range(self.n_columns):
            self.way[j] = self.mean[group, j] - self.mean[to, j]
            self.mean[to, j] += self.way[j] * (self.weight[group] / both)
        _add_square(&self.way[0], self.n_columns, self.weight[to] * self.weight[group] / both, &self.scatter[to, 0, 0])
        self.weight[to] = both
        self.noise[to] += self.noise[group]

    cdef void compare(self, Py_ssize_t k, Py_ssize_t most_pairs, Py_ssize_t n_against_all) noexcept:
        """Find directions in the division into k groups: between pairs, the largest first, then between groups and all others."""
        cdef Py_ssize_t n_pairs = 0, one, other, g, all_others = 2 * self.n_first - 1
        cdef int64_t swapped
        self._list_present(k)
        for one in range(1, k):  # by size, stable
            other = one
            while other > 0 and self.weight[self.present[other - 1]] < self.weight[self.present[other]]:
                swapped = self.present[other]
                self.present[other], self.present[other - 1] = self.present[other - 1], swapped
                other -= 1
        for one in range(1, k):
            for other in range(one):
                if n_pairs < most_pairs:
                    self._add_directions(self.present[one], self.present[other])
                    n_pairs += 1
        if k == 2:
            self.seen[self.present[0], all_others] = self.seen[self.present[1], all_others] = 1
        self._list_present(k)
        for one in range(n_against_all):
            if self.seen[self.present[one], all_others]:
                continue
            g = 0 if one > 0 else 1
            self._take(all_others, self.present[g])
            for other in range(g + 1, k):
                if other != one:
                    self._join(all_others, self.present[other])
            self._add_directions(self.present[one], all_others)

    cdef void _list_present(self, Py_ssize_t k) noexcept:
        """List the groups of the division into k of them, ascending."""
        cdef Py_ssize_t n_joins = self.n_first - k, n_present = 0, g, i
        cdef bint is_present
        for g in range(self.n_first + n_joins):
            is_present = True
            for i in range(n_joins):
                is_present = is_present and self.joins[i, 0] != g and self.joins[i, 1] != g
            if is_present:
                self.present[n_present] = g
                n_present += 1

    cdef void _add_directions(self, Py_ssize_t one, Py_ssize_t other) noexcept:
        """Add the way between two groups and Fisher's discriminant, if the way is clearly more than noise.

        The same groups may be compared again, perhaps the other way around, where there are more of them: that shows nothing new.
        """
        cdef double noise, length = 0.0, both = self.weight[one] + self.weight[other]
        cdef Py_ssize_t i, j
        if self.seen[one, other]:
            return
        self.seen[one, other] = self.seen[other, one] = 1
        noise = self.noise[one] / (self.weight[one] * self.weight[one]) + self.noise[other] / (self.weight[other] * self.weight[other])
        for j in range(self.n_columns):
            self.way[j] = self.mean[other, j] - self.mean[one, j]
            length += self.way[j] * self.way[j]
        if not length > self.trusted * noise:
            return
        for i in range(self.n_columns):
            for j in range(i, self.n_columns):
                self.matrix[i, j] = (self.scatter[one, i, j] + self.scatter[other, i, j]) / both
            self.matrix[i, i] += self.variance
        self.found[self.n_found, :] = self.way
        self.found[self.n_found + 1, :] = self.way
        _solve(&self.matrix[0, 0], self.n_columns, &self.found[self.n_found + 1, 0])
        self.n_found += 2


def _finest(const int64_t[:, ::1] joins, Py_ssize_t n_points, Py_ssize_t n_groups):
    """Return the group of every point once so many are left, and the joins from there on, of groups in the order of their numbers."""
    cdef Py_ssize_t n_joins = n_points - n_groups, i
    cdef int64_t[::1] top = np.arange(2 * n_points), number = np.empty(2 * n_points, dtype=np.int64)
    group_of, later = np.empty(n_points, dtype=np.int64), np.empty((n_groups - 1, 2), dtype=np.int64)
    cdef int64_t[::1] group = group_of
    cdef int64_t[:, ::1] left = later
    cdef int64_t n_seen = 0
    for i in range(n_joins - 1, -1, -1):
        top[joins[i, 0]] = top[joins[i, 1]] = top[n_points + i]
    for i in range(n_points + n_joins):
        if top[i] == i:
            number[i] = n_seen
            n_seen += 1
    for i in range(n_groups - 1):
        number[n_points + n_joins + i] = n_groups + i
        left[i, 0], left[i, 1] = number[joins[n_joins + i, 0]], number[joins[n_joins + i, 1]]
    for i in range(n_points):
        group[i] = number[top[i]]
    return group_of, later


cdef vectorised _add_square(const double *way, Py_ssize_t size, double factor, double *matrix) noexcept nogil:
    """Add the product of a vector with itself, times a factor, to the upper half of a matrix."""
    cdef Py_ssize_t i, j
    cdef double scaled
    for i in range(size):
        scaled = factor * way[i]
        for j in range(i, size):
            matrix[i * size + j] += scaled * way[j]


cdef vectorised _solve(double *matrix, Py_ssize_t size, double *vector) noexcept nogil:
    """Put the solution of a positive definite equation, given by the upper half of its matrix, in the place of its right side (Cholesky)."""
    cdef Py_ssize_t i, j, k
    cdef double scale, factor
    for k in range(size):
        scale = 1.0 / sqrt(matrix[k * size + k])
        for j in range(k, size):
            matrix[k * size + j] *= scale
        vector[k] *= scale
        for i in range(k + 1, size):
            factor = matrix[k * size + i]
            for j in range(i, size):
                matrix[i * size + j] -= factor * matrix[k * size + j]
            vector[i] -= factor * vector[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            vector[k] -= matrix[k * size + j] * vector[j]
        vector[k] /= matrix[k * size + k]


def across_gaps(const double[:, ::1] places, const double[::1] noise, double trusted, Py_ssize_t most):
    """Return directions along the longest edges of the shortest tree that connects all points; see `reference.across_gaps`."""
    cdef Py_ssize_t n_points = places.shape[0], n_edges, i, last = 0, nearest
    by_column, squared_lengths = np.ascontiguousarray(np.asarray(places).T), np.empty(max(n_points - 1, 0))
    all_ends = np.empty((2, max(n_points - 1, 0)), dtype=np.int64)
    cdef const double[:, ::1] tile = by_column
    cdef int64_t[:, ::1] ends = all_ends
    cdef int64_t[::1] end = np.zeros(n_points, dtype=np.int64)
    cdef double[::1] apart = np.full(n_points, np.inf), squares = np.empty(n_points), lengths = squared_lengths
    with nogil:
        for n_edges in range(n_points - 1):
            tile_squares(tile, n_points, &places[last, 0], squares)
            apart[last], nearest = -1.0, -1  # it belongs to the tree
            for i in range(n_points):
                if apart[i] < 0.0:
                    continue
                if squares[i] < apart[i]:
                    apart[i], end[i] = squares[i], last
                if nearest < 0 or apart[i] < apart[nearest]:
                    nearest = i
            ends[0, n_edges], ends[1, n_edges] = min(nearest, end[nearest]), max(nearest, end[nearest])
            lengths[n_edges] = apart[nearest]
            last = nearest
    one, other = all_ends[:, np.lexsort((all_ends[1], all_ends[0], -squared_lengths))[:most]]
    points, errors = np.asarray(places), np.asarray(noise)
    between = points[one] - points[other]
    return between[(between**2).sum(axis=1) > trusted * (errors[one] + errors[other])]
