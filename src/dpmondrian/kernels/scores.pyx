"""The scores of the cuts of nodes, from their histograms."""

import numpy as np

from libc.stdint cimport int64_t

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
    cdef int64_t outer = slopes[0], inner = slopes[1], whole, below, side, position, c, i
    cdef Py_ssize_t j, k
    with nogil:
        for k in range(histograms.shape[0]):
            whole = totals[k] if two_sided else noisy_counts[k]
            for j in range(histograms.shape[1]):
                c, below = first_cut(low[k, j], stride), 0
                for i in range(c - 1):
                    below += histograms[k, j, i]
                for position in range(begin[k, j], begin[k, j + 1]):
                    below += histograms[k, j, c - 1]
                    side = min(below, whole - below)
                    scores[position] = min(outer * side, inner_starts[k] + inner * side, cap * noisy_counts[k]) + weight * (
                        noisy_counts[k] - histograms[k, j, c - 1] - histograms[k, j, c]
                    )
                    if stride == 2:
                        below += histograms[k, j, c]
                    c += stride
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
    cdef Py_ssize_t j, k
    with nogil:
        for k in range(histograms.shape[0]):
            for j in range(histograms.shape[1]):
                if begin[k, j] < begin[k, j + 1]:
                    _score_column(
                        &histograms[k, j, low[k, j]], high[k, j] - low[k, j], totals[k], width[j] / widest[k], side_cap,
                        side_weight, window_weight, cap, &scores[begin[k, j]],
                    )  # fmt: skip
    return all_scores, begins, all_totals


cdef void _score_column(
    const int64_t *histogram, int64_t n_codes, int64_t whole, double unit, int64_t side_cap, int64_t side_weight,
    int64_t window_weight, double cap, int64_t *scores,
) noexcept nogil:  # fmt: skip
    """Write the scores of the cuts of one column of one node."""
    cdef int64_t reach = max(<int64_t>1, (n_codes + 32) // 64), moment = 0, below = 0, first = 0, near = 0, above, c
    cdef double gain, apart
    for c in range(n_codes):
        moment += (2 * c + 1) * histogram[c]
    for c in range(min(reach, n_codes)):
        near += histogram[c]
    for c in range(1, n_codes):
        below += histogram[c - 1]
        first += (2 * c - 1) * histogram[c - 1]
        above = whole - below
        gain = 0.0
        if below > 0 and above > 0:
            apart = 0.5 * unit * (<double>(moment - first) / <double>above - <double>first / <double>below)
            gain = <double>below * (<double>above / <double>whole) * apart * apart
        near += histogram[c + reach - 1] if c + reach <= n_codes else 0
        near -= histogram[c - reach - 1] if c > reach else 0
        scores[c - 1] = <int64_t>(gain * cap) + side_weight * min(below, above, side_cap) - window_weight * near
