"""Rows in a Spark DataFrame: coded blocks are cached by the executors, only questions and sums of integers travel.

Between the cache and Python, rows would travel for every question. So Python workers hold blocks, too, and remember where their rows are:
a question first goes to what they hold, and then, with the blocks, to what they do not.

Only the DataFrame interface is used, so Spark Connect works too. An executor that is lost takes its blocks along; Spark makes
them again from the table. Since questions carry all moves, and no noise is drawn on executors, that changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from threading import Timer
from typing import Any, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpmondrian.common.interrupts import cancelled_by_a_stop
from dpmondrian.engines.base import Engine
from dpmondrian.engines.coded import CodedBlock
from dpmondrian.engines.gaps import SortedColumns
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.questions import Move, Question
from dpmondrian.engines.remote import (
    FAN_IN,
    Coding,
    Failure,
    HashedRows,
    PlacedRows,
    added,
    failure_of,
    guarded,
    raised,
)
from dpmondrian.engines.store import Resources
from dpmondrian.exceptions import DataError
from dpmondrian.schema import Coordinates
from dpmondrian.tables import PART_ROWS, PersonLimit, Reader, Table

Answer = TypeVar("Answer")

_RECORD_BYTES = 2**24
"""Most bytes of codes, and of rests, in a record. Spark's limits are higher, but it hands several records over at once."""

_COLLECTED_BYTES = 2**24
"""Answers up to this are added up by the driver: a stage that does it on the executors takes half a second."""

_WORKER_MEMORY = "spark.python.worker.memory"
"""How much each Python worker may use to aggregate, says Spark. Half of it is for the rows that it holds."""

_SECONDS_HELD = 60.0
"""After the last question to a worker."""

_MOST_IN_VAIN = 8
"""So many questions may find less than half of the rows held; then all blocks are sent at once."""

_NAMES_OF_TYPES = {
    pa.binary(): "binary",
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.list_(pa.float64()): "array<double>",
    pa.list_(pa.int64()): "array<bigint>",
}


class _Output:
    """The columns of what tasks return, besides one for a failure in the place of all else."""

    def __init__(self, **types: pa.DataType) -> None:
        self.schema = pa.schema({**types, "failure": pa.string()})

    @property
    def names(self) -> str:
        """Columns and types in Spark's words."""
        return ", ".join(f"{field.name} {_NAMES_OF_TYPES[field.type]}" for field in self.schema)

    def batch(self, **columns: Any) -> pa.RecordBatch:
        """Return some rows."""
        n_rows = len(next(iter(columns.values())))
        given = {name: columns.get(name, [None] * n_rows) for name in self.schema.names}
        return pa.RecordBatch.from_pydict(given, schema=self.schema)


_ANSWER = _Output(answer=pa.binary())
_ANSWER_OF_ROWS = _Output(answer=pa.binary(), n_rows=pa.int64(), not_held=pa.list_(pa.int64()))
_COLUMNS = _Output(number=pa.int64(), values=pa.binary(), counts=pa.binary())
_INDEX = _Output(block=pa.int64(), n_rows=pa.int64())
_BLOCKS = _Output(codes=pa.binary(), rests=pa.binary(), n_rows=pa.int64(), block=pa.int64())
_HASHED = _Output(person=pa.int64(), person_too=pa.int64(), row=pa.int64(), numbers=pa.list_(pa.float64()))

_COUNTS = ("sum(n_rows) n_rows", "max(failure) failure", "count(distinct part) n_parts")
"""What is asked of coded rows when they are made, of Spark itself."""

Batches: TypeAlias = "Iterator[pa.RecordBatch]"
Made: TypeAlias = "Callable[[Batches], Iterator[dict[str, Any]]]"
Tables: TypeAlias = "Callable[[Batches], Iterator[Table]]"


