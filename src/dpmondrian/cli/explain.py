"""``dpm explain``: what epsilon and delta of a release mean for one person."""

from __future__ import annotations

from typing import Annotated

import typer

from dpmondrian.cli.predict import ReleaseArgument
from dpmondrian.cli.show import say_text

__all__ = ["explain"]


def explain(
    release: ReleaseArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Explain what the best possible attacker can learn about one person. Reads no rows and spends nothing.

    \b
    Examples:
      dpm explain published/release.json
      dpm explain published/release.json --json
    """  # noqa: D301
    from dpmondrian.release import Release

    explanation = Release.load(release).privacy.explain()
    say_text(explanation.to_json() if as_json else str(explanation))
