"""A part of a file's rows, which is read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Piece", "ready"]


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
