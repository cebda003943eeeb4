"""Figures that are drawn into files: matplotlib without a screen, and with one look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpmondrian.exceptions import PlotsMissingError

__all__ = ["drawing"]

_LOOK: Any = {
    "figure.dpi": 120,
    "savefig.dpi": 120,
    "font.size": 9,
    "font.family": ["DejaVu Sans"],  # comes with matplotlib, so the picture is the same everywhere
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "axes.titlesize": 9.5,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "hatch.linewidth": 0.7,
    "svg.hashsalt": "dpmondrian",
    "svg.fonttype": "path",
}


@contextmanager
def drawing() -> Iterator[Any]:
    """Give matplotlib's pyplot, without a screen and with our look; close all figures afterwards."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise PlotsMissingError(
            "Figures need matplotlib, which is not installed. Get it with: pip install 'dpmondrian[plots]'"
        ) from None
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    with matplotlib.rc_context(_LOOK):
        try:
            yield plt
        finally:
            plt.close("all")
