"""Which run a command continues: only its own, on files that have not changed since."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpmondrian.cli.show import say
from dpmondrian.exceptions import ParameterError

if TYPE_CHECKING:
    from dpmondrian.accounts import Checkpoint
    from dpmondrian.tables import Source

_LOGS = ("-wal", ".wal")  # endings of the files beside a database, SQLite's and DuckDB's, that hold its latest rows


def is_on_server(sources: Sequence[Source]) -> bool:
    """Return whether rows may change between two runs without a trace."""
    return any(source.address is not None for source in sources)


def facts_of_command(folder: Path, sources: Sequence[Source]) -> dict[str, str]:
    """Return what a checkpoint keeps of a command, besides its parameters: the name of its results, and which table it reads.

    Of the table this is a digest of the files' paths, of when each was last changed, and of the query. Sizes and contents are left
    out: they would tell something about the rows, and the file promises that it tells nothing that was not released.
    """
    server = next((source for source in sources if source.address is not None), None)
    if server is not None:
        raise ParameterError(
            parameter="checkpoint",
            rule=f"works with files only, whose changes can be seen; {server.name!r} may change between two runs",
            way_out="Omit it, or export the rows to a Parquet file first.",
        )
    table = [
        (list(_versions(source)), source.query, source.delimiter, source.header, source.sheet) for source in sources
    ]
    digest = hashlib.sha256(json.dumps(table).encode()).hexdigest()
    return {"out": os.path.basename(os.path.abspath(folder)), "table": digest}


def _versions(source: Source) -> Iterator[tuple[str, int]]:
    """Yield the place of each file that the rows of a source are in, and when it was changed."""
    path = os.path.realpath(source.path)
    yield path, os.stat(path).st_mtime_ns
    for log in (f"{path}{ending}" for ending in _LOGS if source.query is not None):
        if os.path.exists(log):
            yield log, os.stat(log).st_mtime_ns


def finished_release(
    checkpoint: Checkpoint, facts: dict[str, str], sources: Sequence[Source], quiet: bool
) -> str | None:
    """Say how much of a run is behind, and return its release if it is finished and only results were not written.

    Raises `CheckpointError` if the files are others than those of the run (`facts`, see `facts_of_command`), or one was
    changed since: a new table would get an old release, or one that is made of both.
    """
    state = checkpoint.read()
    if state is None:
        return None
    if state.facts.get("table") != facts["table"]:
        raise checkpoint.refusal(
            "belongs to a run on different rows: the files, their modification times, or the query have changed. Nothing was drawn or spent. To "
            "resume that run, pass the same files, unmodified and in the same place. To start a new run, which is charged in full, delete "
            "the checkpoint or choose another name"
        )
    _check_unchanged(checkpoint, sources)
    path, n_draws = str(checkpoint.path), len(state.draws)
    if state.release is not None and not quiet:
        say(f"Resuming {path!r}: all draws are done; only the results are missing.", err=True)
    elif n_draws and not quiet:
        say(f"Resuming {path!r}: {n_draws} draws are done.", err=True)
    return state.release


def _check_unchanged(checkpoint: Checkpoint, sources: Sequence[Source]) -> None:
    """Refuse files that the system put there, renamed or changed after the last draw, although the time of their change is an old one."""
    last_draw = checkpoint.path.stat().st_mtime_ns
    changed = [source.path for source in sources if source.path.stat().st_ctime_ns > last_draw]
    if changed:
        raise checkpoint.refusal(
            f"belongs to a run that was stopped, and {str(changed[0])!r} has been created, renamed or given different permissions since then. "
            "Nothing was drawn or spent. To start a new run, which is charged in full, delete the checkpoint. If the rows are still the "
            f"same, run this command first and try again: touch {shlex.quote(str(checkpoint.path))}"
        )
