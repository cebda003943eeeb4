"""Threads over parts of the rows. The kernels release the interpreter's lock, so parts run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Self, TypeVar

__all__ = ["Threads"]

_MOST_THREADS = 8
_ROWS_PER_THREAD = 25_000
"""Fewer rows than this are not worth a thread."""

Part = TypeVar("Part")
Answer = TypeVar("Answer")


class Threads:
    """As many threads as `n_rows` are worth; none where one would do. Use it as a context manager."""

    def __init__(self, n_rows: int, most: int | None = None) -> None:
        self.n_parts = max(1, min(most or _MOST_THREADS, os.cpu_count() or 1, n_rows // _ROWS_PER_THREAD))
        # The calling thread takes a share of the parts itself.
        self._pool = ThreadPoolExecutor(self.n_parts - 1) if self.n_parts > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, function: Callable[[Part], Answer], parts: Sequence[Part]) -> list[Answer]:
        """Return what the function answers on each part, in order."""
        if self._pool is None or len(parts) < 2:
            return [function(part) for part in parts]
        shares = [parts[share] for share in self.row_parts(len(parts))]

        def work(share: Sequence[Part]) -> list[Answer]:
            return [function(part) for part in share]

        waiting = [self._pool.submit(work, share) for share in shares[1:]]
        return work(shares[0]) + [answer for future in waiting for answer in future.result()]

    def row_parts(self, n_rows: int) -> list[slice]:
        """Return the rows in even parts, one per thread."""
        edges = [n_rows * part // self.n_parts for part in range(self.n_parts + 1)]
        return [slice(start, stop) for start, stop in pairwise(edges)]
