"""``dpm clusters``: other numbers of clusters from the same release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.cluster import marked
from dpmondrian.cli.show import print_fitting, say, say_text
from dpmondrian.cli.stopping import printed

if TYPE_CHECKING:
    from dpmondrian.release import Clusters, Release

KOption = Annotated[
    int | None,
    typer.Option("--k", min=1, help="Number of segments.", show_default="show how good every number is, up to 64"),
]


def clusters(
    release: options.Release,
    k: KOption = None,
    csv: Annotated[Path | None, typer.Option(help="Also write sizes and centres to this CSV file.")] = None,
    as_json: options.Json = False,
) -> None:
    """Divide the rows of a release into any number of segments. Reads no rows and spends nothing.

    Every release contains small cells of rows, which are merged here. Segments are similar groups of rows; whether clusters are
    apart from each other is what 'dpm cluster' finds out.

    \b
    Examples:
      dpm clusters published/release.json
      dpm clusters published/release.json --k 6
      dpm clusters published/release.json --k 6 --csv segments.csv --json
    """  # noqa: D301
    from dpmondrian.common.whole_files import write_file
    from dpmondrian.release import Release

    known = Release.load(release)
    if k is None:
        if csv is not None:
            raise typer.BadParameter("Choose a number of segments with --k.", param_hint="--csv")
        _print_qualities(known, release, as_json)
        return
    made = known.clusters(k)
    if csv is not None:
        write_file(csv, marked(made.to_csv(), known.privacy.releasable))
    with printed("" if csv is None else f"The segments were written: {csv}"):
        if as_json:
            say_text(json.dumps({"releasable": known.privacy.releasable, **made.to_dict()}, indent=2))
        else:
            _print(made, csv)


def _print_qualities(release: Release, path: Path, as_json: bool) -> None:
    qualities = release.qualities()
    if as_json:
        say_text(json.dumps(qualities.to_dict(), indent=2))
        return
    say_text(str(qualities))
    measured = [(one.low, int(k)) for k, one in zip(qualities.k, qualities.silhouette, strict=True) if one is not None]
    if not measured:
        say(f"Choose one with --k, for example: dpm clusters {path} --k 5")
        return
    say(
        "The silhouette is from -1 to 1, higher for segments that are more clearly apart. It is measured for up to 64 segments, as long as "
        "no cell has to be divided; its noise is larger for more than 20."
    )
    say(
        f"Choose one with --k, for example the one whose silhouette is highest beyond noise: dpm clusters {path} --k {max(measured)[1]}"
    )


def _print(made: Clusters, csv: Path | None) -> None:
    from dpmondrian.show.texts import segment_head, segment_rows, segment_title

    n_columns = len(made.release.schema.centre_columns)
    head, rows = segment_head(made, most_columns=n_columns), segment_rows(made, most_columns=n_columns)
    n_shown = print_fitting(head, rows, segment_title(made))
    if n_shown < len(head):
        say(f"{len(head) - n_shown} more columns: use --json or --csv.")
    if not made.release.privacy.releasable:
        say("NOT RELEASABLE: the noise was drawn with a seed and can be removed. For research on synthetic data only.")
    if csv is not None:
        say(f"Written: {csv}")
