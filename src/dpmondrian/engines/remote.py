"""What runs where rows are, for engines that send their questions to workers; rows there remember where they are, so no move is made twice.

A failed task would be logged there, and told here, with what its error says, which may be values of rows. So tasks do not
fail: they return a `Failure` in the place of an answer, and the engine raises it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.coded import CodedBlock, coded_blocks, node_by_node
from dpmondrian.engines.gaps import SortedColumns, sampled_columns
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.questions import Move, Question, moves_since
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


@dataclass(frozen=True, repr=False)
class PlacedRows:
    """A block of rows (sensitive), and their nodes after the first `n_moves` of all moves.

    It does not change, so a task that breaks off leaves the rows where they were. If it is lost, all moves bring a new one to the same nodes.
    """

    block: CodedBlock
    node: NDArray[np.int16]
    n_moves: int = 0

    @classmethod
    def of(cls, block: CodedBlock) -> PlacedRows:
        """Return rows before the first move: all in node 0."""
        return cls(block, np.zeros(block.n_rows, dtype=np.int16))

    @property
    def n_bytes(self) -> int:
        """Most memory that the rows, or what `after` returns in their place, take."""
        return self.node.nbytes + max(self.block.code_bytes, self.block.row_bytes)

    def after(self, moves: Sequence[Move], needs_rests: bool) -> PlacedRows:
        """Return the same rows after all of these moves.

        Once places are asked for, they are kept instead of codes and rests, node by node: rows of a node that is cut later lie in few parts
        of memory. Rows that have made more moves begin anew: a copy of an earlier task may run late, and no move may be made twice.
        """
        if self.n_moves > len(moves):
            return PlacedRows(self.block, np.zeros_like(self.node)).after(moves, needs_rests)
        block, node, left = self.block.afresh(), self.node, moves_since(moves, self.n_moves)
        if not block.is_by_row:  # moves by codes are made while there are codes
            by_codes = list(takewhile(lambda move: not move.needs_rests, left))
            node, left = _moved(block, node, by_codes), left[len(by_codes) :]
            if needs_rests or left:
                order = node_by_node(node)
                block, node = block.only_rows(order), node[order]
        return PlacedRows(block, _moved(block, node, left), len(moves))

    def add_answer(self, question: Question, total: NDArray[np.int64]) -> None:
        """Add these rows' answer to the total."""
        question.add(self.block, self.node, total)


@dataclass(repr=False)
class PlacedPart:
    """The rows of a part of a table: a worker that holds this finds them where the last question left them."""

    rows: list[PlacedRows]

    def __sizeof__(self) -> int:
        """Return what Dask should count when it decides what to move to another worker and what to write to disk."""
        return object.__sizeof__(self) + sum(rows.n_bytes for rows in self.rows)

    @property
    def n_rows(self) -> int:
        """Number of rows (exact)."""
        return sum(len(rows.node) for rows in self.rows)

    def answer(self, question: Question, moves: Sequence[Move]) -> NDArray[np.int64]:
        """Return the answer after all of these moves."""
        total = question.zero()
        for i, rows in enumerate(self.rows):
            self.rows[i] = moved = rows.after(moves, question.needs_rests)
            moved.add_answer(question, total)
        return total


def _moved(block: CodedBlock, node: NDArray[np.int16], moves: Sequence[Move]) -> NDArray[np.int16]:
    """Return the nodes of rows after some moves."""
    if moves:
        node = node.copy()
    for move in moves:
        move.move(block, node)
    return node
