"""Checkpoints: what a run has released so far, in a file, so that a run that was killed continues and spends nothing twice.

Each line is a JSON object: first which run this is, then one per draw, in the order of the draws, and a last one with the release
when the run is finished. A line ends with a hash of itself and of all lines before. Only released values are written, nothing exact.
Statement and proof: ``docs/privacy/checkpoint.md``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.accounts.locking import NotTakenError, acquire_lock, error_name, open_single
from dpmondrian.common import locks
from dpmondrian.common.interrupts import lasting
from dpmondrian.common.whole_files import put_file, remove_leftovers, sync_folder
from dpmondrian.exceptions import CheckpointError, ParameterError

FORMAT = "dpmondrian checkpoint"
FORMAT_VERSION = 3

_WIDTH = 20
"""Characters of every number: any 64-bit integer fits. Whether a line fits on the disk must not depend on what was drawn."""
_CHECK = b', "check": "'
_BRACE = "\\u007d"


@dataclass(frozen=True)
class KeptDraw:
    """What one draw of the plan released, and what it cost."""

    name: str
    level: int | None
    cost: float
    released: NDArray[np.int64]


@dataclass(frozen=True)
class CheckpointState:
    """What a checkpoint file says.

    Attributes
    ----------
    run : str
        Id of the run, drawn at random; also the id of its charge in a budget file.
    facts : mapping
        Everything public that determines the draws and what they mean, by name.
    draws : tuple of KeptDraw
    release : str or None
        The release as JSON text, once the run is finished.
    origin : mapping
        When the run began, and after how many others: a run that is continued keeps it.
    """

    run: str
    facts: Mapping[str, Any]
    draws: tuple[KeptDraw, ...] = ()
    release: str | None = None
    origin: Mapping[str, Any] = field(default_factory=dict)


class Checkpoint:
    """The checkpoint file of one run.

    Parameters
    ----------
    path : path
        Made by the run before its first draw. The file can be read by its owner only.
    facts : mapping, optional
        More that must be the same when the run is continued, by name. All public: it is written into the file.
    """

    def __init__(self, path: str | Path, facts: Mapping[str, Any] | None = None) -> None:
        if not isinstance(path, str | os.PathLike):
            raise ParameterError(
                parameter="checkpoint",
                rule="must be None or the path of a file",
                value=path,
                way_out="Pass the path of a file that the run can create.",
            )
        self.path = Path(path)
        self._facts = dict(facts or {})

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r})"

    def read(self) -> CheckpointState | None:
        """Return what the file says, None if there is none; raise `CheckpointError` if it is damaged or in use."""
        if not os.path.lexists(self.path):
            return None  # and no lock is left beside it
        with self._locked():
            return self.glance()

    def glance(self) -> CheckpointState | None:
        """Return what the file says at this moment, also while a run writes to it; None if there is no file."""
        found = self._open(os.O_RDONLY)
        if found is None:
            return None
        handle, content = found
        os.close(handle)
        return content.state

    def remove(self) -> None:
        """Delete the file of a run whose results are written: the next run under this name is a new one."""
        with self._locked(), lasting():
            try:
                self._delete()
            except OSError as error:
                raise self.failed("belongs to a run that is finished and cannot be deleted", error) from None

    def _delete(self) -> None:
        self.path.unlink(missing_ok=True)
        sync_folder(self.path.absolute().parent)

    @contextmanager
    def journal(self, facts: Mapping[str, Any], origin: Mapping[str, Any] | None = None) -> Iterator[RunJournal]:
        """Yield the journal of a run, new or to be continued, for as long as this process alone may write to it.

        Parameters
        ----------
        facts : mapping
            As in `CheckpointState`; a run is continued only with the same ones.
        origin : mapping, optional
            As in `CheckpointState`, for a new run.

        Raises
        ------
        CheckpointError
            If another process holds the file, it is damaged, or it belongs to a run with other facts. It is left as it is.
        """
        facts = json.loads(json.dumps({**facts, **self._facts}, allow_nan=False))
        with self._locked():
            found = self._open(os.O_RDWR | os.O_APPEND)
            new = CheckpointState(os.urandom(16).hex(), facts, origin=dict(origin or {}))
            state = new if found is None else found[1].state
            journal = RunJournal(self, state, found)
            try:
                self._check_facts(state.facts, facts)
                yield journal
            finally:
                journal.close()

    def _check_facts(self, kept: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        names = [name for name in {**kept, **facts} if name not in kept or kept[name] != facts.get(name)]
        if names:
            raise self.refusal(
                f"belongs to another run: {', '.join(names)} differ{'s' if len(names) == 1 else ''}. To resume that run, repeat the original call; to start a new run, which is charged in full, use another file"
            )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            lock = acquire_lock(self.path, timeout=0.0)
        except NotTakenError as error:
            raise self.refusal(str(error)) from None
        except TimeoutError:
            raise self._in_use() from None
        except OSError as error:
            raise self.failed("cannot be locked", error) from None
        try:
            self._remove_leftovers()
            yield
        finally:
            if not os.path.lexists(self.path):  # whoever comes next makes another lock, and checks the file too
                with suppress(OSError):  # a system on which files in use stay
                    Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def _remove_leftovers(self) -> None:
        """Remove what killed calls of `create` left, which may be a second name of the file."""
        try:
            remove_leftovers(self.path)
        except OSError as error:
            raise self.failed("cannot be opened", error) from None

    def _open(self, flags: int) -> tuple[int, _Content] | None:
        """Return a handle of the file and its content; None if there is no file."""
        try:
            handle, _ = open_single(self.path, flags)
        except FileNotFoundError:
            return None
        except NotTakenError as error:
            raise self.refusal(str(error)) from None
        except OSError as error:
            raise self.failed("cannot be opened", error) from None
        if flags & os.O_RDWR and not locks.lock(handle):  # whoever deleted the lock beside the file
            os.close(handle)
            raise self._in_use()
        try:
            with open(handle, "rb", closefd=False) as file:
                return handle, _content_of(file.read())
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            os.close(handle)
            reason = str(error) if isinstance(error, _DamageError) else "a line has the wrong form"
            raise self.refusal(
                f"is damaged or not a checkpoint: {reason}. It is never repaired, because draws would be repeated; use another file for a new run, which is charged in full"
            ) from None
        except OSError as error:
            os.close(handle)
            raise self.failed("cannot be read", error) from None

    def create(self, state: CheckpointState) -> tuple[int, _Content]:
        """Return a handle of a new file for a run, which is on the disk then, and its content."""
        header = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "run": state.run,
            "facts": state.facts,
            "origin": state.origin,
        }
        line = _sealed(json.dumps(header, allow_nan=False)[:-1].encode(), "")
        try:
            # It gets its name when it is complete, so no kill leaves half a header, and a link is not followed.
            put_file(self.path, line, overwrite=False, mode=0o600)
        except FileExistsError:
            raise self.refusal(
                "was created by someone else in the meantime. Nothing was drawn. Use another file"
            ) from None
        except OSError as error:
            raise self.failed("cannot be written, so nothing was drawn", error) from None
        found = self._open(os.O_RDWR | os.O_APPEND)
        if found is None:
            raise self.refusal("was removed in the meantime. Nothing was drawn. Try again")
        return found

    def _in_use(self) -> CheckpointError:
        return self.refusal("is in use by another process. Wait until that process has finished, or use another file")

    def failed(self, failure: str, error: OSError) -> CheckpointError:
        """Return the error for a failure of the system."""
        return self.refusal(f"{failure} ({error_name(error)}). Check the permissions and free space of its folder")

    def refusal(self, reason: str) -> CheckpointError:
        """Return the error that names the file and a reason."""
        return CheckpointError(f"The checkpoint file {str(self.path)!r} {reason}.")


class RunJournal:
    """What a run has released, before and now: the journal of a door. Made by `Checkpoint.journal`."""

    def __init__(
        self, checkpoint: Checkpoint, state: CheckpointState, found: tuple[int, _Content] | None = None
    ) -> None:
        self.state = state
        self._checkpoint = checkpoint
        self._found = found
        self._handle: int | None = None
        self._last_check = ""
        self._n_whole = 0
        self._n_recalled = 0

    @property
    def path(self) -> Path:
        """The file."""
        return self._checkpoint.path

    @property
    def run(self) -> str:
        """Id of the run."""
        return self.state.run

    @property
    def n_kept(self) -> int:
        """Number of draws that earlier parts of the run made."""
        return len(self.state.draws)

    @property
    def release(self) -> str | None:
        """The release as JSON text if the run was finished before."""
        return self.state.release

    def begin(self) -> None:
        """Make the file of a new run, or prepare that of an old one to be continued.

        From here on the run has an id that outlasts this process, under which it is charged.
        """
        if self._handle is not None:
            return
        if self._found is None:
            self._found = self._checkpoint.create(self.state)
        else:
            self._prepare(*self._found)
        self._handle, content = self._found
        self._last_check, self._n_whole = content.last_check, content.n_whole

    def _prepare(self, handle: int, content: _Content) -> None:
        """Cut off what a kill left of the last line, and wait until the others are on the disk: it may have come too early."""
        try:
            if content.is_torn:
                os.ftruncate(handle, content.n_whole)
            os.fsync(handle)
            sync_folder(self.path.absolute().parent)
        except OSError as error:
            raise self._checkpoint.failed("cannot be written, so nothing was drawn", error) from None

    def recall(self, name: str, level: int | None, cost: float, shape: tuple[int, ...]) -> NDArray[np.int64] | None:
        """Return what the next draw released in an earlier part of the run; None if it was not made yet.

        What it cost then must be what it costs now: other draws were planned with the rest.
        """
        self.begin()
        if self._n_recalled == self.n_kept:
            if self.release is not None:
                raise self._other_path()
            return None
        draw = self.state.draws[self._n_recalled]
        if (draw.name, draw.level, draw.released.shape) != (name, level, shape) or not math.isclose(draw.cost, cost):
            raise self._other_path()
        self._n_recalled += 1
        return draw.released.copy()

    def keep(self, name: str, level: int | None, cost: float, released: NDArray[np.int64]) -> None:
        """Write what a draw releases, and wait until it is on the disk."""
        numbers = ", ".join(f"{value:{_WIDTH}d}" for value in released.ravel().tolist())
        fields = {"draw": name, "level": level, "cost": cost, "shape": list(released.shape)}
        self._append(json.dumps(fields)[:-1].encode() + f', "values": [{numbers}]'.encode())

    def finish(self, release: str) -> None:
        """Note that all draws are made, with the JSON text of their release."""
        if self._n_recalled < self.n_kept:
            raise self._other_path()
        # No closing brace may stand in a line before its end: by it a torn line is told from a damaged one.
        self._append(f'{{"finished": {json.dumps(release).replace("}", _BRACE)}'.encode())

    def withdraw(self) -> None:
        """Delete the file of a run that was refused before it was charged or drew anything: there is nothing to resume."""
        if self.n_kept == 0:
            self.close()
            with suppress(OSError):
                self._checkpoint._delete()

    def close(self) -> None:
        """Close the file; nothing can be written any more."""
        if self._found is not None:
            os.close(self._found[0])
            self._found = self._handle = None

    def _append(self, body: bytes) -> None:
        """Write a line and wait for the disk. A line begins with its line feed, so that it is whole as soon as it is closed."""
        assert self._handle is not None
        line = b"\n" + _sealed(body, self._last_check)
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(self._handle, left) :]
            os.fsync(self._handle)
        except OSError as error:
            self._throw_away_torn()
            raise self._checkpoint.failed(
                "cannot be written, so the run stopped, and the last draw was discarded before anyone saw it. Repeat the same call to resume",
                error,
            ) from None
        self._last_check = _check_in(line)
        self._n_whole += len(line)

    def _throw_away_torn(self) -> None:
        """Cut off what was written of a line, after which nothing may follow; where that fails, the next run does it."""
        if self._handle is not None:
            with suppress(OSError):
                os.ftruncate(self._handle, self._n_whole)
        self.close()

    def _other_path(self) -> CheckpointError:
        return self._checkpoint.refusal(
            "contains different draws than this run makes, although it was called in the same way. Resume on the same system and with the same library versions as before, or use another file for a new run"
        )


@dataclass(frozen=True)
class _Content:
    """A file's state, the hash in its last whole line, how many bytes the whole lines have, and whether others follow."""

    state: CheckpointState
    last_check: str
    n_whole: int
    is_torn: bool


