"""Histograms of the same rows and weighted sums: what reaches the door moves no more than is paid for, on any neighbours.

A small algorithm asks the door for both. It is recorded on a table and replayed on neighbours that a search makes, rows of one
person at a time, and the same check must catch prices that are too low by a little.
"""

import math

import numpy as np
import pytest

from dpmondrian import BudgetError
from dpmondrian.privacy import RADII, ROWS, Door, Draw, Kind, Plan
from dpmondrian_lab.audit.replay import compare_recordings, record_pair

HISTOGRAMS = Draw("histograms", Kind.NOISE, ROWS)
BALL = Draw("ball", Kind.NOISE, RADII)
PARTS, N_BINS = 256, 8
N_HISTOGRAMS = (1, 2, 5)
"""Rows of group 0 are counted in one histogram, those of group 2 in five."""
WEIGHTS, RADIUS = np.array([1, 3, 40]), np.array([900, 50, 3000])
PLANS = {
    "gaussian": Plan(2.0, 1e-6, "rho", (), is_staged=True),
    "laplace": Plan(2.0, 0.0, "epsilon", (), is_staged=True),
}
every_noise = pytest.mark.parametrize("noise", PLANS)


def planned(noise):
    plan = PLANS[noise]
    return plan.extended([plan.plan_draw(draw, None, 0.4 * plan.total) for draw in (HISTOGRAMS, BALL)])


def spread(row, column):
    """Return what one row adds to the histogram of a column: whole parts in one bin or in two neighbouring ones."""
    place, bins = float(np.clip(row[1 + column], 0, N_BINS - 1)), np.zeros(N_BINS, dtype=np.int64)
    upper = round((place % 1) * PARTS)
    bins[int(place)] += PARTS - upper
    bins[min(int(place) + 1, N_BINS - 1)] += upper
    return bins


def clipped(row, group, in_l2):
    """Return the displacement of a row, shortened in integers until its weighted length is at most the group's radius."""
    vector = np.trunc(np.clip(row[1:4], -1e4, 1e4)).astype(np.int64)

    def length(values):
        weighted = np.abs(WEIGHTS * values)
        return math.isqrt(int((weighted**2).sum()) - 1) + 1 if in_l2 and weighted.any() else int(weighted.sum())

    while length(vector) > RADIUS[group]:
        vector = np.trunc(vector * min(RADIUS[group] / length(vector), 0.999)).astype(np.int64)
    return vector


def algorithm(noise, rows_per_person=1, price=1.0, **other):
    """Return a function of rows (group, five columns) that releases histograms and clipped sums of the groups.

    What is declared may be `price` times what is true, and `other` facts than these.
    """
    numbers, radius = other.get("n_histograms", N_HISTOGRAMS), np.rint(price * RADIUS).astype(np.int64)

    def run(rows):
        door = Door(planned(noise), rows_per_person)
        exact = [np.zeros((n, N_BINS), dtype=np.int64) for n in N_HISTOGRAMS]
        sums = np.zeros((3, 3), dtype=np.int64)
        for row in rows:
            group = int(row[0])
            exact[group] += [spread(row, column) for column in range(N_HISTOGRAMS[group])]
            sums[group] += clipped(row, group, noise == "gaussian")
        histograms = door.histograms(HISTOGRAMS, None, exact, numbers, other.get("parts", PARTS))
        return histograms, door.ball_sums(BALL, None, sums, radius, other.get("weights", WEIGHTS)), door.close()

    return run


def persons(n_rows):
    """Yield the rows of persons who try to move values as far as they can."""
    generator = np.random.default_rng(0)
    for group in range(3):
        for place in (0.0, 2.0, 7.0, 3.5):
            yield np.tile([group, *[place] * 5], (n_rows, 1))
        yield np.tile([group, 900.0, 0.0, 0.0, 0.0, 0.0], (n_rows, 1))
        yield np.tile([group, 0.0, 0.0, -75.0, 0.0, 0.0], (n_rows, 1))
    for _ in range(20):
        rows = generator.normal(scale=generator.choice([3.0, 50.0, 3000.0]), size=(n_rows, 6))
        rows[:, 0] = generator.integers(0, 3, n_rows)
        yield rows


def table():
    generator = np.random.default_rng(1)
    return np.column_stack([generator.integers(0, 3, 40), generator.uniform(0, 9, (40, 5))])


def worst(noise, rows_per_person=1, **tampered):
    """Return what is found on all neighbours, and the largest part of each price that one of them uses."""
    run, found, used = algorithm(noise, rows_per_person, **tampered), [], {}
    for rows in persons(rows_per_person):
        findings = compare_recordings(*record_pair(run, table(), np.vstack([table(), rows])))
        assert "failure" not in findings.kinds, findings
        found += findings.findings
        used |= {name: max(part, used.get(name, 0.0)) for name, part in findings.used.items()}
    return found, used


@pytest.mark.slow
@every_noise
@pytest.mark.parametrize("rows_per_person", [1, 3])
def test_no_neighbour_moves_more_than_is_paid_for_and_the_worst_uses_the_price(noise, rows_per_person):
    found, used = worst(noise, rows_per_person)
    assert not found
    assert used["histograms"] == pytest.approx(1.0)
    assert 0.98 < used["ball"] <= 1.0 + 1e-9


@pytest.mark.slow
@every_noise
@pytest.mark.parametrize(
    "tampered",
    [{"n_histograms": (1, 2, 4)}, {"parts": 250}, {"price": 0.95}, {"weights": np.array([1, 3, 42])}],
    ids=lambda tampered: next(iter(tampered)),
)
def test_a_price_that_is_a_little_too_low_is_found_out(noise, tampered):
    found, used = worst(noise, **tampered)
    assert {finding.kind for finding in found} >= {"sensitivity", "price"}
    assert max(used.values()) > 1.02


def test_rows_of_a_person_in_groups_with_different_numbers_of_histograms():
    """In units of each group's scale one row has length 1 at most, so r rows have length r at most, however they are spread."""
    run, plan = algorithm("gaussian", 3), planned("gaussian")
    for groups in ([0, 1, 2], [2, 2, 0], [1, 1, 1]):
        rows = np.array([[group, *[2.0] * 5] for group in groups])
        one, other = record_pair(run, table(), np.vstack([table(), rows]))
        change = [after - before for before, after in zip(one.queries[0].exact, other.queries[0].exact, strict=True)]
        scales = one.queries[0].released[1]
        length = math.sqrt(sum(((c / s) ** 2).sum() for c, s in zip(change, scales, strict=True)))
        assert length <= 1 / plan.find(HISTOGRAMS).multiplier * (1 + 1e-12)


@every_noise
@pytest.mark.parametrize("numbers", [(0, 1, 1), (1, -1, 1)])
def test_groups_without_histograms_are_refused(noise, numbers):
    door = Door(planned(noise), seed=0)
    with pytest.raises(BudgetError), np.errstate(all="ignore"):
        door.histograms(HISTOGRAMS, None, [np.zeros(3, dtype=np.int64)] * 3, numbers)
    with pytest.raises(BudgetError), np.errstate(all="ignore"):
        door.ball_sums(BALL, None, np.zeros((3, 3), dtype=np.int64), RADIUS, np.array([1, 0, 1]))
