"""What a released number of rows says about a fit: whether clusters of such a table are found at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmondrian.forecast.design import EXPECTED_CLUSTERS, Design
from dpmondrian.forecast.finding import smallest_cluster

if TYPE_CHECKING:
    from dpmondrian.dpm.settings import Settings
    from dpmondrian.release.release import Release

__all__ = ["noisy_rows", "rows_needed"]


def rows_needed(release: Release, settings: Settings) -> float | None:
    """Return how many rows a cluster needs to be found; None where nothing is cut, and for the paper's variant.

    That variant is there to repeat its results, and is not planned for.

    Privacy
    -------
    The number of rows is the noisy one at the root of the released tree.
    """
    n_rows = noisy_rows(release)
    design = Design(n_rows, release.schema, settings, min(settings.n_clusters or EXPECTED_CLUSTERS, n_rows))
    return None if settings.paper or not design.has_cuts else smallest_cluster(design).rows


def noisy_rows(release: Release) -> int:
    """Return the released number of all rows, at least one."""
    return max(1, round(float(release.tree.size[0])))
