"""Results on disk: a folder or a file that is there whole or not at all. Nothing else writes files."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from dpmondrian.common.interrupts import lasting, making
from dpmondrian.common.locks import CAN_LOCK, lock
from dpmondrian.exceptions import OutputError

RESERVED_BYTES = 16 * 2**20  # room that must be free before a budget is spent on something to write

_RESERVE, _LOCK = ".dpmondrian-reserved", ".dpmondrian-lock"


@contextmanager
def new_folder(path: str | Path, reserve_bytes: int = RESERVED_BYTES) -> Iterator[Path]:
    """Yield a hidden folder that becomes `path` when the block ends, and is removed when the block fails.

    `path` must not exist, or be an empty folder; its parent must exist. Disk space is reserved before the block begins, so
    that a full disk is found before anything is spent. It is held while the block computes, and given back by the first
    `write_file` into the folder, by `free_reserve`, or in the end. The folder and what becomes of it can be entered by its
    owner only. Hidden folders that killed runs left for the same `path` are removed first, unless somebody still holds them
    or they may have results in them.

    A finished folder that cannot get its name is kept, because it may have been paid for; the `OutputError` says where it is.
    """
    path = Path(path)
    with _explaining_errors(path):
        check_new_folder(path)
        _remove_left_folders(path)
    temporary = _hidden(path)
    with making(temporary), ExitStack() as unfinished, ExitStack() as stack:
        with _explaining_errors(path), lasting():
            unfinished.callback(shutil.rmtree, temporary, ignore_errors=True)
            temporary.mkdir(mode=0o700)
            stack.enter_context(_locked(temporary))
            _reserve(temporary / _RESERVE, reserve_bytes)
        with _explaining_errors(path, errno.ENOSPC, errno.EDQUOT, errno.EFBIG):  # which only writing has
            yield temporary
        with lasting(path, finished=temporary), _naming_what_is_finished(path, temporary):
            unfinished.pop_all()
            (temporary / _LOCK).unlink(missing_ok=True)
            free_reserve(temporary)
            _sync_tree(temporary)
            _take_place(temporary, path)


@contextmanager
def _naming_what_is_finished(path: Path, finished: Path) -> Iterator[None]:
    """Say where a finished folder is if it does not get to its place."""
    try:
        yield
    except OSError as error:
        problem, way_out = _meaning(path, error)
        kept = f"The results are complete and were kept in {str(finished)!r}: move them from there."
        raise OutputError(problem, f"{way_out} {kept}".strip()) from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock in a hidden folder, by which others see that it is not left over."""
    with ExitStack() as stack:
        if CAN_LOCK:  # else left folders stay
            # Under another name until it is held, so that nobody can hold it first.
            file = stack.enter_context((folder / f"{_LOCK}-new").open("xb"))
            lock(file.fileno())
            os.replace(file.name, folder / _LOCK)
        yield


