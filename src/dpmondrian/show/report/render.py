"""The report: one HTML file that anyone can draw again from a release.

It loads nothing. Its policy allows the one style sheet and the one script that it carries, by their hashes, and no other.
The same release gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dpmondrian.privacy import Entry
from dpmondrian.release import PrivacyStatement, Release
from dpmondrian.schema import Category, Column
from dpmondrian.show.html import asset, harmless_json, policy, template
from dpmondrian.show.report import guarantee, palette
from dpmondrian.show.report.cards import cards
from dpmondrian.show.report.comparison import everyone
from dpmondrian.show.report.drawings import mondrian, mondrian_data
from dpmondrian.show.report.histograms import HEIGHT, WIDTH
from dpmondrian.show.report.outline import outline
from dpmondrian.show.report.overview import overview
from dpmondrian.show.report.segments import segments
from dpmondrian.show.report.selection import Shown, shown_part
from dpmondrian.show.texts.clusters import measured_texts, silhouette_texts
from dpmondrian.show.texts.facts import column_kind, entry_names, neighbours_text, unit_text
from dpmondrian.show.texts.forecast import findable_text
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import DASH, bounds_of, clean, number, percent, plain_number, rough_size

PAPER = (
    "Liebenow, J., Schütt, Y., Braun, T., Gehrke, M., Thaeter, F., Mohammadi, E. (2024). DPM: Clustering Sensitive Data "
    "through Separation. ACM Conference on Computer and Communications Security (CCS 2024). arXiv:2307.02969."
)

_MOST_LEVELS = 40  # categories of one column that the report lists

_LONGEST_FULL_NAME = 300


@dataclass(frozen=True)
class LedgerLine:
    """An entry of the ledger as text, with its share of the budget as a length."""

    cells: tuple[str, ...]
    share: float | None


@dataclass(frozen=True)
class PublicColumn:
    """What is public about a column, as text."""

    name: str
    kind: str
    domain: str
    unit: str


def render_report(release: Release, *, words: Words = ENGLISH) -> str:
    """Return the report on a release as the text of one HTML file.

    Privacy
    -------
    Only what the release holds is drawn, so the report may be published wherever the release may. Nothing in it is loaded
    from elsewhere, and texts of the release (names, categories, units) cannot become markup or code.

    Parameters
    ----------
    release : Release
        Of a fit, or of ``Release.load("release.json")``.
    words : Words
        The language of the report.

    Examples
    --------
    >>> from dpmondrian import DPM, render_report
    >>> page = render_report(DPM(bounds=(0, 1)).fit([[0.5]] * 1000).release_)
    >>> page.startswith("<!DOCTYPE html>")  # to be written to a file
    True
    """
    from markupsafe import Markup

    shown = shown_part(release, words)
    style, script = asset("report.css") + palette.css(), asset("report.js")
    page = template("report.html").render(
        words=words,
        policy=policy(style, script),
        style=Markup(style),  # noqa: S704 - a file of this package
        script=Markup(script),  # noqa: S704 - a file of this package
        data=Markup(harmless_json(mondrian_data(shown))),  # noqa: S704 - escaped by harmless_json
        **_sections(shown),
    )
    return str(page)


def _sections(shown: Shown) -> dict[str, Any]:
    """Return the values of the template."""
    release, privacy, words = shown.release, shown.release.privacy, shown.words
    n_rows, every = float(max(release.sizes.sum(), 0.0)), everyone(release)
    return {
        "n_clusters": len(release.sizes),
        "n_rows": n_rows,
        "shown": shown,
        "release": release,
        "privacy": privacy,
        "facts": dict(_facts(privacy, n_rows, words)),
        "account": _account(release, words),
        "sound": math.isfinite(privacy.epsilon),
        "epsilon": privacy.total_epsilon,
        "explained": guarantee.explanation(privacy),
        "findable": findable_text(release, words) if release.found_one else None,
        "quality": list(_quality(release, words)),
        "overview": overview(shown, every, release),
        "cards": cards(shown, every),
        "segments": segments(shown, every),
        "picture": (WIDTH, HEIGHT),
        "mondrian": mondrian(shown),
        "nodes": outline(shown),
        "n_nodes": len(shown.tree.column),
        "kinds": guarantee.kinds(privacy, words),
        "ledger": [_ledger_line(shown, entry) for entry in privacy.entries],
        "cost_head": _cost_head(privacy, words),
        "columns": [_public_column(column, words) for column in release.schema.columns],
        "parameters": list(_parameters(release, words)),
        "paper": PAPER,
        "digest": release.digest(),
    }


def _facts(privacy: PrivacyStatement, n_rows: float, words: Words) -> Iterator[tuple[str, str]]:
    """Give the sentences about the promise, by what they are about."""
    epsilon, delta = plain_number(privacy.total_epsilon), plain_number(privacy.delta)
    note = words("unit.row.note") if privacy.unit.of == "row" else ""
    yield "lead", guarantee.lead(privacy, words)
    yield "unit", clean(unit_text(privacy.unit, words), 200) + note
    yield "neighbours", words("report.neighbours.text", neighbours=neighbours_text(privacy, words))
    factor = guarantee.factor(privacy.total_epsilon)
    yield "epsilon", words.html("report.epsilon.text", epsilon=epsilon, factor=factor)
    own, bounds = plain_number(privacy.epsilon), plain_number(privacy.bounds_epsilon)
    if privacy.bounds_epsilon > 0:
        yield "bounds", words("report.epsilon.bounds", own_epsilon=own, bounds_epsilon=bounds, epsilon=epsilon)
    if privacy.delta:
        expected = {"expected": f"{privacy.delta * n_rows:.2g}", "rows": rough_size(n_rows)}
        yield "delta", words("report.delta.text", delta=delta, one_in=number(1.0 / privacy.delta, 0), **expected)
    else:
        yield "delta", words("report.delta.none")
    if privacy.rho is not None:
        yield "rho", words("report.rho.text", rho=plain_number(privacy.rho))
    yield "randomness", words(f"randomness.{privacy.randomness}")
    if privacy.earlier_fits:
        yield "earlier_fits", words("earlier_fits", n=privacy.earlier_fits)


def _quality(release: Release, words: Words) -> Iterator[tuple[str, str, str]]:
    """Give name, value and interval of every measure of the clustering."""
    if release.quality is None or len(release.sizes) == 1:
        return
    explained, silhouette = release.quality.explained, release.quality.silhouette
    yield words("report.figure.explained"), *measured_texts(explained, percent, words)
    if silhouette is not None:
        yield words("report.figure.silhouette"), *silhouette_texts(silhouette, words)


def _account(release: Release, words: Words) -> str:
    """Return what was spent of the budget of the data set."""
    account = release.origin.account
    if account is None:
        return words("report.account.none")
    costs = {"total": account.total, "before": account.before, "after": account.after}
    epsilons = {f"{name}_epsilon": plain_number(cost.epsilon) for name, cost in costs.items()}
    deltas = {f"{name}_delta": plain_number(cost.delta) for name, cost in costs.items()}
    return words("report.account.text", **epsilons, **deltas)


def _cost_head(privacy: PrivacyStatement, words: Words) -> str:
    if privacy.currency == "joint":
        return words("report.ledger.cost.joint")
    return words("report.ledger.cost", currency=clean(privacy.currency))


def _ledger_line(shown: Shown, entry: Entry) -> LedgerLine:
    name, mechanism, unit = entry_names(entry, shown.words)
    cells = (
        clean(name),
        DASH if entry.level is None else str(entry.level),
        clean(mechanism),
        f"{entry.sensitivity:,g}",
        f"{entry.scale:,.4g}",
        clean(unit),
        f"{entry.cost:.4g}",
        f"{entry.n_draws:,}",
    )
    return LedgerLine(cells, guarantee.cost_share(shown.release.privacy, entry))


def _public_column(column: Column | Category, words: Words) -> PublicColumn:
    name, kind = clean(column.name, _LONGEST_FULL_NAME), column_kind(column, words)
    if isinstance(column, Category):
        levels, more = ", ".join(map(clean, column.levels[:_MOST_LEVELS])), len(column.levels) - _MOST_LEVELS
        return PublicColumn(name, kind, words("and_more", listed=levels, n=more) if more > 0 else levels, "")
    lower, upper = bounds_of(column)
    domain = words("column.bounds", lower=lower, upper=upper)
    return PublicColumn(name, kind, domain, clean(column.unit, 60) if column.unit else "")


def _parameters(release: Release, words: Words) -> Iterator[tuple[str, str]]:
    """Give the parameters of the run, by name."""
    privacy = release.privacy
    yield "epsilon", plain_number(privacy.epsilon)
    yield "delta", plain_number(privacy.delta)
    yield "variant", clean(privacy.variant)
    yield "rows_per_person", str(privacy.rows_per_person)
    for name, value in release.parameters.items():
        yield clean(name), words("report.inputs.chosen") if value is None else clean(_parameter(value), 200)


def _parameter(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(
            f"{key} {part:g}" if isinstance(part, float) else f"{key} {part}" for key, part in value.items()
        )
    return f"{value:.6g}" if isinstance(value, float) else str(value)
