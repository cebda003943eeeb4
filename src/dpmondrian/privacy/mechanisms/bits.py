"""Where random bits come from: the operating system, or a seed for research.

Secure bits are tested for what a broken generator does: the same again. Before the first draw of a process, two reads of
the system's generator and two vectors of OpenDP's must differ; all words that are read later pass the repetition count test
of NIST SP 800-90B. A sound generator fails with a probability below 2**-44 at the start and 2**-63 per word. A test cannot
show that bits are secret, only that they are not stuck.
"""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import RandomnessError
from dpmondrian.privacy.draws import LAPLACE

_PAGE_WORDS = 512
_OPENDP_SCALE, _OPENDP_DRAWS = 2.0**40, 4  # two such vectors are equal with a probability below 2**-160

_tested_process: int | None = None
"""The process in which the generators were tested; one that was forked off tests them again."""
_last_first_word: int | None = None
"""The first word of the last read."""


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
        self._page = _tested_page()
        self._process = os.getpid()

    def words(self, size: int) -> NDArray[np.uint64]:
        """Return `size` fresh uniform words; none is handed out twice, not even by a forked process.

        Raises
        ------
        RandomnessError
            If the system has no secure generator, or it repeats itself. No word was handed out then.
        """
        if self._process != os.getpid():
            self._page = _tested_page()
            self._process = os.getpid()
        if size > self._page.size:
            self._page = _read(max(size, _PAGE_WORDS))
        taken, self._page = self._page[:size], self._page[size:]
        return taken

    def child(self, *path: str | int) -> SecureBits:
        """Return this same stream: secure bits need no separate streams."""
        return self


def _tested_page() -> NDArray[np.uint64]:
    """Return words for the first draws: a page that has just been tested, or none if this process tested before."""
    global _tested_process
    if _tested_process == os.getpid():
        return np.empty(0, dtype=np.uint64)
    page, other = _read(_PAGE_WORDS), _read(_PAGE_WORDS)
    together = np.concatenate([page, other])
    if np.unique(together).size < together.size:
        raise _broken("the system's generator repeats itself")
    _test_opendp()
    _tested_process = os.getpid()
    return page


def _read(size: int) -> NDArray[np.uint64]:
    """Return words of the system's generator, none of which is the same as the one before, in this read or the last one."""
    global _last_first_word
    try:
        page = np.frombuffer(os.urandom(8 * size), dtype=np.uint64)
    except (OSError, NotImplementedError, ValueError):
        raise _broken("the system's generator cannot be read") from None
    if page.size != size or np.any(page[1:] == page[:-1]) or page[0] == _last_first_word:
        raise _broken("the system's generator is stuck")
    _last_first_word = int(page[0])
    return page


def _test_opendp() -> None:
    """Refuse OpenDP's generator, which has its own way to the system, if it gives the same noise twice or none."""
    from dpmondrian.privacy.mechanisms import sampler

    one, other = (sampler.opendp_noise(LAPLACE, _OPENDP_SCALE, _OPENDP_DRAWS) for _ in range(2))
    if np.array_equal(one, other) or np.ptp(one) == 0:
        raise _broken("OpenDP's generator repeats itself")


def _broken(reason: str) -> RandomnessError:
    return RandomnessError(
        f"No secure randomness is available: {reason}. Nothing was drawn. Results from this system must not be released; repair it, or use another one."
    )


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
