"""A run before a row is read: a guessed number of rows, the schema, the settings, and what follows from them.

Noise, size limits, candidates and ranges are asked of the code that a fit uses, so a changed constant changes the forecast.
Nothing here sees data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpmondrian.common.checks import check_integer
from dpmondrian.dpm import DEFAULTS, SPLIT, Settings, checked_settings, make_plan, split_rule
from dpmondrian.dpm.scores import STEPS
from dpmondrian.dpm.tree import SplitRule
from dpmondrian.engines import Grid
from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy import Door, Draw, Plan
from dpmondrian.release import counted_in
from dpmondrian.schema import Coordinates, Schema

__all__ = ["EXPECTED_CLUSTERS", "Design", "make_design"]

EXPECTED_CLUSTERS = 10
"""How many clusters a forecast is about, unless it is told otherwise: a number that many studies end up with."""

_MOST_ROWS, _MOST_CLUSTERS = 2**40, 10_000


@dataclass(frozen=True)
class Design:
    """What is known about a run before it: made by `make_design`.

    Attributes
    ----------
    n_rows : int
        A guess of the number of rows, from public knowledge.
    schema : Schema
    settings : Settings
        Checked parameters of the estimator, default variant.
    expected_clusters : int
        A guess of the number of clusters; `n_clusters` where that is given.
    """

    n_rows: int
    schema: Schema
    settings: Settings
    expected_clusters: int = EXPECTED_CLUSTERS

    @cached_property
    def plan(self) -> Plan:
        """The budget plan of the run."""
        return make_plan(self.settings)

    @cached_property
    def door(self) -> Door:
        """The door of the run, asked for the size of its noise; nothing is drawn."""
        return Door(self.plan, self.settings.rows_per_person)

    @cached_property
    def grid(self) -> Grid:
        """The grid of the columns and directions."""
        columns, directions = Coordinates(self.schema, self.settings.directions).schema, self.settings.directions
        return Grid.with_windows(columns, self.settings.windows, len(columns.columns) - directions)

    @cached_property
    def rule(self) -> SplitRule:
        """What decides about cuts: score, size limit, attempts."""
        return split_rule(self.door, self.settings, self.grid)

    @cached_property
    def n_candidates(self) -> int:
        """Number of cuts that the first selection chooses from; no later node has more."""
        if self.settings.max_depth == 0:
            return 0
        box = np.zeros((1, self.grid.n_columns), dtype=np.int64), self.grid.n_codes[None, :].copy()
        no_rows = np.zeros((1, self.grid.n_columns, self.grid.most_codes), dtype=np.int64)
        [cuts] = self.rule.score_cuts(no_rows, np.array([max(self.n_rows, 1)], dtype=np.int64), *box)
        return int(cuts.exact_scores.size)

    @property
    def has_cuts(self) -> bool:
        """Whether there is anything to cut."""
        return self.n_candidates > 0

    @property
    def is_gaussian(self) -> bool:
        """Whether noise is Gaussian; without delta it is Laplace noise."""
        return self.plan.currency == "rho"

    @property
    def counted(self) -> str:
        """What sizes are numbers of: "rows" or "people", as in the release of such a run."""
        return counted_in(self.settings.rows_per_person, self.settings.person_id)

    @property
    def cluster_rows(self) -> float:
        """Rows of a cluster, if all expected ones are of one size."""
        return self.n_rows / self.expected_clusters

    @cached_property
    def leaf_level(self) -> int:
        """Level of the leaves of an even tree: enough of them for the expected clusters, or with k as many as will be cut.

        Cuts are seldom even, so of the leaves that the size limit allows about half are there: hence 4 where 2 would do.
        """
        if self.settings.finds_k:
            return min(self.settings.max_depth, math.ceil(math.log2(self.expected_clusters)))
        level = 0
        while level < self.settings.max_depth and self.n_rows / 2.0**level >= 4.0 * self.size_limit(level + 1):
            level += 1
        return level

    def deviation(self, draw: Draw, level: int | None) -> float:
        """Return the standard deviation of a draw's noise, per unit of what one row can change."""
        return self.door.deviation(draw, level)

    def size_limit(self, level: int) -> float:
        """Return the least size of a side that is made on this level."""
        return float(self.rule.size_limit(self.n_rows, level))

    def split_scale(self, level: int) -> float:
        """Return the scale of the selection of a level in rows: a cut so many rows worse is e times less likely."""
        width = self.rule.selection_range(self.n_rows, level) * self.settings.rows_per_person
        return self.plan.find(SPLIT, level).multiplier * width / STEPS

    def times(self, epsilon: float = 1.0, rows: float = 1.0) -> Design:
        """Return the same run with so many times the epsilon or the rows."""
        settings = replace(self.settings, epsilon=self.settings.epsilon * epsilon)
        return replace(self, n_rows=max(1, round(self.n_rows * rows)), settings=settings)


def make_design(
    n_rows: int,
    schema: Schema,
    epsilon: float = 1.0,
    delta: float = 1e-7,
    *,
    n_clusters: int | None = None,
    rows_per_person: int = 1,
    expected_clusters: int | None = None,
    **parameters: Any,
) -> Design:
    """Return the design of a run with these parameters, checked by the rules that a fit has.

    Parameters
    ----------
    n_rows : int
        A guess of the number of rows: public knowledge, not a count of the rows.
    schema : Schema
    epsilon, delta, n_clusters, rows_per_person
        As in `DPM`.
    expected_clusters : int, optional
        A guess of the number of clusters. None: `n_clusters` if that is given, else 10, or 1 if nothing can be cut.
    **parameters
        Further parameters of `DPM`, such as `max_depth` or `directions`; not ``variant="paper"``.
    """
    if not isinstance(schema, Schema):
        raise ParameterError(
            parameter="schema",
            rule="must be a Schema",
            got=type(schema).__name__,
            way_out="Create one from bounds with Schema.from_bounds.",
        )
    n_rows = check_integer("n_rows", n_rows, 1, _MOST_ROWS, "Estimate the number of rows from public knowledge.")
    given = {"epsilon": epsilon, "delta": delta, "n_clusters": n_clusters, "rows_per_person": rows_per_person}
    settings = checked_settings(bounds=schema, **{**DEFAULTS, **given, **parameters})
    if settings.paper:
        raise ParameterError(
            parameter="variant",
            rule="must be 'default' in a forecast",
            value="paper",
            way_out="The paper's variant exists to reproduce its results and has no forecast.",
        )
    if n_clusters is not None and expected_clusters not in (None, n_clusters):
        raise ParameterError(
            parameter="expected_clusters",
            rule=f"must equal the number of clusters if that is given ({n_clusters})",
            value=expected_clusters,
            way_out="Omit it.",
        )
    if expected_clusters is None:
        has_cuts = Design(n_rows, schema, settings).has_cuts
        expected_clusters = n_clusters or (min(EXPECTED_CLUSTERS, n_rows) if has_cuts else 1)
    name = "expected_clusters" if n_clusters is None else "n_clusters"
    clusters = check_integer(
        name, expected_clusters, 1, min(n_rows, _MOST_CLUSTERS), "There cannot be more clusters than rows."
    )
    return Design(n_rows, schema, settings, clusters)
