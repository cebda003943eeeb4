"""The page of an audit: tables and figures from rows, the same bytes for the same rows."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from dpmondrian.common.whole_files import write_file
from dpmondrian_lab.audit.catalogue import DELTA, EPSILON, SUBJECTS, Subject
from dpmondrian_lab.audit.findings import KINDS
from dpmondrian_lab.audit.perform import AuditRow, Effort, wrong_rows
from dpmondrian_lab.audit.tight_page import (
    CLIENT_HEAD,
    CLIENT_WORDS,
    TABLES_HEAD,
    TABLES_WORDS,
    client_rows,
    draw_profiles,
    has_profiles,
    table_rows,
)

__all__ = ["SUMMARY_HEAD", "page_text", "summary_rows", "verdict", "write_audit"]

SUMMARY_HEAD = (
    "",
    "claimed",
    "attained",
    "game: largest bound",
    "on the pair",
    "canaries",
    "replay",
    "exact law",
    "verdict",
)
"""Of `summary_rows`."""

_COLOURS = {"ours": "#0072B2", "peer": "#009E73", "published": "#D55E00"}
_MARKERS = ("o", "s", "^", "D", "v", "P")
_PANELS = {
    "DPM": ("dpm", "dpm_paper", "dpm_published"),
    "DP-Lloyd": ("dp_lloyd", "dp_lloyd_published"),
    "EM-MC": ("em_mc", "em_mc_published"),
}
"""What the figure of prices puts side by side; the table has all."""
_ALL_USED = 1.0 + 1e-6
_MOST_SHOWN = 1000.0
"""Parts of a price beyond this are drawn here; the table has the number."""
_COLUMNS = ("instrument", "subject", "pair", "claimed", "delta", "measured", "ok", "words")


def write_audit(rows: Sequence[AuditRow], effort: Effort, folder: Path, seed: int = 0) -> list[Path]:
    """Write ``README.md``, ``rows.json``, ``rows.csv`` and the figures (PNG, SVG) into a folder, and return their paths."""
    figures = _draw(rows, folder)
    texts = {
        "README.md": page_text(rows, effort, seed),
        "rows.json": json.dumps([row.to_dict() for row in rows], indent=1, allow_nan=False) + "\n",
        "rows.csv": _csv(rows),
    }
    for name, text in texts.items():
        write_file(folder / name, text, overwrite=True, make_folder=True)
    return [*(folder / name for name in texts), *figures]


def verdict(subject: Subject, rows: Iterable[AuditRow]) -> str:
    """Return what the rows say of a subject, in a word or two."""
    if all(row.ok for row in rows if row.subject == subject.key):
        return "nothing found" if subject.sound else "not refuted"
    return "WRONG" if subject.sound else "refuted"


def page_text(rows: Sequence[AuditRow], effort: Effort, seed: int = 0) -> str:
    """Return the page, in Markdown."""
    parts = [
        "# Audit: is the promise kept?",
        _introduction(rows, effort, seed),
        "## Side by side",
        "![Lower bounds on epsilon](lower-bounds.png)",
        _markdown(SUMMARY_HEAD, summary_rows(rows)),
        _SIDE_BY_SIDE,
        *_tight_parts(rows, effort),
        "## Membership games",
        _GAMES.format(confidence=100 * effort.confidence),
        _markdown(("", "tables", "lower bound", "claimed", "recognised", "mistaken", "tested", "by"), _game_rows(rows)),
        "## Canaries",
        _CANARIES,
        _markdown(("", "lower bound", "claimed", "canaries", "guesses", "right", "runs"), _canary_rows(rows)),
        "## What the worst neighbour used of each price",
        "![Parts of the prices that were used](prices.png)",
        _PRICES,
        _markdown(("query", "subject", "used by replay", "used by exact law"), _price_rows(rows)),
        "## What was found in the published algorithms",
        "By replay and exact laws; of each kind and query the worst.",
        _markdown(("", "instrument", "found", "where", "measured", "allowed", "pair"), _finding_rows(rows)),
        _LEDGERS,
        _markdown(("", "claimed", "cost of what is drawn", "tables"), _ledger_rows(rows)),
        "Kinds of findings:\n\n" + "\n".join(f"- **{kind}**: {words}" for kind, words in KINDS.items()),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _tight_parts(rows: Sequence[AuditRow], effort: Effort) -> list[str]:
    """Return the section about log-likelihood ratios of whole transcripts, where these were computed."""
    if not has_profiles(rows):
        return []
    return [
        "## Close to the claim",
        "![Claimed and attained privacy profiles](profiles.png)",
        CLIENT_WORDS.format(confidence=100 * effort.confidence, transcripts=effort.transcripts),
        _markdown(CLIENT_HEAD, client_rows(rows)),
        TABLES_WORDS.format(runs=effort.table_runs),
        _markdown(TABLES_HEAD, table_rows(rows)),
    ]


def _introduction(rows: Sequence[AuditRow], effort: Effort, seed: int) -> str:
    n_wrong = len(list(wrong_rows(rows)))
    sound = f"Something is WRONG in {n_wrong} rows." if n_wrong else "Nothing was found wrong in ours."
    broken = [subject for subject in SUBJECTS.values() if not subject.sound and verdict(subject, rows) == "refuted"]
    names = "; ".join(subject.name for subject in broken) or "none"
    return (
        f"`make audit` (or `dpm audit --out FOLDER`) tries to refute the promise epsilon = {EPSILON:g}, delta = {DELTA:g} (0 where "
        "an algorithm has none) of every variant of DPM, of our versions of the peers, and of three algorithms as published, with "
        f"the same instruments and on the same tables. **{sound} Refuted: {names}.**\n\n"
        f"Seed {seed}; {effort.game_runs} releases of each table per game (fewer where a run takes long), every bound with "
        f"{100 * effort.confidence:g} % confidence by itself. All tables are invented, so exact numbers may be shown. Rows: "
        "[rows.json](rows.json), [rows.csv](rows.csv). How the instruments work: [proofs and audits](../../docs/privacy/README.md)."
    )


_SIDE_BY_SIDE = (
    "A lower bound above the claim refutes it. *Attained* is the tight one: it is what an attacker attains who sees every draw "
    "when every draw is at its worst. The bounds of games and canaries prove little where they are low: these distinguishers see only a part of what is "
    "released. What proves the promise is the [theorem](../../docs/privacy/README.md); replay and exact laws check its steps on real "
    "runs.\n\n"
    "*DPM, as published,* is the paper's algorithm 1 and 2 with the defects of the paper and of its reference code, written anew for "
    'this audit (`dpmondrian_lab.audit.published`); the two peers as published are `variant="as_published"`. All of them say '
    "NOT RELEASABLE."
)
_GAMES = (
    "Many releases of each of two neighbouring tables. A distinguisher is trained on one half of them; on the other half it "
    "recognises so many releases of the larger table, and mistakes so many of the smaller one for it. The bound holds with "
    "{confidence:g} % confidence (Clopper and Pearson for both rates)."
)
_CANARIES = (
    "Invented rows beside crowds, each there or not by a coin, are guessed from the release (Steinke, Nasr, Jagielski 2023). A "
    "clustering releases few numbers, so this audit has little power here; it is what somebody with few releases can do."
)
_PRICES = (
    "Every query is paid for from the budget, for the worst that one person's rows can change. Replay measures what the adversarial "
    "pairs really change; 100 % means that the price is neither too low nor higher than needed. Beyond 100 % the promise is broken."
)
_LEDGERS = (
    "What the noise that the published algorithms really draw costs, by its scale alone and without the defects above, on a table "
    "with many columns:"
)


def summary_rows(rows: Sequence[AuditRow]) -> list[tuple[str, ...]]:
    """Return one line of texts per subject: claim, what is attained of it, largest bounds, what replay and exact laws found, verdict."""
    lines = []
    for subject in _subjects(rows):
        games = _of(rows, "game", subject)
        best = max(games, key=lambda row: row.measured or 0.0) if games else None
        canaries, tight = _of(rows, "canaries", subject), _of(rows, "tight", subject)
        lines.append(
            (
                subject.name,
                f"{EPSILON:g}",
                _number(max(row.measured or 0.0 for row in tight)) if tight else "-",
                _number(best.measured) if best else "-",
                best.pair if best and best.measured else "-",
                _number(canaries[0].measured) if canaries else "-",
                *(_found(_of(rows, instrument, subject)) for instrument in ("replay", "exact law")),
                f"**{verdict(subject, rows)}**",
            )
        )
    return lines


def _found(rows: Sequence[AuditRow]) -> str:
    if not rows:
        return "-"
    return f"{rows[0].details['n_queries']:,} queries: " + ("nothing" if rows[0].ok else "found")


def _game_rows(rows: Sequence[AuditRow]) -> list[tuple[str, ...]]:
    return [
        (
            subject.name,
            row.pair,
            _bold(_number(row.measured), not row.ok),
            f"{row.claimed:g}",
            f"{100 * row.details['true_positives']:.1f} %",
            f"{100 * row.details['false_positives']:.1f} %",
            f"{row.details['n_tested']:,}",
            row.details["distinguisher"],
        )
        for subject in _subjects(rows)
        for row in _of(rows, "game", subject)
    ]


def _canary_rows(rows: Sequence[AuditRow]) -> list[tuple[str, ...]]:
    numbers = ("n_canaries", "n_guesses", "n_right", "n_runs")
    return [
        (
            subject.name,
            _bold(_number(row.measured), not row.ok),
            f"{row.claimed:g}",
            *(f"{row.details[name]:,}" for name in numbers),
        )
        for subject in _subjects(rows)
        for row in _of(rows, "canaries", subject)
    ]


def _price_rows(rows: Sequence[AuditRow]) -> list[tuple[str, ...]]:
    lines = []
    for subject in _subjects(rows):
        used = {name: _used(rows, name, subject) for name in ("replay", "exact law")}
        for query in dict.fromkeys([*used["replay"], *used["exact law"]]):
            shares = [part.get(query) for part in used.values()]
            lines.append(
                (query, subject.name, *(_bold(_percent(share), (share or 0.0) > _ALL_USED) for share in shares))
            )
    return lines


def _finding_rows(rows: Sequence[AuditRow]) -> list[tuple[str, ...]]:
    """Return the findings of published algorithms, the worst of each kind and query; whatever is wrong of ours first."""
    lines = []
    found = [row for row in rows if row.instrument in ("replay", "exact law") and not row.ok]
    for row in sorted(found, key=lambda row: not SUBJECTS[row.subject].sound):
        for example in row.details["examples"]:
            numbers = (_exact(example[name]) for name in ("measured", "allowed"))
            where = example["query"].split(", level ")[0] or "-"
            lines.append(
                (SUBJECTS[row.subject].name, row.instrument, example["kind"], where, *numbers, example["pair"])
            )
    return lines


def _ledger_rows(rows: Sequence[AuditRow]) -> list[tuple[str, ...]]:
    return [
        (SUBJECTS[row.subject].name, f"{row.claimed:g}", _bold(_number(row.measured), not row.ok), row.pair)
        for row in rows
        if row.instrument == "ledger"
    ]


def _subjects(rows: Iterable[AuditRow]) -> list[Subject]:
    there = {row.subject for row in rows}
    return [subject for subject in SUBJECTS.values() if subject.key in there]


def _of(rows: Iterable[AuditRow], instrument: str, subject: Subject) -> list[AuditRow]:
    return [row for row in rows if row.instrument == instrument and row.subject == subject.key]


def _used(rows: Iterable[AuditRow], instrument: str, subject: Subject) -> dict[str, float]:
    return {name: share for row in _of(rows, instrument, subject) for name, share in row.used.items()}


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _exact(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float | int) else str(value)


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    if share < 10.0:
        return f"{100 * share:.3g} %"
    return f"{share:,.0f} times" if share < 1e5 else f"{share:.0e} times"


def _bold(text: str, wanted: bool) -> str:
    return f"**{text}**" if wanted else text


def _markdown(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table, or nothing where there are no lines."""
    lines = list(lines)
    if not lines:
        return ""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines))


