"""``dpm cluster``: from files with rows about people to a folder that may be published."""

from __future__ import annotations

import csv
import glob
import io
import json
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dpmondrian.cli import options
from dpmondrian.cli.continuing import facts_of_command, finished_release, is_on_server
from dpmondrian.cli.inputs import Habits, Public, check_rows, public_facts, sources_in
from dpmondrian.cli.labels import write_labels
from dpmondrian.cli.show import say, say_text
from dpmondrian.cli.stopping import noting_charges, noting_draws, noting_release, printed
from dpmondrian.common.interrupts import lasting, making
from dpmondrian.exceptions import FewRowsWarning, FinishedRunError, MisfitWarning, WeakPromiseWarning

if TYPE_CHECKING:
    from dpmondrian.accounts import Budget, Checkpoint
    from dpmondrian.cli.progress import FitBars
    from dpmondrian.fitting import Fitter
    from dpmondrian.release import Release
    from dpmondrian.tables import Files, Source

PUBLISHED = ("release.json", "centres.csv", "report.html")
PROFILES = "profiles.csv"  # beside them, where there are profiles  # files of a folder that may be published


KOption = Annotated[
    int | None, typer.Option("--k", min=1, help="Number of clusters.", show_default="chosen from the data")
]
OnMissingOption = Annotated[
    str,
    typer.Option(
        help="How to handle missing values: error, drop (the row), or middle (of the bounds; no for yes/no, other for categories)."
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(help="Output folder. Must not exist yet.", show_default="FILE-clusters or FOLDER-clusters"),
]
LabelsOption = Annotated[
    bool,
    typer.Option("--labels", help="Also write the cluster of every row to OUT-sensitive. This output is sensitive."),
]
BudgetOption = Annotated[
    Path | None,
    typer.Option(help="Budget file of the data set, created by 'dpm budget new'. Charged before anything is released."),
]
DataSetOption = Annotated[
    str | None,
    typer.Option(help="Name of the data set, published with the release.", show_default="from the budget file"),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        help="File that records progress. If the run is killed, the same command resumes it and spends nothing twice. Deleted once "
        "the results are written.",
        show_default="OUT.checkpoint with --budget on files",
    ),
]
ProgressOption = Annotated[
    Path | None,
    typer.Option(hidden=True, help="For front ends: file that says what is being done and which share of it is done."),
]
ProfilesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--profiles",
        help="Columns to describe with a histogram per cluster: 'all', 'none', or a name. Repeat for each column.",
        show_default="all",
    ),
]


def cluster(
    files: options.Files,
    schema: options.Schema = None,
    bounds: options.Bounds = None,
    columns: options.Columns = None,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-7,
    person_id: options.Person = None,
    rows_per_person: options.RowsPerPerson = None,
    k: KOption = None,
    on_missing: OnMissingOption = "error",
    profiles: ProfilesOption = None,
    out: OutOption = None,
    labels: LabelsOption = False,
    budget: BudgetOption = None,
    data_set: DataSetOption = None,
    checkpoint: CheckpointOption = None,
    query: options.Query = None,
    delimiter: options.Delimiter = None,
    format_: options.Format = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    missing: options.Missing = None,
    decimal: options.DecimalSign = None,
    thousands: options.Thousands = None,
    memory: options.Memory = None,
    threads: options.Threads = None,
    seed: options.Seed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    progress_file: ProgressOption = None,
) -> None:
    """Cluster the rows of one or more files and write the results for publication: a release and its report.

    The folder holds release.json, centres.csv, profiles.csv and report.html.

    Column bounds must come from public knowledge, never from the rows. Each run spends epsilon and delta of the data set's budget;
    use --budget to keep track of it. Tables can be larger than memory.

    \b
    Examples:
      dpm cluster patients.csv --bounds age=0:120 --bounds bmi=10:60 --epsilon 1
      dpm cluster visits.parquet --schema schema.toml --person-id patient --rows-per-person 3
      dpm cluster visits/ --schema schema.toml --memory 2GB --out published
      dpm cluster shop.duckdb --query "select age from customers" --schema schema.toml --out published
    """  # noqa: D301
    run = Run(
        sources=sources_in(files, query, delimiter, format_, header, sheet),
        facts=public_facts(schema, bounds, columns, person_id, rows_per_person, Habits(missing, decimal, thousands)),
        folder=out or Path(f"{_stem(files)}-clusters"),
        parameters={
            "epsilon": epsilon,
            "delta": delta,
            "n_clusters": k,
            "on_missing": on_missing,
            "profiles": _profiles(profiles),
            "random_state": seed,
        },
        budget=budget,
        data_set=data_set,
        checkpoint=checkpoint,
        labels=labels,
        memory=memory,
        threads=threads,
        quiet=quiet,
        progress_file=progress_file,
    )
    if seed is not None:
        say(f"Warning: {_NOT_RELEASABLE}", err=True)
    release = cluster_files(run)
    for sentence in [] if quiet else _beliefs(run.facts):
        say(sentence, err=True)
    with printed(f"The results were written to {run.folder}."):
        if as_json:
            say_text(json.dumps(_document(release, run), indent=2))
        elif not quiet:
            _print(release, run)


