"""Time per pass of a fit: every question to the engine, and beside it a pass that only reads the codes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

import numba
import numpy as np

from dpmondrian.engines import CodedBlock, Engine, Grid, LocalEngine, Question

READINGS = 5


@dataclass
class Passes:
    """What was asked in a fit, in order.

    Attributes
    ----------
    asked : list of (str, int, float)
        Kind of question, number of moves of the rows before it, by which levels are told apart, and seconds. Rows move
        together with the next question, so its time includes that.
    reading : float or None
        Seconds of a pass that only reads the codes, for engines on this machine.
    code_bytes, spilled_bytes : int or None
        Bytes of the codes, and of all that lies in the temporary file.
    extra : float
        Seconds that the fit took longer because of the passes that only read.
    """

    asked: list[tuple[str, int, float]] = field(default_factory=list)
    reading: float | None = None
    code_bytes: int | None = None
    spilled_bytes: int | None = None
    extra: float = 0.0

    def read(self, engine: LocalEngine) -> None:
        """Time passes that only read the codes: the same blocks, threads and places as in the fit."""
        started = time.perf_counter()
        seconds = [_timed(lambda: engine.total(_CodesRead()))[1] for _ in range(READINGS)]
        self.reading = statistics.median(seconds)
        self.code_bytes = int(engine.total(_CodesRead())[1])
        self.spilled_bytes = engine._store.spilled_bytes
        self.extra += time.perf_counter() - started


@contextmanager
def watched() -> Iterator[Passes]:
    """Yield the passes of the fits that are made meanwhile."""
    passes = Passes()
    encode = Engine.encode

    def timed_encode(engine: Engine, grid: Grid) -> int:
        n_rows, seconds = _timed(lambda: encode(engine, grid))
        passes.asked.append(("encode", 0, seconds))
        if isinstance(engine, LocalEngine):
            passes.read(engine)
        total = engine.total

        def timed_total(question: Question) -> np.ndarray:
            answer, seconds = _timed(lambda: total(question))
            passes.asked.append((type(question).__name__, len(engine.moves_since()), seconds))
            return answer

        engine.total = timed_total
        return n_rows

    Engine.encode = timed_encode
    try:
        yield passes
    finally:
        Engine.encode = encode


def _timed(function: Callable[[], object]) -> tuple[object, float]:
    started = time.perf_counter()
    answer = function()
    return answer, time.perf_counter() - started


class _CodesRead:
    """The sum of all codes, and how many bytes they have."""

    needs_rests: ClassVar[bool] = False

    def zero(self) -> np.ndarray:
        return np.zeros(2, dtype=np.int64)

    def add(self, block: CodedBlock, node: np.ndarray, total: np.ndarray) -> None:
        total += (_sum(block.codes), block.codes.nbytes)


@numba.njit(nogil=True, cache=True)
def _sum(codes):
    total = 0
    for column in codes:
        for code in column:
            total += code
    return total
