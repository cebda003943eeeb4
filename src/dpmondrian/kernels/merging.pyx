"""Groups of points that have weights: by k-means, and by joins. Sees released numbers only."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t

from dpmondrian.kernels.tiles cimport tile_squares, vectorised

__all__ = ["best_means", "fewer_groups", "groups_of_joins", "nearest_neighbour_joins"]


def nearest_neighbour_joins(places, sizes):
    """Return which two groups are joined, in the order in which they are found, and how much the sum of squares grows by each.

    Groups are numbered: first the points, then the joins in this order. Nearest groups are followed until two are each other's nearest;
    of equally near ones the one before is taken, else the first.
    """
    n_joins = max(len(sizes) - 1, 0)
    joins, growth = np.empty((n_joins, 2), dtype=np.int64), np.zeros(n_joins)
    if n_joins:
        _join_all(_Chain(places, sizes), joins, growth)
    return joins, growth


def _join_all(_Chain chain, int64_t[:, ::1] joins, double[::1] growth):
    cdef Py_ssize_t n_joins = 0
    cdef int64_t first, second, n_points = chain.n_present
    cdef double least
    with nogil:
        while n_joins < joins.shape[0]:
            while not chain.ends_in_pair(&least):
                pass
            first, second = chain.pop(), chain.pop()
            chain.join(first, second, n_points + n_joins)
            if first >= n_points:  # rounding aside, the last join is the largest
                least = max(least, growth[first - n_points])
            if second >= n_points:
                least = max(least, growth[second - n_points])
            joins[n_joins, 0], joins[n_joins, 1], growth[n_joins] = first, second, least
            n_joins += 1


cdef class _Chain:
    """Groups, each the nearest one of the group before; and the centres of all that are present, column by column, in slots that become free."""

    cdef double[:, ::1] centres, tile
    cdef double[::1] weights, costs
    cdef int64_t[::1] chain, slot_of, group_in
    cdef Py_ssize_t n_chain, n_present, n_columns
    cdef int64_t lowest

    def __init__(self, places, sizes):
        self.n_present, self.n_columns = places.shape
        self.n_chain, self.lowest = 0, 0
        self.centres = np.concatenate([places, np.empty((self.n_present - 1, self.n_columns))])
        self.tile, self.weights = np.array(places.T, order="C"), np.array(sizes)
        self.costs, self.chain = np.empty(self.n_present), np.empty(self.n_present + 1, dtype=np.int64)
        self.slot_of, self.group_in = np.full(2 * self.n_present - 1, -1), np.arange(self.n_present)
        self.slot_of[: self.n_present] = self.group_in

    cdef bint ends_in_pair(self, double *least) noexcept nogil:
        """Add the nearest group of the last one to the chain, unless they are each other's nearest; return whether, and what their join costs."""
        cdef int64_t last, group, before, nearest = -1
        cdef Py_ssize_t slot
        if self.n_chain == 0:
            while self.slot_of[self.lowest] < 0:
                self.lowest += 1
            self.chain[0], self.n_chain = self.lowest, 1
        last, before = self.chain[self.n_chain - 1], self.chain[self.n_chain - 2] if self.n_chain > 1 else -1
        _write_costs(
            &self.tile[0, 0], self.tile.shape[1], self.n_columns, self.n_present, &self.centres[last, 0],
            self.weights[self.slot_of[last]], &self.weights[0], &self.costs[0],
        )  # fmt: skip
        self.costs[self.slot_of[last]] = INFINITY
        least[0] = INFINITY
        for slot in range(self.n_present):
            if self.costs[slot] > least[0]:
                continue
            group = self.group_in[slot]
            if self.costs[slot] < least[0] or nearest != before and (group == before or group < nearest):
                least[0], nearest = self.costs[slot], group
        if nearest == before:
            return True
        self.chain[self.n_chain] = nearest
        self.n_chain += 1
        return False

    cdef int64_t pop(self) noexcept nogil:
        """Take the last group off the chain."""
        self.n_chain -= 1
        return self.chain[self.n_chain]

    cdef void join(self, int64_t first, int64_t second, int64_t new) noexcept nogil:
        """Put the join of two groups in the slot of the first, and then the group of the last slot in that of the second."""
        cdef int64_t slot = self.slot_of[first], free = self.slot_of[second]
        cdef Py_ssize_t last = self.n_present - 1, j
        cdef double both = self.weights[slot] + self.weights[free]
        for j in range(self.n_columns):
            self.centres[new, j] = (self.weights[slot] * self.centres[first, j] + self.weights[free] * self.centres[second, j]) / both
            self.tile[j, slot] = self.centres[new, j]
            self.tile[j, free] = self.tile[j, last]
        self.weights[slot], self.group_in[slot], self.slot_of[new] = both, new, slot
        self.weights[free], self.group_in[free] = self.weights[last], self.group_in[last]
        self.slot_of[self.group_in[free]] = free
        self.slot_of[first] = self.slot_of[second] = -1
        self.n_present -= 1


