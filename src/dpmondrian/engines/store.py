"""Arrays of coded rows: in memory up to a limit, beyond it in a temporary file without a name."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import DataError, ParameterError, WayOut

STREAMED_MEMORY = 2**30  # bytes of coded rows of streamed tables that are held in memory unless something else is said


Kept: TypeAlias = "_InMemory | _InFile"


@dataclass(frozen=True)
class Resources:
    """Limits on the resources that a fit on this machine may use. They do not affect the result.

    Attributes
    ----------
    memory : int or None
        Bytes of encoded rows to keep in memory; most values take three bytes, a row at least 16. The rest goes to an unnamed temporary
        file that only its owner can read. If None, 1 GiB for streamed tables, and no limit for tables in memory. Reading and counting
        need a few hundred megabytes in addition.
    threads : int or None
        Maximum number of threads. If None, one per core, up to eight.
    folder : str, path or None
        Folder for the temporary file. If None, ``TMPDIR``, or the system's temporary folder if that is not set.
    reading : callable or None
        Called with how much of a streamed table has been read and the total: bytes for files, otherwise rows and None. Use it
        only for a progress bar, because the numbers are exact. Restarts with each pass; with `person_id` there are two.

    Examples
    --------
    >>> from dpmondrian import DPM, Resources
    >>> model = DPM(bounds=(0, 1)).fit([[0.5]] * 1000, resources=Resources(memory=2**29, threads=2))
    """

    memory: int | None = None
    threads: int | None = None
    folder: str | Path | None = None
    reading: Callable[[int, int | None], None] | None = None

    def __post_init__(self) -> None:
        for name, value, least in (("memory", self.memory, 0), ("threads", self.threads, 1)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < least):
                raise ParameterError.broken(
                    name, f"must be an integer >= {least}, or None", value, WayOut.LET_DPM_CHOOSE, of="Resources"
                )
        if not isinstance(self.folder, str | Path | None):
            raise ParameterError(
                parameter="folder",
                of="Resources",
                rule="must be the path of a folder, or None",
                value=self.folder,
                way_out="Use None for the folder in TMPDIR.",
            )
        if self.reading is not None and not callable(self.reading):
            raise ParameterError.broken(
                "reading", "must be a function, or None", self.reading, "Omit it.", of="Resources"
            )

    @property
    def streamed_memory(self) -> int:
        """Bytes of coded rows of a streamed table to hold in memory."""
        return STREAMED_MEMORY if self.memory is None else self.memory


class Store:
    """Keeps arrays: the first ones in memory, up to a number of bytes (None: all), the others in a file.

    The file is opened in `folder` (None: ``TMPDIR``, or the system's folder if that is not set), can be read by its owner
    only, and has no name from the beginning or from the moment it was made on: it is gone when the store is closed or the
    process ends, however that happens. Use it as a context manager.
    """

    def __init__(self, most_bytes: int | None = None, folder: str | Path | None = None) -> None:
        self._most_bytes = most_bytes
        # A TMPDIR that cannot be used must not be passed over in silence: somebody chose it, perhaps because it is encrypted.
        self._folder = folder or os.environ.get("TMPDIR")
        self._lock = Lock()
        self._in_memory = 0
        self._file: Any = None
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    @property
    def spilled_bytes(self) -> int:
        """Bytes in the file (exact: stays inside)."""
        return self._end

    def clear(self) -> None:
        """Forget all arrays and give the file back."""
        if self._file is not None:
            self._file.close()
        self._file, self._end, self._in_memory = None, 0, 0

    def keep(self, array: NDArray[Any]) -> Kept:
        """Keep a C-contiguous array."""
        with self._lock:
            if self._most_bytes is None or self._in_memory + array.nbytes <= self._most_bytes:
                self._in_memory += array.nbytes
                return _InMemory(array)
            if self._file is None:
                self._file = self._opened()
            begin, self._end = self._end, self._end + array.nbytes
        kept = _InFile(self._file.fileno(), begin, array.shape, array.dtype)
        kept.put(array)
        return kept

    def exchanged(self, old: Sequence[Kept], n_bytes: int) -> bool:
        """Return whether so much may be held in memory in the place of arrays that are there, which are then forgotten."""
        if not all(kept.in_memory for kept in old):
            return False
        with self._lock:
            in_memory = self._in_memory + n_bytes - sum(kept.get().nbytes for kept in old)
            if self._most_bytes is not None and in_memory > self._most_bytes:
                return False
            self._in_memory = in_memory
        for kept in old:
            kept.put(np.empty(0, dtype=np.uint8))
        return True

    def _opened(self) -> Any:
        try:
            return tempfile.TemporaryFile(buffering=0, dir=self._folder)
        except OSError as error:
            reason = error.strerror
        raise DataError(
            f"The encoded rows exceed the memory limit, and no temporary file could be created: {reason}.",
            WayOut.OTHER_FOLDER,
        )


@dataclass(repr=False)
class _InMemory:
    """An array that is kept in memory. Changes to what `get` returns last only if they are `put` back."""

    array: NDArray[Any]
    in_memory: ClassVar[bool] = True

    def get(self) -> NDArray[Any]:
        return self.array

    def put(self, array: NDArray[Any]) -> None:
        self.array = array


@dataclass(frozen=True)
class _InFile:
    """The same in a file; what is put must have the same shape and type."""

    descriptor: int
    begin: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    in_memory: ClassVar[bool] = False

    def get(self) -> NDArray[Any]:
        array = np.empty(self.shape, dtype=self.dtype)
        rest, done = array.reshape(-1).view(np.uint8), 0
        while done < array.nbytes:
            n_bytes = os.preadv(self.descriptor, [rest[done:].data], self.begin + done)
            if n_bytes == 0:
                raise DataError(
                    "The temporary file of encoded rows is shorter than what was written to it.", "Run it again."
                )
            done += n_bytes
        return array

    def put(self, array: NDArray[Any]) -> None:
        rest, done = np.ascontiguousarray(array).reshape(-1).view(np.uint8), 0
        reason = None
        while done < array.nbytes and reason is None:
            try:
                done += os.pwrite(self.descriptor, rest[done:].data, self.begin + done)
            except OSError as error:
                reason = error.strerror
        if reason is not None:
            raise DataError(
                f"The encoded rows could not be written to a temporary file: {reason}. Nothing was left behind.",
                WayOut.MORE_SPACE,
            )
