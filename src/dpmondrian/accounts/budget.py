"""The budget of a data set: a file that says how much privacy may be spent on it, and on what it was spent.

Epsilons and deltas of all releases of the same rows add up (basic composition). A charge is on the disk before `charge`
returns, so a run that is killed afterwards has paid: too much may be charged, never too little.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpmondrian._version import __version__
from dpmondrian.accounts.locking import NotTakenError, acquire_lock, error_name, open_locked, open_single
from dpmondrian.common.checks import check_delta, check_epsilon, is_number
from dpmondrian.common.file_kinds import kind_of_file
from dpmondrian.common.interrupts import lasting
from dpmondrian.common.whole_files import put_file, remove_leftovers
from dpmondrian.exceptions import BudgetError, ParameterError
from dpmondrian.release import PERSON, Account, Cost, Release, Unit
from dpmondrian.release.verification import Fault

FORMAT = "dpmondrian budget"
FORMAT_VERSION = 2
_VERSION_WITH_WORDS = 1  # files of this version say the unit of privacy in words
LARGEST_FILE = 64 * 2**20
LONGEST_TEXT = 1000
TOLERANCE = 1e-9
"""Ten charges of 0.1 are within a total of 1, although their floats may not be. A share of the total, and no more in all."""

_CHARGED, _RELEASED = "charged", "released"
_ROW = Unit()
_ENTRY_KEYS = {"id", "time", "purpose", "epsilon", "delta", "state", "release", "version", "unit"}
_ID, _SHA256 = re.compile(r"[0-9a-z-]{1,64}"), re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class BudgetEntry:
    """One charge."""

    id: str
    time: str  # of the charge, UTC, ISO 8601
    purpose: str
    epsilon: float
    delta: float
    state: str = _CHARGED  # or "released", once its result has been written
    release: str | None = None  # digest of the release it paid for (`Release.digest`)
    version: str = __version__  # of the package
    unit: Unit = _ROW  # whose privacy was paid for

    def __post_init__(self) -> None:
        _demand(_is_text(self.id) and _ID.fullmatch(self.id), "an 'id' is not one")
        _demand(_is_utc(self.time), "a 'time' is not one in UTC")
        _demand(_is_text(self.purpose) and _is_text(self.version), "a 'purpose' or 'version' is not a string")
        _demand(isinstance(self.unit, Unit), "a 'unit' is not a unit of privacy")
        _demand(is_number(self.epsilon) and 0 < self.epsilon <= 1e6, "an 'epsilon' is not a number in (0, 1e6]")
        _demand(is_number(self.delta) and 0 <= self.delta < 1, "a 'delta' is not a number in [0, 1)")
        _demand(self.state in (_CHARGED, _RELEASED), "a 'state' is neither 'charged' nor 'released'")
        known = isinstance(self.release, str) and _SHA256.fullmatch(self.release) and self.state == _RELEASED
        _demand(self.release is None or known, "a 'release' is not the SHA-256 of a released file")

    @property
    def is_released(self) -> bool:
        """Whether its result was written."""
        return self.state == _RELEASED


@dataclass(frozen=True)
class BudgetState:
    """The content of a budget file; epsilon and delta are the total budget, per unit of privacy."""

    data_set: str
    epsilon: float
    delta: float
    entries: tuple[BudgetEntry, ...] = ()

    def __post_init__(self) -> None:
        _demand(_is_text(self.data_set), "the 'data_set' is not a string")
        _demand(is_number(self.epsilon) and 0 < self.epsilon <= 1e6, "the total 'epsilon' is not a number in (0, 1e6]")
        _demand(is_number(self.delta) and 0 <= self.delta < 1, "the total 'delta' is not a number in [0, 1)")
        _demand(len({entry.id for entry in self.entries}) == len(self.entries), "two entries have the same 'id'")
        units = {entry.unit for entry in self.entries}
        _demand(len(units) <= 1, "its entries have different units, and costs of different units do not add up")

    @property
    def unit(self) -> Unit | None:
        """Unit of privacy of all charges; None if there are none yet."""
        return self.entries[0].unit if self.entries else None

    @property
    def spent_epsilon(self) -> float:
        """Sum of the charged epsilons."""
        return math.fsum(entry.epsilon for entry in self.entries)

    @property
    def spent_delta(self) -> float:
        """Sum of the charged deltas."""
        return math.fsum(entry.delta for entry in self.entries)

    @property
    def left(self) -> tuple[float, float]:
        """Epsilon and delta that are left, never below zero."""
        return max(0.0, self.epsilon - self.spent_epsilon), max(0.0, self.delta - self.spent_delta)

    def account_of(self, entry_id: str) -> Account:
        """Return the account around the charge with this id, as it was when it was made: charges are never removed."""
        place = [entry.id for entry in self.entries].index(entry_id)
        before, after = (replace(self, entries=self.entries[:end]) for end in (place, place + 1))
        return Account(
            Cost(self.epsilon, self.delta),
            Cost(before.spent_epsilon, before.spent_delta),
            Cost(after.spent_epsilon, after.spent_delta),
        )

    def faults(self, release: Release) -> Iterator[Fault]:
        """Yield what this account says otherwise than a release: whether it paid for it, and what was left."""
        digest = release.digest()
        paid = [entry for entry in self.entries if entry.release == digest]
        if len(paid) != 1:
            yield Fault("paid_twice" if paid else "unpaid")
            return
        if paid[0].unit != release.privacy.unit:
            yield Fault("paid_for_another_unit")
        if self.data_set != release.origin.data_set:
            yield Fault("another_data_set")
        if self.account_of(paid[0].id) != release.origin.account:
            yield Fault("another_account")

    def to_json(self) -> str:
        """Return the state as JSON text."""
        values = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "data_set": self.data_set,
            "total": {"epsilon": self.epsilon, "delta": self.delta},
        }
        # A line per entry: easy to read, and json is twenty times as fast without indentation.
        encode = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode
        entries = ",\n    ".join(encode({**vars(entry), "unit": vars(entry.unit)}) for entry in self.entries)
        head = json.dumps(values, indent=2, allow_nan=False, ensure_ascii=False)[:-2]
        listed = f"[\n    {entries}\n  ]" if entries else "[]"
        return f'{head},\n  "entries": {listed}\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> BudgetState:
        """Return the state that `to_json` wrote; raise ValueError with the reason if it is none."""
        try:
            values = json.loads(text, object_pairs_hook=_different_keys)
        except (json.JSONDecodeError, RecursionError):
            raise ValueError("it is not valid JSON") from None
        _demand(isinstance(values, dict) and values.get("format") == FORMAT, f"its 'format' is not {FORMAT!r}")
        version = values.get("format_version")
        _demand(
            type(version) is int and version in (_VERSION_WITH_WORDS, FORMAT_VERSION),
            f"its format version is not one that this version of dpmondrian reads, {_VERSION_WITH_WORDS} or {FORMAT_VERSION}",
        )
        _demand_keys(values, {"format", "format_version", "data_set", "total", "entries"}, "the file")
        _demand_keys(values["total"], {"epsilon", "delta"}, "'total'")
        _demand(isinstance(values["entries"], list), "its 'entries' are not a list")
        entries = tuple(_entry_from_dict(entry, version) for entry in values["entries"])
        return cls(values["data_set"], values["total"]["epsilon"], values["total"]["delta"], entries)


class Budget:
    """The budget file of one data set. Several processes may charge it at the same time.

    Parameters
    ----------
    path : path
    timeout : float, default=10.0
        Seconds to wait for other processes.

    Examples
    --------
    >>> import tempfile
    >>> from dpmondrian import Budget
    >>> budget = Budget.create(tempfile.mkdtemp() + "/patients.json", epsilon=2.0, delta=1e-6)
    >>> entry = budget.charge(0.5, 1e-7, "clusters of March")
    >>> budget.read().left[0]
    1.5
    """

    def __init__(self, path: str | Path, timeout: float = 10.0) -> None:
        self.path = Path(path)
        self.timeout = timeout

    def __repr__(self) -> str:
        return f"Budget({str(self.path)!r})"

    @classmethod
    def create(
        cls, path: str | Path, epsilon: float, delta: float, data_set: str = "", timeout: float = 10.0
    ) -> Budget:
        """Return the budget in a new file, which only its owner can read; an existing file is never overwritten.

        Parameters
        ----------
        path : path
        epsilon, delta : float
            The total that all releases of the data set may cost.
        data_set : str, optional
            Name of the data set, published with every release.
        timeout : float, default=10.0
            Seconds to wait for other processes.

        Returns
        -------
        budget : Budget
        """
        budget = cls(path, timeout)
        _check_text("data_set", data_set)
        state = BudgetState(data_set, check_epsilon(epsilon), check_delta(delta))
        with budget._locked():
            if os.path.lexists(budget.path):
                raise budget._refusal("already exists", "Choose another name, or use the existing file.")
            budget._write(state, None)
        return budget

    def read(self) -> BudgetState:
        """Return the current state of the file; raise `BudgetError` if it is missing or damaged.

        Returns
        -------
        state : BudgetState
            With the totals (`epsilon`, `delta`), what is `left` of both, the `unit` of privacy that was paid for, and all `entries`.
        """
        with self._explaining_errors("cannot be read"):
            handle, _ = open_single(self.path, os.O_RDONLY)
        try:  # without a lock: the file is replaced as a whole
            return self._state_in(handle)
        finally:
            os.close(handle)

    def find(self, entry_id: str) -> BudgetEntry | None:
        """Return the charge with this id; None if there is none."""
        return _entry_of(self.read(), entry_id)

    def charge(
        self, epsilon: float, delta: float, purpose: str, unit: Unit | None = None, entry_id: str | None = None
    ) -> str:
        """Charge the budget on disk and return the id of the charge; refuse charges that would exceed the totals.

        Parameters
        ----------
        epsilon, delta : float
            Cost of the release.
        purpose : str
            What the charge is for, as a note for the data holder.
        unit : Unit, optional
            Whose privacy it costs; None for one row. All charges of a file have the same unit: the cost of a row says nothing about the cost of
            a person with several.
        entry_id : str, optional
            Of a run that may have been charged before, and continues: it is charged once, however often it asks. None for a
            new id.

        Raises
        ------
        BudgetError
            If too little is left, earlier charges have another unit, the charge of this id was another one, or the file
            cannot be read, locked or written. Compute nothing then.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        _check_text("purpose", purpose)
        unit = _ROW if unit is None else _checked_unit(unit)
        if entry_id is not None and not (_is_text(entry_id) and _ID.fullmatch(entry_id)):
            raise ParameterError(
                parameter="entry_id",
                rule="must be None, or 1 to 64 lowercase letters, digits and hyphens",
                value=entry_id,
                way_out="Omit it to create a new id.",
            )
        with self._locked_state() as (state, file):
            made = None if entry_id is None else _entry_of(state, entry_id)
            if made is not None:
                if (made.epsilon, made.delta, made.unit) != (epsilon, delta, unit):
                    raise self._refusal(f"already has a different charge with the id {made.id!r}. Nothing was charged")
                return made.id
            self._check_unit(state, unit)
            self._check_left(state, epsilon, delta)
            time = datetime.now(UTC).isoformat(timespec="seconds")
            entry = BudgetEntry(entry_id or os.urandom(8).hex(), time, purpose, epsilon, delta, unit=unit)
            self._write(replace(state, entries=(*state.entries, entry)), file)
        return entry.id

    def finish(self, entry_id: str, release_sha256: str | None) -> None:
        """Mark a charge as released, with the digest of the release that was made for it, if there is one."""
        if release_sha256 is not None and not (_is_text(release_sha256) and _SHA256.fullmatch(release_sha256)):
            raise ParameterError.broken("release_sha256", "must be 64 hexadecimal digits or None", release_sha256)
        with self._locked_state() as (state, file):
            open_ids = [entry.id for entry in state.entries if entry.state == _CHARGED]
            if not isinstance(entry_id, str) or entry_id not in open_ids:
                raise self._refusal(
                    f"has no open charge {entry_id!r:.100}", "Pass an id returned by charge(), and only once."
                )
            entries = tuple(
                replace(entry, state=_RELEASED, release=release_sha256) if entry.id == entry_id else entry
                for entry in state.entries
            )
            self._write(replace(state, entries=entries), file)

    def _check_unit(self, state: BudgetState, unit: Unit) -> None:
        if state.unit not in (None, unit):
            raise BudgetError(
                f"The budget {str(self.path)!r} tracks spending per unit of privacy, and its unit is {str(state.unit)!r}. A release "
                f"that protects {str(unit)!r} cannot be added to it. Nothing was charged.",
                "Protect the same unit as before, or use a separate budget file for the other unit.",
            )

    def _check_left(self, state: BudgetState, epsilon: float, delta: float) -> None:
        for name, total, spent, asked in (
            ("epsilon", state.epsilon, [entry.epsilon for entry in state.entries], epsilon),
            ("delta", state.delta, [entry.delta for entry in state.entries], delta),
        ):
            if math.fsum([*spent, asked]) > total + TOLERANCE * min(total, 1.0):
                raise BudgetError(
                    f"The budget {str(self.path)!r} does not allow this: of a total {name} of {total:.6g}, {math.fsum(spent):.6g} is already spent, and {asked:.6g} was requested."
                    f" Nothing was charged.",
                    f"Request at most {max(0.0, total - math.fsum(spent)):.6g}, or use the existing releases.",
                )

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the file, so that nobody else changes it between reading and writing, nor an interrupt ends it."""
        with self._explaining_errors("cannot be locked"):
            lock = acquire_lock(self.path, self.timeout)
        try:
            with lasting():
                yield
        finally:
            lock.release()

    @contextmanager
    def _locked_state(self) -> Iterator[tuple[BudgetState, os.stat_result]]:
        """Yield the state and what the system says about the file, while nobody else can change it.

        Two locks: one beside the file, and one on the file itself, which is still there when somebody deletes the other one.
        """
        if not os.path.lexists(self.path):
            raise self._missing()  # and no lock is left beside it
        with self._locked():
            with self._explaining_errors("cannot be changed"):
                handle, file = open_locked(self.path, self.timeout)
            try:
                yield self._state_in(handle), file
            finally:
                os.close(handle)

    @contextmanager
    def _explaining_errors(self, failure: str) -> Iterator[None]:
        """Say what an error of the system means for this file."""
        try:
            yield
        except FileNotFoundError:
            raise self._missing() from None
        except NotTakenError as error:
            raise self._refusal(str(error)) from None
        except TimeoutError:
            raise self._refusal(
                f"has been locked by another process for more than {self.timeout:g} seconds",
                "Try again when that process has finished.",
            ) from None
        except OSError as error:
            raise self._refusal(
                f"{failure} ({error_name(error)})", "Check the permissions and free space of its folder."
            ) from None

    def _refuse_other_kinds(self) -> None:
        if (kind := kind_of_file(self.path)) not in ("", "a budget file"):
            raise self._refusal(f"is {kind}, expected a budget file", "'dpm budget new' creates one.") from None

    def _state_in(self, handle: int) -> BudgetState:
        """Return the state that the opened file says."""
        try:
            with self._explaining_errors("cannot be read"):
                return _parsed(_content_of(handle))
        except UnicodeDecodeError:
            self._refuse_other_kinds()
            raise self._refusal("is damaged: it is not UTF-8 text", _WAY_OUT) from None
        except ValueError as error:
            self._refuse_other_kinds()
            raise self._refusal(f"is damaged or not a budget file: {error}", _WAY_OUT) from None

    def _write(self, state: BudgetState, file: os.stat_result | None) -> None:
        """Put the state in place of the file (None: where no file is), and wait until it is on the disk."""
        with self._explaining_errors("cannot be written, so nothing may be computed"):
            remove_leftovers(self.path)
            put_file(self.path, state.to_json().encode(), overwrite=file is not None, mode=0o600, like=file)

    def _missing(self) -> BudgetError:
        return self._refusal(
            "does not exist", f"Create it with: dpm budget new {shlex.quote(str(self.path))} --epsilon E --delta D."
        )

    def _refusal(self, problem: str, way_out: str = "") -> BudgetError:
        return BudgetError(f"The budget file {str(self.path)!r} {problem}.", way_out)


_WAY_OUT = "It is never repaired automatically: restore a backup, and add what has been charged since then."


def _content_of(handle: int) -> bytes:
    """Return the bytes of an opened file; raise ValueError if it is too large."""
    with open(handle, "rb", closefd=False) as opened:
        content = opened.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError("it is too large")
    return content


@lru_cache(maxsize=1)
def _parsed(content: bytes) -> BudgetState:
    """Return the state that bytes say. A run asks for the same account several times, and a long one takes a second."""
    return BudgetState.from_json(content.decode("utf-8"))


def _entry_from_dict(values: Any, version: int) -> BudgetEntry:
    """Return the entry that a file of this version describes; raise ValueError with the reason if it is none."""
    if version == _VERSION_WITH_WORDS:
        values = values | {"unit": _unit_in_words(values.get("unit"))} if isinstance(values, dict) else values
    _demand_keys(values, _ENTRY_KEYS, "an entry")
    try:
        return BudgetEntry(**{**values, "unit": Unit.from_dict(values["unit"])})
    except TypeError:
        raise ValueError("a 'unit' is not a unit of privacy") from None


def _unit_in_words(words: Any) -> dict[str, Any]:
    """Return the unit that a file of version 1 says in words; the oldest files say none, and are about rows."""
    if words in (None, "one row"):
        return _ROW.to_dict()
    several = re.fullmatch(r"one person with up to ([1-9]\d{0,8}) rows", str(words))
    if several:
        return Unit(PERSON, assumed_rows=int(several[1])).to_dict()
    named = re.fullmatch("one person, told by column ('.*'|\".*\")", str(words))
    _demand(named, "the words of a 'unit' are none that dpmondrian wrote")
    assert named is not None
    try:
        return Unit(PERSON, person_id=ast.literal_eval(named[1])).to_dict()
    except (SyntaxError, ValueError):
        raise ValueError("the words of a 'unit' are none that dpmondrian wrote") from None


def _entry_of(state: BudgetState, entry_id: str) -> BudgetEntry | None:
    return next((entry for entry in state.entries if entry.id == entry_id), None)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT


def _is_utc(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).utcoffset() == timedelta(0)
    except ValueError:
        return False


def _check_text(name: str, value: Any) -> None:
    if not _is_text(value) or not value.isprintable():
        raise ParameterError.broken(
            name, f"must be a single-line string of at most {LONGEST_TEXT} characters", value, "Shorten it."
        )


def _checked_unit(unit: Any) -> Unit:
    if not isinstance(unit, Unit):
        raise ParameterError.broken(
            "unit", "must be a Unit, such as the one of a release", unit, "Omit it to protect rows."
        )
    return unit


def _demand(condition: Any, reason: str) -> None:
    if not condition:
        raise ValueError(reason)


def _demand_keys(values: Any, keys: set[str], where: str) -> None:
    found = set(values) if isinstance(values, dict) else None
    _demand(found == keys, f"the fields of {where} must be {sorted(keys)}")


def _different_keys(pairs: list[tuple[str, Any]]) -> Mapping[str, Any]:
    values = dict(pairs)
    _demand(len(values) == len(pairs), "a field occurs twice")
    return values
