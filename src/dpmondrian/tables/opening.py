"""The one way for a table on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpmondrian.tables.frames import Reader, Table
from dpmondrian.tables.streams import Stream, open_stream

__all__ = ["open_table"]


def open_table(X: Any, reader: Reader, columns: Sequence[str] | None) -> Table | Stream:
    """Return a table in memory as a view of it, and anything else as a stream; no row is looked at.

    Parameters
    ----------
    X : table
        In memory, or whatever can be read piece by piece: see `dpmondrian.tables.streams.open_stream`.
    reader : Reader
        How its parts are read.
    columns : sequence of str or None
        The columns to read where reading fewer than all saves time, such as from files; None for all.
    """
    stream = None if isinstance(X, np.ndarray) else open_stream(X, columns, reader)
    return reader.table(X) if stream is None else stream
