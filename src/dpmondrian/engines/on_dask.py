"""Rows in a Dask DataFrame or Array: coded rows live on the workers, only questions and sums of integers travel.

A worker remembers where its rows are, so it makes each move once. If it is lost, Dask makes its rows again from the table. Since
questions carry all moves, and no noise is drawn on workers, that changes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from dask.base import compute, persist
from dask.delayed import delayed
from numpy.typing import NDArray

from dpmondrian.common.interrupts import cancelled_by_a_stop
from dpmondrian.engines.base import Engine
from dpmondrian.engines.gaps import SortedColumns
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.questions import Move, Question
from dpmondrian.engines.remote import Coding, HashedRows, PlacedPart, PlacedRows, added, guarded, in_groups, raised
from dpmondrian.engines.store import Resources
from dpmondrian.exceptions import DataError
from dpmondrian.schema import Coordinates
from dpmondrian.tables import PersonLimit, Reader, Table, identities_of_values

_MOST_BUCKETS = 64  # most tasks among which persons are divided


@dataclass(frozen=True)
class DaskSource:
    """A Dask table, and how its parts are read: with the columns of the head, in this order."""

    table: Any
    head: Table
    reader: Reader

    @classmethod
    def of(cls, X: Any, reader: Reader) -> DaskSource:
        """Return the source of a Dask DataFrame, or of an Array with rows and columns."""
        if hasattr(X, "_meta") and hasattr(X, "map_partitions"):
            head = reader.table(X._meta)
            if reader.needed_person is not None:
                _check_no_types_lost(X, reader.needed_person)
            return cls(X, head, replace(reader, order=head.names))
        n_axes = getattr(X, "ndim", None)
        if not isinstance(n_axes, int) or n_axes != 2:
            raise DataError(
                "A Dask table must be a DataFrame, or an Array with rows and columns.",
                "Call its compute() method to load it into memory, or its to_dataframe() method.",
                got=type(X).__name__,
            )
        X = X.rechunk({1: -1})  # a row lies in one chunk
        return cls(X, reader.table(np.empty((0, X.shape[1]), dtype=X.dtype)), reader)

    def engine(
        self, coordinates: Coordinates, on_missing: str, limit: PersonLimit | None, resources: Resources
    ) -> DaskEngine:
        """Return an engine on the rows that the limit keeps. What workers may use is Dask's business."""
        parts = np.ravel(self.table.to_delayed()).tolist()
        return DaskEngine(parts, Coding(self.reader, coordinates, on_missing), self.head, limit)

    def labels(self, label: Callable[[Table], NDArray[np.int32]], resources: Resources) -> Any:
        """Return a Dask Series or Array of labels that is computed when it is asked for."""
        labels_of = partial(_labels, self.reader, label)
        if hasattr(self.table, "map_partitions"):
            return self.table.map_partitions(labels_of, meta=_series(np.empty(0, dtype=np.int32), None))
        return self.table.map_blocks(labels_of, drop_axis=1, dtype=np.int32)


def _check_no_types_lost(table: Any, name: str) -> None:
    """Refuse ids that were Python objects before Dask turned them into texts: 7 and 7.0 became two people, 1 and "1" one.

    A table remembers how it is made, unless its parts were computed since; then nobody can know.
    """
    for step in table.expr.walk() if hasattr(table, "expr") else ():
        if _objects_may_be_lost(step, name):
            raise DataError(
                f"The column {name!r} of person ids contained Python objects that Dask converted to strings, which makes 7 and 7.0 two people, and 1 and '1' the same person.",
                "Keep the original values with"
                " dask.config.set({'dataframe.convert-string': False}) before the table is created; or, if all of them are strings, give the column a string type there.",
            )


def _objects_may_be_lost(step: Any, name: str) -> bool:
    """Return whether a step of a Dask table turns objects into texts that were not all texts, as far as that is known here."""
    if type(step).__name__ in ("FromPandas", "FromPandasDivisions"):
        column = _column(step.operand("frame")._data, name)
        # Values that are here already can be looked at.
        return bool(step.operand("pyarrow_strings_enabled")) and column is not None and not _are_texts(column)
    return type(step).__name__ == "ArrowStringConversion" and _column(step.frame._meta, name) is not None


def _column(frame: Any, name: str) -> Any:
    """Return a column of Python objects; None if there is none of this name."""
    column = frame[name] if name in getattr(frame, "columns", ()) else None
    return column if column is not None and column.dtype == object else None


def _are_texts(column: Any) -> bool:
    try:
        return identities_of_values(column).kind in ("text", None)
    except ValueError:
        return False


def _series(labels: NDArray[np.int32], index: Any) -> Any:
    import pandas  # which is there wherever a Dask DataFrame is

    return pandas.Series(labels, index=index, name="cluster")


