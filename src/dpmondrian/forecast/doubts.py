"""What is doubtful about a run, as facts: before any row is read, before a fit, and after it.

`DPM.fit` and ``dpm cluster``, `forecast` and ``dpm plan`` know the same doubts, and `dpmondrian.show` has the same words for them.
All follow from public things only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpmondrian.dpm.algorithm import Settings
    from dpmondrian.forecast.outlook import Forecast
    from dpmondrian.release.release import Release

__all__ = ["Doubt", "doubts_after_fit", "doubts_of", "promise_doubts", "promise_doubts_of"]

LARGE_EPSILON, LARGE_DELTA = 10.0, 1e-3
"""Above, a promise is next to none; both are far beyond what is usual."""

USUAL_DELTA = 1e-7


@dataclass(frozen=True)
class Doubt:
    """Something that will not work, or promises little.

    Attributes
    ----------
    key : str
        What it is; the key of its words is "doubt." and this.
    about : {"promise", "rows"}
        Whether little is promised, or little will be found.
    parameter : str
        The parameter that it follows from, if there is one.
    values : mapping from str to a number or names
        The numbers in it.
    """

    key: str
    about: str
    parameter: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


def promise_doubts(epsilon: float, delta: float, n_rows: int | None = None) -> list[Doubt]:
    """Return why a promise is not worth much; `n_rows` is public, a guess or a released count."""
    found = []
    if epsilon > LARGE_EPSILON:
        found.append(Doubt("large_epsilon", "promise", "epsilon", {"epsilon": epsilon}))
    if n_rows is not None and delta > 1.0 / n_rows:
        better = 10.0 ** -(math.ceil(math.log10(n_rows)) + 2)  # at most a hundredth of 1 / n
        values = {"delta": delta, "rows": n_rows, "better": better}
        found.append(Doubt("delta_above_one_row", "promise", "delta", values))
    elif delta > LARGE_DELTA:
        found.append(Doubt("large_delta", "promise", "delta", {"delta": delta, "better": USUAL_DELTA}))
    return found


def doubts_of(forecast: Forecast) -> list[Doubt]:
    """Return what will not work of a run that is planned, the worst first."""
    outlook, design = forecast.outlook, forecast.design
    found: list[Doubt] = []
    if not design.has_cuts:
        found.append(Doubt("no_cuts", "rows"))
    else:
        found += _rows_doubts(outlook.n_rows, outlook.smallest.rows)
        if not found and outlook.smallest.rows > outlook.cluster_rows:
            values = {"rows": outlook.cluster_rows, "needed": outlook.smallest.rows}
            found.append(Doubt("small_clusters", "rows", values=values))
    blurred = tuple(error.name for error in outlook.centres if error.standard_error > error.spread > 0.0)
    if blurred:
        found.append(Doubt("blurred_centres", "rows", values={"columns": blurred}))
    return found + promise_doubts(outlook.epsilon, outlook.delta, outlook.n_rows)


def promise_doubts_of(release: Release) -> list[Doubt]:
    """Return why the promise of a release is not worth much."""
    return promise_doubts(release.privacy.epsilon, release.privacy.delta, _noisy_rows(release))


def doubts_after_fit(release: Release, settings: Settings) -> list[Doubt]:
    """Return what the released number of rows adds to the doubts that the parameters raised before the fit.

    Privacy
    -------
    The number of rows is the noisy one at the root of the released tree.
    """
    known = {doubt.parameter for doubt in promise_doubts(release.privacy.epsilon, release.privacy.delta)}
    new = [doubt for doubt in promise_doubts_of(release) if doubt.parameter not in known]
    return new + _few_rows(release, settings)


def _few_rows(release: Release, settings: Settings) -> list[Doubt]:
    from dpmondrian.forecast.design import EXPECTED_CLUSTERS, Design
    from dpmondrian.forecast.finding import smallest_cluster

    n_rows = _noisy_rows(release)
    clusters = min(settings.n_clusters or EXPECTED_CLUSTERS, n_rows)
    design = Design(n_rows, release.schema, settings, clusters)
    if settings.paper or not design.has_cuts:  # the paper's variant repeats its results, and is not planned for
        return []
    return _rows_doubts(n_rows, smallest_cluster(design).rows)


def _rows_doubts(n_rows: int, smallest: float) -> list[Doubt]:
    """Return a doubt if a cluster needs more than half of all rows to be found."""
    if smallest <= n_rows / 2:
        return []
    return [Doubt("few_rows", "rows", values={"rows": n_rows, "needed": smallest})]


def _noisy_rows(release: Release) -> int:
    """Return the released number of all rows, at least one."""
    return max(1, round(float(release.tree.size[0])))