def _profiles(names: list[str] | None) -> bool | list[str]:
    """Return of which columns there are to be profiles."""
    if names is None or names == ["all"]:
        return True
    return False if names == ["none"] else names


@dataclass(frozen=True)
class Run:
    """What was asked for: which files become which folder, and how."""

    sources: Sequence[Source]
    facts: Public
    folder: Path
    parameters: Mapping[str, Any] = field(default_factory=dict)
    budget: Path | None = None
    data_set: str | None = None
    checkpoint: Path | None = None
    labels: bool = False
    memory: int | None = None
    threads: int | None = None
    quiet: bool = False
    progress_file: Path | None = None

    @property
    def sensitive_folder(self) -> Path:
        """Where labels go: beside the folder that may be published, never inside it."""
        return self._beside("-sensitive")

    def _beside(self, ending: str) -> Path:
        named = self.folder if self.folder.name not in ("", "..") else Path(os.path.abspath(self.folder))
        return named.with_name(f"{named.name}{ending}")

    def model(self) -> Fitter:
        """Return the estimator, with parameters that are right."""
        from dpmondrian.fitting import Fitter

        facts = self.facts
        people: dict[str, Any] = {"person_id": facts.person_id, "rows_per_person": facts.rows_per_person}
        model = Fitter(bounds=facts.bounds, **people, **self.parameters)
        model.check_parameters()
        return model

    def ledger(self) -> Budget | None:
        """Return the budget, whose file can be read."""
        from dpmondrian.accounts import Budget

        if self.budget is None:
            return None
        ledger = Budget(self.budget)
        ledger.read()
        return ledger

    def journal(self) -> tuple[Checkpoint | None, str | None]:
        """Return the checkpoint, and its release if only results were not written.

        What a budget pays for is not lost with the process: such a run has a checkpoint unless its rows may change unseen.
        """
        from dpmondrian.accounts import Checkpoint

        path = self.checkpoint
        if path is None and self.budget is not None and not is_on_server(self.sources):
            path = self._beside(".checkpoint")
        if path is None:
            return None, None
        facts = facts_of_command(self.folder, self.sources)
        checkpoint = Checkpoint(path, facts)
        return checkpoint, finished_release(checkpoint, facts, self.sources, self.quiet)


def cluster_files(run: Run) -> Release:
    """Cluster the rows of files, write the folder of results, and return what was released."""
    from dpmondrian.cli.progress import FitBars
    from dpmondrian.common.whole_files import check_new_folder
    from dpmondrian.tables import open_files

    model, ledger = run.model(), run.ledger()
    checkpoint, finished = run.journal()
    if run.labels and finished is None:
        check_new_folder(run.sensitive_folder)
    rows = open_files(run.sources)
    with noting_charges(ledger), noting_draws(checkpoint), FitBars(run.quiet, run.progress_file) as bars:
        fit = partial(_fitted, run, model, rows, ledger, checkpoint, bars)
        is_written = finished is not None and _is_written(finished, run.folder)
        release = fit() if is_written else _written(run, rows, fit)
    if (
        run.labels
    ):  # only now: they take another pass over the files, and what is paid for must not be lost if that fails
        with noting_release(run.folder):
            _write_sensitive(release, model, rows, run)
    if checkpoint is not None:
        checkpoint.remove()
    return release