cdef vectorised _write_costs(
    const double *column, Py_ssize_t stride, Py_ssize_t n_columns, Py_ssize_t size, const double *centre, double weight, const double *weights, double *costs
) noexcept nogil:
    """Write by how much the sum of squares grows if a group is joined with each of the others."""
    cdef Py_ssize_t i, j
    for i in range(size):
        costs[i] = 0.0
    for j in range(n_columns):
        for i in range(size):
            costs[i] += (column[i] - centre[j]) * (column[i] - centre[j])
        column += stride
    for i in range(size):
        costs[i] *= weights[i] * weight / (weights[i] + weight)


def groups_of_joins(const int64_t[:, :] joins, Py_ssize_t n_points, Py_ssize_t n_groups):
    """Return the group of every point once so many are left; groups are numbered in the order of points, then of joins."""
    cdef Py_ssize_t n_joins = n_points - n_groups, i
    cdef int64_t[::1] top = np.arange(n_points + n_joins), number = np.full(n_points + n_joins, -1, dtype=np.int64)
    groups = np.empty(n_points, dtype=np.int64)
    cdef int64_t[::1] group = groups
    cdef int64_t n_seen = 0
    with nogil:
        for i in range(n_joins - 1, -1, -1):
            top[joins[i, 0]] = top[joins[i, 1]] = top[n_points + i]
        for i in range(n_points + n_joins):
            if top[i] == i:
                number[i] = n_seen
                n_seen += 1
        for i in range(n_points):
            group[i] = number[top[i]]
    return groups


def best_means(places, sizes, Py_ssize_t n_clusters, Py_ssize_t n_steps, const double[:, ::1] chances, means=None):
    """Return the centres of at most k clusters, and the cluster of every point: the best of as many starts as there are rows of chances.

    A start is greedy k-means++: of a few points, each chosen by its chance, the one that leaves the least cost is taken. One more are the k
    `means`, if given. Lloyd's steps follow, until nothing moves.
    """
    cdef Py_ssize_t start, n_candidates = (chances.shape[1] - 1) // max(n_clusters - 1, 1)
    cdef _Points points = _Points(places, sizes, n_clusters, n_candidates)
    cdef double cost, least = INFINITY
    best = None
    for start in range(0 if means is None else -1, chances.shape[0]):
        if start < 0:
            points.begin(means)
        with nogil:
            if start >= 0:
                points.choose(&chances[start, 0])
            cost = points.settle(n_steps)
        if best is None or cost < least:
            least, best = cost, (np.array(points.centres)[: points.n_centres], np.array(points.cluster))
    centres, cluster = best
    present, cluster = np.unique(cluster, return_inverse=True)
    return centres[present], cluster


