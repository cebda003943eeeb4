"""What the audit must catch: the mistakes of published algorithms and code, each as a small broken variant of a sound one.

Every variant differs from the sound one in a line or two, and the sound one passes on the same tables.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from dpmondrian import DPM, Column, Schema, fitting
from dpmondrian.dpm import algorithm
from dpmondrian.dpm.draws import INTERVAL_SIZE
from dpmondrian.dpm.paper import GAP_PERCENTILE, choose_n_intervals
from dpmondrian.dpm.scores import Score
from dpmondrian.privacy.door import Door
from dpmondrian.privacy.draws import LAPLACE
from dpmondrian.privacy.plan import Plan
from dpmondrian.tables import persons
from dpmondrian_lab.audit import adversarial_pairs, audit_pairs, audit_replay, exact_law, search_worst_pair
from dpmondrian_lab.audit.neighbours import alternating_gaps, table_of
from dpmondrian_lab.peers import DPLloyd, FastLloyd, base, lsh_splits
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.rows import FixedPointRows

TWO = Schema((Column("x", 0.0, 100.0), Column("y", -1.0, 1.0)))
SMALL = {"max_depth": 2, "windows": 16}
PAIRS = {pair.name: pair for pair in adversarial_pairs(TWO, n_rows=40, windows=16)}
FEW = [PAIRS[name] for name in ("upper corner", "far above the bounds", "empty leaf", "0 rows", "duplicate")]


def paper():
    return DPM(epsilon=40.0, delta=1e-6, bounds=TWO, variant="paper", min_cluster_size=2, **SMALL)


def pure():
    return DPM(epsilon=24.0, delta=0.0, bounds=TWO, **SMALL)


def default():
    return DPM(epsilon=8.0, delta=1e-6, bounds=TWO, **SMALL)


def broken_door(monkeypatch, door):
    """Let all estimators pass another door."""
    monkeypatch.setattr(fitting, "Door", door)
    monkeypatch.setattr(base, "LabDoor", type(door.__name__, (door, LabDoor), {}))


# --- the paper's averaged gaps ------------------------------------------------------------------------------------

WIDTHS = np.linspace(0.001, 0.1, 100)
"""Candidates for the length of a gap, in parts of the range."""


def averaged_gaps(engine, door, noisy_total, n_columns):
    """Algorithm 2 as published: the sorted gaps of all columns are averaged position by position."""
    places = np.sort(engine.places(), axis=1) / 2**16
    averages = np.diff(places, axis=1).mean(axis=0)
    within = np.array([(averages <= width).sum() for width in WIDTHS])
    scores = -np.abs(100 * within - GAP_PERCENTILE * averages.size)
    claimed = 2 * 100  # "one record changes ranks by at most 2", and the usual factor 2 for both directions
    [chosen] = door.select(INTERVAL_SIZE, None, [scores], [2 * claimed])
    return max(1, int(1 / WIDTHS[chosen]))


@pytest.mark.slow
def test_averaged_gaps_are_caught(monkeypatch):
    pair = PAIRS["alternating gaps"]
    monkeypatch.setattr(algorithm, "choose_n_intervals", averaged_gaps)
    findings = audit_replay(paper, pair.table, pair.neighbour)
    assert findings.kinds == {"sensitivity", "price"}
    assert {finding.query for finding in findings.findings} == {"interval size"}
    small, large = (gaps_moved(n_rows) for n_rows in (41, 161))
    assert large > 3 * small > 9  # it grows with the table: there is no sensitivity to speak of
    broken_law = exact_law(paper, pair.table, pair.neighbour)
    assert broken_law.kinds == {"law"}
    assert broken_law.used["interval size"] > 3


def gaps_moved(n_rows):
    """Return how many times the claimed sensitivity the alternating gaps move the averaged ones."""
    rows, row = alternating_gaps(TWO, n_rows)
    findings = audit_replay(paper, table_of(TWO, rows), table_of(TWO, [*rows, row]))
    return next(finding.measured for finding in findings.findings if finding.kind == "sensitivity")


def test_pooled_gaps_pass():
    pair = PAIRS["alternating gaps"]
    assert algorithm.choose_n_intervals is choose_n_intervals
    assert audit_replay(paper, pair.table, pair.neighbour).ok
    assert exact_law(paper, pair.table, pair.neighbour).ok


# --- the missing factor in the exponential mechanism --------------------------------------------------------------

BOTH_WAYS = [(100.0, -1.0)] * 40
"""In x all rows are at the upper end, in y at the lower one. A row at the other ends raises the score of cuts in x and lowers
that of cuts in y."""


def without_the_factor(true_rule):
    def split_rule(door, settings, grid):
        score = Score(settings.t, settings.q, settings.alpha, two_sided=False)
        return replace(true_rule(door, settings, grid), selection_range=lambda *_: score.sensitivity)

    return split_rule


def opposite_rows():
    """Return tables with one row more, which lies somewhere near the other end in y."""
    return [table_of(TWO, [*BOTH_WAYS, (0.0, y)]) for y in np.linspace(0.5, 1.0, 12)]


@pytest.mark.slow
def test_the_missing_factor_of_the_exponential_mechanism_is_caught(monkeypatch):
    table = table_of(TWO, BOTH_WAYS)
    for neighbour in opposite_rows():
        assert audit_replay(paper, table, neighbour).ok
        assert exact_law(paper, table, neighbour).ok
    monkeypatch.setattr(algorithm, "paper_rule", without_the_factor(algorithm.paper_rule))
    found = [audit_replay(paper, table, neighbour) for neighbour in opposite_rows()]
    assert {"sensitivity", "price"} == set().union(*(findings.kinds for findings in found))
    t, q, alpha = 0.3, 1 / 12, 5.0
    most = max(findings.used["split"] for findings in found)
    assert most == pytest.approx((2 * t / q + alpha) / (t / q + alpha), rel=1e-3)  # 1.4186
    laws = [exact_law(paper, table, neighbour) for neighbour in opposite_rows()]
    assert max(law.used["split"] for law in laws) > 1.2
    assert {"law"} == set().union(*(law.kinds for law in laws))


# --- empty leaves -------------------------------------------------------------------------------------------------


class ExactWhereEmpty(Door):
    """Noise is drawn for all, but an empty leaf gets its exact sum."""

    def _exact_if_empty(self, exact_sums, released):
        noisy, deviations = released
        return np.where(exact_sums.any(axis=1, keepdims=True), noisy, exact_sums), deviations

    def ball_sums(self, draw, step, exact_sums, *public):
        return self._exact_if_empty(exact_sums, super().ball_sums(draw, step, exact_sums, *public))


class NoDrawWhereEmpty(Door):
    """No noise is drawn for an empty leaf."""

    def ball_sums(self, draw, step, exact_sums, radius, weights=None):
        filled = exact_sums.any(axis=1)
        noisy, deviations = exact_sums.copy(), np.zeros(exact_sums.shape)
        if filled.any():
            some = super().ball_sums(draw, step, exact_sums[filled], radius[filled], weights)
            noisy[filled], deviations[filled] = some
        return noisy, deviations


class NoDrawAtAllWhereNobodyIs(Door):
    """An empty table needs no noise: there is nobody to protect."""

    def counts(self, draw, level, exact_counts):
        return super().counts(draw, level, exact_counts) if np.any(exact_counts) else np.asarray(exact_counts)


@pytest.mark.slow
@pytest.mark.parametrize("make", [paper, default, pure])
@pytest.mark.parametrize(
    ("door", "kind"),
    [(ExactWhereEmpty, "handed over"), (NoDrawWhereEmpty, "noise"), (NoDrawAtAllWhereNobodyIs, "noise")],
)
def test_empty_leaves_without_noise_are_caught(monkeypatch, door, kind, make):
    pair = PAIRS["0 rows"]
    assert audit_replay(make, pair.table, pair.neighbour).ok
    broken_door(monkeypatch, door)
    assert kind in audit_replay(make, pair.table, pair.neighbour).kinds


def skip_empty_leaves(engine, door, grid, leaf_numbers, leaf_sizes):
    """Ask for the sums of leaves in which there are rows, as the reference does; the others get an exact centre."""
    counts = np.bincount(engine.nodes_of_rows(), minlength=max(leaf_numbers) + 1)[leaf_numbers]
    filled = np.flatnonzero(counts > 0)
    found = TRUE_MEANS(engine, door, grid, [leaf_numbers[leaf] for leaf in filled], leaf_sizes[filled])
    places, errors = (np.zeros((len(leaf_numbers), grid.n_columns)) for _ in range(2))
    places[filled], errors[filled] = found.places, found.errors
    return replace(found, places=places, errors=errors)


TRUE_MEANS = algorithm.domain_means


@pytest.mark.slow
def test_leaves_that_are_skipped_because_they_are_empty_are_caught(monkeypatch):
    """With much noise a cut is kept although nobody is on one side, in some runs."""
    pair = PAIRS["empty leaf"]

    def kinds():
        noisy = paper().set_params(epsilon=2.0, max_depth=1)
        found = [audit_replay(lambda: noisy, pair.table, pair.neighbour, seed=seed) for seed in range(12)]
        return set().union(*(findings.kinds for findings in found))

    assert kinds() == set()
    monkeypatch.setattr(algorithm, "domain_means", skip_empty_leaves)
    assert kinds() == {"control flow"}


# --- missing clipping ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda: DPLloyd(3, 40.0, TWO, expected_rows=40), lambda: FastLloyd(3, 40.0, 1e-6, TWO, expected_rows=40)]
)
def test_rows_beyond_the_bounds_that_enter_sums_are_caught(monkeypatch, make):
    pair = PAIRS["far beyond opposite bounds"]
    assert audit_replay(make, pair.table, pair.neighbour).ok
    true_rows = FixedPointRows.of
    monkeypatch.setattr(FixedPointRows, "of", lambda table, schema, clip=True: true_rows(table, schema, clip=False))
    monkeypatch.setattr(
        "dpmondrian_lab.peers.fast_lloyd._near_enough",
        lambda rows, centres, radius: np.zeros(len(rows.displacement), dtype=np.int64),
    )
    findings = audit_replay(make, pair.table, pair.neighbour)
    assert {"sensitivity", "price"} <= findings.kinds
    assert max(findings.used.values()) > 1000


# --- noise of the wrong size --------------------------------------------------------------------------------------


class OtherScales:
    """A sampler that draws with other scales than it is asked for."""

    def __init__(self, sampler, other):
        self._sampler, self._other = sampler, other

    def __getattr__(self, name):
        return getattr(self._sampler, name)

    def noise(self, mechanism, scales, *purpose):
        return self._sampler.noise(mechanism, self._other(mechanism, np.asarray(scales), purpose[0]), *purpose)

    def select(self, mechanism, scores, scale, *purpose):
        [other] = self._other(mechanism, np.array([scale]), purpose[0])
        return self._sampler.select(mechanism, scores, float(other), *purpose)


def door_with(other):
    """Return a door whose sampler draws with other scales than the ledger says."""

    class BrokenDoor(Door):
        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            self._sampler = OtherScales(self._sampler, lambda *asked: other(self.plan, *asked))

    return BrokenDoor


def exchanged(plan, mechanism, scales, name):
    """Counts get the noise of the sums and the other way round, as in diffprivlib: shares unpacked in the wrong order."""
    costs = {draw.name: draw.cost for draw in plan.draws}
    other = {"cell count": "coordinate sums", "coordinate sums": "cell count"}[name]
    return scales * costs[name] / costs[other]


def variance_as_scale(plan, mechanism, scales, name):
    """The standard deviation is taken for a variance: the noise is far too small wherever it is large."""
    return np.sqrt(scales) if mechanism == "discrete Gaussian" else scales


def squared(plan, mechanism, scales, name):
    """The variance is taken for the standard deviation, as in EM-MC: too little where the standard deviation is below 1."""
    return scales**2 if mechanism == "discrete Gaussian" else scales


def five_percent_less(plan, mechanism, scales, name):
    return 0.95 * scales


def half_for_selections(plan, mechanism, scales, name):
    return 0.5 * scales if mechanism in ("exponential mechanism", "permute-and-flip") else scales


def dp_lloyd():
    return DPLloyd(3, 40.0, TWO, expected_rows=40)


def sharp():
    """Counts have a standard deviation well below 1."""
    return DPM(epsilon=2000.0, delta=1e-6, bounds=TWO, **SMALL)


WRONG_NOISE = [
    (dp_lloyd, exchanged),
    (default, variance_as_scale),
    (paper, variance_as_scale),
    (sharp, squared),
    (default, five_percent_less),
    (pure, five_percent_less),
    (dp_lloyd, five_percent_less),
    (default, half_for_selections),
    (pure, half_for_selections),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "other"), WRONG_NOISE)
def test_noise_of_another_size_than_planned_is_caught(monkeypatch, make, other):
    assert audit_pairs(make, FEW).ok
    broken_door(monkeypatch, door_with(other))
    findings = audit_pairs(make, FEW)
    assert findings.kinds == {"price"}
    assert all(finding.measured > finding.allowed for finding in findings.findings)


class AddsTheOtherNoise(Door):
    """Draws Laplace noise where Gaussian noise is planned, at the same scale."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        sampler = self._sampler

        class Other(OtherScales):
            def noise(self, mechanism, scales, *purpose):
                return sampler.noise(LAPLACE, scales, *purpose)

        self._sampler = Other(sampler, lambda mechanism, scales, name: scales)


