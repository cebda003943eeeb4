"""What suggested bounds draw, and at which cost."""

from __future__ import annotations

from dpmondrian.privacy import BELOW_BUDGET, LAPLACE, ROWS, Draw, Kind, Plan, planned_draw

MAGNITUDES = Draw("magnitudes", Kind.NOISE, ROWS)
"""Values by size and sign. In place of a level stands the number of the column."""
PLACES = Draw("places", Kind.NOISE, ROWS)  # values by place, within what the magnitudes left


def bounds_plan(epsilon: float, n_columns: int) -> Plan:
    """Return the plan of suggested bounds: two histograms per column, in place of a level its number, all at the same cost."""
    cost = epsilon * BELOW_BUDGET / (2 * n_columns)
    draws = [
        planned_draw("epsilon", draw, column, LAPLACE, cost)
        for draw in (MAGNITUDES, PLACES)
        for column in range(n_columns)
    ]
    return Plan(epsilon, 0.0, "epsilon", tuple(draws))
