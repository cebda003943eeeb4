"""``dpm cluster``: from files with rows about people to a folder that may be published."""

from __future__ import annotations

import csv
import glob
import io
import json
import os
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dpmondrian.cli.continuing import facts_of_command, finished_release
from dpmondrian.cli.inputs import (
    BoundsOption,
    ColumnsOption,
    DelimiterOption,
    FilesArgument,
    JsonOption,
    MemoryOption,
    PersonOption,
    Public,
    QueryOption,
    QuietOption,
    RowsPerPersonOption,
    SchemaOption,
    ThreadsOption,
    check_rows,
    public_facts,
    sources_in,
)
from dpmondrian.cli.labels import write_labels
from dpmondrian.cli.show import say, say_text
from dpmondrian.cli.stopping import charges_told, draws_told, printed, release_told
from dpmondrian.common.interrupts import lasting, making
from dpmondrian.exceptions import FewRowsWarning, FinishedRunError, WeakPromiseWarning

if TYPE_CHECKING:
    from dpmondrian.engines import Resources
    from dpmondrian.estimator import DPM
    from dpmondrian.release import Release
    from dpmondrian.tables import Files, Source

__all__ = ["PUBLISHED", "cluster", "cluster_files"]

PUBLISHED = ("release.json", "centres.csv", "report.html")
"""Files of a folder that may be published."""


