"""``dpm compare``: how good a release is beside KMeans, for the holder of the rows."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.inputs import source_in
from dpmondrian.cli.show import say, say_text

if TYPE_CHECKING:
    from dpmondrian.quality import Comparison
    from dpmondrian.tables import Kind


def compare(
    release: options.Release,
    file: options.File,
    classes: Annotated[
        str | None, typer.Option(help="Column with the true class of each row. Adds accuracy and the Rand index.")
    ] = None,
    query: options.Query = None,
    delimiter: options.Delimiter = None,
    format_: options.Format = None,
    header: options.Header = None,
    sheet: options.Sheet = None,
    as_json: options.Json = False,
) -> None:
    """Compare a release with KMeans on the true rows. The output is SENSITIVE: it is computed from the rows without noise.

    KMeans is not private; it uses the same number of clusters as the release. Distances are measured as in the release: each
    column is divided by its range.

    \b
    Examples:
      dpm compare published/release.json patients.csv
      dpm compare published/release.json patients.csv --classes diagnosis --json
    """  # noqa: D301
    from dpmondrian.cli.show import print_comparison
    from dpmondrian.exceptions import ParameterError
    from dpmondrian.quality import compare_with_kmeans
    from dpmondrian.release import Release
    from dpmondrian.schema import GivenBounds
    from dpmondrian.tables import open_file

    known = Release.load(release)
    if classes is not None and classes in known.schema.names:
        raise ParameterError.broken(
            "classes", "must name a column that was not used for clustering", classes, "Choose another column."
        )
    kinds: dict[str, Kind] = {**GivenBounds(known.schema).kinds, **({} if classes is None else {classes: "text"})}
    table = open_file(source_in(file, query, delimiter, format_, header, sheet)).read(kinds)
    compared = compare_with_kmeans(known, table, classes, decoded=True)
    if as_json:
        say_text(json.dumps({"sensitive": True, "verdict": _verdict(compared), **asdict(compared)}, indent=2))
        return
    say("SENSITIVE: computed from the rows without noise. Only for people who may see the rows; do not publish it.")
    say(_verdict(compared))
    print_comparison(compared)
    say(
        "Inertia is the sum of the squared distances of rows to their centres. The last two are how far the centres are from those of KMeans: kmeans "
        "distance from each to the nearest of these, matching distance in both directions, as shares of the diagonal of the bounds."
    )


_VERDICTS = {1.05: "as well as", 1.25: "nearly as well as", 2.0: "less well than", math.inf: "much less well than"}
"""How the release describes the rows, beside KMeans, by the ratio of the sums of squared distances."""


def _verdict(compared: Comparison) -> str:
    """Return what the metrics mean, in a sentence."""
    own, best = compared.release["inertia"], compared.kmeans["inertia"]
    ratio = own / best if best > 0 else 1.0 if own == 0 else math.inf
    words = next(words for most, words in _VERDICTS.items() if ratio <= most)
    return (
        f"The released centres describe the rows {words} KMeans, which sees them without noise: the squared distance of a row to its centre "
        f"is {ratio:.2f} times as large."
    )