cdef class _Points:
    """Points with weights, their centres, and room for the search."""

    cdef const double[:, ::1] places
    cdef const double[::1] sizes
    cdef double[::1] nearest, below, weights, costs
    cdef double[:, ::1] tile, centres, squares
    cdef int64_t[::1] cluster
    cdef Py_ssize_t n_points, n_columns, n_centres

    def __init__(self, places, sizes, n_clusters, n_candidates):
        self.places, self.sizes = np.ascontiguousarray(places), np.ascontiguousarray(sizes)
        self.n_points, self.n_columns = places.shape
        self.tile = np.ascontiguousarray(places.T)
        self.nearest, self.below = np.empty((2, self.n_points))
        self.squares, self.costs = np.empty((max(n_candidates, 1), self.n_points)), np.empty(max(n_candidates, 1))
        self.weights, self.centres = np.empty(n_clusters), np.empty((n_clusters, self.n_columns))
        self.cluster = np.empty(self.n_points, dtype=np.int64)

    cdef void begin(self, const double[:, ::1] means):
        """Put centres there."""
        self.centres[:] = means
        self.n_centres = means.shape[0]

    cdef void choose(self, const double *chances) noexcept nogil:
        """Put centres on points that are far apart; fewer if there are no more different ones."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.n_points):
            total += self.sizes[i]
            self.below[i] = total
            self.nearest[i] = INFINITY
        self.n_centres = 0
        self._take_best(chances, 1, total)
        chances += 1
        while self.n_centres < self.centres.shape[0]:
            total = 0.0
            for i in range(self.n_points):
                total += self.sizes[i] * self.nearest[i]
                self.below[i] = total
            if total <= 0.0:
                break
            self._take_best(chances, self.costs.shape[0], total)
            chances += self.costs.shape[0]

    cdef void _take_best(self, const double *chances, Py_ssize_t n_candidates, double total) noexcept nogil:
        """Put one more centre on one of a few points, the one that leaves the least cost."""
        cdef Py_ssize_t c, i, taken = 0
        for c in range(n_candidates):
            self._squares_from(&self.places[self._chosen(chances[c], total), 0], c)
            self.costs[c] = 0.0
        for i in range(self.n_points):
            for c in range(n_candidates):
                self.costs[c] += self.sizes[i] * min(self.nearest[i], self.squares[c, i])
        for c in range(1, n_candidates):
            if self.costs[c] < self.costs[taken]:
                taken = c
        self.centres[self.n_centres, :] = self.places[self._chosen(chances[taken], total), :]
        self.n_centres += 1
        for i in range(self.n_points):
            self.nearest[i] = min(self.nearest[i], self.squares[taken, i])

    cdef Py_ssize_t _chosen(self, double chance, double total) noexcept nogil:
        """Return the point at a chance from 0 to 1 of the weights that were added up."""
        cdef Py_ssize_t i = 0
        while i < self.n_points - 1 and self.below[i] <= chance * total:
            i += 1
        return i

    cdef void _squares_from(self, const double *centre, Py_ssize_t number) noexcept nogil:
        tile_squares(self.tile, self.n_points, centre, self.squares[number])

    cdef double settle(self, Py_ssize_t n_steps) noexcept nogil:
        """Move centres to the means of the points that are nearest to them, until no point changes its centre; return the cost."""
        cdef Py_ssize_t i, step
        cdef double cost = 0.0
        self.cluster[:] = -1
        for step in range(n_steps):
            if not self._assign():
                break
            self._move()
        else:
            self._find_nearest()
        for i in range(self.n_points):
            cost += self.sizes[i] * self.nearest[i]
        return cost

    cdef bint _assign(self) noexcept nogil:
        """Find the nearest centre of every point; return whether any has changed."""
        cdef Py_ssize_t i
        cdef bint changed = False
        self._find_nearest()
        for i in range(self.n_points):
            changed |= self.cluster[i] != <int64_t>self.below[i]
            self.cluster[i] = <int64_t>self.below[i]
        return changed

    cdef void _find_nearest(self) noexcept nogil:
        """Write how far the nearest centre of every point is, and its number."""
        cdef Py_ssize_t c
        self.nearest[:] = INFINITY
        self.below[:] = 0.0
        for c in range(self.n_centres):
            self._squares_from(&self.centres[c, 0], 0)
            _keep_nearest(&self.squares[0, 0], self.n_points, <double>c, &self.nearest[0], &self.below[0])

    cdef void _move(self) noexcept nogil:
        """Move centres to their points' means; one that has none stays."""
        cdef double part
        cdef Py_ssize_t c, i, j
        self.weights[:] = 0.0
        for i in range(self.n_points):
            self.weights[self.cluster[i]] += self.sizes[i]
        for c in range(self.n_centres):
            if self.weights[c] > 0.0:
                self.centres[c, :] = 0.0
        for i in range(self.n_points):
            c = self.cluster[i]
            part = self.sizes[i] / self.weights[c]
            for j in range(self.n_columns):
                self.centres[c, j] += part * self.places[i, j]


def fewer_groups(places, sizes, group, Py_ssize_t n_least, Py_ssize_t n_steps):
    """Return the groups of points, and those that are left when the two whose sum of squares grows least are joined, again and again.

    After every join points go to the nearest mean, as in k-means, unless that leaves a group without points.

    Parameters
    ----------
    places, sizes : float64 arrays of shape (n_points, n_columns) and (n_points,)
    group : int64 array of shape (n_points,)
        The groups to begin with, all of which have points.
    n_least : int
        At how few groups to end.
    n_steps : int
        Of k-means, at most, after a join.
    """
    cdef _Groups groups = _Groups(places, sizes, group)
    found = [np.array(groups.group)]
    while groups.n_groups > n_least:
        with nogil:
            groups.join()
            groups.settle(n_steps)
        found.append(np.array(groups.group))
    return found