class _DamageError(ValueError):
    """What is wrong with a file, in words that hold nothing of its content."""


def _content_of(content: bytes) -> _Content:
    """Return what the bytes of a file say; raise ValueError, KeyError or TypeError if something is wrong with them.

    What a kill left of the last line is dropped: it was never handed over. Nothing else may be missing or changed.
    """
    header, *others = content.split(b"\n")
    opened, check, n_torn = [_opened(header, "")], _check_in(header), 0
    for number, line in enumerate(others, start=1):
        if number == len(others) and _is_torn(line, check):
            n_torn = len(line) + 1
            break
        opened.append(_opened(line, check))
        check = _check_in(line)
    return _Content(_state_of(opened[0], opened[1:]), check, len(content) - n_torn, n_torn > 0)


def _is_torn(line: bytes, previous_check: str) -> bool:
    """Return whether this is the beginning of a line, without its end: what a kill may leave of the last one."""
    if b"}" in line or not line.isascii() or not line.decode("ascii").isprintable():
        return False
    body, has_check, _ = line.partition(_CHECK)
    return not has_check or _sealed(body, previous_check).startswith(line)


def _sealed(body: bytes, previous_check: str) -> bytes:
    """Return a line: a JSON object that is still open, the hash of it and of what was before, and its end."""
    check = hashlib.sha256(previous_check.encode() + body).hexdigest()
    return body + _CHECK + check.encode() + b'"}'


