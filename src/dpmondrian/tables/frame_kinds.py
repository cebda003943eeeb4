"""Frames for results, of the library that the rows came from."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

_LIBRARIES = ("pandas", "polars")


def frames_of(X: Any) -> str | None:
    """Return the library of a table in memory or on disk: "polars" or "pandas"; None for whatever else it is."""
    library = type(X).__module__.partition(".")[0]
    return library if library in _LIBRARIES else None


def frame_of(columns: Mapping[str, Any], library: str | None) -> Any:
    """Return columns as a frame of a library; without one, of the first that is installed, or an Arrow table."""
    for name in (library,) if library else _LIBRARIES:
        try:
            module = import_module(name)
        except ImportError:
            continue
        return module.DataFrame({key: _plain(values) for key, values in columns.items()})
    import pyarrow

    return pyarrow.table(dict(columns))


def _plain(values: Any) -> Any:
    """Return texts as a list, of which every library makes a column of texts."""
    return values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind == "O" else values
