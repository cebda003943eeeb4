"""Threads over parts of the rows. The kernels release the interpreter's lock, so parts run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Self, TypeVar

__all__ = ["Threads"]

_MOST_THREADS = 8
_ROWS_PER_THREAD = 100_000
"""Fewer rows than this are not worth a thread."""

Part = TypeVar("Part")
Answer = TypeVar("Answer")


class Threads:
    """As many threads as `n_rows` are worth; none where one would do. Use it as a context manager."""

    def __init__(self, n_rows: int, most: int | None = None) -> None:
        self.n_parts = max(1, min(most or _MOST_THREADS, os.cpu_count() or 1, n_rows // _ROWS_PER_THREAD))
        self._pool = ThreadPoolExecutor(self.n_parts) if self.n_parts > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, function: Callable[[Part], Answer], parts: Iterable[Part]) -> Iterator[Answer]:
        """Return what the function answers on each part, in order."""
        return map(function, parts) if self._pool is None else self._pool.map(function, parts)

    def row_parts(self, n_rows: int) -> list[slice]:
        """Return the rows in even parts, one per thread."""
        edges = [n_rows * part // self.n_parts for part in range(self.n_parts + 1)]
        return [slice(start, stop) for start, stop in pairwise(edges)]
