"""``dpm reproduce``: run the experiments that a table or figure needs, and write it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli.inputs import split_names
from dpmondrian.cli.show import say, say_text
from dpmondrian_lab.commands.choices import make_selection, target_names
from dpmondrian_lab.commands.resuming import resumable

if TYPE_CHECKING:
    from dpmondrian_lab.experiments.runner import Orders
    from dpmondrian_lab.experiments.store import Store
    from dpmondrian_lab.pages.checks import Check

__all__ = ["reproduce"]


@resumable
def reproduce(
    target: Annotated[
        str,
        typer.Argument(
            help="One of table2, table3, fig1, fig4, fig5, fig6, epsilon, rows, clusters, or all of these with all; one of real_k, "
            "real_found, real_times, suite, nulls, or all of these with real."
        ),
    ] = "all",
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions: everything in about ten minutes.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for rows, tables and figures.", show_default="results or results-quick, or real within these"
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of parallel processes.", show_default="one per core")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed. The same seed gives the same tables, byte for byte.")
    ] = 0,
    algorithms: Annotated[
        str,
        typer.Option(help="Run only these algorithms, separated by commas, such as kmeans,dpm.", show_default="all"),
    ] = "",
    data_sets: Annotated[
        str, typer.Option(help="Run only on these data sets, such as synth_10d,blobs-5000x10-64.", show_default="all")
    ] = "",
    recompute: Annotated[
        bool,
        typer.Option("--recompute", help="Recompute the metrics of stored centres, after the metrics have changed."),
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Repeat failed runs.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Repeat finished runs, after the code has changed.")] = False,
    draw_only: Annotated[bool, typer.Option("--draw-only", help="Run nothing; draw from the existing rows.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Reproduce the paper's evaluation and compare its numbers with ours; or evaluate on real tables, beside what one would do instead.

    Runs the experiments that TARGET needs and writes rows, tables (Markdown, CSV) and figures (PNG, SVG); "all" also
    writes a page that combines everything. "real" and its parts write a page of their own, and need the folders real and suite
    where DPMONDRIAN_DATA says. Finished runs are kept in the folder and not repeated, so the same command
    resumes after an interruption. Failed runs are kept and shown; the exit code is then 1.

    \b
    Examples:
      dpm reproduce table2 --quick
      dpm reproduce table2 --data-sets synth_10d --algorithms kmeans,dpm,dpm_k
      dpm reproduce all --out results --jobs 2
      dpm reproduce real --quick
    """  # noqa: D301
    from dpmondrian_lab.experiments.runner import Orders
    from dpmondrian_lab.experiments.store import Store
    from dpmondrian_lab.pages.page import write_page
    from dpmondrian_lab.pages.real_page import write_real_page
    from dpmondrian_lab.pages.targets import GROUPS

    names = target_names(target)
    selection = make_selection(target, split_names(algorithms), split_names(data_sets))
    orders = Orders(quick, jobs or os.cpu_count() or 1, seed, selection, recompute, again, retry)
    beyond = not set(names) <= set(GROUPS["all"])
    store = Store(out or Path("results-quick" if quick else "results", "real" if beyond else ""))
    if not draw_only:
        _run(names, orders, store)
    written = _write(names, store)
    if beyond or target == "all":
        written.append((write_real_page if beyond else write_page)(store))
    failed = _print(names, store, written, as_json)
    if not written:
        raise typer.Exit(1)
    if failed:
        say(f"{failed} runs failed; they are kept and shown. --retry runs them again.", err=True)
        raise typer.Exit(1)


def _run(names: list[str], orders: Orders, store: Store) -> None:
    """Run the experiments of the targets, after a sentence about every algorithm that cannot run here."""
    from dpmondrian_lab.commands.progress import ProgressBars
    from dpmondrian_lab.experiments.catalogue import make_experiment
    from dpmondrian_lab.experiments.runner import run_experiments
    from dpmondrian_lab.pages.targets import TARGETS
    from dpmondrian_lab.peers.registry import ALGORITHMS

    experiments = list(dict.fromkeys(TARGETS[name].experiment for name in names))
    for key in dict.fromkeys(key for name in experiments for key in make_experiment(name).algorithms):
        if reason := ALGORITHMS[key].why_missing():
            say(f"Left out: {ALGORITHMS[key].name}. {reason}", err=True)
    with ProgressBars() as bars:
        run_experiments(experiments, orders, store, bars)


def _write(names: list[str], store: Store) -> list[Path]:
    """Write the files of the targets from the rows in the folder, and return their paths."""
    from dpmondrian_lab.pages.targets import TARGETS

    written: list[Path] = []
    for name in names:
        paths = TARGETS[name].write(store)
        if not TARGETS[name].rows(store):
            say(f"Nothing to show in {name}: no rows for it in {store.folder / 'rows'}.", err=True)
        written += paths
    return written


def _print(names: list[str], store: Store, written: list[Path], as_json: bool) -> int:
    """Print the tables, what must hold, and where everything is; return the number of failed runs."""
    from dpmondrian_lab.commands.show import print_table
    from dpmondrian_lab.pages.tables import records
    from dpmondrian_lab.pages.targets import TARGETS

    tables = {name: TARGETS[name].table(store) for name in names}
    failed = {row.run.key for name in names for row in TARGETS[name].rows(store) if row.failed}
    checks = _checks(names, store)
    if as_json:
        document = {
            "files": [str(path) for path in written],
            "tables": {name: records(table) for name, table in tables.items() if table},
            "checks": [asdict(check) for check in checks],
            "failed": len(failed),
        }
        say_text(json.dumps(document, indent=2))
        return len(failed)
    for table in tables.values():
        print_table(table)
    for check in checks:
        say_text(str(check))
    say_text("\n".join(["Written:", *(f"  {path}" for path in written)]))
    return len(failed)


def _checks(names: list[str], store: Store) -> list[Check]:
    """Return what must hold of what was made: of the paper's evaluation as a whole, and of the parts beyond it."""
    from dpmondrian_lab.experiments.catalogue import BEYOND
    from dpmondrian_lab.pages.beyond_checks import check_beyond
    from dpmondrian_lab.pages.checks import check_all

    if names[0] in BEYOND:
        found = check_beyond({name: store.published(name) for name in BEYOND})
        return [check for check in found if check.holds is not None]
    return check_all(store.published("kopt"), store.published("timing")) if len(names) > 1 else []
