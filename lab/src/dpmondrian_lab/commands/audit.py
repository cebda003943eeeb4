"""``dpm audit``: try to refute the promise of every algorithm, and write what came of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli.inputs import split_names
from dpmondrian.cli.show import say, say_text

if TYPE_CHECKING:
    from dpmondrian_lab.audit.perform import AuditRow

__all__ = ["audit"]


def audit(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs: a few minutes instead of 15.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the page, figures and rows.", show_default="results/audit, or audit-quick"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of parallel processes.", show_default="one per core")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed. The same seed gives the same page.")] = 0,
    algorithms: Annotated[
        str,
        typer.Option(
            help="Audit only these algorithms, separated by commas, such as dpm,dpm_published.", show_default="all"
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print all rows as JSON.")] = False,
) -> None:
    """Test the privacy guarantees of our algorithms and of published ones empirically, with the same methods.

    Composes the exact log-likelihood ratios of whole transcripts, replays runs on adversarial neighbouring tables, computes exact
    distributions of selections, plays membership games and plants canaries.
    Uses only synthetic rows. Writes a page (Markdown) with figures, and all rows. The exit code is 1 if a guarantee of
    ours, or of a peer in our version, does not hold.

    \b
    Examples:
      dpm audit --quick
      dpm audit --quick --algorithms dpm,dpm_published --out audit-of-dpm
      dpm audit --out results/audit
    """  # noqa: D301
    from dpmondrian.show.plots import pyplot
    from dpmondrian_lab.audit.page import write_audit
    from dpmondrian_lab.audit.perform import Effort, run_audit, wrong_rows
    from dpmondrian_lab.commands.progress import ProgressBars

    subjects = _subjects(algorithms)
    pyplot()  # figures need matplotlib, which is asked for before the work
    effort = Effort.quick() if quick else Effort()
    with ProgressBars() as bars:
        rows = run_audit(effort, seed=seed, jobs=jobs or os.cpu_count() or 1, listener=bars, subjects=subjects)
    written = write_audit(rows, effort, out or Path("audit-quick" if quick else "results/audit"), seed)
    if as_json:
        say_text(json.dumps([row.to_dict() for row in rows], indent=2, allow_nan=False))
    else:
        _print(rows, written)
    wrong = list(wrong_rows(rows))
    if wrong:
        say(f"{len(wrong)} audits found something wrong that must hold; see {written[0]}.", err=True)
        raise typer.Exit(1)


def _subjects(algorithms: str) -> tuple[str, ...]:
    """Return the keys of the algorithms that are asked for; a wrong one is told with the nearest right one."""
    from dpmondrian.common.checks import nearest_names
    from dpmondrian_lab.audit.catalogue import SUBJECTS

    keys = split_names(algorithms)
    for key in keys:
        if key not in SUBJECTS:
            hint = nearest_names([key], list(SUBJECTS)) or f" There are {', '.join(SUBJECTS)}."
            raise typer.BadParameter(f"There is no algorithm {key!r}.{hint}", param_hint="--algorithms")
    return keys


def _print(rows: list[AuditRow], written: list[Path]) -> None:
    """Print one line per algorithm, and where everything is."""
    from dpmondrian.cli.show import console, table_of
    from dpmondrian_lab.audit.page import SUMMARY_HEAD, summary_rows

    lines = [[cell.strip("*") for cell in line] for line in summary_rows(rows)]
    console().print(table_of(SUMMARY_HEAD, lines))
    say_text("\n".join(["Written:", *(f"  {path}" for path in written)]))
