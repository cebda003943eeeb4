"""How figures are drawn (`drawing` of the core) and saved: PNG and SVG, the same bytes for the same rows."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dpmondrian.common.whole_files import put_bytes
from dpmondrian_lab.pages.names import algorithm_name, style

__all__ = ["bar_look", "line_look", "plain_log_ticks", "save", "top_legend"]


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG, without date and version, and return the paths."""
    paths = []
    for kind, left_out in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
        content = io.BytesIO()
        figure.savefig(content, format=kind, bbox_inches="tight", metadata=left_out)
        paths.append(folder / f"{name}.{kind}")
        put_bytes(paths[-1], content.getvalue(), overwrite=True, make_folder=True)
    return paths


def top_legend(figure: Any, handles: list[Any], labels: Iterable[str], n_columns: int) -> None:
    """Put one legend above all panels, where it covers no data."""
    figure.legend(handles, list(labels), loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=n_columns)


def plain_log_ticks(axis: Any, values: Iterable[float]) -> None:
    """Label a log axis with these values, and with nothing else."""
    values = list(values)
    axis.set_ticks(values, [f"{value:,g}" for value in values])
    axis.set_ticks([], minor=True)


def bar_look(key: str) -> dict[str, Any]:
    """Return how the bars of an algorithm look."""
    look = style(key)
    return {"color": look.colour, "hatch": look.stripes, "edgecolor": "white", "linewidth": 0.4}


def line_look(key: str) -> dict[str, Any]:
    """Return how the lines of an algorithm look."""
    look = style(key)
    return {"color": look.colour, "marker": look.marker, "linestyle": look.line, "label": algorithm_name(key)}
