"""What a fit on this machine may use of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path

from dpmondrian.exceptions import ParameterError, WayOut

__all__ = ["STREAMED_MEMORY", "Resources"]

STREAMED_MEMORY = 2**30
"""Bytes of coded rows of streamed tables that are held in memory unless something else is said."""


@dataclass(frozen=True)
class Resources:
    """Limits on the resources that a fit on this machine may use. They do not affect the result.

    Attributes
    ----------
    memory : int or None
        Bytes of encoded rows to keep in memory; most values take two bytes. The rest goes to an unnamed temporary file that only
        its owner can read. If None, 1 GiB for streamed tables, and no limit for tables in memory, whose codes are smaller than
        the tables themselves. Reading and counting need a few hundred megabytes in addition.
    threads : int or None
        Maximum number of threads. If None, one per core, up to eight.
    folder : str, path or None
        Folder for the temporary file. If None, ``TMPDIR``, or the system's temporary folder if that is not set.
    reading : callable or None
        Called with how much of a streamed table has been read and the total: bytes for files, otherwise rows and None. Use it
        only for a progress bar, because the numbers are exact. Restarts with each pass; with `person_id` there are two.
    """

    memory: int | None = None
    threads: int | None = None
    folder: str | Path | None = None
    reading: Callable[[int, int | None], None] | None = None

    def __post_init__(self) -> None:
        for name, value, least in (("memory", self.memory, 0), ("threads", self.threads, 1)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < least):
                raise ParameterError(
                    parameter=name,
                    of="Resources",
                    rule=f"must be an integer >= {least}, or None",
                    value=value,
                    way_out=WayOut.LET_DPM_CHOOSE,
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
            raise ParameterError(
                parameter="reading",
                of="Resources",
                rule="must be a function, or None",
                value=self.reading,
                way_out="Omit it.",
            )

    @property
    def streamed_memory(self) -> int:
        """Bytes of coded rows of a streamed table to hold in memory."""
        return STREAMED_MEMORY if self.memory is None else self.memory