def _remove_left_folders(path: Path) -> None:
    """Remove hidden folders for this path that nobody holds.

    Only those with their reserve: the others may have results in them that were paid for.
    """
    pattern = re.compile(re.escape(_leftover_prefix(path)) + r"\w+\.part")
    for name in os.listdir(path.absolute().parent):
        folder = path.absolute().with_name(name)
        if pattern.fullmatch(name) and not folder.is_symlink() and (folder / _RESERVE).is_file() and _is_free(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_free(folder: Path) -> bool:
    """Return whether a hidden folder has a lock that nobody holds."""
    try:
        with (folder / _LOCK).open("rb") as file:
            return CAN_LOCK and lock(file.fileno())
    except OSError:
        return False


def free_reserve(folder: Path) -> None:
    """Give the room that was reserved for a folder back to the disk: call it right before the results are written."""
    (folder / _RESERVE).unlink(missing_ok=True)


def write_file(path: str | Path, text: str, *, overwrite: bool = False, make_folder: bool = False) -> None:
    """Write a text file that appears under its name only when it is complete and on the disk; else what was there stays.

    With `make_folder`, its folder is made if there is none.
    """
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise OutputError(
            f"The file {str(path)!r} cannot be written: its text is not valid Unicode.", "Check the names in it."
        ) from None
    put_bytes(path, content, overwrite=overwrite, make_folder=make_folder)


def put_bytes(path: str | Path, content: bytes, *, overwrite: bool = False, make_folder: bool = False) -> None:
    """Write bytes as `write_file` writes text."""
    path = Path(path)
    with _explaining_errors(path):
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        if overwrite:  # what a link leads to is replaced, and keeps its permissions
            path = Path(os.path.realpath(path))
        _check_file(path, overwrite)
        free_reserve(path.absolute().parent)
        like = path.stat() if path.exists() else None
        with _appearing(path, overwrite, 0o666, like, is_result=True) as file:
            file.write(content)


@contextmanager
def new_private_file(path: str | Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """Yield a file to write to, which gets its name when the block ends, and is removed when the block fails.

    It can be read by its owner only. For what is too large to be held. Errors of the system in the block are taken for those of
    writing.
    """
    path = Path(path)
    with _explaining_errors(path):
        _check_file(path, overwrite)
        free_reserve(path.absolute().parent)
        with _appearing(path, overwrite, mode=0o600, is_result=True) as file:
            yield file


def put_file(
    path: Path, content: bytes, *, overwrite: bool, mode: int = 0o666, like: os.stat_result | None = None
) -> None:
    """Write a file beside its place, wait until it is on the disk, and only then give it its name; raise OSError.

    Without `overwrite`, FileExistsError is raised if there is a file of this name. `mode` are the permissions, less those
    that the system's mask takes away; `like` is the file that is replaced, if its permissions and owner are to be kept.
    """
    with _appearing(path, overwrite, mode, like) as file:
        file.write(content)


@contextmanager
def _appearing(
    path: Path, overwrite: bool, mode: int, like: os.stat_result | None = None, is_result: bool = False
) -> Iterator[BinaryIO]:
    """Yield a file beside its place, which gets its name when the block has ended and its content is on the disk."""
    temporary = _hidden(path)
    with making(temporary):
        try:
            with _synced(temporary, mode, like) as file:
                yield file
            with lasting(path if is_result else None):
                if overwrite:
                    os.replace(temporary, path)
                else:
                    _link(temporary, path)
            sync_folder(temporary.parent)
        finally:
            temporary.unlink(missing_ok=True)


def _hidden(path: Path) -> Path:
    """Return a name beside a path for what is not finished."""
    own = (
        time.time_ns() ^ os.getpid() << 40
    ) % 2**64  # nobody else's; it need not be a secret, so no randomness is asked for
    return path.absolute().with_name(f"{_leftover_prefix(path.absolute())}{own:016x}.part")


def remove_leftovers(path: Path) -> None:
    """Remove the unfinished files that killed calls of `put_file` left; nobody else may be writing this file."""
    pattern = re.compile(re.escape(_leftover_prefix(path)) + r"[0-9a-f]{16}\.part")
    for name in os.listdir(path.absolute().parent):
        if pattern.fullmatch(name):
            path.absolute().with_name(name).unlink(missing_ok=True)


def _leftover_prefix(path: Path) -> str:
    name = os.fsencode(path.name)
    return f".{path.name}." if len(name) <= 200 else f".{hashlib.sha256(name).hexdigest()}."


@contextmanager
def _synced(path: Path, mode: int, like: os.stat_result | None) -> Iterator[BinaryIO]:
    """Yield a new file that is on the disk when the block has ended."""
    with lasting():
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(handle, "wb") as file:
        if like is not None and hasattr(os, "fchmod"):
            os.fchmod(handle, like.st_mode & 0o777)
            with suppress(PermissionError):  # only root can give a file away
                os.fchown(handle, like.st_uid, like.st_gid)
        yield file
        file.flush()
        os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name == "nt":  # pragma: no cover - folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_file(path: Path, overwrite: bool) -> None:
    _check_parent(path)
    if path.is_dir():
        raise OutputError(f"The file {str(path)!r} cannot be written: a folder has this name.", "Choose another name.")
    if not overwrite and os.path.lexists(path):
        raise _exists(path)
    if path.exists() and not path.is_file():  # such as /dev/null, which must not become a file
        raise OutputError(f"{str(path)!r} cannot be written: it is not a regular file.", "Choose another name.")
    if path.exists() and not path.stat().st_mode & 0o222:
        raise OutputError(
            f"The file {str(path)!r} is read-only and was not overwritten.",
            "Choose another name, or make it writable: chmod u+w.",
        )


def check_new_folder(path: Path) -> None:
    """Raise `OutputError` unless a folder can be made there: nothing has this name, or an empty folder."""
    _check_parent(path)
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise _exists(path)
    if path.is_dir() and (path.is_mount() or path.resolve() == Path.cwd()):
        raise OutputError(
            f"The folder {str(path)!r} cannot be replaced: it is the current folder, or another disk is mounted there.",
            "Use a new folder inside it.",
        )
    if path.is_dir() and any(path.iterdir()):
        raise OutputError(
            f"The folder {str(path)!r} exists and is not empty.",
            "Choose another name, or remove it first; results are never mixed or overwritten.",
        )


def _check_parent(path: Path) -> None:
    parent = path.absolute().parent
    if not parent.is_dir():
        raise OutputError(
            f"{str(path)!r} cannot be written: the folder {str(path.parent)!r} does not exist.",
            "Create it first, or choose another one.",
        )


def _exists(path: Path) -> OutputError:
    return OutputError(f"The file {str(path)!r} already exists.", "Choose another name, or remove it first.")


def _reserve(file: Path, n_bytes: int) -> None:
    """Make a file of this size whose blocks are really taken."""
    if n_bytes <= 0:
        return
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        try:
            os.posix_fallocate(handle, 0, n_bytes)
        except (AttributeError, OSError) as error:
            if getattr(error, "errno", None) not in (None, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENODEV):
                raise
            _fill(handle, n_bytes)  # a system or file system that cannot reserve
    finally:
        os.close(handle)


def _fill(handle: int, n_bytes: int) -> None:
    """Write bytes that a file system cannot leave out or compress away, and wait for them."""
    block = hashlib.shake_256(b"reserve").digest(2**20)
    while n_bytes > 0:
        n_bytes -= os.write(handle, block[:n_bytes])
    os.fsync(handle)


def _sync_tree(folder: Path) -> None:
    for parent, _, files in os.walk(folder):
        for name in files:
            with open(Path(parent, name), "rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(parent))


def _take_place(temporary: Path, path: Path) -> None:
    if path.is_dir() and os.name == "nt":  # pragma: no cover - there an empty folder is not replaced
        path.rmdir()
    # Replaces an empty folder, and fails if somebody has put something into it meanwhile.
    os.rename(temporary, path)
    sync_folder(path.absolute().parent)


def _link(temporary: Path, path: Path) -> None:
    """Give a complete file its name, unless another file got it meanwhile."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "exists") from None
        os.replace(temporary, path)


@contextmanager
def _explaining_errors(path: Path, *codes: int) -> Iterator[None]:
    """Turn errors of the system into one sentence; only these, if some are named: others are the block's own."""
    try:
        yield
    except OSError as error:
        if isinstance(error, OutputError) or (codes and error.errno not in codes):
            raise
        raise OutputError(*_meaning(path, error)) from None


_SPACE, _NAME = "Free some space, or choose another disk.", "Choose another name."
_MEANWHILE, _DENIED = "something else was created there in the meantime", "permission denied"
_REASONS = {
    errno.ENOSPC: ("the disk is full", _SPACE),
    errno.EDQUOT: ("your disk quota is exceeded", _SPACE),
    errno.EFBIG: ("the file would exceed the size limit", "Raise the limit (ulimit -f), or choose another disk."),
    errno.EACCES: (_DENIED, "Choose another folder, or change its permissions."),
    errno.EPERM: (_DENIED, "Choose another folder, or change its permissions."),
    errno.EROFS: ("the disk is read-only", "Choose another folder."),
    errno.ENAMETOOLONG: ("the name is too long", "Choose a shorter one."),
    errno.ENOTEMPTY: (_MEANWHILE, _NAME),
    errno.EEXIST: (_MEANWHILE, _NAME),
    errno.ENOTDIR: (_MEANWHILE, _NAME),
}


def _meaning(path: Path, error: OSError) -> tuple[str, str]:
    """Return what an error of the system means for a result, and what to do about it."""
    code = error.errno or 0
    unknown = f"the operating system refused ({errno.errorcode.get(code, 'unknown error')})"
    reason, way_out = _REASONS.get(code, (unknown, ""))
    return f"{str(path)!r} cannot be written: {reason}.", way_out
