"""How much of the variance each number of segments explains, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpmondrian.show.plots.drawing import pyplot
from dpmondrian.show.report.palette import LIGHT
from dpmondrian.show.words import ENGLISH, Words

if TYPE_CHECKING:
    from dpmondrian.release import Qualities


def plot_qualities(qualities: Qualities, ax: Any = None, *, words: Words = ENGLISH) -> Any:
    """Draw the qualities of several k with their standard errors, and return the axes. Only released values are drawn."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=(6.0, 3.6), layout="constrained")
    ax.errorbar(
        qualities.k,
        100.0 * qualities.quality,
        yerr=100.0 * qualities.error,
        color=LIGHT[0],
        marker="o",
        ms=4,
        capsize=2,
    )
    ax.set(ylim=(0.0, 100.0), xlabel=words("plot.qualities.k"), ylabel=words("plot.qualities.quality"))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
