"""Single bins of a histogram that hold more or fewer rows than those around them. Sees released numbers only."""

import numpy as np

from libc.math cimport fmax, fmin, sqrt
from libc.stdint cimport int64_t

__all__ = ["single_bins", "spikes"]


cdef inline double _around(const double[::1] rows, Py_ssize_t b, Py_ssize_t away) noexcept nogil:
    """Return the rows of the two bins so far away; there are none outside."""
    return (rows[b - away] if b >= away else 0.0) + (rows[b + away] if b + away < rows.shape[0] else 0.0)


def spikes(const double[::1] rows, const double[::1] variances, double rise, double sure, double narrow):
    """Return the bins that hold clearly more rows than those beside them, unless these fall off as at hills; see `reference.spikes`."""
    cdef Py_ssize_t n_bins = rows.shape[0], n_found = 0, b
    cdef double beside, beyond, falls = 0.0, held = 0.0
    bins = np.empty(n_bins, dtype=np.int64)
    cdef int64_t[::1] found = bins
    with nogil:
        for b in range(n_bins):
            beside, beyond = _around(rows, b, 1) / 2.0, _around(rows, b, 2) / 2.0
            if rows[b] > rise * fmax(beside, 0.0) + sure * sqrt(variances[b] + fmax(beside, 1.0)):
                found[n_found] = b
                n_found += 1
                falls += beside - beyond
                held += rows[b]
    return bins[:0] if falls > narrow * held else bins[:n_found]


def single_bins(
    const double[::1] counts, double deviation, double rise, double most_more, double sure, double narrow, Py_ssize_t many
):
    """Return whether single bins hold clearly fewer rows than both of their neighbours, and whether some hold more; see `reference.single_bins`."""
    cdef Py_ssize_t n_bins = counts.shape[0], n_held = 0, b
    cdef double variance = deviation * deviation, held = 0.0, least, lower, higher, beside, beyond
    cdef double[2] falls = [0.0, 0.0], rows = [0.0, 0.0], varies = [0.0, 0.0]
    cdef bint[2] found = [False, False]
    cdef bint is_less, is_more
    cdef int kind
    with nogil:
        for b in range(n_bins):
            held += counts[b]
        least = fmax(sure * deviation, 0.5 * (held / n_bins))
        for b in range(n_bins):
            n_held += counts[b] > least
        for b in range(2, n_bins - 2 if n_held >= many else 0):
            lower, higher = fmax(fmin(counts[b - 1], counts[b + 1]), 0.0), fmax(fmax(counts[b - 1], counts[b + 1]), 0.0)
            is_less = rise * counts[b] < lower - sure * sqrt(variance + fmax(lower, 1.0))
            is_more = counts[b] > rise * higher + sure * sqrt(variance + fmax(higher, 1.0))
            is_more = is_more and counts[b] < most_more * higher + sure * sqrt(variance + fmax(higher, 1.0))
            if is_less or is_more:
                kind = is_more
                beside, beyond = (counts[b - 1] + counts[b + 1]) / 2.0, (counts[b - 2] + counts[b + 2]) / 2.0
                found[kind] = True
                falls[kind] += beside - beyond if is_more else beyond - beside
                rows[kind] += beyond
                varies[kind] += variance + fmax(beyond, 1.0)
        for kind in range(2):
            found[kind] = found[kind] and falls[kind] <= narrow * rows[kind] + sqrt(varies[kind])
    return found[0], found[1]
