"""Which run a command continues: only its own, on files that have not changed since."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpmondrian.cli.show import say

if TYPE_CHECKING:
    from dpmondrian.accounts.checkpoint import Checkpoint
    from dpmondrian.tables import Source

__all__ = ["finished_release"]


def finished_release(checkpoint: Checkpoint, sources: Sequence[Source], quiet: bool) -> str | None:
    """Say how much of a run is behind, and return its release if it is finished and only results were not written.

    Parameters
    ----------
    checkpoint : Checkpoint
    sources : sequence of Source
        The files with the rows.
    quiet : bool
        Whether nothing is said.

    Raises
    ------
    CheckpointError
        If a file was changed after the run: a new table would get an old release, or one that is made of both.
    """
    state = checkpoint.read()
    if state is None:
        return None
    _check_unchanged(checkpoint, sources)
    path, n_draws = str(checkpoint.path), len(state.draws)
    if state.release is not None and not quiet:
        say(f"Continuing {path!r}: all draws were made before; only results are missing.", err=True)
    elif n_draws and not quiet:
        say(f"Continuing {path!r}: {n_draws} of {state.n_planned} draws were made before.", err=True)
    return state.release


def _check_unchanged(checkpoint: Checkpoint, sources: Sequence[Source]) -> None:
    """Refuse files that are newer than what was drawn. Their times are compared, and never kept: a checkpoint holds nothing of them."""
    last_draw = checkpoint.path.stat().st_mtime_ns
    changed = [source.path for source in sources if source.path.stat().st_mtime_ns > last_draw]
    if changed:
        raise checkpoint.refusal(
            f"belongs to a run that was stopped, and {str(changed[0])!r} was changed after it. Nothing was drawn or spent. For a new run, "
            "which is charged in full, delete the checkpoint; if the rows are still the same, continue after: touch "
            f"{shlex.quote(str(checkpoint.path))}"
        )
