"""``dpm compare``: how good a release is beside KMeans, for the holder of the rows."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from dpmondrian.cli.inputs import DelimiterOption, FileArgument, JsonOption, QueryOption
from dpmondrian.cli.predict import ReleaseArgument
from dpmondrian.cli.show import say, say_text

__all__ = ["compare"]


def compare(
    release: ReleaseArgument,
    file: FileArgument,
    classes: Annotated[
        str | None, typer.Option(help="Column with the true class of each row. Adds accuracy and the Rand index.")
    ] = None,
    query: QueryOption = None,
    delimiter: DelimiterOption = None,
    as_json: JsonOption = False,
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
    from dpmondrian.tables import Source, open_file

    known = Release.load(release)
    if classes is not None and classes in known.schema.names:
        raise ParameterError(
            parameter="classes",
            rule="must name a column that was not used for clustering",
            value=classes,
            way_out="Choose another column.",
        )
    kinds = GivenBounds(known.schema).kinds | ({} if classes is None else {classes: "text"})
    table = open_file(Source(file, query, delimiter)).read(kinds)
    compared = compare_with_kmeans(known, table, classes)
    if as_json:
        say_text(json.dumps({"sensitive": True, **asdict(compared)}, indent=2))
        return
    say("SENSITIVE: computed from the rows without noise. Only for people who may see the rows; do not publish it.")
    print_comparison(compared)
