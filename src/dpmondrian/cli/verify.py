"""``dpm verify``: whether a release contradicts itself, or the account of its data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.show import say, say_text

if TYPE_CHECKING:
    from dpmondrian.release.verification import Verification


def verify(
    release: options.Release,
    budget: Annotated[
        Path | None, typer.Option(help="Budget file of the data set, which contains the digest of every release.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Verify a release: its digest, its cost, its ledger, and whether tree, sizes and centres are consistent.

    Reads no rows and spends nothing. The exit code is 0 if all checks pass and 1 if any fails. The output also lists what no check can
    show. The page for privacy officers in the documentation explains how to read it and how to sign the digest.

    \b
    Examples:
      dpm verify published/release.json
      dpm verify published/release.json --budget budget.json --json
    """  # noqa: D301
    result = _verified(release, budget)
    if as_json:
        say_text(json.dumps(result.to_dict(), indent=2))
    else:
        _print(result)
    if result.failed:
        raise typer.Exit(1)


def _verified(path: Path, budget: Path | None) -> Verification:
    """Return the result for a file, also for one that is no release."""
    from dpmondrian.accounts import Budget
    from dpmondrian.common.file_kinds import kind_of_file
    from dpmondrian.exceptions import ReleaseFileError
    from dpmondrian.release import Release, text_of
    from dpmondrian.release.verification import refused, verify

    state = None if budget is None else Budget(budget).read()
    try:
        release, stated_digest = Release.parsed(text_of(path))
    except ReleaseFileError as error:
        kind = kind_of_file(path)
        return refused(str(error) if kind in ("", "a release") else f"This is {kind}, expected a release.")
    return verify(release, stated_digest, state)


def _print(result: Verification) -> None:
    for check in result.checks:
        say(f"{check.state:<14} {check.name:<11} {check.words}.")
    if result.digest is not None:
        say(f"Digest: {result.digest}")
    say(result.verdict)
