"""Files that are an account of something: a regular file of one name, which one process at a time may change."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["NotTakenError", "acquire_lock", "error_name", "open_single"]


class NotTakenError(ValueError):
    """The path leads to something that may be whole, but is not safe as such a file; the text says what to do."""


def open_single(path: Path, flags: int) -> tuple[int, os.stat_result]:
    """Return the handle of a regular file of one name, and what the system says about it.

    Raises
    ------
    NotTakenError
        If it is a link, has several names, or is no regular file.
    OSError
        If it cannot be opened.
    """
    if path.is_symlink():
        # Its lock would be another one than that of the file itself.
        raise NotTakenError("is a symbolic link, and links are refused. Give the path of the file itself")
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # not every system has them all
        flags |= getattr(os, name, 0)
    handle = os.open(path, flags)
    try:
        file = os.fstat(handle)
        if not stat.S_ISREG(file.st_mode):
            raise NotTakenError("is not a regular file. Give the path of a file")
        if file.st_nlink > 1:  # the other names would keep the old content
            raise NotTakenError("is linked under several names, and links are refused. Keep one of the names")
    except BaseException:
        os.close(handle)
        raise
    return handle, file


def acquire_lock(path: Path, timeout: float) -> BaseFileLock:
    """Return the held lock of a file, a file beside it; the lock of a killed process is free.

    Raises
    ------
    NotTakenError
        If there is no folder for the file.
    TimeoutError
        If another process holds the lock for so many seconds.
    OSError
        If it cannot be locked.
    """
    from filelock import FileLock

    if not path.absolute().parent.is_dir():  # the lock would make it
        raise NotTakenError("lies in a folder that does not exist. Check the path, or make the folder")
    lock = FileLock(f"{path}.lock", timeout=timeout, mode=0o600)
    lock.acquire(poll_interval=0.01)
    return lock


def error_name(error: OSError) -> str:
    """Return the name that the system has for an error, such as ENOSPC."""
    return errno.errorcode.get(error.errno or 0, type(error).__name__)
