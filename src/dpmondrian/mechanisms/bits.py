"""Where random bits come from: the operating system, or a seed for research."""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["BitSource", "SecureBits", "SeededBits"]


_PAGE_WORDS = 512


class BitSource(Protocol):
    """A stream of uniform 64-bit words."""

    secure: bool

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return `size` fresh uniform words."""
        ...

    def child(self, *path: str | int) -> BitSource:
        """Return the stream that belongs to a named purpose."""
        ...


class SecureBits:
    """Bits of the operating system's cryptographic generator (`os.urandom`), fetched a page at a time."""

    secure = True

    def __init__(self) -> None:
        self._page = np.empty(0, dtype=np.uint64)
        self._process = os.getpid()

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return `size` fresh uniform words; none is handed out twice, not even by a forked process."""
        if size > self._page.size or self._process != os.getpid():
            self._process = os.getpid()
            self._page = np.frombuffer(os.urandom(8 * max(size, _PAGE_WORDS)), dtype=np.uint64)
        taken, self._page = self._page[:size], self._page[size:]
        return taken

    def child(self, *path: str | int) -> SecureBits:
        """Return this same stream: secure bits need no separate streams."""
        return self


class SeededBits:
    """Reproducible bits. Whoever knows the seed can remove the noise: never for a release.

    Each purpose has a stream of its own, named by a path such as ``("counts", 3)``, so the order of
    draws, the engine and the number of threads change nothing and no two draws share noise.
    """

    secure = False

    def __init__(self, seed: int, path: tuple[str | int, ...] = ()) -> None:
        self._seed = seed
        self._path = path
        digest = hashlib.sha256(repr((seed, path)).encode()).digest()
        self._generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return the next `size` words of this stream."""
        return self._generator.integers(0, 2**64, size=size, dtype=np.uint64)

    def child(self, *path: str | int) -> SeededBits:
        """Return the stream that belongs to a named purpose."""
        return SeededBits(self._seed, self._path + path)
