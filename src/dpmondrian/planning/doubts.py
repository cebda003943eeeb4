"""What will not work, as facts: of a run that is planned, and of a fit, by its released number of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.planning.design import EXPECTED_CLUSTERS, Design
from dpmondrian.planning.errors import clear_size
from dpmondrian.planning.finding import Findable, findable
from dpmondrian.privacy import Doubt, promise_doubts
from dpmondrian.release.verification import settings_of
from dpmondrian.schema import OTHER, Column, Indicator, YesNo

if TYPE_CHECKING:
    from dpmondrian.planning.forecast import Forecast
    from dpmondrian.release import Release

_NEARLY_ALL = 0.95  # share of rows in no declared category
_NEAR_BOUND = 0.01  # part of the range: a column whose centres are all so close to one end says nothing
_CLEAR_ERROR = 0.02  # part of the range: with larger errors, centres do not show where the rows are
_MANY = 0.5  # share of rows at both bounds together
_SOME = 0.05  # share at each: amounts are often none, but seldom as much as may be, too
_OWN_BINS = 20  # columns of no more values have a bin for each, and many rows may have the last one


def doubts_of(forecast: Forecast) -> list[Doubt]:
    """Return what will not work of a run that is planned, the worst first."""
    outlook = forecast.outlook
    found = _too_few(outlook.n_rows, outlook.smallest)
    if not found and forecast.design.settings.finds_k and outlook.smallest > outlook.cluster_rows:
        found.append(Doubt("small_clusters", values={"rows": outlook.cluster_rows, "needed": outlook.smallest}))
    elif not found:
        found += _too_many(forecast.design)
    if outlook.blurred:
        found.append(Doubt("blurred_centres", values={"columns": outlook.blurred}))
    return found + promise_doubts(outlook.epsilon, outlook.delta, outlook.n_rows)


def few_rows(release: Release) -> list[Doubt]:
    """Return whether such a table and budget are too small for anything, or for so many clusters; nothing of the paper's variant.

    Privacy
    -------
    The number of rows is the noisy one at the root of the released tree; all else is public.
    """
    design = _design_of(release)
    if design is None:
        return []
    if design.settings.finds_k:
        return _too_few(design.n_rows, findable(design).rows)
    return _too_few(design.n_rows, clear_size(design)) or _too_many(design)


def misfits(release: Release) -> list[Doubt]:
    """Return the columns whose bounds or categories do not fit the rows, as far as released centres and profiles show it.

    Privacy
    -------
    Centres, their errors, sizes and profiles are released; all else is public.
    """
    weights = np.maximum(release.sizes, 0.0) + 1e-9
    shares = weights / weights.sum()
    found = []
    for j, column in enumerate(release.schema.centre_columns):
        centres, error = release.centres[:, j], float(shares @ release.centre_errors[:, j])
        if isinstance(column, Indicator):
            is_rest = column.category == OTHER and OTHER not in release.schema.categories[column.of].categories
            if is_rest and float(shares @ centres) - 2.0 * error > _NEARLY_ALL:
                found.append(Doubt("no_category", values={"column": (column.of,)}))
        elif not isinstance(column.notation, YesNo) and error < _CLEAR_ERROR * (column.upper - column.lower):
            found += _at_a_bound(column, centres)
    told = {doubt.values["column"][0] for doubt in found}
    return found + [doubt for doubt in _at_both_bounds(release) if doubt.values["column"][0] not in told]


def _at_a_bound(column: Column, centres: NDArray[np.float64]) -> list[Doubt]:
    """Return a doubt if all centres lie at one end of a column."""
    ends = (column.lower, column.upper)
    lower, upper = (math.log(end) for end in ends) if column.log else ends
    places = (np.log(np.maximum(centres, column.lower)) if column.log else centres) - lower
    near = _NEAR_BOUND * (upper - lower)
    for name, distance in (("lower", places), ("upper", upper - lower - places)):
        if (distance < near).all():
            return [Doubt(f"at_{name}_bound", values={"column": (column.name,)})]
    return []


def _at_both_bounds(release: Release) -> Iterator[Doubt]:
    """Yield a doubt for each column of which profiles show many rows at its bounds, to which they were clipped."""
    profiles = release.profiles
    if profiles is None:
        return
    size, noise = max(profiles.total, 1.0), profiles.deviation * math.sqrt(len(profiles.histograms))
    shares = np.maximum(profiles.rows_at_ends() - 2.0 * noise, 0.0) / size
    for column, ends in zip(profiles.columns, shares.tolist(), strict=True):
        if not isinstance(column, Column) or (column.whole and column.range < _OWN_BINS):
            continue
        if min(ends) > _SOME and sum(ends) > _MANY:
            yield Doubt("at_both_bounds", values={"column": (column.name,), "share": round(100.0 * sum(ends))})


def was_findable(release: Release) -> Findable | None:
    """Return what could have been found in the run of a release; None where k was given, or of the paper's variant.

    Privacy
    -------
    As in `few_rows`.
    """
    design = _design_of(release)
    return None if design is None or not design.settings.finds_k else findable(design)


def noisy_rows(release: Release) -> int:
    """Return the released number of all rows, at least one."""
    return max(1, round(float(release.tree.size[0])))


def _design_of(release: Release) -> Design | None:
    """Return the design of the run of a release; None for the paper's variant."""
    settings, n_rows = settings_of(release), noisy_rows(release)
    clusters = min(settings.n_clusters or EXPECTED_CLUSTERS, n_rows)
    return None if settings.paper else Design(n_rows, release.schema, settings, clusters)


def _too_many(design: Design) -> list[Doubt]:
    """Return a doubt if more clusters are asked for than can stand out from the noise, were all of one size."""
    needed = clear_size(design)
    if design.settings.finds_k or needed <= design.cluster_rows:
        return []
    asked, most = design.settings.n_clusters or design.expected_clusters, max(1, int(design.n_rows / needed))
    values: dict[str, Any] = {"clusters": asked, "needed": needed, "most": most}
    if asked > design.n_rows:
        return [Doubt("more_clusters_than_rows", values={**values, "rows": float(design.n_rows)})]
    return [Doubt("many_clusters", values={**values, "rows": design.cluster_rows})]


def _too_few(n_rows: int, needed: float) -> list[Doubt]:
    """Return a doubt if a cluster needs more than half of all rows to be found."""
    if needed <= n_rows / 2:
        return []
    values = {"rows": n_rows, "needed": needed}
    return [Doubt("nothing_found", values={"rows": n_rows}) if math.isinf(needed) else Doubt("few_rows", values=values)]
