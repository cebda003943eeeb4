"""Where a table is, told by its type: each engine has its kind of source, and its library is imported only for that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpmondrian.engines.base import Engine
from dpmondrian.engines.local import LocalSource
from dpmondrian.engines.store import Resources
from dpmondrian.schema import Coordinates
from dpmondrian.tables import PersonLimit, Reader, Table, open_table

Answer = TypeVar("Answer")


class EngineSource(Protocol):
    """A table that was checked for its columns and their types, and of which no row has been looked at."""

    @property
    def head(self) -> Table:
        """The table without its rows."""
        ...

    def engine(
        self, coordinates: Coordinates, on_missing: str, limit: PersonLimit | None, resources: Resources
    ) -> Engine:
        """Return an engine on the rows, of which each person keeps as many as the limit allows."""
        ...

    def labels(self, label: Callable[[Table], NDArray[np.int32]], resources: Resources) -> Any:
        """Return the labels of all rows in the form that suits the table: an array, or a column that is computed later."""
        ...


def open_source(X: Any, reader: Reader, columns: Sequence[str] | None) -> EngineSource:
    """Return the source of a table on this machine (see `open_table`), or of a Spark or Dask table."""
    library = _library(X)
    if library in ("dask", "dask_expr"):
        from dpmondrian.engines.on_dask import DaskSource

        return DaskSource.of(X, reader)
    if library == "pyspark":
        from dpmondrian.engines.on_spark import SparkSource

        return SparkSource.of(X, reader)
    return LocalSource(open_table(X, reader, columns))


def with_thread_context(X: Any, function: Callable[[], Answer]) -> Callable[[], Answer]:
    """Return a function for another thread, with what the library of a table knows about this one."""
    if _library(X) != "pyspark":
        return function
    from dpmondrian.engines.on_spark import with_local_properties

    return with_local_properties(X, function)


def _library(X: Any) -> str:
    return type(X).__module__.split(".")[0]