def test_noise_of_another_law_is_caught(monkeypatch):
    broken_door(monkeypatch, AddsTheOtherNoise)
    assert audit_replay(default, FEW[0].table, FEW[0].neighbour).kinds == {"noise"}


class DrawsAndThrowsAway(Door):
    """Draws noise of the right law, writes it into the ledger, and hands the exact value over."""

    def counts(self, draw, level, exact_counts):
        super().counts(draw, level, exact_counts)
        return np.array(exact_counts)

    def select(self, draw, level, exact_scores, score_ranges):
        super().select(draw, level, exact_scores, score_ranges)
        return [int(np.argmax(scores)) for scores in exact_scores]


@pytest.mark.parametrize("make", [default, pure, paper, dp_lloyd])
def test_exact_values_beside_drawn_noise_are_caught(monkeypatch, make):
    broken_door(monkeypatch, DrawsAndThrowsAway)
    assert "handed over" in audit_replay(make, FEW[0].table, FEW[0].neighbour).kinds


def test_a_plan_over_budget_is_caught(monkeypatch):
    """Which the door refuses, if it is asked."""
    monkeypatch.setattr(Plan, "verify", lambda self: None)

    class OverBudget(DPLloyd):
        def _plan(self, settings, n_columns):
            plan = super()._plan(settings, n_columns)
            return replace(plan, epsilon=plan.epsilon / 2)

    findings = audit_replay(lambda: OverBudget(3, 40.0, TWO, expected_rows=40), FEW[0].table, FEW[0].neighbour)
    assert findings.kinds == {"budget"}
    assert findings.findings[0].measured == pytest.approx(40.0)