@dataclass(frozen=True)
class SparkSource:
    """A Spark DataFrame, and how its parts are read."""

    frame: Any
    head: Table
    reader: Reader

    @classmethod
    def of(cls, X: Any, reader: Reader) -> SparkSource:
        """Return the source of a DataFrame."""
        if not hasattr(type(X), "mapInArrow"):  # an object of a column has attributes of any name
            raise DataError(
                "A Spark table must be a DataFrame of pyspark.sql.",
                "For a pyspark.pandas table, call its to_spark() method.",
                got=f"{type(X).__name__} of {type(X).__module__}",
            )
        return cls(X, reader.table(_without_rows(X)), reader)

    def engine(
        self, coordinates: Coordinates, on_missing: str, limit: PersonLimit | None, resources: Resources
    ) -> SparkEngine:
        """Return an engine on the rows that the limit keeps. What executors may use is Spark's business."""
        return SparkEngine(self.frame, Coding(self.reader, coordinates, on_missing), self.head, limit)

    def labels(self, label: Callable[[Table], NDArray[np.int32]], resources: Resources) -> Any:
        """Return a column of labels, to be used with this DataFrame; it is computed when it is asked for."""
        from pyspark.sql import functions

        reader, names = self.reader, self.frame.columns
        columns = [self.frame["`" + name.replace("`", "``") + "`"] for name in names]
        # Values come as Arrow has them: pandas would turn whole numbers among which some are missing into floats.
        labels_of = functions.arrow_udf(lambda *parts: _labels(reader, label, parts, names), "int")
        return labels_of(*columns).alias("cluster")


def _without_rows(frame: Any) -> Any:
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(frame.schema).empty_table()