def _check_in(line: bytes) -> str:
    return line[-66:-2].decode("ascii")


def _opened(line: bytes, previous_check: str) -> dict[str, Any]:
    """Return the fields of a line whose hash is right."""
    body = line[: -66 - len(_CHECK)]
    if line != _sealed(body, previous_check):
        raise _DamageError("a line was changed, or lines are missing")
    fields = json.loads(body + b"}")
    if not isinstance(fields, dict):
        raise _DamageError("a line is not an object")
    return fields


def _state_of(header: dict[str, Any], lines: list[dict[str, Any]]) -> CheckpointState:
    """Return the state that lines with the right hashes describe."""
    if header.get("format") != FORMAT:
        raise _DamageError(f"its 'format' is not {FORMAT!r}")
    if header.get("format_version") != FORMAT_VERSION:
        raise _DamageError(f"its format version is not {FORMAT_VERSION}, the one that this version of dpmondrian reads")
    release = lines.pop()["finished"] if lines and "finished" in lines[-1] else None
    if not isinstance(release, str | None):
        raise _DamageError("its release is not a string")
    facts, origin = dict(header["facts"]), dict(header.get("origin", {}))
    return CheckpointState(str(header["run"]), facts, tuple(map(_kept_draw, lines)), release, origin)


def _kept_draw(line: dict[str, Any]) -> KeptDraw:
    return KeptDraw(line["draw"], line["level"], float(line["cost"]), _array(line["values"], line["shape"]))


def _array(values: list[int], shape: list[int]) -> NDArray[np.int64]:
    array = np.array(values, dtype=np.int64)
    if array.size != math.prod(shape):
        raise _DamageError("a draw does not have the shape it declares")
    return array.reshape(shape)
