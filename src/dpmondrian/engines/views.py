"""A table as the algorithm sees it: coordinates in place of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema import Coordinates
from dpmondrian.tables import Table

__all__ = ["view_of"]


def view_of(table: Table, coordinates: Coordinates, on_missing: str) -> Table:
    """Return a table with coordinates in its blocks; the table itself if they are the values."""
    if coordinates.plain:
        return table
    names = coordinates.schema.names
    return _View(
        names=names,
        named=table.named,
        whole=(False,) * len(names),
        n_rows=table.n_rows,
        _source=table,
        text_names=table.text_names,
        of_rows=lambda block: coordinates.of_rows(block, fill_missing=on_missing == "middle"),
    )


@dataclass(frozen=True, kw_only=True)
class _View(Table):
    """A table whose blocks are made from those of another one, its source."""

    of_rows: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def block(self, start: int) -> NDArray[np.float64]:
        return self.of_rows(self._source.block(start))

    def own_blocks(self) -> Iterator[NDArray[Any]]:
        return self.blocks()
