"""A run before a row is read: a guessed number of rows, the schema, the settings, and what follows from them.

Shares, levels, size limits and noise are asked of the code that a fit uses, so a changed constant changes the forecast. Nothing
here sees data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dpmondrian.common.checks import check_integer
from dpmondrian.dpm import (
    CELL_STEPS,
    COARSE_PART,
    DEFAULTS,
    FINAL_SHARE,
    K_STEPS,
    LEAF_PART,
    MOST_CLUSTERS,
    Settings,
    check_columns,
    checked_settings,
    level_draws,
    make_plan,
    n_levels,
    rows_per_cell,
    split_rule,
)
from dpmondrian.dpm.finding import has_grid, round_costs
from dpmondrian.engines import Grid
from dpmondrian.exceptions import ParameterError
from dpmondrian.privacy import Door
from dpmondrian.release import counted_in
from dpmondrian.schema import Coordinates, Schema

EXPECTED_CLUSTERS = 10
"""How many clusters a forecast is about, unless it is told otherwise: a number that many studies end up with."""

_ROWS_PER_LIMIT = 5.0 / 3.0
"""Rows of a leaf on average, in size limits: a node of two limits is cut, and leaves of less than one are not made. In fits of Gaussian
clusters in 2 to 30 columns, with 5,000 to 100,000 rows, it was 1.6 to 1.8."""

_MOST_ROWS = 2**40


@dataclass(frozen=True)
class Design:
    """What is known about a run before it: made by `make_design`.

    Attributes
    ----------
    n_rows : int
        A guess of the number of rows, from public knowledge; of a release the noisy one.
    schema : Schema
    settings : Settings
        Checked parameters of the estimator, default variant, for these columns.
    expected_clusters : int
        A guess of the number of clusters; `n_clusters` where that is given.
    """

    n_rows: int
    schema: Schema
    settings: Settings
    expected_clusters: int = EXPECTED_CLUSTERS

    @cached_property
    def door(self) -> Door:
        """The door of the run, as it stands when the tree is planned; it is asked for costs and noise, and nothing is drawn."""
        door = Door(make_plan(self.settings), self.settings.rows_per_person)
        door.extend(level_draws(door, self.settings, self._levels(door)))
        return door

    def _levels(self, door: Door) -> int:
        return n_levels(self.settings, self.n_rows / door.deviation_at(door.plan.total), len(self.grid.block_begins))

    @cached_property
    def grid(self) -> Grid:
        """The grid of the columns."""
        assert self.settings.windows is not None
        return Grid.with_windows(Coordinates(self.schema).schema, self.settings.windows)

    @cached_property
    def levels(self) -> int:
        """Number of levels of the tree of cuts."""
        return self._levels(self.door)

    @cached_property
    def size_limit(self) -> float:
        """Least size of a side of a cut, in rows, on the last level."""
        rule = split_rule(self.door, self.settings, self.grid, self.levels, self.n_rows)
        return float(rule.size_limit(self.n_rows, self.levels))

    @cached_property
    def n_cells(self) -> float:
        """Expected number of cells: of leaves that the size limit allows, or more where these are large."""
        if self.levels == 0 or not any(getattr(column, "cut", True) for column in self.grid.schema.columns):
            return 1.0
        with_k = not self.settings.finds_k
        cell = rows_per_cell(self.door, self.grid, self.cell_step_cost, with_k)
        each = min(_ROWS_PER_LIMIT * self.size_limit, cell)
        return min(max(self.n_rows / each, 1.0), 2.0**self.levels)

    @property
    def cell_step_cost(self) -> float:
        """Cost of each of the steps that move cells."""
        cost = self.door.left - self.settings.chosen_shares["clusters"] * self.door.plan.total
        return (1.0 - COARSE_PART - LEAF_PART) * cost / CELL_STEPS

    @property
    def finding_cost(self) -> float:
        """Cost of finding out what is apart, without k, as far as it is needed."""
        return (self.settings.chosen_shares["clusters"] - FINAL_SHARE) * self.door.plan.total

    @cached_property
    def round_costs(self) -> list[float]:
        """Costs of the rounds in which rows are counted along lines."""
        return round_costs(self.door, self.n_rows, self.finding_cost)

    @property
    def cluster_step_costs(self) -> list[float]:
        """Costs of the steps that move the centres of clusters: the last ones of a run.

        Without k it is a single one. Grids leave nothing for it but its own share. Rounds leave what they do not need: each divides all
        parts in two, as long as clusters are clearly apart.
        """
        cost = self.settings.chosen_shares["clusters"] * self.door.plan.total
        if not self.settings.finds_k:
            return [cost / K_STEPS] * K_STEPS
        if has_grid(self.grid):
            return [cost - self.finding_cost]
        return [cost - sum(self.round_costs[: math.ceil(math.log2(self.expected_clusters))])]

    @property
    def is_gaussian(self) -> bool:
        """Whether noise is Gaussian; without delta it is Laplace noise."""
        return self.door.plan.currency == "rho"

    @property
    def counted(self) -> str:
        """What sizes are numbers of: "rows" or "people", as in the release of such a run."""
        return counted_in(self.settings.rows_per_person, self.settings.person_id)

    @property
    def cluster_rows(self) -> float:
        """Rows of a cluster, if all expected ones are of one size."""
        return self.n_rows / self.expected_clusters

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
        A guess of the number of clusters. None: `n_clusters` if that is given, else 10.
    **parameters
        Further parameters of `DPM`, such as `max_depth`; not ``variant="paper"``.
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
    check_columns(schema, settings)
    clusters = _checked_clusters(n_rows, n_clusters, expected_clusters)
    return Design(n_rows, schema, settings.for_columns(len(schema.centre_columns)), clusters)


def _checked_clusters(n_rows: int, n_clusters: int | None, expected: int | None) -> int:
    """Return the number of clusters that a forecast is about."""
    if n_clusters is not None and expected not in (None, n_clusters):
        raise ParameterError(
            parameter="expected_clusters",
            rule=f"must equal the number of clusters if that is given ({n_clusters})",
            value=expected,
            way_out="Omit it.",
        )
    name = "expected_clusters" if n_clusters is None else "n_clusters"
    chosen = n_clusters or (min(EXPECTED_CLUSTERS, n_rows) if expected is None else expected)
    return check_integer(name, chosen, 1, min(n_rows, MOST_CLUSTERS), "There cannot be more clusters than rows.")
