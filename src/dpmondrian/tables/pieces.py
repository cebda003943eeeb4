"""What a format says about a file: its head, read once, and then its rows piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Head", "Piece", "ready"]


@dataclass(frozen=True)
class Head:
    """What is known about a file before its rows are read; it is small, whatever the size of the file.

    Attributes
    ----------
    names : tuple of str
        All columns in order; one without a name is empty.
    kinds : dict of str to str
        Kind of every column that has a name: "whole", "number", "truth", "text", "date" or "unknown".
    has_rows : bool or None
        None if only the rows themselves tell.
    schema : pyarrow.Schema or None
        The types, if the format has any.
    column_bytes : mapping or None
        Bytes of each column in the file, where columns can be read alone.
    """

    names: tuple[str, ...]
    kinds: dict[str, str]
    has_rows: bool | None = None
    schema: pyarrow.Schema | None = field(default=None, repr=False)
    column_bytes: Mapping[str, int] | None = field(default=None, repr=False)

    @classmethod
    def without_types(cls, names: Iterable[str], has_rows: bool | None = None) -> Head:
        """Return the head of a file that says nothing about types: they could only be guessed from values."""
        names = tuple(names)
        return cls(names, {name: "unknown" for name in names if name}, has_rows)


class Piece(NamedTuple):
    """Some rows of a table; the pieces of a table come in the order of its rows.

    Attributes
    ----------
    read : callable
        Returns the rows. Several threads may read different pieces at once, each piece once.
    done, total : int, int or None
        What is read of the file with this piece, and what there is: bytes, or for a database rows and None. For a bar only.
    """

    read: Callable[[], pyarrow.Table]
    done: int
    total: int | None


def ready(batch: Any, done: int, total: int | None) -> Piece:
    """Return a record batch that is read already as a piece."""
    import pyarrow

    return Piece(lambda: pyarrow.Table.from_batches([batch]), done, total)
