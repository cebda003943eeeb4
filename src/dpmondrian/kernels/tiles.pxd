"""Rows in groups and tiles: what the compiled kernels have in common.

Only `decode` reads codes and rests, of any type, so that what follows it is compiled once for all of them.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from *:
    """
    /* Short loops are compiled for every x86-64 processor and again for those with wider vectors; the one that fits is called.
       All give the same numbers: products and sums are never fused. Vectors of 512 bits are too wide for sums over single rows. */
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define DPM_VECTORISED __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"))) void
    #define DPM_BY_ROW __attribute__((target_clones("default", "arch=x86-64-v3"))) void
    #else
    #define DPM_VECTORISED void
    #define DPM_BY_ROW void
    #endif
    """
    ctypedef void vectorised "DPM_VECTORISED"
    ctypedef void vectorised_by_row "DPM_BY_ROW"

ctypedef fused code_type:
    uint8_t
    uint16_t

ctypedef fused rest_type:
    uint8_t
    uint16_t

ctypedef fused real_type:
    float
    double


cdef inline void decode(
    const code_type *code, const rest_type *rest, uint32_t width, uint32_t step, Py_ssize_t n_rows, uint16_t *places
) noexcept nogil:
    """Write the places of one column of all rows."""
    cdef Py_ssize_t i
    for i in range(n_rows):
        places[i] = <uint16_t>(code[i] * width + rest[i] * step)


cdef enum:
    MIDDLE = 32768  # of all places: what is taken off, so that the rest has 16 bits with a sign
    CHUNK = 32  # so many products of a place and a number of a direction have a sum below 2**31


cdef inline int64_t dot(const int16_t *row, const int16_t *direction, Py_ssize_t n_cells) noexcept nogil:
    """Return the product of two vectors of `n_cells`, with numbers of at most 11 bits in the second one."""
    cdef int64_t total = 0
    cdef int32_t part
    cdef Py_ssize_t begin, j
    for begin from 0 <= begin < n_cells by CHUNK:
        part = 0
        for j in range(begin, min(begin + CHUNK, n_cells)):
            part += <int32_t>row[j] * <int32_t>direction[j]
        total += part
    return total


cdef inline uint64_t squared_distance(
    const int16_t *row, const int16_t *centre, const int16_t *is_used, Py_ssize_t n_cells
) noexcept nogil:
    """Return the squared distance of a row from a centre; `is_used` is -1 in the columns that count, and 0 in others."""
    cdef uint64_t total = 0
    cdef uint32_t apart
    cdef Py_ssize_t j
    for j in range(n_cells):
        apart = <uint32_t>((<int32_t>row[j] - <int32_t>centre[j]) & <int32_t>is_used[j])
        total += apart * apart  # below 2**32, since places have 16 bits
    return total


cdef inline int64_t absolute_distance(
    const int16_t *row, const int16_t *centre, const int16_t *is_used, Py_ssize_t n_cells
) noexcept nogil:
    """Return the L1 distance of a row from a centre."""
    cdef int64_t total = 0
    cdef int32_t apart
    cdef Py_ssize_t j
    for j in range(n_cells):
        apart = (<int32_t>row[j] - <int32_t>centre[j]) & <int32_t>is_used[j]
        total += apart if apart > 0 else -apart
    return total


cdef inline void fill_tile(const uint16_t[:, ::1] places, Py_ssize_t start, Py_ssize_t size, real_type[:, ::1] tile) noexcept nogil:
    """Copy rows into a tile of floating-point numbers."""
    cdef Py_ssize_t i, j
    for j in range(places.shape[0]):
        for i in range(size):
            tile[j, i] = places[j, start + i]


cdef Py_ssize_t tile_rows(Py_ssize_t n_columns) noexcept nogil
cdef void tile_squares(const real_type[:, ::1] tile, Py_ssize_t size, const real_type *point, real_type[::1] squares) noexcept nogil
cdef void squares_at(
    const real_type *tile, Py_ssize_t stride, Py_ssize_t n_columns, Py_ssize_t size, const real_type *point, real_type *squares
) noexcept nogil
