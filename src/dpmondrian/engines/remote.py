"""What runs where rows are, for engines that send their questions to workers.

A failed task would be logged there, and told here, with what its error says, which may be values of rows. So tasks do not
fail: they return a `Failure` in the place of an answer, and the engine raises it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.coded import CodedBlock, coded_blocks
from dpmondrian.engines.gaps import SortedColumns, sampled_columns
from dpmondrian.engines.grid import Grid
from dpmondrian.exceptions import DataError, DPMondrianError
from dpmondrian.schema import Coordinates
from dpmondrian.tables import Reader, Table, one_kind, rows_to_keep

FAN_IN = 8  # so many answers are added up by one task

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Failure:
    """What went wrong in a task, in words without any value."""

    message: str


def failure_of(error: Exception) -> Failure:
    """Return what may be told about an error."""
    if isinstance(error, DPMondrianError):
        return Failure(str(error))
    return Failure(
        f"A partition of the table could not be processed: {type(error).__name__} on a worker. Its message may contain values, so it is not shown. Try the partition in memory, or look for rows of the wrong type."
    )


def guarded(function: Callable[..., Answer], *args: Any) -> Answer | Failure:
    """Return what the function answers; in its place a `Failure` if it fails, or if there is one among what it is given."""
    failed = next((given for given in _flat(args) if isinstance(given, Failure)), None)
    if failed is not None:
        return failed
    try:
        return function(*args)
    except Exception as error:
        return failure_of(error)


def _flat(args: Sequence[Any]) -> list[Any]:
    return [item for arg in args for item in (arg if isinstance(arg, list) else [arg])]


def raised(result: Answer | Failure) -> Answer:
    """Return a task's answer, or raise its failure. Nothing of the error that led to it is known here."""
    if isinstance(result, Failure):
        raise DataError(result.message)
    return result


@dataclass(frozen=True)
class Coding:
    """How a part of a table becomes coded blocks: small enough to be sent with every task."""

    reader: Reader
    coordinates: Coordinates
    on_missing: str

    def blocks(self, table: Table, grid: Grid) -> list[CodedBlock]:
        """Return the coded rows of a part."""
        return list(coded_blocks(table, self.coordinates, self.on_missing, grid))

    def columns(self, table: Table, share: float) -> SortedColumns:
        """Return the sorted columns of a share of a part's rows."""
        return sampled_columns(table, self.coordinates, self.on_missing, share)

    def hashed(self, table: Table, key: NDArray[np.uint64]) -> HashedRows:
        """Return the rows of a part of which it is known to whom they belong."""
        persons, rows, kind = table.hashes(key, self.on_missing)
        numbers = np.concatenate([np.empty((0, table.n_columns)), *table.blocks()])
        return HashedRows(persons, rows, numbers, kind).take(np.any(persons, axis=1))


@dataclass(frozen=True, repr=False)
class HashedRows:
    """Rows as numbers, with the hashes by which they are kept (sensitive).

    They travel together. If hashes and rows were read one after the other, a table that comes in another order the second time
    would give a person more rows than allowed.
    """

    persons: NDArray[np.uint64]  # shape (n_rows, 2)
    rows: NDArray[np.uint64]  # shape (n_rows,)
    numbers: NDArray[np.float64]  # shape (n_rows, n_columns)
    kind: str | None = None  # of the persons' ids; None where nobody is known, or where all parts have one type

    @classmethod
    def joined(cls, parts: Sequence[HashedRows]) -> HashedRows:
        """Return the rows of at least one part together; refuse ids of several kinds."""
        return cls(
            np.concatenate([part.persons for part in parts]),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.numbers for part in parts]),
            one_kind(part.kind for part in parts),
        )

    def take(self, which: NDArray[np.bool_]) -> HashedRows:
        """Return some of the rows."""
        return HashedRows(self.persons[which], self.rows[which], self.numbers[which], self.kind)

    def limited(self, most: int) -> NDArray[np.float64]:
        """Return the rows that `dpmondrian.tables.persons.rows_to_keep` keeps, as numbers. All rows of these persons must be here."""
        return self.numbers[rows_to_keep(self.persons, self.rows, most)]


def added(answers: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the sum of answers."""
    total = answers[0].copy()
    for other in answers[1:]:
        total += other
    return total


def in_groups(items: Sequence[Answer]) -> list[list[Answer]]:
    """Return items in groups of `FAN_IN`: one level of the tree in which they are added up."""
    return [list(items[start : start + FAN_IN]) for start in range(0, len(items), FAN_IN)]
