# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""Rows in groups and tiles: what the compiled kernels have in common.

Only `decode` and `places_of` read codes and rests, of any type, so that what follows is compiled once for all of them.
Numba's cache of a kernel does not notice changes here: delete it after one (``kernels/__pycache__``).
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["decode", "fill_tile", "measured_places", "order_rows", "places_of", "squared_distances"]


@njit(nogil=True, cache=True)
def order_rows(node, slot_of, n_groups):
    """Return the rows of the groups, one group after the other, and their starts; see `reference.order_rows`."""
    n_rows = node.shape[0]
    starts = np.zeros(n_groups + 2, dtype=np.int64)
    for i in range(n_rows):
        starts[np.uint64(np.uint16(slot_of[np.uint16(node[i])])) + np.uint64(1)] += 1
    for g in range(n_groups + 1):
        starts[g + 1] += starts[g]
    target = starts.astype(np.uint32)
    order = np.empty(n_rows, dtype=np.uint32)
    for i in range(n_rows):
        slot = np.uint16(slot_of[np.uint16(node[i])])
        order[target[slot]] = i
        target[slot] += np.uint32(1)
    return order[: starts[n_groups]], starts[: n_groups + 1]


@njit(nogil=True, cache=True)
def decode(rows, j, places):
    """Write the places of one column of all rows."""
    codes, rests, code_step, rest_step = rows
    code, rest = codes[j], rests[j]
    width, step = np.uint32(code_step[j]), np.uint32(rest_step[j])
    for i in range(places.shape[0]):
        places[i] = np.uint32(code[i]) * width + np.uint32(rest[i]) * step


@njit(nogil=True, cache=True)
def places_of(rows, columns, order):
    """Return the places of rows in this order, shape (len(columns), len(order)).

    Column by column, because one column fits the processor's cache and the rows of a group need not be neighbours.
    """
    column = np.empty(rows[1].shape[1], dtype=np.uint16)
    places = np.empty((columns.shape[0], order.shape[0]), dtype=np.uint16)
    for k in range(columns.shape[0]):
        decode(rows, columns[k], column)
        ordered = places[k]
        for i in range(order.shape[0]):
            ordered[i] = column[order[i]]
    return places


def measured_places(rows, order):
    """Return the places of rows in this order in all measured columns."""
    return places_of(rows, np.arange(rows[1].shape[0]), order)


@njit(nogil=True, cache=True)
def fill_tile(places, start, size, tile):
    """Copy rows into a tile of floating-point numbers."""
    for j in range(places.shape[0]):
        column = places[j, start : start + size]
        for i in range(size):
            tile[j, i] = column[i]


@njit(nogil=True, cache=True)
def squared_distances(tile, size, point, distance):
    """Write the squared distances of the rows of a tile from a point.

    Between places they are whole numbers below 2**53, which double precision holds exactly and is fastest with.
    """
    distance[:size] = 0.0
    for j in range(tile.shape[0]):
        centre, column = point[j], tile[j]
        for i in range(size):
            d = column[i] - centre
            distance[i] += d * d