def _csv(rows: Iterable[AuditRow]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in rows:
        values = row.to_dict()
        writer.writerow("" if values[name] is None else values[name] for name in _COLUMNS)
    return text.getvalue()


def _draw(rows: Sequence[AuditRow], folder: Path) -> list[Path]:
    """Write all figures and return their paths."""
    from dpmondrian.show.plots import drawing
    from dpmondrian_lab.pages.figures.style import save

    paths = []
    figures = [("lower-bounds", _draw_bounds), ("prices", _draw_prices)]
    if has_profiles(rows):
        figures.append(("profiles", draw_profiles))
    with drawing() as plt:
        for name, draw in figures:
            paths += save(draw(plt, rows), folder, name)
    return paths


def _draw_bounds(plt: Any, rows: Sequence[AuditRow]) -> Any:
    """Return a figure with the lower bounds of every subject beside its claim."""
    subjects = _subjects(rows)
    figure, ax = plt.subplots(figsize=(7.2, 0.34 * len(subjects) + 1.3), layout="constrained")
    pairs = list(dict.fromkeys(row.pair for row in rows if row.instrument == "game"))
    shown = [
        *((pair, "game") for pair in pairs),
        ("canaries", "canaries"),
        ("attained by the worst-case client", "tight"),
    ]
    for place, subject in enumerate(subjects):
        for number, (pair, instrument) in enumerate(shown):
            for row in _of(rows, instrument, subject):
                if instrument != "game" or row.pair == pair:
                    height = place + 0.14 * (number - (len(shown) - 1) / 2)
                    filled = _COLOURS[subject.kind] if not row.ok else "white"
                    ax.plot(
                        row.measured, height, _MARKERS[number], color=_COLOURS[subject.kind], markerfacecolor=filled,
                        markersize=5, clip_on=False,
                    )  # fmt: skip
    ax.axvline(EPSILON, color="black", linewidth=1.0)
    ax.text(EPSILON, -0.75, f" claimed: {EPSILON:g}", ha="left", va="center")
    ax.set_yticks(range(len(subjects)), [subject.name for subject in subjects])
    for label, subject in zip(ax.get_yticklabels(), subjects, strict=True):
        label.set_color(_COLOURS[subject.kind])
    ax.set_ylim(len(subjects) - 0.5, -1.0)
    ax.set_xlim(left=0.0)
    ax.grid(axis="x")
    ax.set_xlabel("lower bound on epsilon; filled where it refutes the claim")
    handles = [
        ax.plot([], [], _MARKERS[number], color="#555555", markerfacecolor="white")[0] for number in range(len(shown))
    ]
    figure.legend(handles, [pair for pair, _ in shown], loc="outside lower center", ncols=3)
    return figure


def _draw_prices(plt: Any, rows: Sequence[AuditRow]) -> Any:
    """Return a figure with the largest part of each query's price that was used, an algorithm as published below ours."""
    lines = {title: found for title, keys in _PANELS.items() if (found := _used_lines(rows, keys))}
    heights = [len(found) for found in lines.values()] or [1]
    figure, axes = plt.subplots(
        len(heights), 1, figsize=(7.2, 0.19 * sum(heights) + 0.5 * len(heights) + 0.6), sharex=True, squeeze=False,
        height_ratios=heights, layout="constrained",
    )  # fmt: skip
    for ax, (title, found) in zip(axes[:, 0], lines.items(), strict=False):
        _draw_panel(ax, found)
        ax.set_title(title, loc="left")
    last = axes[-1, 0]
    last.set_xlim(0.03, _MOST_SHOWN * 12)
    last.set_xticks([0.1, 1.0, 10.0, 100.0, _MOST_SHOWN], ["10 %", "100 %", "10 times", "100 times", "1,000 or more"])
    last.set_xticks([], minor=True)
    last.set_xlabel("largest part of its price that a pair of neighbours used; red where more than was paid for")
    return figure


def _draw_panel(ax: Any, lines: Sequence[tuple[Subject, str, float]]) -> None:
    """Draw one bar per query."""
    for place, (subject, _, share) in enumerate(lines):
        shown, broken = min(share, _MOST_SHOWN), share > _ALL_USED
        ax.barh(place, shown, color="#CC3311" if broken else _COLOURS[subject.kind], height=0.7)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
        ax.text(shown * 1.1, place, _percent(share), va="center", fontsize=7, bbox=box, zorder=3)
    names = [f"{subject.name}: {query}" for subject, query, _ in lines]
    ax.set_yticks(range(len(lines)), names, fontsize=7.5)
    for label, (subject, _, _) in zip(ax.get_yticklabels(), lines, strict=True):
        label.set_color(_COLOURS[subject.kind])
    ax.set_ylim(len(lines) - 0.4, -0.6)
    ax.set_xscale("log")
    ax.axvline(1.0, color="black", linewidth=1.0)


def _used_lines(rows: Sequence[AuditRow], keys: Sequence[str]) -> list[tuple[Subject, str, float]]:
    """Return subject, query and used part of every query of some subjects."""
    return [
        (subject, query, share)
        for subject in _subjects(rows)
        if subject.key in keys
        for query, share in _used(rows, "replay", subject).items()
    ]
