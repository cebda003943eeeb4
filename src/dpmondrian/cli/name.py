"""``dpm name``: names for the clusters of a release."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.show import say


def name(
    release: options.Release,
    cluster: Annotated[int, typer.Argument(min=0, help="Number of the cluster.")],
    text: Annotated[str, typer.Argument(metavar="NAME", help="Its name; '' removes one.")],
) -> None:
    """Name a cluster of a release. The digest does not cover names, so the release itself stays unchanged.

    \b
    Examples:
      dpm name published/release.json 3 "retired commuters"
      dpm report published/release.json --force
    """  # noqa: D301
    from dpmondrian.release import Release
    from dpmondrian.show.texts import proposed_name

    named = Release.load(release).named_cluster(cluster, text)
    named.save(release)
    say(f"Cluster {cluster} is now shown as: {proposed_name(named, cluster)}")
    say(f"To put the name into the report: dpm report {shlex.quote(str(release))} --force")
