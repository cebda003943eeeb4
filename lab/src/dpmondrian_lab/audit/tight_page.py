"""The part of the audit's page about the tight audit: words, tables, and the curves of claimed and attained privacy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpmondrian_lab.audit.catalogue import SUBJECTS
from dpmondrian_lab.audit.perform import AuditRow

__all__ = [
    "CLIENT_HEAD",
    "CLIENT_WORDS",
    "TABLES_HEAD",
    "TABLES_WORDS",
    "client_rows",
    "draw_profiles",
    "has_profiles",
    "table_rows",
]

CLIENT_WORDS = (
    "The optimal distinguisher decides by the exact log-likelihood ratio of the whole transcript: of every value that was released. "
    "A *worst-case client* passes the door once for every draw of the longest run that a plan allows: the tree has most levels, all of "
    "them are used, and the whole budget is spent. One person moves each exact value by all that was declared. "
    "*Attained* is the epsilon that its transcript proves at the claim's delta, from the exact laws at the scales that the "
    "sampler was asked for: no smaller epsilon can be true. *Composed loss* is the epsilon that the second accountant states for the "
    "same draws, below which every pair of tables stays. "
    "*Divergence* is the mean log-likelihood ratio, as a part of what the stated costs of the draws allow when they are added up; "
    "*simulated* is a lower bound of it ({confidence:g} % confidence) from {transcripts:,} transcripts of each table, with epsilon = 4, "
    "whatever law the sampler has. Noise that is 5 % too small takes the divergence to 111 % and is refuted. "
    "Statement and proof: [the tight audit](../../docs/privacy/audit.md).\n\n"
    'What lies between attained and claimed is the accountant\'s slack: with composed losses, which `accountant="auto"` takes here, that '
    "selections are composed as if each were the worst for every epsilon at once, and that the claim is that of the worst way to go on after the "
    "first count; in zCDP the conversion to one delta; in the paper's plan that epsilons are added up, "
    "which no pair of tables can attain at this delta, as the composed loss shows."
)
CLIENT_HEAD = (
    "",
    "table",
    "delta",
    "claimed",
    "attained",
    "of the claim",
    "composed loss",
    "of the composed loss",
    "divergence",
    "simulated",
)
TABLES_WORDS = (
    "Hardly any table is the worst for every draw at once. On these pairs whole runs were recorded and replayed on the neighbour "
    "along the same path; the log-likelihood ratios of all their draws, on average over {runs} runs, attain this part of the same "
    "claimed divergence. Draws that a run waives are not in the claim; those that it may skip, and skips, attain nothing."
)
TABLES_HEAD = ("", "tables", "divergence", "of it, by draw")

_CLAIMED, _COMPOSED, _ATTAINED = "#000000", "#888888", "#0072B2"


def client_rows(rows: Sequence[AuditRow]) -> list[tuple[str, ...]]:
    """Return one line of texts per plan."""
    return [
        (
            SUBJECTS[row.subject].name,
            row.pair,
            f"{row.delta:g}",
            f"{row.claimed:g}",
            f"{row.measured:.3f}" if row.ok else f"**{row.measured:.3f}**",
            f"{100 * row.details['part_of_epsilon']:.1f} %",
            f"{row.details['composed']:.3f}",
            f"{100 * row.details['part_of_composed']:.1f} %",
            f"{100 * row.details['part_of_divergence']:.2f} %",
            f"{100 * max(0.0, row.details['simulated_part']):.0f} %",
        )
        for row in rows
        if row.instrument == "tight"
    ]


def table_rows(rows: Sequence[AuditRow]) -> list[tuple[str, ...]]:
    """Return one line of texts per plan and pair of tables."""
    return [
        (
            SUBJECTS[row.subject].name,
            row.pair,
            f"{100 * row.details['part']:.1f} %",
            ", ".join(f"{name} {100 * abs(share):.0f} %" for name, share in row.used.items()),
        )
        for row in rows
        if row.instrument == "tables"
    ]


def has_profiles(rows: Sequence[AuditRow]) -> bool:
    """Return whether there is a curve to draw."""
    return any(row.instrument == "tight" for row in rows)


def draw_profiles(plt: Any, rows: Sequence[AuditRow]) -> Any:
    """Return a figure with the claimed and the attained privacy profile of every plan: delta over epsilon."""
    shown = [row for row in rows if row.instrument == "tight"]
    n_lines = -(-len(shown) // 3)
    figure, axes = plt.subplots(
        n_lines, min(3, len(shown)), figsize=(2.6 * min(3, len(shown)), 2.3 * n_lines + 0.5), sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for ax in axes.ravel()[len(shown) :]:
        ax.set_axis_off()
    for ax, row in zip(axes.ravel(), shown, strict=False):
        _draw_profile(ax, row)
    for ax in axes[:, 0]:
        ax.set_ylabel("delta")
    lines, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=2)
    return figure


def _draw_profile(ax: Any, row: AuditRow) -> None:
    curve = row.details["curve"]
    deltas = [point["delta"] for point in curve]
    claimed, composed, attained = ([point[name] for point in curve] for name in ("claimed", "composed", "attained"))
    ax.fill_betweenx(deltas, 0.0, attained, color=_ATTAINED, alpha=0.12, linewidth=0)
    ax.plot(attained, deltas, color=_ATTAINED, linewidth=1.6, label="attained: below it is refuted")
    ax.plot(composed, deltas, color=_COMPOSED, linewidth=1.0, linestyle="--", label="stated by the composed loss")
    ax.plot(claimed, deltas, color=_CLAIMED, linewidth=1.2, label="claimed by the plan's accountant")
    if row.delta > 0.0:
        ax.plot([row.claimed], [row.delta], "o", color=_CLAIMED, markersize=4, label="the release's statement")
    ax.set_yscale("log")
    ax.set_ylim(deltas[0], deltas[-1])
    ax.set_xlim(0.0, 1.05 * max(claimed))
    ax.set_title(f"{SUBJECTS[row.subject].name}\n{row.pair}", loc="left", fontsize="small")
    ax.set_xlabel("epsilon")
    ax.grid(True)