# --- rows that look at each other ---------------------------------------------------------------------------------


def test_bounds_that_are_learned_from_the_rows_are_caught(monkeypatch):
    true_rows = FixedPointRows.of

    def learned(table, schema, clip=True):
        rows = true_rows(table, schema, clip)
        largest = np.abs(rows.displacement).max(initial=1.0)
        return replace(rows, displacement=np.rint(rows.displacement / largest * rows.half_width.min()))

    inner = table_of(TWO, [(50.0 + j, 0.01 * j) for j in range(20)])
    more = table_of(TWO, [*((50.0 + j, 0.01 * j) for j in range(20)), (100.0, 1.0)])
    assert audit_replay(dp_lloyd, inner, more).ok
    monkeypatch.setattr(FixedPointRows, "of", learned)
    assert "price" in audit_replay(dp_lloyd, inner, more).kinds


def test_a_branch_on_an_exact_count_is_caught(monkeypatch):
    """A node is cut further if it really has rows, whatever its noisy count says."""
    true_children = lsh_splits._children

    def children(door, level, node, counts, beyond, least):
        exact = np.bincount(node[node >= 0], minlength=len(counts))
        return true_children(door, level, node, np.where(exact > 40, counts, 0.0), beyond, least)

    def make():
        return lsh_splits.LSHSplits(2, 40.0, 1e-6, TWO)

    pair = PAIRS["upper corner"]
    assert audit_replay(make, pair.table, pair.neighbour).ok
    monkeypatch.setattr(lsh_splits, "_children", children)
    assert audit_replay(make, pair.table, pair.neighbour).kinds == {"control flow"}


