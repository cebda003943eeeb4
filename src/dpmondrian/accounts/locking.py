"""Files that are an account of something: a regular file of one name, which one process at a time may change."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dpmondrian.common.locks import lock

if TYPE_CHECKING:
    from filelock import BaseFileLock

_POLL_SECONDS = 0.01


class NotTakenError(ValueError):
    """The path leads to something that may be whole, but is not safe as such a file; the text says what to do."""


def open_single(path: Path, flags: int) -> tuple[int, os.stat_result]:
    """Return the handle of a regular file of one name, and what the system says about it.

    Raises `NotTakenError` if it is a link, has several names, is no regular file, or is to be written and read-only: also for
    the superuser, whom the system would let.
    """
    if path.is_symlink():
        # Its lock would be another one than that of the file itself.
        raise NotTakenError("is a symbolic link, and links are not accepted. Pass the path of the file itself")
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):  # not every system has them all
        flags |= getattr(os, name, 0)
    handle = os.open(path, flags)
    try:
        file = os.fstat(handle)
        if not stat.S_ISREG(file.st_mode):
            raise NotTakenError("is not a regular file. Pass the path of a regular file")
        if file.st_nlink > 1:  # the other names would keep the old content
            raise NotTakenError("has several hard links, and links are not accepted. Keep only one of the names")
        if flags & os.O_RDWR and not file.st_mode & 0o222:
            raise NotTakenError(
                f"is read-only (mode {stat.S_IMODE(file.st_mode):04o}) and was not changed. If it is still in use, make it writable: chmod u+w"
            )
    except BaseException:
        os.close(handle)
        raise
    return handle, file


def open_locked(path: Path, timeout: float) -> tuple[int, os.stat_result]:
    """Return the handle of a file that is to be replaced, locked, and what the system says about it.

    The lock is on the file itself and ends when the handle is closed. A file that was replaced while this process waited is
    opened again, so what is locked is what has the name. Raises TimeoutError if another process holds the lock for so many
    seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        handle, file = open_single(path, os.O_RDWR)
        try:
            if lock(handle) and os.path.samestat(file, os.stat(path)):
                return handle, file
        except FileNotFoundError:  # between deleting and replacing; opening it again tells
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_POLL_SECONDS)


def acquire_lock(path: Path, timeout: float) -> BaseFileLock:
    """Return the held lock of a file, a file beside it; the lock of a killed process is free.

    Raises TimeoutError if another process holds it for so many seconds, `NotTakenError` if there is no folder for the file.
    """
    from filelock import FileLock

    if not path.absolute().parent.is_dir():  # the lock would make it
        raise NotTakenError("is in a folder that does not exist. Check the path, or create the folder")
    beside = FileLock(f"{path}.lock", timeout=timeout, mode=0o600)
    beside.acquire(poll_interval=_POLL_SECONDS)
    return beside


def error_name(error: OSError) -> str:
    """Return the name that the system has for an error, such as ENOSPC."""
    return errno.errorcode.get(error.errno or 0, type(error).__name__)