cdef class _Groups:
    """Groups of points, and how far their means are from all points and from each other: taken again only for means that have moved."""

    cdef const double[:, ::1] places
    cdef const double[::1] sizes
    cdef double[:, ::1] tile, means, squares, apart
    cdef double[::1] weights, mean, nearest, number
    cdef int64_t[::1] group, next_group, counts
    cdef uint8_t[::1] moved
    cdef Py_ssize_t n_groups, n_points, n_columns

    def __init__(self, places, sizes, group):
        self.places, self.sizes, self.group = np.ascontiguousarray(places), np.ascontiguousarray(sizes), np.array(group)
        self.n_points, self.n_columns = places.shape
        self.n_groups = 1 + int(np.max(group))
        self.tile = np.ascontiguousarray(places.T)
        self.means, self.mean = np.full((self.n_groups, self.n_columns), np.nan), np.empty(self.n_columns)
        self.squares, self.apart = np.empty((self.n_groups, self.n_points)), np.empty((self.n_groups, self.n_groups))
        self.weights, self.counts = np.empty(self.n_groups), np.empty(self.n_groups, dtype=np.int64)
        self.nearest, self.number = np.empty((2, self.n_points))
        self.next_group, self.moved = np.empty(self.n_points, dtype=np.int64), np.ones(self.n_groups, dtype=np.uint8)
        self._measure()

    cdef void join(self) noexcept nogil:
        """Join the two groups whose sum of squares grows least; the last group gets the number that becomes free."""
        cdef Py_ssize_t a, b, i, first = 0, second = 1
        cdef double growth, least = INFINITY
        for a in range(self.n_groups):
            for b in range(a + 1, self.n_groups):
                growth = self.weights[a] * self.weights[b] / (self.weights[a] + self.weights[b]) * self.apart[a, b]
                if growth < least:
                    least, first, second = growth, a, b
        self.n_groups -= 1
        for i in range(self.n_points):
            self.group[i] = first if self.group[i] == second else self.group[i]
            self.group[i] = second if self.group[i] == self.n_groups else self.group[i]
        self.means[second, :] = INFINITY  # moved, wherever it is
        self._measure()

    cdef void settle(self, Py_ssize_t n_steps) noexcept nogil:
        """Move points to the nearest mean, as in k-means."""
        cdef Py_ssize_t step, c, i
        cdef bint changed
        for step in range(n_steps):
            self.nearest[:] = INFINITY
            for c in range(self.n_groups):
                _keep_nearest(&self.squares[c, 0], self.n_points, <double>c, &self.nearest[0], &self.number[0])
            self.counts[:] = 0
            changed = False
            for i in range(self.n_points):
                self.next_group[i] = <int64_t>self.number[i]
                self.counts[self.next_group[i]] += 1
                changed |= self.next_group[i] != self.group[i]
            for c in range(self.n_groups):
                changed &= self.counts[c] > 0
            if not changed:
                break
            self.group[:] = self.next_group
            self._measure()

    cdef void _measure(self) noexcept nogil:
        """Take the means of all groups, and distances from those that have moved."""
        cdef Py_ssize_t c, e, i, j
        cdef double part, apart
        self.weights[:] = 0.0
        for i in range(self.n_points):
            self.weights[self.group[i]] += self.sizes[i]
        for c in range(self.n_groups):
            self.mean[:] = 0.0
            for i in range(self.n_points):
                if self.group[i] == c:
                    part = self.sizes[i] / self.weights[c]
                    for j in range(self.n_columns):
                        self.mean[j] += part * self.places[i, j]
            self.moved[c] = False
            for j in range(self.n_columns):
                self.moved[c] |= self.mean[j] != self.means[c, j]
            if self.moved[c]:
                self.means[c, :] = self.mean
                tile_squares(self.tile, self.n_points, &self.means[c, 0], self.squares[c])
        for c in range(self.n_groups):
            for e in range(self.n_groups):
                if self.moved[c]:
                    apart = 0.0
                    for j in range(self.n_columns):
                        apart += (self.means[c, j] - self.means[e, j]) * (self.means[c, j] - self.means[e, j])
                    self.apart[c, e] = self.apart[e, c] = apart


cdef vectorised _keep_nearest(const double *squares, Py_ssize_t size, double number, double *nearest, double *numbers) noexcept nogil:
    """Put the squares and the number of one centre in the place of larger squares."""
    cdef Py_ssize_t i
    for i in range(size):
        numbers[i] = number if squares[i] < nearest[i] else numbers[i]
        nearest[i] = squares[i] if squares[i] < nearest[i] else nearest[i]