class DaskEngine(Engine):
    """Answers the questions of `base.Engine` by tasks on Dask's workers, whose answers are added up there in a tree.

    Which scheduler runs them is the caller's choice, as everywhere in Dask: the client that is current, or threads.
    """

    def __init__(self, parts: Sequence[Any], coding: Coding, head: Table, limit: PersonLimit | None) -> None:
        super().__init__()
        self._coding = coding
        self._parts = parts if limit is None else _limited(parts, coding, head, limit)
        self._coded: Sequence[Any] = ()

    def __exit__(self, *_: object) -> None:
        for future in _futures(
            self._coded
        ):  # workers forget what nobody asks for; the error of a fit may still hold it
            future.release()
        self._parts, self._coded = (), ()

    def gap_counts(self, thresholds: NDArray[np.float64], share: float) -> tuple[NDArray[np.int64], int]:
        """Return how many gaps of a share of the rows are within each threshold, and their number."""
        coding = _sent(self._coding)
        columns = _reduced(SortedColumns.together, [_task(_columns, coding, part, share) for part in self._parts])
        within, n_gaps = _computed(_task(_gap_counts, columns, thresholds))
        return within, n_gaps

    def _encode(self, grid: Grid) -> int:
        """Code the rows on the workers, and keep them there."""
        coding, sent_grid = _sent(self._coding), _sent(grid)
        self._coded = raised(guarded(persist, *(_task(_blocks, coding, part, sent_grid) for part in self._parts)))
        return int(_computed(_reduced(added, [_task(_n_rows, part) for part in self._coded])))

    def total(self, question: Question) -> NDArray[np.int64]:
        """Return the sum of a question's answers over all blocks."""
        asked = _sent(_Asked(question, tuple(self._moves)))
        total: NDArray[np.int64] = _computed(_reduced(added, [_task(_answered, part, asked) for part in self._coded]))
        return total


def _limited(parts: Sequence[Any], coding: Coding, head: Table, limit: PersonLimit) -> list[Any]:
    """Return other parts, with the rows that the limit keeps.

    Every person falls to one bucket, and all rows of a bucket come together in one task, with their hashes.
    """
    n_buckets = min(len(parts), _MOST_BUCKETS)
    sent_coding, sent_head = _sent(coding), _sent(head.with_numbers(np.empty((0, head.n_columns))))
    hashed = [_task(_hashed, sent_coding, part, limit.key) for part in parts]
    return [
        _task(_rows_of_buckets, [_task(_in_bucket, own, bucket, n_buckets) for own in hashed], sent_head, limit.most)
        for bucket in range(n_buckets)
    ]


def _sent(value: Any) -> Any:
    """Return a value as something that many tasks can be given, and that is in their graph only once."""
    return delayed(value, pure=False, traverse=False)


_GUARDED = delayed(guarded, pure=False)


def _task(function: Callable[..., Any], *args: Any) -> Any:
    """Return a task that runs on a worker and does not raise; Dask's dashboard shows it by the name of its function."""
    return _GUARDED(function, *args, dask_key_name=f"dpm_{function.__name__.strip('_')}-{uuid4()}")


def _reduced(function: Callable[[list[Any]], Any], tasks: Sequence[Any]) -> Any:
    """Return one task for what a function makes of all answers, in a tree."""
    while len(tasks) > 1:
        tasks = [_task(function, group) for group in in_groups(tasks)]
    return tasks[0]


def _computed(task: Any) -> Any:
    """Return a task's answer. What failed may also be the caller's own task, which made a part of the table."""
    [begun] = raised(guarded(persist, task))  # on a cluster it runs, and can be cancelled; elsewhere it is done
    with cancelled_by_a_stop(partial(_cancel, begun)):
        [answer] = raised(guarded(compute, begun))
    return raised(answer)


def _cancel(task: Any) -> None:
    """Let the workers of a cluster drop a task, and with it what only it needs."""
    for future in _futures(task):
        future.cancel()


def _futures(tasks: Any) -> Sequence[Any]:
    """Return what a cluster was asked for; nothing where there is none."""
    return sys.modules["distributed"].futures_of(tasks) if "distributed" in sys.modules else ()


@dataclass(frozen=True)
class _Asked:
    """A question, and all moves that bring rows to their nodes before it is answered."""

    question: Question
    moves: tuple[Move, ...]


# All that follows runs on workers.


def _labels(reader: Reader, label: Callable[[Table], NDArray[np.int32]], part: Any) -> Any:
    """Return the labels of a part. Errors are raised, because there is nobody to ask for a `Failure`, but tell no values."""
    labels = raised(guarded(lambda: label(reader.table(part))))
    return labels if isinstance(part, np.ndarray) else _series(labels, part.index)


def _table(coding: Coding, part: Any) -> Table:
    return part if isinstance(part, Table) else coding.reader.table(part)


def _blocks(coding: Coding, part: Any, grid: Grid) -> PlacedPart:
    return PlacedPart([PlacedRows.of(block) for block in coding.blocks(_table(coding, part), grid)])


def _n_rows(part: PlacedPart) -> NDArray[np.int64]:
    return np.array(part.n_rows, dtype=np.int64)


def _answered(part: PlacedPart, asked: _Asked) -> NDArray[np.int64]:
    return part.answer(asked.question, asked.moves)


def _columns(coding: Coding, part: Any, share: float) -> SortedColumns:
    return coding.columns(_table(coding, part), share)


def _gap_counts(columns: SortedColumns, thresholds: NDArray[np.float64]) -> tuple[NDArray[np.int64], int]:
    return columns.gap_counts(thresholds)


def _hashed(coding: Coding, part: Any, key: NDArray[np.uint64]) -> HashedRows:
    return coding.hashed(coding.reader.table(part), key)


def _in_bucket(rows: HashedRows, bucket: int, n_buckets: int) -> HashedRows:
    """Return the rows of the persons who fall to a bucket."""
    return rows.take(rows.persons[:, 0] % np.uint64(n_buckets) == bucket)


def _rows_of_buckets(parts: list[HashedRows], head: Table, most: int) -> Table:
    return head.with_numbers(HashedRows.joined(parts).limited(most))
