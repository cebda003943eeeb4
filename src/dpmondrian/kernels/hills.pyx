"""Hills of a field over bins: which bins belong to which, and what lies between them. Sees released numbers only."""

from itertools import product

import numpy as np

from libc.math cimport sqrt
from libc.stdint cimport int64_t

__all__ = ["flood"]


cdef inline int64_t _root(int64_t[::1] parent, int64_t x) noexcept nogil:
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


def flood(
    const int64_t[::1] order,
    const double[::1] height,
    const double[::1] noise,
    const double[::1] sampling,
    const int64_t[::1] shape,
    const int64_t[::1] mark,
    double least_z,
    double least_depth,
):
    """Return the hill of every bin, how deep the pass is below each hill that is new, and the top of each new hill.

    Bins come from high to low (`order`). Where two hills meet is their pass: they stay apart if the lower top is `least_z` deviations
    and `least_depth` of itself above it. ``mark[b] > 0`` is the one bin that stands for a hill known before: two such hills stay apart,
    a new one must prove itself. Hills that did not prove themselves have the number 0. A pass is taken to have at least the top's variance of
    noise: tops are the highest where noise is large, and the ways between them lead where it is small.
    """
    n_bins, n_axes = height.shape[0], shape.shape[0]
    hills, depths, highest = np.empty(n_bins, dtype=np.int64), np.zeros(n_bins + 2), np.zeros(n_bins + 2, dtype=np.int64)
    cdef int64_t[::1] hill = hills, tops = highest
    cdef double[::1] z = depths
    cdef int64_t[::1] strides = np.append(np.cumprod(np.asarray(shape)[:0:-1])[::-1], 1)
    cdef int64_t[:, ::1] steps = np.array([step[::-1] for step in product((-1, 0, 1), repeat=n_axes) if any(step)], dtype=np.int64)
    cdef int64_t[::1] parent = np.full(n_bins, -1, dtype=np.int64), name = np.zeros(n_bins, dtype=np.int64)
    cdef int64_t[::1] place = np.zeros(n_axes, dtype=np.int64), met = np.zeros(len(steps) + 1, dtype=np.int64)
    cdef int64_t new = 1 + np.asarray(mark).max(), x, y, a, b, root, rest, along
    cdef Py_ssize_t at, axis, i, j, k, n_met
    cdef double low, peak, deviation
    cdef bint known
    with nogil:
        for at in range(order.shape[0]):
            x = order[at]
            parent[x], name[x] = x, mark[x]
            rest = x
            for axis in range(shape.shape[0]):
                place[axis] = rest // strides[axis]
                rest = rest % strides[axis]
            n_met = 0
            for k in range(steps.shape[0]):
                y = x
                for axis in range(shape.shape[0]):
                    along = place[axis] + steps[k, axis]
                    if along < 0 or along >= shape[axis]:
                        y = -1
                        break
                    y += steps[k, axis] * strides[axis]
                if y < 0 or parent[y] < 0:
                    continue
                root, known = _root(parent, y), False
                for i in range(n_met):
                    known = known or met[i] == root
                if not known:
                    met[n_met] = root
                    n_met += 1
            if n_met == 0:
                continue
            for i in range(1, n_met):  # the highest first; the top of a hill is its root
                j = i
                while j > 0 and height[met[j]] > height[met[j - 1]]:
                    met[j], met[j - 1] = met[j - 1], met[j]
                    j -= 1
            a, low = met[0], max(height[x], 0.0)
            parent[x] = a
            if name[x] > 0 and name[a] == 0:
                name[a] = name[x]
            for i in range(1, n_met):
                b = met[i]
                if name[a] > 0 and name[b] > 0:
                    continue
                peak = height[b]
                deviation = sqrt(noise[b] + max(noise[b], noise[x]) + sampling[b] + sampling[x] + 1e-9)
                if peak - low > least_z * deviation and peak - low > least_depth * peak:
                    for k in range(2):
                        root = a if k else b
                        if name[root] == 0:
                            name[root], z[new], tops[new] = new, (peak - low) / deviation, root
                            new += 1
                else:
                    if name[a] == 0:
                        name[a] = name[b]
                    parent[b] = a
        for at in range(hill.shape[0]):
            hill[at] = name[_root(parent, at)]
    return hills, depths[:new], highest[:new]
