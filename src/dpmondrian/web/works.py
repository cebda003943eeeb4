"""What a user has said so far, on the disk: a reload, a crash or a second tab loses nothing.

Each clustering is a folder of its own below the folder of the page, which only its owner can enter. Texts are kept as they were typed,
right or wrong; what they mean is found out when it is needed. Files are replaced as a whole.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from threading import RLock
from typing import Any

from dpmondrian.common.whole_files import put_file

_ID = re.compile(r"[0-9a-f]{12}")
_STATE = "state.json"


@dataclass
class Work:
    """One clustering, from the file to the report; only plain values, as JSON has them.

    Attributes
    ----------
    source : dict
        Where the rows are: ``path`` or ``address``, ``dropped`` (the name of a file that was copied here), and how to read it.
    columns : dict of dict
        By name, what was typed about each column; see `dpmondrian.web.columns`.
    habits : dict
        What is usual in the whole table: ``missing``, ``decimal``, ``thousands``.
    people : dict
        ``column`` that says whose row it is, and ``rows`` that each person has at most.
    plan : dict
        ``epsilon``, ``delta``, ``rows`` and ``groups`` to expect, ``k``, ``on_missing``.
    account : dict
        ``path`` of the budget file; ``none`` if the user keeps the account elsewhere.
    estimate : dict
        What bounds that were estimated from the rows have cost, and whose privacy that is: the fields of `dpmondrian.schema.Estimate`.
    run : dict
        ``out``, the folder of results, and ``arguments`` of the command, once it was started.
    names : dict
        What the user calls the clusters, by number.
    """

    id: str
    made: float
    source: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    habits: dict[str, str] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)
    plan: dict[str, str] = field(default_factory=dict)
    account: dict[str, Any] = field(default_factory=dict)
    estimate: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the user calls the table."""
        source = self.source
        return str(source.get("address") or (source.get("dropped") or source.get("path") or "").rpartition("/")[2])

    @property
    def begun(self) -> str:
        """When it was begun, as this machine's clock shows it."""
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(self.made))

    @property
    def stem(self) -> str:
        """The title without endings, for names of files."""
        stem = re.sub(r"[^\w.-]+", "-", self.title.rpartition("/")[2]).split(".")[0].strip("-")
        return stem or "table"


class Works:
    """The folder of all clusterings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = RLock()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.chmod(folder, 0o700)

    def folder_of(self, work_id: str) -> Path:
        """Return the private folder of a clustering."""
        return self.folder / work_id

    def new(self, **known: Any) -> Work:
        """Return a new clustering, which is on the disk."""
        work = Work(secrets.token_hex(6), time.time(), **known)
        self.folder_of(work.id).mkdir(mode=0o700)
        self._write(work)
        return work

    def load(self, work_id: str) -> Work | None:
        """Return a clustering; None if there is none of this id."""
        if not _ID.fullmatch(work_id):
            return None
        try:
            values = json.loads((self.folder_of(work_id) / _STATE).read_text(encoding="utf-8"))
            known = {part.name for part in fields(Work)}
            return Work(**{name: value for name, value in values.items() if name in known})
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    @contextmanager
    def changed(self, work_id: str) -> Iterator[Work]:
        """Yield a clustering to change, one at a time, and write it when the block ends well."""
        with self._lock:
            work = self.load(work_id)
            if work is None:
                raise KeyError(work_id)
            yield work
            self._write(work)

    def all(self) -> list[Work]:
        """Return all clusterings, the latest first."""
        found = (self.load(name) for name in os.listdir(self.folder) if _ID.fullmatch(name))
        return sorted((work for work in found if work is not None), key=lambda work: -work.made)

    def remove(self, work_id: str) -> None:
        """Delete a clustering with everything private to it; what was published stays."""
        if _ID.fullmatch(work_id):
            shutil.rmtree(self.folder_of(work_id), ignore_errors=True)

    def _write(self, work: Work) -> None:
        content = json.dumps(asdict(work), indent=1).encode("ascii")
        put_file(self.folder_of(work.id) / _STATE, content, overwrite=True, mode=0o600)
