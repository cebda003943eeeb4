"""What will not work, as facts: of a run that is planned, and of a fit, by its released number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmondrian.planning.design import EXPECTED_CLUSTERS, Design
from dpmondrian.planning.finding import smallest_cluster
from dpmondrian.privacy import Doubt, promise_doubts

if TYPE_CHECKING:
    from dpmondrian.dpm import Settings
    from dpmondrian.planning.forecast import Forecast
    from dpmondrian.release import Release

__all__ = ["doubts_of", "few_rows", "noisy_rows"]


def doubts_of(forecast: Forecast) -> list[Doubt]:
    """Return what will not work of a run that is planned, the worst first."""
    outlook, design = forecast.outlook, forecast.design
    found: list[Doubt] = []
    if not design.has_cuts:
        found.append(Doubt("no_cuts"))
    else:
        found += _too_few(outlook.n_rows, outlook.smallest.rows)
        if not found and outlook.smallest.rows > outlook.cluster_rows:
            values = {"rows": outlook.cluster_rows, "needed": outlook.smallest.rows}
            found.append(Doubt("small_clusters", values=values))
    blurred = tuple(error.name for error in outlook.centres if error.standard_error > error.spread > 0.0)
    if blurred:
        found.append(Doubt("blurred_centres", values={"columns": blurred}))
    return found + promise_doubts(outlook.epsilon, outlook.delta, outlook.n_rows)


def few_rows(release: Release, settings: Settings) -> list[Doubt]:
    """Return whether clusters of such a table are hardly found; of the paper's variant nothing, which is not planned for.

    Privacy
    -------
    The number of rows is the noisy one at the root of the released tree.
    """
    n_rows = noisy_rows(release)
    design = Design(n_rows, release.schema, settings, min(settings.n_clusters or EXPECTED_CLUSTERS, n_rows))
    return [] if settings.paper or not design.has_cuts else _too_few(n_rows, smallest_cluster(design).rows)


def _too_few(n_rows: int, needed: float) -> list[Doubt]:
    """Return a doubt if a cluster needs more than half of all rows to be found."""
    return [Doubt("few_rows", values={"rows": n_rows, "needed": needed})] if needed > n_rows / 2 else []


def noisy_rows(release: Release) -> int:
    """Return the released number of all rows, at least one."""
    return max(1, round(float(release.tree.size[0])))
