"""``dpm plan``: what to expect of a release, before any data is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.inputs import public_facts
from dpmondrian.cli.show import say, say_text

if TYPE_CHECKING:
    from dpmondrian.planning import Forecast

_PICTURES = (".png", ".svg", ".pdf")


def plan(
    rows: Annotated[int, typer.Option(min=1, help="Approximate number of rows: a guess, not the exact count.")],
    schema: options.Schema = None,
    bounds: options.Bounds = None,
    columns: options.Columns = None,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-7,
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="Number of clusters, if you intend to pass --k to 'dpm cluster'.")
    ] = None,
    person_id: options.Person = None,
    rows_per_person: options.RowsPerPerson = None,
    clusters: Annotated[
        int | None, typer.Option(min=1, help="Expected number of clusters.", show_default="k, or 10")
    ] = None,
    spread: Annotated[
        float, typer.Option(help="Expected standard deviation of a cluster, as a fraction of a column's range.")
    ] = 0.05,
    picture: Annotated[
        Path | None, typer.Option(help="Save a plot of the errors as a function of epsilon (PNG, SVG or PDF).")
    ] = None,
    details: Annotated[
        bool,
        typer.Option("--details", help="Also print all errors, for this run and with twice the epsilon or the rows."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the forecast as JSON.")] = False,
) -> None:
    """Forecast a release: which clusters can be found, how accurately they will be described, and what would improve that.

    Reads no data and spends nothing. The forecast depends only on the options, so base them on public knowledge.

    \b
    Examples:
      dpm plan --rows 20000 --bounds age=0:120,bmi=10:60
      dpm plan --rows 20000 --schema schema.toml --epsilon 0.5 --k 8 --details
      dpm plan --rows 100000 --schema schema.toml --clusters 20 --picture plan.png
    """  # noqa: D301
    _check_picture(picture)
    facts = public_facts(schema, bounds, columns, person_id, rows_per_person)
    from dpmondrian.planning import forecast

    names = facts.given.names or ()
    expected = forecast(
        rows,
        facts.given.schema(names, [False] * len(names)),
        epsilon,
        delta,
        n_clusters=k,
        rows_per_person=facts.rows_per_person,
        expected_clusters=clusters,
        spread=spread,
        person_id=facts.person_id,
    )
    if picture is not None:
        _draw(expected, picture)
    if as_json:
        say_text(json.dumps(expected.to_dict(), indent=2, allow_nan=False))
    else:
        _print(expected, details)
        if picture is not None:
            say(f"Written: {picture}")


def _check_picture(picture: Path | None) -> None:
    """Refuse a picture that could not be drawn, before anything is computed."""
    if picture is None:
        return
    if picture.suffix.lower() not in _PICTURES:
        raise typer.BadParameter(
            f"The file name must end in one of {', '.join(_PICTURES)}. Got {picture.name!r}.",
            param_hint="--picture",
        )
    from dpmondrian.show.plots import pyplot

    pyplot()


def _draw(expected: Forecast, path: Path) -> None:
    """Write the picture, whole or not at all."""
    import io

    from dpmondrian.common.whole_files import put_bytes
    from dpmondrian.show.plots import drawing

    content = io.BytesIO()
    with drawing() as pyplot:
        figure, ax = pyplot.subplots(figsize=(6.4, 4.8), layout="constrained")
        expected.plot(ax)
        figure.savefig(content, format=path.suffix.lower().lstrip("."))
    put_bytes(path, content.getvalue(), overwrite=True)


def _print(expected: Forecast, details: bool) -> None:
    """Print warnings and three sentences; with details the table of three runs."""
    from dpmondrian.cli.show import console, table_of
    from dpmondrian.show.texts import headings, notes, sentences, table_rows
    from dpmondrian.show.words import ENGLISH as WORDS

    for warning in expected.warnings:
        say(WORDS("forecast.warning", sentence=warning), red=True)
    for sentence in sentences(expected):
        say(sentence)
    if details:
        console().print(table_of(headings(expected), table_rows(expected)))
        for note in notes(expected):
            say(note)