def _fitted(
    run: Run, model: Fitter, rows: Files, ledger: Budget | None, checkpoint: Checkpoint | None, bars: FitBars
) -> Release:
    """Fit the model, and return its release; that of the checkpoint if it is finished."""
    from dpmondrian.engines import Resources

    resources = Resources(run.memory, run.threads, reading=bars.read)
    told: dict[str, Any] = {"progress": bars.draw, "resources": resources, "data_set": run.data_set}
    try:
        with _doubts_shown():
            return model.fit(rows, budget=ledger, checkpoint=checkpoint, **told).release_
    except FinishedRunError as error:  # and this is the command that made the run: its facts are the same
        return cast("Release", error.release)


def _written(run: Run, rows: Files, fit: Callable[[], Release]) -> Release:
    """Return the release of a fit, and write what may be published of it."""
    from dpmondrian.common.whole_files import free_reserve, new_folder

    with new_folder(run.folder) as unfinished:
        check_rows(rows, run.facts.kinds_to_read)
        release = fit()
        free_reserve(unfinished)
        write_release(release, unfinished)
    return release


def _is_written(text: str, folder: Path) -> bool:
    """Return whether a folder of results, which appears as a whole, is that of a release."""
    try:
        return (folder / "release.json").read_text(encoding="utf-8") == f"{text}\n"
    except (OSError, UnicodeDecodeError):
        return False


def write_release(release: Release, folder: Path) -> None:
    """Write everything that may be published about a release; every file of a seeded run says that it may not."""
    from dpmondrian.common.whole_files import write_file
    from dpmondrian.show.report import render_report

    release.save(folder / "release.json")
    write_file(folder / "centres.csv", marked(release.to_csv(), release.privacy.releasable))
    if release.profiles is not None:
        write_file(folder / PROFILES, marked(release.profiles_to_csv(), release.privacy.releasable))
    write_file(folder / "report.html", render_report(release))


def marked(table: str, releasable: bool) -> str:
    """Return a CSV text with a column that says it is not to be published, unless it is."""
    if releasable:
        return table
    first, *others = csv.reader(io.StringIO(table))
    marked = io.StringIO()
    csv.writer(marked, lineterminator="\n").writerows([[*first, "releasable"], *([*line, "no"] for line in others)])
    return marked.getvalue()


NOTICE = """SENSITIVE: this folder is not part of the release. Do not publish it.

labels.parquet contains the cluster of every row of the table, in the order of the rows. It is computed from individual rows without
noise and is not private in any sense. It is only for people who are allowed to see the rows themselves.
"""


def _write_sensitive(release: Release, model: Fitter, rows: Files, run: Run) -> None:
    """Write the folder with the cluster of every row; what a killed command left of it is replaced."""
    from dpmondrian.cli.progress import FitBars
    from dpmondrian.common.whole_files import new_private_file, remove_leftovers
    from dpmondrian.release import Labeller

    folder, on_missing = run.sensitive_folder, model.on_missing
    if model.person_id is not None and on_missing == "error":
        on_missing = "drop"  # rows that were left out for their number may lack values, and nobody has been told yet
    with ExitStack() as failed, FitBars(run.quiet) as bars:
        if not folder.exists():  # else a killed command left it
            failed.enter_context(making(folder))
            with lasting():
                folder.mkdir(mode=0o700)
            failed.callback(shutil.rmtree, folder, ignore_errors=True)
        notice, table = folder / "README.txt", folder / "labels.parquet"
        for path in (notice, table):
            remove_leftovers(path)
        with new_private_file(notice, overwrite=True) as file:
            file.write(NOTICE.encode())
        labeller = Labeller.of(release, on_missing)
        write_labels(table, labeller, rows, run.threads, bars.read, overwrite=True)
        with lasting(folder, finished=folder):
            failed.pop_all()


