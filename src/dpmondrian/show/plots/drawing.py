"""The one home of matplotlib: it is loaded here, when something is drawn, and missed here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpmondrian.exceptions import PlotsMissingError

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


def pyplot() -> Any:
    """Return matplotlib's pyplot; raise `PlotsMissingError` where matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise PlotsMissingError(
            "Plots need matplotlib, which is not installed.", "Get it with: pip install 'dpmondrian[plots]'"
        ) from None
    return plt


@contextmanager
def drawing() -> Iterator[Any]:
    """Give pyplot for pictures in files: without a screen and with our look; close all figures afterwards."""
    plt = pyplot()
    plt.switch_backend("agg")
    with plt.rc_context(_LOOK):
        try:
            yield plt
        finally:
            plt.close("all")
