"""``dpm plan``: what to expect of a release, before any data is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli.show import say, say_text

if TYPE_CHECKING:
    from dpmondrian.planning import Forecast
    from dpmondrian.schema import Schema

__all__ = ["plan"]

_PICTURES = (".png", ".svg", ".pdf")


def plan(
    rows: Annotated[int, typer.Option(min=1, help="Approximate number of rows: a guess, not the exact count.")],
    schema: Annotated[Path | None, typer.Option(help="TOML file with the bounds of the columns.")] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(help="Bounds of a column, such as age=0:120 or plan=basic|premium. Repeat for each column."),
    ] = None,
    epsilon: Annotated[
        float, typer.Option(help="Privacy budget. Smaller values give stronger privacy and more noise.")
    ] = 1.0,
    delta: Annotated[
        float, typer.Option(help="Should be well below 1 / (number of people). 0 for pure epsilon.")
    ] = 1e-7,
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="Number of clusters, if you intend to pass --k to 'dpm cluster'.")
    ] = None,
    rows_per_person: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of rows per person.", show_default="from the schema, or 1")
    ] = None,
    clusters: Annotated[
        int | None, typer.Option(min=1, help="Expected number of clusters.", show_default="k, or 10")
    ] = None,
    spread: Annotated[
        float, typer.Option(help="Expected standard deviation of a cluster, as a fraction of a column's range.")
    ] = 0.05,
    picture: Annotated[
        Path | None, typer.Option(help="Save a plot of the errors as a function of epsilon (PNG, SVG or PDF).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the forecast as JSON.")] = False,
) -> None:
    """Forecast a release: the errors of sizes and centres, and the smallest cluster that can be found.

    Reads no data and spends nothing. The forecast depends only on the options, so base them on public knowledge. For comparison,
    it also covers a run with twice the epsilon and one with twice the rows.

    \b
    Examples:
      dpm plan --rows 20000 --bounds age=0:120 --bounds bmi=10:60
      dpm plan --rows 20000 --schema schema.toml --epsilon 0.5 --k 8
      dpm plan --rows 100000 --schema schema.toml --clusters 20 --picture plan.png
    """  # noqa: D301
    _check_picture(picture)
    columns, most_rows, person_id = _columns(schema, bounds or [])
    from dpmondrian.planning import forecast

    expected = forecast(
        rows,
        columns,
        epsilon,
        delta,
        n_clusters=k,
        rows_per_person=most_rows if rows_per_person is None else rows_per_person,
        expected_clusters=clusters,
        spread=spread,
        person_id=person_id,
    )
    if picture is not None:
        _draw(expected, picture)
    if as_json:
        say_text(json.dumps(expected.to_dict(), indent=2, allow_nan=False))
    else:
        _print(expected, picture)


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


def _columns(schema: Path | None, bounds: list[str]) -> tuple[Schema, int, str | None]:
    """Return the columns, the most rows of one person, and the column that identifies people, from a file or from options."""
    from dpmondrian.schema import Schema, bounds_from_options, read_schema

    if (schema is None) == (not bounds):
        raise typer.BadParameter(
            "Describe the columns with exactly one of --schema and --bounds, for example --bounds age=0:120.",
            param_hint="--schema",
        )
    if schema is not None:
        table = read_schema(schema)
        return table.schema, table.rows_per_person, table.person_id
    facts = bounds_from_options(bounds)
    return Schema.from_bounds(facts, list(facts), [False] * len(facts)), 1, None


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


def _print(expected: Forecast, picture: Path | None) -> None:
    """Print warnings, sentences, and the table of three runs."""
    from dpmondrian.cli.show import console, table_of
    from dpmondrian.show.texts import headings, sentences, table_rows
    from dpmondrian.show.words import ENGLISH as WORDS

    for warning in expected.warnings:
        say(WORDS("forecast.warning", sentence=warning), red=True)
    for sentence in sentences(expected):
        say(sentence)
    console().print(table_of(headings(expected), table_rows(expected)))
    say_text(WORDS("forecast.interval"))
    if picture is not None:
        say(f"Written: {picture}")