class SparkEngine(Engine):
    """Answers the questions of `base.Engine` by tasks on Spark's executors, which add up large answers in a tree.

    Every block has a random number, another one when it is made again. So what a worker holds under that number is what Spark holds.
    """

    def __init__(self, frame: Any, coding: Coding, head: Table, limit: PersonLimit | None) -> None:
        super().__init__()
        self._coding = coding
        self._frame = frame
        self._tables: Tables = partial(_tables, coding.reader, frame.columns)
        # Spark would take a dot in a name for the field of a column, so executors see numbered columns.
        self._map_rows = partial(_mapped, frame.toDF(*map(str, range(len(frame.columns)))), False)
        if limit is not None:  # all rows of a person come to one task
            hashed = self._map_rows(partial(_hashed, coding, self._tables, limit.key), _HASHED).repartition("person")
            self._tables = partial(_limited, head, limit.most)
            self._map_rows = partial(_mapped, hashed, True)
        self._coded: Any = None
        self._all: Any = None
        self._index: Any = None
        self._n_rows = self._n_tasks = self._n_in_vain = 0

    def __exit__(self, *_: object) -> None:
        self._forget()

    def _forget(self) -> None:
        if self._coded is not None:
            self._coded.unpersist()
        self._coded = self._all = self._index = None

    def gap_counts(self, thresholds: NDArray[np.float64], share: float) -> tuple[NDArray[np.int64], int]:
        """Return how many gaps of a share of the rows are within each threshold, and their number."""
        columns = self._map_rows(partial(_sorted_columns, self._coding, self._tables, share), _COLUMNS)
        # All of a column comes to one task.
        answers = _mapped(columns.repartition("number"), True, partial(_gap_counts, thresholds), _ANSWER)
        counts = sum(
            (np.frombuffer(row["answer"], dtype=np.int64) for row in _checked_rows(_done(_rows, answers))),
            np.zeros(len(thresholds) + 1, dtype=np.int64),
        )
        return counts[:-1], int(counts[-1])

    def _encode(self, grid: Grid) -> int:
        """Code the rows on the executors, and keep them there."""
        self._forget()
        make = partial(_blocks, self._coding, self._tables, grid, _RECORD_BYTES)
        self._coded = _done(_persisted, self._map_rows(make, _BLOCKS))
        numbered = self._coded.selectExpr("n_rows", "failure", "spark_partition_id() part")
        [counted] = _done(_rows, numbered.selectExpr(*_COUNTS))
        if counted.failure is not None:
            raise DataError(counted.failure)
        self._n_rows, self._n_in_vain = int(counted.n_rows or 0), 0
        # A task takes longer to begin than to look at a block of rows. But parts that are joined do not stay with one worker.
        self._n_tasks = max(1, min(counted.n_parts, self._n_rows // PART_ROWS))
        self._all = self._coded if self._n_tasks == counted.n_parts else self._coded.coalesce(self._n_tasks)
        self._index, self._fit = None, _new_number()
        return self._n_rows

    def total(self, question: Question) -> NDArray[np.int64]:
        """Return the sum of a question's answers over all blocks."""
        if self._index is None:  # the first question after rows were coded
            self._index = _planned_once(self._all.select("block", "n_rows", "failure"))
        elif self._n_in_vain < _MOST_IN_VAIN:
            total, n_rows, not_held = self._answer(self._index, _INDEX, question)
            if 2 * n_rows < self._n_rows:
                self._n_in_vain += 1
            if not_held:
                others = self._all.where(self._all["block"].isin(not_held))
                of_others, n_others, _ = self._answer(_planned_once(others), _BLOCKS, question)
                total, n_rows = total + of_others, n_rows + n_others
            if n_rows == self._n_rows:
                return total
            # Blocks were lost, and made again with other numbers, between the two.
        return self._answer(_planned_once(self._all), _BLOCKS, question)[0]

    def _answer(self, blocks: Any, given: _Output, question: Question) -> tuple[NDArray[np.int64], int, list[int]]:
        """Return an answer, of how many rows it is, and the numbers of blocks that are missing, for no worker held them.

        `blocks` has the columns of `given`. If codes are among them, none is missing.
        """
        session, n_answers, total = self._frame.sparkSession, self._n_tasks, question.zero()
        make = partial(_answered, self._grid, self._fit, _worker_bytes(session) // 2, question, tuple(self._moves))
        answers = _made_of_tasks(blocks, given, make, _ANSWER_OF_ROWS)
        while n_answers > FAN_IN and n_answers * total.nbytes > _COLLECTED_BYTES:
            n_answers = -(-n_answers // FAN_IN)
            answers = _made_of_tasks(_dealt(answers, n_answers), _ANSWER_OF_ROWS, _added, _ANSWER_OF_ROWS)
        rows = _checked_rows(_done(_rows, answers, session))
        for row in rows:
            total += np.frombuffer(row["answer"], dtype=np.int64).reshape(total.shape)
        return total, sum(row["n_rows"] for row in rows), [number for row in rows for number in row["not_held"]]


def _new_number() -> int:
    """Return a number that nothing else has."""
    return uuid4().int >> 65  # below 2**63


def _planned_once(frame: Any) -> Any:
    """Return a table as an RDD where there are any: Spark plans a query anew every time, which takes longer than most answers."""
    with suppress(Exception):  # Spark Connect has none, and some services forbid them
        return frame.rdd
    return frame


def _is_rdd(table: Any) -> bool:
    return not hasattr(type(table), "mapInArrow")


def _made_of_tasks(table: Any, given: _Output, make: Made, output: _Output) -> Any:
    """Return what a function makes of what other tasks returned, as such a table."""
    if _is_rdd(table):
        return table.mapPartitions(partial(_mapped_rows, given, make, output))
    return _mapped(table, True, make, output)


def _dealt(answers: Any, n_parts: int) -> Any:
    """Return answers in fewer parts.

    By the number of the task: were they dealt out in turn, a task that runs again might deal otherwise.
    """
    if _is_rdd(answers):
        return answers.mapPartitionsWithIndex(_numbered).partitionBy(n_parts, int).values()
    from pyspark.sql import functions

    return answers.repartition(n_parts, functions.spark_partition_id())


def _worker_bytes(session: Any) -> int:
    """Return how much memory a Python worker may use, by Spark's settings."""
    text = "512m"
    with suppress(Exception):  # some services do not tell
        text = session.conf.get(_WORKER_MEMORY, text)
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", text.strip().lower())
    return int(found[1]) * 2 ** (10 * (1 + "kmgt".index(found[2] or "m"))) if found else 0


def _mapped(frame: Any, of_tasks: bool, make: Made, output: _Output) -> Any:
    """Return a table of what a function makes of the rows of each part, on the executors.

    `of_tasks` says that these rows are an `_Output` of other tasks.
    """
    # A copy that nobody else uses: Spark Connect finds cached rows again by the bytes of the task that made them, and
    # objects that are used may remember more than before.
    return frame.mapInArrow(deepcopy(partial(_guarded, of_tasks, make, output)), output.names)


def _persisted(frame: Any) -> Any:
    """Return a table that executors keep once they have made it.

    After a shuffle Spark joins small parts to fewer, but not those of tables to be kept unless it is told so: then there would be
    200 of them, however few the rows, and tasks that take longer to begin than to do their work.
    """
    from pyspark import StorageLevel

    settings, joins_parts = frame.sparkSession.conf, "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning"
    before = settings.get(joins_parts, "false")
    with suppress(Exception):  # some services do not let it be set
        settings.set(joins_parts, "true")
    try:
        return frame.persist(StorageLevel.MEMORY_AND_DISK)
    finally:
        with suppress(Exception):
            settings.set(joins_parts, before)


def _done(action: Callable[[Any], Any], table: Any, session: Any = None) -> Any:
    """Return what an action returns that Spark carries out. It may fail in the caller's own query, which made the table."""
    with _cancellable(session or table.sparkSession):
        return raised(guarded(action, table))


def _rows(frame: Any) -> Any:
    return frame.collect()


@contextmanager
def _cancellable(session: Any) -> Iterator[None]:
    """Let a stop cancel what this thread asks of Spark meanwhile, by a tag; without it, Spark finishes what nobody waits for."""
    tag, (add, remove, cancel) = f"dpmondrian-{uuid4()}", _tagging(session)
    with suppress(Exception):  # some services do not let it be set
        add(tag)
    try:
        with cancelled_by_a_stop(partial(cancel, tag)):
            yield
    finally:
        with suppress(Exception):
            remove(tag)


def _tagging(session: Any) -> tuple[Callable[[str], Any], Callable[[str], Any], Callable[[str], Any]]:
    """Return how work is tagged, no longer tagged, and cancelled by its tag from another thread."""
    if _is_connect(session):
        return session.addTag, session.removeTag, session.interruptTag
    context = session.sparkContext  # the tags of a session are known to the thread that set them only
    return context.addJobTag, context.removeJobTag, context.cancelJobsWithTag


def with_local_properties(frame: Any, function: Callable[[], Answer]) -> Callable[[], Answer]:
    """Return a function for another thread, in which Spark finds the job group, the pool and the tags of this one."""
    from pyspark import inheritable_thread_target
    from pyspark.sql import SparkSession
    from pyspark.sql.utils import is_remote

    session: Any = getattr(frame, "sparkSession", None)
    if _is_connect(session):
        return partial(_with_tags, session, session.getTags(), function)
    # A thing that is no DataFrame has no session, as will be told; and where Connect rules, a classic one is not carried.
    if is_remote() or not isinstance(session, SparkSession):
        return function
    carried: Callable[[], Answer] = inheritable_thread_target(session)(function)
    return carried


def _with_tags(session: Any, tags: set[str], function: Callable[[], Answer]) -> Answer:
    for tag in tags:
        session.addTag(tag)
    return function()


def _is_connect(session: Any) -> bool:
    return ".connect." in type(session).__module__


def _checked_rows(rows: Sequence[Any]) -> Sequence[Any]:
    """Return what tasks returned, or raise their failure."""
    for row in rows:
        raised(Failure(row["failure"]) if row["failure"] else None)
    return rows


# All that follows runs on executors.


def _guarded(of_tasks: bool, make: Made, output: _Output, batches: Batches) -> Batches:
    """Yield what is made of batches; a failure in its place if there is one, or was one before."""
    try:
        for columns in make(_checked(batches) if of_tasks else batches):
            yield output.batch(**columns)
    except Exception as error:
        yield output.batch(failure=[failure_of(error).message])


def _checked(batches: Batches) -> Batches:
    """Yield batches, unless an earlier task put a failure into them."""
    for batch in batches:
        failures = batch.column("failure").drop_null()
        if len(failures):
            raise DataError(failures[0].as_py())
        yield batch


def _tables(reader: Reader, names: list[str], batches: Batches) -> Iterator[Table]:
    """Yield the rows of a part in tables that make up a block each."""
    waiting: pa.Table | None = None
    for batch in batches:
        rows = pa.table(batch.columns, names)
        waiting = rows if waiting is None else pa.concat_tables([waiting, rows])
        while waiting.num_rows >= PART_ROWS:
            yield reader.table(waiting.slice(0, PART_ROWS))
            waiting = waiting.slice(PART_ROWS)
    if waiting is not None:
        yield reader.table(waiting)


def _hashed(coding: Coding, tables: Tables, key: NDArray[np.uint64], batches: Batches) -> Iterator[dict[str, Any]]:
    """Yield the rows of known persons as numbers, with the hashes by which they are kept."""
    for table in tables(batches):
        hashed = coding.hashed(table, key)
        persons, n_columns = hashed.persons.view(np.int64), hashed.numbers.shape[1]
        begins = pa.array(np.arange(len(persons) + 1) * n_columns, pa.int32())
        yield {
            "person": persons[:, 0],
            "person_too": persons[:, 1],
            "row": hashed.rows.view(np.int64),
            "numbers": pa.ListArray.from_arrays(begins, hashed.numbers.ravel()),
        }


def _limited(head: Table, most: int, batches: Batches) -> Iterator[Table]:
    """Yield the rows that are kept, of persons of whom all rows are in this part."""
    parts = [_hashed_rows(batch, head.n_columns) for batch in batches]
    if parts:
        yield head.with_numbers(HashedRows.joined(parts).limited(most))


def _hashed_rows(batch: pa.RecordBatch, n_columns: int) -> HashedRows:
    persons = np.column_stack([batch.column("person").to_numpy(), batch.column("person_too").to_numpy()])
    numbers = batch.column("numbers").flatten().to_numpy().reshape(-1, n_columns)
    return HashedRows(persons.view(np.uint64), batch.column("row").to_numpy().view(np.uint64), numbers)


def _blocks(coding: Coding, tables: Tables, grid: Grid, most_bytes: int, batches: Batches) -> Iterator[dict[str, Any]]:
    """Yield the coded rows of a part, a block at a time, or a part of it if it has very many columns."""
    bytes_per_row = grid.n_columns * max(grid.code_type.itemsize, grid.rest_type.itemsize)
    n_rows = max(1, most_bytes // bytes_per_row)
    for table in tables(batches):
        for block in coding.blocks(table, grid):
            for start in range(0, block.n_rows, n_rows):
                codes, rests = block.codes[:, start : start + n_rows], block.rests[:, start : start + n_rows]
                yield {
                    "codes": [codes.tobytes()],
                    "rests": [rests.tobytes()],
                    "n_rows": [codes.shape[1]],
                    "block": [_new_number()],
                }


class _Held:
    """Rows of the fit that this process was last asked for, by the numbers of their blocks: the first ones, up to a number of bytes.

    They are forgotten when nothing was asked for a while, if the process lives on.
    """

    def __init__(self) -> None:
        self._timer: Timer | None = None
        self._forget()

    def _forget(self) -> None:
        # In this order: if rows are put meanwhile, which runs in another thread, too many bytes are counted and not too few.
        self._n_bytes = 0
        self._rows: dict[int, PlacedRows] = {}
        self._fit: int | None = None

    def get(self, fit: int, block: int) -> PlacedRows | None:
        """Return the rows of a block, or None if they are not held."""
        return self._rows.get(block) if fit == self._fit else None

    def put(self, fit: int, block: int, rows: PlacedRows, most_bytes: int) -> None:
        """Hold the rows of a block, if they fit."""
        if fit != self._fit:
            self._forget()
            self._fit = fit
        before = self._rows.get(block)
        n_bytes = self._n_bytes + rows.n_bytes - (0 if before is None else before.n_bytes)
        if n_bytes <= most_bytes:
            self._rows[block], self._n_bytes = rows, n_bytes

    def for_now(self) -> None:
        """Forget everything unless something is asked for within a minute."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = Timer(_SECONDS_HELD, self._forget)
        self._timer.daemon = True
        self._timer.start()


_HELD = _Held()


def _answered(
    grid: Grid, fit: int, most_held: int, question: Question, moves: Sequence[Move], batches: Batches
) -> Iterator[dict[str, Any]]:
    """Yield the answer of a part. Where blocks come without codes, it is that of those which this process holds."""
    total, n_rows, not_held = question.zero(), 0, []
    try:
        for number, block in _numbered_blocks(grid, batches):
            rows = _HELD.get(fit, number) or (None if block is None else PlacedRows.of(block))
            if rows is None:
                not_held.append(number)
                continue
            rows = rows.after(moves, question.needs_rests)
            _HELD.put(fit, number, rows, most_held)
            rows.add_answer(question, total)
            n_rows += len(rows.node)
    finally:
        _HELD.for_now()
    yield {"answer": [total.tobytes()], "n_rows": [n_rows], "not_held": [not_held]}


def _mapped_rows(given: _Output, make: Made, output: _Output, rows: Iterator[Any]) -> Iterator[dict[str, Any]]:
    """Yield what is made of rows of an RDD, which are an `_Output` of other tasks."""
    found = (row if isinstance(row, dict) else row.asDict() for row in rows)
    batches = (given.batch(**{name: [value] for name, value in row.items()}) for row in found)
    for made in _guarded(True, make, output, batches):
        yield from made.to_pylist()


def _numbered(part: int, rows: Iterator[Any]) -> Iterator[tuple[int, Any]]:
    return ((part, row) for row in rows)


def _numbered_blocks(grid: Grid, batches: Batches) -> Iterator[tuple[int, CodedBlock | None]]:
    """Yield the numbers of blocks, and the blocks where they come along."""
    for batch in batches:
        numbers, n_rows = batch.column("block").to_pylist(), batch.column("n_rows").to_pylist()
        if "codes" not in batch.schema.names:
            yield from zip(numbers, repeat(None))
            continue
        for i, number in enumerate(numbers):
            codes, rests = (
                np.frombuffer(batch.column(name)[i].as_py(), dtype=kind).reshape(-1, n_rows[i])
                for name, kind in (("codes", grid.code_type), ("rests", grid.rest_type))
            )
            yield number, CodedBlock.of(grid, codes, rests)


def _added(batches: Batches) -> Iterator[dict[str, Any]]:
    """Yield the sum of the answers of several tasks."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    if rows:
        answers = [np.frombuffer(row["answer"], dtype=np.int64) for row in rows]
        not_held = [number for row in rows for number in row["not_held"]]
        yield {
            "answer": [added(answers).tobytes()],
            "n_rows": [sum(row["n_rows"] for row in rows)],
            "not_held": [not_held],
        }


def _sorted_columns(coding: Coding, tables: Tables, share: float, batches: Batches) -> Iterator[dict[str, Any]]:
    """Yield the sorted columns of a share of the rows of a part, one at a time."""
    columns = SortedColumns.together([coding.columns(table, share) for table in tables(batches)])
    for number, (values, counts) in enumerate(zip(columns.values, columns.counts, strict=True)):
        yield {"number": [number], "values": [values.tobytes()], "counts": [counts.tobytes()]}


def _gap_counts(thresholds: NDArray[np.float64], batches: Batches) -> Iterator[dict[str, Any]]:
    """Yield how many gaps of some columns, of all parts, are within each threshold, and then how many there are."""
    parts: dict[int, list[SortedColumns]] = {}
    for row in (row for batch in batches for row in batch.to_pylist()):
        values, counts = np.frombuffer(row["values"]), np.frombuffer(row["counts"], dtype=np.int64)
        parts.setdefault(row["number"], []).append(SortedColumns([values], [counts]))
    total = np.zeros(len(thresholds) + 1, dtype=np.int64)
    for columns in parts.values():
        within, n_gaps = SortedColumns.together(columns).gap_counts(thresholds)
        total += np.append(within, n_gaps)
    yield {"answer": [total.tobytes()]}


def _labels(
    reader: Reader, label: Callable[[Table], NDArray[np.int32]], columns: Sequence[pa.Array], names: Sequence[str]
) -> pa.Array:
    """Return the labels of some rows. Errors are raised, because there is nobody to ask for a `Failure`, but tell no values."""

    def found() -> NDArray[np.int32]:
        return label(reader.table(pa.table(list(columns), list(names))))

    return pa.array(raised(guarded(found)), pa.int32())
