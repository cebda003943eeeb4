"""The report: one HTML file that anyone can draw again from a release.

It loads nothing. Its policy allows the one style sheet and the one script that it carries, by their hashes, and no other.
The same release gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from dpmondrian.privacy.ledger import Entry
from dpmondrian.release.explain import of_hundred, right_of_hundred
from dpmondrian.release.release import Release
from dpmondrian.release.statement import earlier_fits_words
from dpmondrian.schema.columns import Category, Column
from dpmondrian.show.report import meaning, palette
from dpmondrian.show.report.clusters import cluster_rows, table_heads
from dpmondrian.show.report.drawings import mondrian, mondrian_data, profile
from dpmondrian.show.report.outline import outline, strength_words
from dpmondrian.show.report.selection import Shown, shown_part
from dpmondrian.show.report.words import DASH, bound_text, clean, count, number, percent

__all__ = ["PAPER", "environment", "render_report"]

PAPER = (
    "Liebenow, J., Schütt, Y., Braun, T., Gehrke, M., Thaeter, F., Mohammadi, E. (2024). DPM: Clustering Sensitive Data "
    "through Separation. ACM Conference on Computer and Communications Security (CCS 2024). arXiv:2307.02969."
)

_MOST_LEVELS = 40
"""Categories of one column that the report lists."""

_LONGEST_FULL_NAME = 300

_MOST_ON_PAPER = 8
"""Columns that fit side by side on paper, those of categories counted twice; with more, clusters are printed as lists."""


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


def render_report(release: Release) -> str:
    """Return the report on a release as the text of one HTML file.

    Privacy
    -------
    Only what the release holds is drawn, so the report may be published wherever the release may. Nothing in it is loaded
    from elsewhere, and texts of the release (names, categories, units) cannot become markup or code.

    Parameters
    ----------
    release : Release
        Of a fit, or of ``Release.load("release.json")``.

    Examples
    --------
    >>> from pathlib import Path
    >>> release = Release.load("release.json")  # doctest: +SKIP
    >>> Path("report.html").write_text(render_report(release), encoding="utf-8")  # doctest: +SKIP
    """
    from markupsafe import Markup

    shown = shown_part(release)
    style, script = _asset("report.css") + palette.css(), _asset("report.js")
    return str(
        environment()
        .get_template("report.html")
        .render(
            policy=_policy(style, script),
            style=Markup(style),  # noqa: S704 - a file of this package
            script=Markup(script),  # noqa: S704 - a file of this package
            data=Markup(_harmless_json(mondrian_data(shown))),  # noqa: S704 - escaped by _harmless_json
            **_sections(shown),
        )
    )


def _sections(shown: Shown) -> dict[str, Any]:
    """Return the values of the template."""
    release, privacy = shown.release, shown.release.privacy
    n_rows, heads = float(max(release.sizes.sum(), 0.0)), table_heads(shown)
    return {
        "n_clusters": len(release.sizes),
        "n_rows": n_rows,
        "shown": shown,
        "release": release,
        "privacy": privacy,
        "lead": meaning.lead(privacy),
        "sound": math.isfinite(privacy.epsilon),
        "epsilon": meaning.total_epsilon(privacy),
        "bounds_epsilon": float(getattr(privacy, "bounds_epsilon", 0.0)),
        "explained": meaning.explanation(privacy),
        "factor": _factor(meaning.total_epsilon(privacy)),
        "expected_failures": meaning.expected_failures(privacy, n_rows),
        "heads": heads,
        "wide": len(heads) + len(release.schema.categories) > _MOST_ON_PAPER,
        "clusters": cluster_rows(shown),
        "profile": profile(shown),
        "mondrian": mondrian(shown),
        "nodes": outline(shown),
        "n_nodes": len(release.tree.column),
        "strength_words": strength_words(shown),
        "kinds": meaning.kinds(privacy),
        "ledger": [_ledger_line(shown, entry) for entry in privacy.entries],
        "cost_head": "cost (epsilon; of Gaussian noise: mu)"
        if privacy.currency == "joint"
        else f"cost ({clean(privacy.currency)})",
        "columns": [_public_column(column) for column in release.schema.columns],
        "parameters": list(_parameters(release)),
        "paper": PAPER,
        "digest": release.digest(),
        "earlier_fits": earlier_fits_words(privacy.earlier_fits) if privacy.earlier_fits else "",
        "markers": palette.small_marks(shown.n_clusters),
    }


def _factor(epsilon: float) -> str:
    """Return e^epsilon as text."""
    return number(math.exp(epsilon), 2 if epsilon < 3 else 0) if epsilon < 30 else f"e^{meaning.plain_number(epsilon)}"


def _ledger_line(shown: Shown, entry: Entry) -> LedgerLine:
    cells = (
        clean(entry.name),
        DASH if entry.level is None else str(entry.level),
        clean(entry.mechanism),
        f"{entry.sensitivity:,g}",
        f"{entry.scale:,.4g}",
        clean(entry.unit),
        f"{entry.cost:.4g}",
        f"{entry.n_draws:,}",
    )
    return LedgerLine(cells, meaning.cost_share(shown.release.privacy, entry))


def _public_column(column: Column | Category) -> PublicColumn:
    name = clean(column.name, _LONGEST_FULL_NAME)
    if isinstance(column, Category):
        levels = [clean(level) for level in column.levels[:_MOST_LEVELS]]
        more = f" and {len(column.levels) - _MOST_LEVELS} more" if len(column.levels) > _MOST_LEVELS else ""
        kind = "categories, may be cut" if column.cut else "categories"
        return PublicColumn(name, kind, ", ".join(levels) + more, "")
    kind = "whole numbers" if column.whole else "numbers on a log scale" if column.log else "numbers"
    domain = f"{bound_text(column.lower)} to {bound_text(column.upper)}"
    return PublicColumn(name, kind, domain, clean(column.unit, 60) if column.unit else "")


def _parameters(release: Release) -> Iterator[tuple[str, str]]:
    """Give the parameters of the run, by name."""
    privacy = release.privacy
    yield "epsilon", meaning.plain_number(privacy.epsilon)
    yield "delta", meaning.plain_number(privacy.delta)
    yield "variant", clean(privacy.variant)
    yield "rows_per_person", str(privacy.rows_per_person)
    for name, value in release.parameters.items():
        if isinstance(value, dict):
            yield (
                clean(name),
                clean(
                    ", ".join(
                        f"{key} {part:g}" if isinstance(part, float) else f"{key} {part}" for key, part in value.items()
                    ),
                    200,
                ),
            )
        else:
            yield (
                clean(name),
                "chosen by DPM"
                if value is None
                else clean(f"{value:.6g}" if isinstance(value, float) else str(value), 200),
            )


@lru_cache(maxsize=1)
def environment() -> Any:
    """Return jinja2's environment of the templates: everything that is not marked as safe is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("dpmondrian.show.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "clean": clean,
        "count": count,
        "of_hundred": of_hundred,
        "one_in": meaning.one_in,
        "percent": percent,
        "plain": meaning.plain_number,
        "right_of_hundred": right_of_hundred,
    }
    return templates


@lru_cache(maxsize=2)
def _asset(name: str) -> str:
    return files("dpmondrian.show.report").joinpath("templates", name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Return a policy under which nothing is loaded, and only this style sheet and this script are used."""
    return f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _harmless_json(values: Any) -> str:
    """Return JSON without any character that could end the element around it or a line of script."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text