def test_a_result_from_exact_values_is_caught():
    """The centre of the largest group is improved by its rows, after all noise was drawn."""

    class Improves(FastLloyd):
        def _cluster(self, rows, door, settings):
            centres = super()._cluster(rows, door, settings)
            return replace(centres, displacement=centres.displacement + rows.displacement.mean(axis=0))

    pair = PAIRS["upper corner"]
    findings = audit_replay(lambda: Improves(2, 20.0, 1e-6, TWO, expected_rows=40), pair.table, pair.neighbour)
    assert findings.kinds == {"result"}


# --- persons who are taken for one another ------------------------------------------------------------------------


def test_two_people_who_are_taken_for_one_are_caught(monkeypatch):
    """Zeros in front of an id that are left out: who is added pushes rows of somebody else out, and pays four times."""
    pairs = adversarial_pairs(TWO, person_id="who", rows_per_person=2)
    [pair] = [pair for pair in pairs if pair.name == "an id that looks like another"]

    def findings():
        make = partial(
            DPM, epsilon=8.0, delta=1e-6, bounds=TWO, person_id="who", rows_per_person=2, random_state=0, **SMALL
        )
        return audit_replay(make, pair.table, pair.neighbour)

    assert findings().ok
    true_ids = persons.identities

    def without_zeros(column):
        ids, kind = true_ids(column)
        return pa.array([own and (own.lstrip(b"0") or b"0") for own in ids.to_pylist()], pa.large_binary()), kind

    monkeypatch.setattr(persons, "identities", without_zeros)
    assert {"sensitivity", "price"} <= findings().kinds


