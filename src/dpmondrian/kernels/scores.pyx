"""The scores of the cuts of nodes, from their histograms."""

import numpy as np

from libc.stdint cimport int64_t

from dpmondrian.kernels.tiles cimport vectorised

__all__ = ["cut_scores", "first_cut", "variance_scores"]


cpdef int64_t first_cut(int64_t low, int64_t stride) noexcept nogil:
    """Return the first cut above the lower end of a box; cuts are at 1, 1 + stride, ..."""
    return 1 + stride * ((low + stride - 1) // stride)


def _begins(low, high, int64_t stride):
    """Return where the cuts of each node and column begin; the last item of a node is where its cuts end."""
    firsts = 1 + stride * ((low + stride - 1) // stride)
    n_cuts = np.maximum(0, -(-(high - firsts) // stride))
    ends = np.cumsum(n_cuts).reshape(n_cuts.shape)
    return np.ascontiguousarray(np.hstack([ends[:, :1] - n_cuts[:, :1], ends]))


def cut_scores(
    const int64_t[:, :, ::1] histograms,
    const int64_t[:, :] low,
    const int64_t[:, :] high,
    int64_t stride,
    const int64_t[::1] noisy_counts,
    bint two_sided,
    slopes,
    const int64_t[::1] inner_starts,
    int64_t cap,
    int64_t weight,
):
    """Return the scores of the cuts of all nodes in turn, where each node and column begins, and the nodes' rows.

    The scores are those of `dpm.scores.Score.of_histogram`. `low` and `high` are the nodes' boxes, shape
    (n_nodes, n_columns); `slopes` the outer and inner slope of centreness, `inner_starts` where its inner branch starts.
    The cuts of a column are ``first_cut(low), first_cut(low) + stride, ...`` below `high`.
    """
    begins, all_totals = _begins(np.asarray(low), np.asarray(high), stride), np.asarray(histograms)[:, 0].sum(axis=1)
    all_scores = np.empty(begins[-1, -1] if len(begins) else 0, dtype=np.int64)
    cdef const int64_t[:, ::1] begin = begins
    cdef const int64_t[::1] totals = all_totals
    cdef int64_t[::1] scores = all_scores
    cdef int64_t[::1] below = np.empty(histograms.shape[2] + 1, dtype=np.int64)
    cdef int64_t outer = slopes[0], inner = slopes[1], whole
    cdef Py_ssize_t j, k, first
    with nogil:
        for k in range(histograms.shape[0]):
            whole = totals[k] if two_sided else noisy_counts[k]
            for j in range(histograms.shape[1]):
                if begin[k, j] < begin[k, j + 1]:
                    first = first_cut(low[k, j], stride)
                    _score_cuts(
                        &histograms[k, j, 0], first, stride, begin[k, j + 1] - begin[k, j], whole, outer, inner, inner_starts[k],
                        cap * noisy_counts[k], weight, noisy_counts[k], &below[0], &scores[begin[k, j]],
                    )  # fmt: skip
    return all_scores, begins, all_totals


def variance_scores(
    const int64_t[:, :, ::1] histograms,
    const int64_t[:, :] low,
    const int64_t[:, :] high,
    const double[::1] width,
    const double[::1] widest,
    int64_t side_cap,
    int64_t side_weight,
    int64_t window_weight,
    double cap,
):
    """Return the scores of the cuts of all nodes in turn, where each node and column begins, and the nodes' rows.

    The scores are those of `dpm.scores.VarianceScore.of_histogram`. `low` and `high` are the nodes' boxes in codes, `width` the
    places per code of every column, `widest` the longest side of every box in places.
    """
    begins, all_totals = _begins(np.asarray(low), np.asarray(high), 1), np.asarray(histograms)[:, 0].sum(axis=1)
    all_scores = np.empty(begins[-1, -1] if len(begins) else 0, dtype=np.int64)
    cdef const int64_t[:, ::1] begin = begins
    cdef const int64_t[::1] totals = all_totals
    cdef int64_t[::1] scores = all_scores
    cdef Py_ssize_t reach = _reach(histograms.shape[2]), j, k
    cdef int64_t[::1] below = np.empty(histograms.shape[2] + 1 + 2 * reach, dtype=np.int64)
    cdef int64_t[::1] moments = np.empty(histograms.shape[2] + 1, dtype=np.int64)
    with nogil:
        for k in range(histograms.shape[0]):
            for j in range(histograms.shape[1]):
                if begin[k, j] < begin[k, j + 1]:
                    _score_column(
                        &histograms[k, j, low[k, j]], high[k, j] - low[k, j], _reach(high[k, j] - low[k, j]), totals[k],
                        width[j] / widest[k], side_cap, side_weight, window_weight, cap, &below[0], &moments[0], &scores[begin[k, j]],
                    )  # fmt: skip
    return all_scores, begins, all_totals


cdef vectorised _score_cuts(
    const int64_t *histogram, Py_ssize_t first, Py_ssize_t stride, Py_ssize_t n_cuts, int64_t whole, int64_t outer, int64_t inner,
    int64_t inner_start, int64_t most, int64_t weight, int64_t noisy_count, int64_t *below, int64_t *scores,
) noexcept nogil:  # fmt: skip
    """Write the scores of the cuts of one column of one node. `below` is room for the rows below every cut."""
    cdef const int64_t *beside = histogram + first - 1
    cdef int64_t rows = 0, side, centreness
    cdef Py_ssize_t i
    for i in range(first):
        rows += histogram[i]
    for i in range(n_cuts):
        below[i] = rows
        rows += beside[stride * i + 1] if stride == 1 or i == n_cuts - 1 else beside[2 * i + 1] + beside[2 * i + 2]
    for i in range(n_cuts):
        side = min(below[i], whole - below[i])
        centreness = min(outer * side, inner_start + inner * side, most)
        scores[i] = centreness + weight * (noisy_count - beside[stride * i] - beside[stride * i + 1])


cdef inline Py_ssize_t _reach(Py_ssize_t n_codes) noexcept nogil:
    """Return how many codes on either side of a cut are near to it."""
    return max(<Py_ssize_t>1, (n_codes + 32) // 64)


cdef vectorised _score_column(
    const int64_t *histogram, Py_ssize_t n_codes, Py_ssize_t reach, int64_t whole, double unit, int64_t side_cap, int64_t side_weight,
    int64_t window_weight, double cap, int64_t *below, int64_t *moments, int64_t *scores,
) noexcept nogil:  # fmt: skip
    """Write the scores of the cuts of one column of one node.

    `below` is room for the rows below every code, with `reach` more on both sides, `moments` for the sums of their middles.
    """
    cdef int64_t rows = 0, moment = 0, side
    cdef double gain, apart
    cdef Py_ssize_t c
    for c in range(reach):
        below[c] = 0
    below += reach
    for c in range(n_codes):
        below[c], moments[c] = rows, moment
        rows += histogram[c]
        moment += (2 * c + 1) * histogram[c]
    for c in range(n_codes, n_codes + reach + 1):
        below[c] = rows
    for c in range(1, n_codes):
        apart = 0.5 * unit * (<double>(moment - moments[c]) / <double>(whole - below[c]) - <double>moments[c] / <double>below[c])
        gain = <double>below[c] * (<double>(whole - below[c]) / <double>whole) * apart * apart
        gain = gain if below[c] > 0 and whole > below[c] else 0.0
        side = min(below[c], whole - below[c], side_cap)
        scores[c - 1] = <int64_t>(gain * cap) + side_weight * side - window_weight * (below[c + reach] - below[c - reach])