def cluster(
    files: FilesArgument,
    schema: SchemaOption = None,
    bounds: BoundsOption = None,
    columns: ColumnsOption = None,
    epsilon: Annotated[
        float, typer.Option(help="Privacy budget. Smaller values give stronger privacy and more noise.")
    ] = 1.0,
    delta: Annotated[
        float, typer.Option(help="Should be well below 1 / (number of people). 0 for pure epsilon.")
    ] = 1e-7,
    person_id: PersonOption = None,
    rows_per_person: RowsPerPersonOption = None,
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="Number of clusters.", show_default="chosen from the data")
    ] = None,
    on_missing: Annotated[
        str, typer.Option(help="How to handle missing values: error, drop (the row), or middle (of the bounds).")
    ] = "error",
    out: Annotated[
        Path | None,
        typer.Option(help="Output folder. Must not exist yet.", show_default="FILE-clusters or FOLDER-clusters"),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option(
            "--labels", help="Also write the cluster of every row to OUT-sensitive. This output is sensitive."
        ),
    ] = False,
    budget: Annotated[
        Path | None,
        typer.Option(
            help="Budget file of the data set, created by 'dpm budget new'. Charged before anything is released."
        ),
    ] = None,
    data_set: Annotated[
        str | None,
        typer.Option(help="Name of the data set, published with the release.", show_default="from the budget file"),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="File that records progress. If the run is killed, the same command resumes it and spends nothing twice. Deleted once "
            "the results are written."
        ),
    ] = None,
    query: QueryOption = None,
    delimiter: DelimiterOption = None,
    memory: MemoryOption = None,
    threads: ThreadsOption = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="For research only: reproducible noise protects nobody.")
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Cluster the rows of one or more files and write the results for publication: release.json, centres.csv and report.html.

    Column bounds must come from public knowledge, never from the rows. Each run spends epsilon and delta of the data set's budget;
    use --budget to keep track of it. Tables can be larger than memory.

    \b
    Examples:
      dpm cluster patients.csv --bounds age=0:120 --bounds bmi=10:60 --epsilon 1
      dpm cluster visits.parquet --schema schema.toml --person-id patient --rows-per-person 3
      dpm cluster visits/ --schema schema.toml --memory 2GB --out published
      dpm cluster shop.duckdb --query "select age from customers" --schema schema.toml --out published
    """  # noqa: D301
    from dpmondrian.engines import Resources

    facts = public_facts(schema, bounds, columns, person_id, rows_per_person)
    parameters = {"epsilon": epsilon, "delta": delta, "n_clusters": k, "on_missing": on_missing, "random_state": seed}
    if seed is not None:
        say(f"Warning: {_NOT_RELEASABLE}", err=True)
    folder = out or Path(f"{_stem(files)}-clusters")
    release = cluster_files(
        sources_in(files, query, delimiter),
        facts,
        parameters,
        folder,
        budget,
        labels,
        quiet=quiet,
        checkpoint=checkpoint,
        resources=Resources(memory, threads),
        data_set=data_set,
    )
    for sentence in [] if quiet else _beliefs(facts):
        say(sentence, err=True)
    with printed(f"The results were written to {folder}."):
        if as_json:
            say_text(json.dumps(_document(release, folder, labels), indent=2))
        elif not quiet:
            _print(release, folder, labels)


def cluster_files(
    sources: Sequence[Source],
    facts: Public,
    parameters: dict[str, Any],
    folder: Path,
    budget: Path | None = None,
    labels: bool = False,
    quiet: bool = False,
    checkpoint: Path | None = None,
    resources: Resources | None = None,
    data_set: str | None = None,
) -> Release:
    """Cluster the rows of files, write the folder of results, and return what was released."""
    from dpmondrian.accounts import Budget, Checkpoint
    from dpmondrian.cli.progress import FitBars
    from dpmondrian.common.whole_files import check_new_folder, free_reserve, new_folder
    from dpmondrian.engines import Resources
    from dpmondrian.estimator import DPM
    from dpmondrian.tables import open_files

    resources = resources or Resources()
    model = DPM(bounds=facts.bounds, person_id=facts.person_id, rows_per_person=facts.rows_per_person, **parameters)
    model.check_parameters()
    ledger = None if budget is None else Budget(budget)
    if ledger is not None:
        ledger.read()
    run_file = finished = None
    if checkpoint is not None:
        own_facts = facts_of_command(folder, sources)
        run_file = Checkpoint(checkpoint, own_facts)
        finished = finished_release(run_file, own_facts, sources, quiet)
    if labels and finished is None:
        check_new_folder(sensitive_folder(folder))
    rows = open_files(sources)

    def fitted(bars: FitBars) -> Release:
        told = replace(resources, reading=bars.read)
        try:
            with _doubts_shown():
                model.fit(
                    rows,
                    budget=ledger,
                    checkpoint=run_file,
                    progress=bars.draw,
                    resources=told,
                    data_set=data_set,
                )
            return model.release_
        except FinishedRunError as error:  # and this is the command that made the run: its facts are the same
            return cast("Release", error.release)

    with charges_told(ledger), draws_told(run_file), FitBars(quiet) as bars:
        if finished is not None and _is_written(finished, folder):
            release = fitted(bars)
        else:
            with new_folder(folder) as unfinished:
                check_rows(rows, facts.kinds_to_read)
                release = fitted(bars)
                free_reserve(unfinished)
                write_release(release, unfinished)
    if labels:  # only now: they take another pass over the files, and what is paid for must not be lost if that fails
        with release_told(folder):
            _write_sensitive(release, model, rows, sensitive_folder(folder), quiet, resources.threads)
    if run_file is not None:
        run_file.remove()
    return release


def sensitive_folder(folder: Path) -> Path:
    """Return where labels go: beside the folder that may be published, never inside it."""
    named = folder if folder.name not in ("", "..") else Path(os.path.abspath(folder))
    return named.with_name(f"{named.name}-sensitive")


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
    write_file(folder / "centres.csv", _marked(release.to_csv(), release.privacy.releasable))
    write_file(folder / "report.html", render_report(release))


def _marked(table: str, releasable: bool) -> str:
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


def _write_sensitive(release: Release, model: DPM, rows: Files, folder: Path, quiet: bool, threads: int | None) -> None:
    """Write the folder with the cluster of every row; what a killed command left of it is replaced."""
    from dpmondrian.cli.progress import FitBars
    from dpmondrian.common.whole_files import new_private_file, remove_leftovers

    on_missing = model.on_missing
    if model.person_id is not None and on_missing == "error":
        on_missing = "drop"  # rows that were left out for their number may lack values, and nobody has been told yet
    with ExitStack() as failed, FitBars(quiet) as bars:
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
        write_labels(table, release, on_missing, rows, threads, bars.read, overwrite=True)
        with lasting(folder, finished=folder):
            failed.pop_all()


def _stem(files: Sequence[str]) -> str:
    """Return what the rows are called: the name of the file without its endings, or of the folder."""
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
        for category in (WeakPromiseWarning, FewRowsWarning):
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


def _document(release: Release, folder: Path, labels: bool) -> dict[str, Any]:
    """Return what was released, for machines."""
    names, privacy = release.schema.centre_names, release.privacy
    return {
        "folder": str(folder),
        "files": list(PUBLISHED),
        "sensitive_files": [str(sensitive_folder(folder) / "labels.parquet")] if labels else [],
        "releasable": privacy.releasable,
        "epsilon": privacy.epsilon + privacy.bounds_epsilon,
        "bounds_epsilon": privacy.bounds_epsilon,
        "delta": privacy.delta,
        "n_clusters": len(release.centres),
        "clusters": [
            {
                "size": size,
                "size_error": size_error,
                "centre": dict(zip(names, centre, strict=True)),
                "centre_error": dict(zip(names, error, strict=True)),
            }
            for size, size_error, centre, error in zip(
                release.sizes.tolist(),
                release.size_errors.tolist(),
                release.centres.tolist(),
                release.centre_errors.tolist(),
                strict=True,
            )
        ],
    }


def _print(release: Release, folder: Path, labels: bool) -> None:
    from dpmondrian.cli.show import print_clusters
    from dpmondrian.planning import noisy_rows
    from dpmondrian.privacy import promise_doubts

    print_clusters(release)
    say(f"Written to {folder}: release.json, centres.csv and report.html (open it in a browser).")
    if not release.privacy.releasable:
        say(_NOT_RELEASABLE)
    elif promise_doubts(release.privacy.epsilon, release.privacy.delta, noisy_rows(release)):
        say("Read the warnings before you publish them: the guarantee for the people in the table is weak.")
    else:
        say("These files may be published.")
    if labels:
        say(
            f"{sensitive_folder(folder) / 'labels.parquet'} contains the cluster of every row. It is SENSITIVE: do not publish it."
        )


_NOT_RELEASABLE = (
    "NOT RELEASABLE: the noise was drawn with a seed and can be removed. For research on synthetic data only."
)