# --- the search ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "least"),
    [
        ("count", 0.9),
        ("split", 0.6),
        ("clipped sums", 0.9),
        ("distances", 0.9),
        ("grid", 0.9),
        ("profiles", 0.9),
        ("quality", 0.4),  # no row is at the limits of all its values at once
    ],
)
def test_the_search_comes_near_what_is_paid_for_and_not_above(query, least):
    """Among a dozen rows no cut by variance can change by all that is paid for."""

    def make():
        return DPM(epsilon=100.0, delta=1e-6, bounds=TWO, max_depth=2, windows=8, min_cluster_size=2)

    worst = search_worst_pair(query, make, TWO, n_examples=20)
    assert worst.findings.ok, str(worst.findings)
    assert worst.findings.n_pairs >= 15
    assert least < worst.used <= 1 + 1e-9
    assert worst.pair.neighbour.num_rows == worst.pair.table.num_rows + 1


@pytest.mark.slow
def test_the_search_finds_what_is_broken(monkeypatch):
    """Sums of which one row moves a column by more than half of the box: only rows near a corner tell."""
    true_sums = FixedPointRows.sums

    def sums(self, label, n_groups):
        counts, exact = true_sums(self, label, n_groups)
        return counts, exact + exact // 10

    monkeypatch.setattr(FixedPointRows, "sums", sums)
    worst = search_worst_pair("coordinate sums", dp_lloyd, TWO, most_rows=4, n_examples=30)
    assert worst.used == pytest.approx(1.1, abs=0.01)
    assert {"sensitivity", "price"} <= worst.findings.kinds
