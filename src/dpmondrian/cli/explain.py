"""``dpm explain``: what a cluster is, or what epsilon and delta of a release mean for one person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.show import say_text

if TYPE_CHECKING:
    from dpmondrian.release import Release


def explain(
    release: options.Release,
    cluster: Annotated[
        int | None, typer.Argument(min=0, help="Number of a cluster.", show_default="explain the guarantee")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Explain what sets a cluster apart; without a cluster, what the best possible attacker can learn about one person.

    Reads no rows and spends nothing.

    \b
    Examples:
      dpm explain published/release.json 0
      dpm explain published/release.json
      dpm explain published/release.json --json
    """  # noqa: D301
    from dpmondrian.release import Release

    known = Release.load(release)
    if cluster is not None:
        _explain_cluster(known, cluster, as_json)
        return
    explanation = known.privacy.explain()
    say_text(explanation.to_json() if as_json else str(explanation))


def _explain_cluster(release: Release, cluster: int, as_json: bool) -> None:
    from dpmondrian.common.checks import check_integer
    from dpmondrian.show.texts import cluster_text

    check_integer("cluster", cluster, 0, len(release.sizes) - 1, "Clusters are numbered from 0.")
    text = cluster_text(release, cluster)
    say_text(json.dumps({"cluster": cluster, "text": text}, indent=2) if as_json else text)
