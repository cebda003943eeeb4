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
    """What a fit on this machine may use of it. Nothing of it changes the result.

    Attributes
    ----------
    memory : int or None
        Bytes of coded rows that are held in memory, two for most values; the others go to a temporary file that has no
        name and that only its owner can read. None: 1 GiB for tables that are streamed, no limit for those that are in
        memory, whose codes are smaller than they are. Reading and counting take a few hundred megabytes besides.
    threads : int or None
        Most threads; None for as many as the machine has, up to eight.
    folder : str, path or None
        Where the temporary file is made; None for ``TMPDIR``, or the system's folder for temporary files if that is not set.
    reading : callable or None
        Told how much of a streamed table is read, and how much there is: bytes of files, else rows and None. For a bar
        only: it is exact. Begins anew with each pass; with `person_id` there are two.
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
                    rule=f"must be a whole number, at least {least}, or None",
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
                way_out="Leave it out.",
            )

    @property
    def streamed_memory(self) -> int:
        """Bytes of coded rows of a streamed table to hold in memory."""
        return STREAMED_MEMORY if self.memory is None else self.memory
