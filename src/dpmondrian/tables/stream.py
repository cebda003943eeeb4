"""What a streamed table is to those who read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from dpmondrian.exceptions import DataError
from dpmondrian.schema import kind_to_read
from dpmondrian.tables.conversion import Kind
from dpmondrian.tables.failures import check_names
from dpmondrian.tables.frames import Reader, Table
from dpmondrian.tables.source import Origin

if TYPE_CHECKING:
    import pyarrow


Progress: TypeAlias = "Callable[[int, int | None], None]"
Pieces: TypeAlias = "Callable[..., Iterator[Callable[[], Table]]]"


@dataclass(frozen=True)
class Stream:
    """A table that is read piece by piece.

    Attributes
    ----------
    head : Table
        The table without its rows: names and types.
    pieces : callable
        ``pieces(progress=None)`` begins a pass: it returns an iterator of functions without arguments, each of which returns
        some rows, as a table with the names and types of the head. The rows come in order, and every pass divides them in the
        same way. The functions may be called by several threads at once, each once. The iterator may be asked by one thread at
        a time; take a function from it when a thread is free to call it, because it may hold its rows already.

        `progress` is called with what is read and what there is: bytes of files, else rows and None. For a bar only: it is
        exact. Threads call it one at a time.
    """

    head: Table
    pieces: Pieces = field(repr=False)


@dataclass(frozen=True)
class TableMaker:
    """Makes tables of what is read in one pass, all with the types of the head."""

    reader: Reader
    head: Table
    count: _Count

    @classmethod
    def begun(cls, reader: Reader, head: Table, progress: Progress | None, total: int | None) -> TableMaker:
        """Return one for a pass that begins."""
        return cls(reader.of_streams, head, _Count(progress, total))

    def table(self, rows: pyarrow.Table, size: int) -> Table:
        """Return rows as a table, and count their size."""
        table = replace(self.reader.table(rows), whole=self.head.whole)
        self.count.add(size)
        return table


class _Count:
    """Counts what is done by all threads."""

    def __init__(self, progress: Progress | None, total: int | None) -> None:
        self._progress, self._total = progress, total
        self._done, self._lock = 0, Lock()
        self.add(0)

    def add(self, size: int) -> None:
        with self._lock:
            self._done += size
            if self._progress is not None:
                self._progress(self._done, self._total)


def wanted_kinds(
    origin: Origin, names: Sequence[str], columns: Sequence[str] | None, reader: Reader
) -> dict[str, Kind]:
    """Return what each wanted column is read as, in the order of the table; refuse names that it does not have.

    `names` are all columns of the table, `columns` those to cluster; None for all but the one of persons. JSON lines have no
    order of their own: there it is that of `columns`.
    """
    if columns is None and origin.format == "JSON lines":
        # The first object is somebody's row: its keys must decide neither which columns there are nor their order.
        raise DataError(
            f"{origin.title} has no header, so its columns must be named.",
            "Pass the bounds by name: {'age': (0, 120), 'bmi': (10, 60)}.",
        )
    wanted = [name for name in (names if columns is None else columns) if name != reader.person_id]
    persons = [] if reader.needed_person is None else [reader.needed_person]
    check_names(origin, names, [*wanted, *persons])
    if not wanted:
        raise DataError(f"{origin.title} has no columns to cluster.", "Pass at least one numeric column.")
    kinds: dict[str, Kind] = {name: kind_to_read(reader.written.get(name)) for name in wanted}
    kinds |= dict.fromkeys(persons, "id")
    order = list(kinds) if origin.format == "JSON lines" else names
    return {name: kinds[name] for name in order if name in kinds}
