"""Rows on this machine: in memory, or streamed once and kept as codes, in memory up to a limit and beyond it in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.threads import Threads
from dpmondrian.engines.base import Engine
from dpmondrian.engines.coded import CodedBlock, coded_blocks, node_by_node
from dpmondrian.engines.gaps import SortedColumns, sampled_columns
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.limits import limited_stream
from dpmondrian.engines.questions import Move, Question
from dpmondrian.engines.store import Kept, Resources, Store
from dpmondrian.schema import Coordinates
from dpmondrian.tables import PART_ROWS, PersonLimit, Progress, Stream, Table

_Number = TypeVar("_Number", bound=np.generic)


@dataclass
class _Part:
    """A block as it is kept, with the nodes of its rows after the first `n_moves` moves.

    Once places are asked for, `rows` are kept in memory instead of codes and rests, if they fit there and these are not in a file. They lie
    node by node as these were then, and `order` tells where they came from: a node that is cut later has its rows in few parts of memory.
    """

    codes: Kept
    rests: Kept
    node: Kept
    n_moves: int = 0
    rows: NDArray[np.int16] | None = None
    order: NDArray[np.uint32] | None = None

    @property
    def has_both(self) -> bool:
        """Whether codes and rests are in memory."""
        return self.rows is None and self.codes.in_memory and self.rests.in_memory

    def in_first_order(self, values: NDArray[_Number]) -> NDArray[_Number]:
        """Return what belongs to rows, along the last axis, in the order in which these lay in the table."""
        if self.order is None:
            return values
        found = np.empty_like(values)
        found[..., self.order] = values
        return found


@dataclass(frozen=True)
class LocalSource:
    """A table on this machine: in memory, or streamed."""

    rows: Table | Stream

    @property
    def head(self) -> Table:
        """The table without its rows, or with them where they are in memory anyway."""
        return self.rows if isinstance(self.rows, Table) else self.rows.head

    def engine(
        self, coordinates: Coordinates, on_missing: str, limit: PersonLimit | None, resources: Resources
    ) -> LocalEngine:
        """Return an engine on the rows that the limit keeps."""
        rows = self.rows
        if limit is not None and isinstance(rows, Table):
            rows = rows.limited(limit, on_missing)
        elif limit is not None and isinstance(rows, Stream):
            most_bytes = resources.streamed_memory
            threads = Threads(None, resources.threads)
            with Store(most_bytes // 2, resources.folder) as store:
                rows = limited_stream(rows, limit, on_missing, store, threads, most_bytes // 2, resources.reading)
        return LocalEngine(rows, coordinates, on_missing, resources)

    def labels(self, label: Callable[[Table], NDArray[np.int32]], resources: Resources) -> NDArray[np.int32]:
        """Return the labels of all rows, in order."""
        return self.mapped(label, np.empty(0, dtype=np.int32), resources)

    def mapped(
        self, function: Callable[[Table], NDArray[Any]], nothing: NDArray[Any], resources: Resources
    ) -> NDArray[Any]:
        """Return what a function makes of every row, in order; `nothing` is what it makes of no rows."""
        n_rows = self.rows.n_rows if isinstance(self.rows, Table) else None
        threads = Threads(n_rows, resources.threads)
        parts = threads.map(lambda piece: function(piece()), _pieces(self.rows))
        return np.concatenate([nothing, *parts])


def _pieces(rows: Table | Stream, reading: Progress | None = None) -> Iterator[Callable[[], Table]]:
    """Return a table in pieces that several threads can work on."""
    if isinstance(rows, Stream):
        return rows.pieces(reading)
    starts = range(0, rows.n_rows, PART_ROWS)
    return (partial(rows.between, start, start + PART_ROWS) for start in starts)


class LocalEngine(Engine):
    """Answers the questions of `base.Engine` with threads over blocks of coded rows.

    Complexity: the table is read once; then one pass over the codes per level, and a few over codes and rests for the
    centres.
    """

    def __init__(
        self,
        rows: Table | Stream,
        coordinates: Coordinates,
        on_missing: str,
        resources: Resources | None = None,
    ) -> None:
        super().__init__()
        resources = resources or Resources()
        self._rows = rows
        self._coordinates = coordinates
        self._on_missing = on_missing
        self._reading = resources.reading
        most_bytes = resources.streamed_memory if isinstance(rows, Stream) else resources.memory
        self._store = Store(most_bytes, resources.folder)
        self.threads = Threads(rows.n_rows if isinstance(rows, Table) else None, resources.threads)
        self._parts: list[_Part] = []

    def __exit__(self, *_: object) -> None:
        self._parts = []
        self._store.clear()

    def gap_counts(self, thresholds: NDArray[np.float64], share: float) -> tuple[NDArray[np.int64], int]:
        """Return how many gaps of a share of the rows are within each threshold, and their number; reads the table once."""
        parts = self.threads.map(
            lambda piece: sampled_columns(piece(), self._coordinates, self._on_missing, share), _pieces(self._rows)
        )
        return SortedColumns.together(parts).gap_counts(thresholds)

    def _encode(self, grid: Grid) -> int:
        """Code the rows, reading the table once."""
        self._parts = []
        self._store.clear()

        def code(piece: Callable[[], Table]) -> list[tuple[_Part, int]]:
            blocks = coded_blocks(piece(), self._coordinates, self._on_missing, grid)
            return [(self._keep(block), block.n_rows) for block in blocks]

        coded = [part for parts in self.threads.map(code, _pieces(self._rows, self._reading)) for part in parts]
        self._parts = [part for part, _ in coded]
        return sum(n_rows for _, n_rows in coded)

    def _keep(self, block: CodedBlock) -> _Part:
        keep = self._store.keep
        return _Part(keep(block.codes), keep(block.rests), keep(np.zeros(block.n_rows, dtype=np.int16)))

    def total(self, question: Question) -> NDArray[np.int64]:
        """Return the sum of a question's answers over all blocks."""

        def work(parts: Iterator[_Part]) -> NDArray[np.int64]:
            total = question.zero()
            for part in parts:
                block, node = self._brought_up(part, question.needs_rests)
                question.add(block, node, total)
            return total

        totals = self.threads.share(work, self._parts)
        for other in totals[1:]:
            totals[0] += other
        return totals[0]

    def _brought_up(self, part: _Part, needs_rests: bool) -> tuple[CodedBlock, NDArray[np.int16]]:
        """Return a block and the nodes of its rows after all moves."""
        moves = self.moves_since(part.n_moves)
        if part.has_both:  # moves by codes are made while there are codes
            n_first = len(list(takewhile(lambda move: not move.needs_rests, moves)))
            self._moved(part, moves[:n_first], needs_rests=False)
            moves = moves[n_first:]
        block, node = self._moved(part, moves, needs_rests)
        part.n_moves = len(self._moves)
        return block, node

    def _moved(self, part: _Part, moves: Sequence[Move], needs_rests: bool) -> tuple[CodedBlock, NDArray[np.int16]]:
        """Return a block and the nodes of its rows after these moves, which are kept."""
        block = self._block(part, needs_rests or any(move.needs_rests for move in moves))
        node = part.node.get()
        for move in moves:
            move.move(block, node)
        if moves:
            part.node.put(node)
        return block, node

    def _block(self, part: _Part, needs_rests: bool) -> CodedBlock:
        if part.rows is not None:
            return CodedBlock.of(self._grid, None, None, part.rows)
        codes = part.codes.get()
        if not needs_rests:
            return CodedBlock.of(self._grid, codes, np.empty((0, codes.shape[1]), dtype=np.uint8))
        block, node = CodedBlock.of(self._grid, codes, part.rests.get()), part.node.get()
        order = node_by_node(node)
        if not self._store.exchanged((part.codes, part.rests), block.row_bytes + order.nbytes):
            return block.by_row()
        part.rows, part.order = block.only_rows(order).rows, order
        part.node.put(node[order])
        return CodedBlock.of(self._grid, None, None, part.rows)

    def places(self) -> NDArray[np.float64]:
        """Return the places of all rows, shape (n_columns, n_rows) (sensitive)."""
        blocks = [part.in_first_order(self._block(part, needs_rests=True).places()) for part in self._parts]
        return np.concatenate([np.empty((self._grid.n_columns, 0)), *blocks], axis=1)

    def nodes_of_rows(self, move: Move | None = None) -> NDArray[np.int16] | None:
        """Return the node of every row of a table, after one more move, or None if rows were left out (sensitive)."""
        if move is not None:
            self._moves.append(move)
        nodes: list[NDArray[Any]] = self.threads.map(
            lambda part: part.in_first_order(self._brought_up(part, needs_rests=False)[1]), self._parts
        )
        node = np.concatenate([np.empty(0, dtype=np.int16), *nodes])
        return node if isinstance(self._rows, Table) and len(node) == self._rows.n_rows else None
