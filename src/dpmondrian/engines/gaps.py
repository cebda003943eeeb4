"""Gaps between neighbouring values, for the paper's interval size: of a public share of the rows, so that these can be sorted.

Which rows are looked at depends on each row alone: on a hash of its values. So every engine and division of the rows looks
at the same ones, and one row more in the table is at most one row more among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.coded import MISSING_RULES, clipped_rows, view_of
from dpmondrian.schema import Coordinates, Schema
from dpmondrian.tables import Table, row_hashes

_NO_KEY = np.zeros(2, dtype=np.uint64)


@dataclass(repr=False)
class SortedColumns:
    """The different values of every column, sorted, as fractions of its range, and how often each occurs (sensitive)."""

    values: list[NDArray[np.float64]] = field(default_factory=list)
    counts: list[NDArray[np.int64]] = field(default_factory=list)

    @classmethod
    def together(cls, parts: Iterable[SortedColumns]) -> SortedColumns:
        """Return the columns of all parts in one; parts without any rows have no columns."""
        filled = [part for part in parts if part.values]
        merged = cls()
        for columns in zip(*(zip(part.values, part.counts, strict=True) for part in filled), strict=True):
            values, position = np.unique(np.concatenate([column[0] for column in columns]), return_inverse=True)
            counts = np.zeros(len(values), dtype=np.int64)
            np.add.at(counts, position, np.concatenate([column[1] for column in columns]))
            merged.values.append(values)
            merged.counts.append(counts)
        return merged

    def gap_counts(self, thresholds: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
        """Return how many gaps of all columns are within each threshold, and how many there are."""
        within, n_gaps = np.zeros(len(thresholds), dtype=np.int64), 0
        for values, counts in zip(self.values, self.counts, strict=True):
            n_equal = int(counts.sum()) - len(counts)  # gaps of length 0 lie between equal values
            within += n_equal * (thresholds >= 0) + np.searchsorted(np.sort(np.diff(values)), thresholds, side="right")
            n_gaps += int(counts.sum()) - 1
        return within, n_gaps


def sampled_columns(table: Table, coordinates: Coordinates, on_missing: str, share: float) -> SortedColumns:
    """Return the sorted columns of a share of a table's rows, those whose hash is small; all of them if it is 1."""
    view, schema, missing = view_of(table, coordinates, on_missing), coordinates.schema, MISSING_RULES[on_missing]
    parts = [_sorted(_sample(clipped_rows(block, schema, missing), share), schema) for block in view.blocks()]
    return SortedColumns.together(parts)


def _sample(rows: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    rows = rows[~np.isnan(rows).any(axis=1)]
    if share >= 1.0:
        return rows
    nobody = np.zeros((len(rows), 2), dtype=np.uint64)
    return rows[row_hashes(np.ascontiguousarray(rows), nobody, _NO_KEY) < np.uint64(share * 2.0**64)]


def _sorted(rows: NDArray[np.float64], schema: Schema) -> SortedColumns:
    if not len(rows):
        return SortedColumns()
    scaled = (rows - schema.lower) / (schema.upper - schema.lower)
    pairs = [np.unique(column, return_counts=True) for column in scaled.T]
    return SortedColumns([values for values, _ in pairs], [counts.astype(np.int64) for _, counts in pairs])
