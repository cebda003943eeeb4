"""Who stands at a door: a journal, which keeps what was released."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Journal"]


class Journal(Protocol):
    """Keeps what was released, so that a run that was killed goes on without drawing it again."""

    def recall(self, name: str, level: int | None, cost: float, shape: tuple[int, ...]) -> NDArray[np.int64] | None:
        """Return what this draw released in an earlier part of the run, at this cost; None if it was not made yet."""
        ...

    def keep(self, name: str, level: int | None, cost: float, released: NDArray[np.int64]) -> None:
        """Keep what a draw releases, so that it outlasts this process; if it raises, nobody gets to see the value."""
        ...