def _stem(files: Sequence[str]) -> str:
    """Return what the rows are called: the name of the file without its endings, of the folder, or of a database on a server."""
    from dpmondrian.tables import SERVERS

    if (scheme := files[0].partition(":"))[1] and scheme[0] in SERVERS:
        return scheme[2].partition("?")[0].rpartition("/")[2] or scheme[0]
    place = Path(os.path.abspath(files[0]))
    if len(files) > 1:
        place = place.parent
    while not place.exists() and glob.has_magic(str(place)):
        place = place.parent
    name = place.name if place.is_dir() else place.name.split(".")[0]
    return name or place.name or "rows"


@contextmanager
def _doubts_shown() -> Iterator[None]:
    """Show what the library doubts about a fit; its other warnings speak of parameters that the command has not."""
    with warnings.catch_warnings():
        for category in (WeakPromiseWarning, FewRowsWarning, MisfitWarning):
            warnings.filterwarnings("always", category=category)
        yield


def _beliefs(facts: Public) -> list[str]:
    """Return what is taken for granted about rows and people."""
    if not facts.people_known:
        return [
            "Note: every row is assumed to be a different person. If people can have several rows, pass --person-id COLUMN or "
            "--rows-per-person N."
        ]
    if facts.rows_per_person > 1 and facts.person_id is None:
        return [
            f"Note: the limit of {facts.rows_per_person} rows per person is assumed, not enforced. Pass --person-id COLUMN to drop any "
            "additional rows."
        ]
    return []


def _document(release: Release, run: Run) -> dict[str, Any]:
    """Return what was released, for machines."""
    names, privacy = release.schema.centre_names, release.privacy
    return {
        "folder": str(run.folder),
        "files": [*PUBLISHED, *([] if release.profiles is None else [PROFILES])],
        "sensitive_files": [str(run.sensitive_folder / "labels.parquet")] if run.labels else [],
        "releasable": privacy.releasable,
        "epsilon": privacy.total_epsilon,
        "bounds_epsilon": privacy.bounds_epsilon,
        "delta": privacy.delta,
        "n_clusters": len(release.centres),
        "n_cells": 0 if release.cells is None else len(release.cells),
        "clusters": [
            {
                "size": size,
                "size_error": size_error,
                "centre": dict(zip(names, centre, strict=True)),
                "centre_error": dict(zip(names, error, strict=True)),
                "certainty": certainty,
            }
            for size, size_error, centre, error, certainty in release.by_cluster()
        ],
    }


def _print(release: Release, run: Run) -> None:
    from dpmondrian.cli.show import print_clusters
    from dpmondrian.planning import noisy_rows
    from dpmondrian.privacy import promise_doubts
    from dpmondrian.show import one_cluster_text

    if release.found_one:
        say(one_cluster_text(release, "command", str(run.folder / "release.json")))
    print_clusters(release)
    files = "release.json, centres.csv" + ("" if release.profiles is None else f", {PROFILES}")
    say(f"Written to {run.folder}: {files} and report.html (open it in a browser).")
    if not release.privacy.releasable:
        say(_NOT_RELEASABLE)
    elif promise_doubts(release.privacy.epsilon, release.privacy.delta, noisy_rows(release)):
        say("Read the warnings before you publish them: the guarantee for the people in the table is weak.")
    else:
        say("These files may be published.")
    if run.labels:
        say(
            f"{run.sensitive_folder / 'labels.parquet'} contains the cluster of every row. It is SENSITIVE: do not publish it."
        )


_NOT_RELEASABLE = (
    "NOT RELEASABLE: the noise was drawn with a seed and can be removed. For research on synthetic data only."
)
