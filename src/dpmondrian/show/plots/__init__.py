"""Pictures of what was released or is expected. They need matplotlib, which `drawing` alone loads, when something is drawn."""

from __future__ import annotations

from dpmondrian.show.plots.cells import plot_hierarchy, plot_qualities
from dpmondrian.show.plots.clusters import plot_clusters
from dpmondrian.show.plots.drawing import drawing, pyplot
from dpmondrian.show.plots.forecast import plot_forecast

__all__ = ["drawing", "plot_clusters", "plot_forecast", "plot_hierarchy", "plot_qualities", "pyplot"]
