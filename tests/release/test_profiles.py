"""Profiles made by hand: intervals that hold as often as they say, differences that noise does not make, files that are refused."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from dpmondrian import DPM, Category, Column, Schema
from dpmondrian.release import Histogram, Measured, Profiles
from dpmondrian.release.differences import numeric_effects
from dpmondrian.release.histograms import Part

COLUMNS = (
    Column("age", 0, 120, whole=True),
    Column("bmi", 10, 60),
    Column("income", 1.0, 1e6, log=True),
    Column("smokes", 0, 1, whole=True),
    Category("plan", ("basic", "premium")),
)
SIZES = (6000, 4000, 1500)
DEVIATION = 50.0


def people(rng, alike=False):
    """Return the rows of three clusters, column by column; `alike` ones come from one law."""
    clusters = []
    for number, size in enumerate(SIZES):
        c = 0 if alike else number
        clusters.append(
            (
                np.clip(np.rint(rng.normal(30 + 25 * c, 8, size)), 0, 120),
                np.clip(rng.gamma(6, 1 + c / 4, size) + 15, 10, 60),
                np.clip(np.exp(rng.normal(9 + c / 2, 0.8, size)), 1, 1e6),
                (rng.random(size) < 0.2 + 0.3 * c).astype(np.float64),
                rng.choice(3, size, p=[[0.7, 0.3, 0.0], [0.2, 0.75, 0.05], [0.5, 0.5, 0.0]][c]),
            )
        )
    return clusters


def edges_of(column, values):
    """Return edges that double their distance from the mean, as a fit makes them."""
    if column.name == "smokes":
        return np.array([-1.0, 0.0, 1.0])
    low, high = (np.log(column.lower), np.log(column.upper)) if column.log else (column.lower, column.upper)
    centre = np.mean(np.log(values) if column.log else values)
    reach = (high - low) / 2.0 ** np.arange(1, 7)
    inner = np.concatenate([centre - reach, centre + reach])
    edges = np.sort(np.concatenate([[low, high], inner[(inner > low) & (inner < high)]]))
    if column.log:
        return np.concatenate([[column.lower], np.exp(edges[1:-1]), [column.upper]])
    return np.unique(np.append(-1.0, np.floor(edges))) if column.whole else edges


def profiles_of(clusters, rng):
    """Return the profiles that a fit would release of these rows."""
    return Profiles(
        COLUMNS,
        tuple(
            tuple(noisy(column, values, rng) for column, values in zip(COLUMNS, own, strict=True)) for own in clusters
        ),
        DEVIATION,
        float(sum(SIZES)),
        10.0,
    )


def noisy(column, values, rng):
    if isinstance(column, Category):
        edges, counts = None, np.bincount(values, minlength=3)
    else:
        edges = edges_of(column, values)
        counts = np.bincount(np.maximum(np.searchsorted(edges, values), 1) - 1, minlength=len(edges) - 1)
    return Histogram(counts + np.rint(rng.normal(0, DEVIATION, len(counts))).astype(np.int64), edges)


@pytest.fixture(scope="module")
def releases():
    """Return sixty tables with their profiles."""
    rng = np.random.default_rng(0)
    tables = [people(rng) for _ in range(60)]
    return [(clusters, profiles_of(clusters, rng)) for clusters in tables]


def coverage(pairs):
    """Return how often numbers lie in their intervals."""
    return np.mean([measured.low - 1e-9 <= truth <= measured.high + 1e-9 for truth, measured in pairs])


def quartile_pairs(releases, column):
    return [
        (np.quantile(own[column], share, method="inverted_cdf"), found)
        for clusters, profiles in releases
        for own, profile in zip(clusters, profiles.clusters, strict=True)
        for share, found in zip((0.25, 0.5, 0.75), profile.columns[column].quartiles, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("column", [1, 2])
def test_quartiles_lie_in_their_intervals(releases, column):
    assert (
        0.93 < coverage(quartile_pairs(releases, column)) < 0.985
    )  # 540 of them: two standard errors around 95 %, and a little more


@pytest.mark.slow
@pytest.mark.parametrize("column", [0, 3])
def test_quartiles_of_whole_numbers_are_whole_and_lie_in_their_intervals(releases, column):
    pairs = quartile_pairs(releases, column)
    assert coverage(pairs) > 0.93  # more often than 95 %: one value may hold all quartiles
    assert all(value == round(value) for _, found in pairs for value in found)


def test_rows_at_the_ends_are_those_of_everyone():
    rng = np.random.default_rng(3)
    profiles = profiles_of(people(rng), rng)
    found = [
        [sum(part.counts[end] for part in profile.parts) for end in (0, -1)] for profile in profiles.everyone.columns
    ]
    np.testing.assert_allclose(profiles.rows_at_ends(), found)


@pytest.mark.slow
def test_quartiles_of_all_rows(releases):
    pairs = [
        (np.quantile(np.concatenate([own[column] for own in clusters]), share), found)
        for clusters, profiles in releases
        for column in (1, 2)
        for share, found in zip((0.25, 0.5, 0.75), profiles.everyone.columns[column].quartiles, strict=True)
    ]
    assert coverage(pairs) > 0.93


def test_shares_lie_in_their_intervals(releases):
    pairs = [
        (np.mean(own[4] == level), found)
        for clusters, profiles in releases
        for own, profile in zip(clusters, profiles.clusters, strict=True)
        for level, found in enumerate(profile["plan"].shares[:2])
    ]
    assert 0.92 < coverage(pairs) < 0.985


@pytest.mark.slow
def test_standard_deviations_lie_in_their_intervals(releases):
    pairs = [
        (np.std(np.log(own[column]) if column == 2 else own[column]), profile.columns[column].sd)
        for clusters, profiles in releases
        for own, profile in zip(clusters, profiles.clusters, strict=True)
        for column in range(4)
    ]
    assert coverage(pairs) > 0.93  # more often than 95 %: the interval holds what bins hide


def test_counts_are_plausible_and_add_up(releases):
    for _, profiles in releases[:5]:
        for profile in (*profiles.clusters, profiles.everyone):
            for column in profile.columns:
                assert column.counts.min() >= 0.0
                assert column.counts.sum() == pytest.approx(column.size)
                assert len(column.counts) == len(column.errors) == len(column.categories or column.edges[1:])
        sizes = [profile["bmi"].size for profile in profiles.clusters]
        assert profiles.everyone["age"].size == pytest.approx(sum(sizes))


def test_differences_are_the_true_ones():
    rng = np.random.default_rng(1)
    clusters = people(rng)
    first, second, third = (profiles_of(clusters, rng).differences(c) for c in range(3))
    assert [(one.name, one.kind, one.category) for one in first] == [
        ("plan", "more", "basic"),
        ("age", "lower", None),
        ("smokes", "lower", None),
    ][: len(first)]
    assert {("plan", "more"), ("age", "higher")} <= {(one.name, one.kind) for one in second}
    assert ("age", "higher") in [(one.name, one.kind) for one in third]
    assert all(one.certainty >= 0.95 for own in (first, second, third) for one in own)


@pytest.mark.slow
def test_noise_makes_no_differences():
    """Clusters that are alike are hardly ever told apart: in one table of 20 there may be one claim, however many are looked at."""
    rng = np.random.default_rng(2)
    claims = 0
    for _ in range(40):
        profiles = profiles_of(people(rng, alike=True), rng)
        claims += any(profiles.differences(cluster) for cluster in range(3))
    assert claims <= 5


def test_profiles_survive_json():
    rng = np.random.default_rng(3)
    profiles = profiles_of(people(rng), rng)
    text = json.dumps(profiles.to_dict())
    again = Profiles.from_dict(json.loads(text), Schema(COLUMNS))
    assert json.dumps(again.to_dict()) == text
    assert again.names == ("age", "bmi", "income", "smokes", "plan")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("deviation",), 0.0),
        (("deviation",), "50"),
        (("columns",), ["age"]),
        (("columns",), ["bmi", "age", "income", "smokes", "plan"]),
        (("clusters", 0, 0, "counts", 0), 1.5),
        (("clusters", 0, 0, "counts", 0), 2**70),
        (("clusters", 0, 0, "counts"), []),
        (("clusters", 0, 0, "edges", 1), 2.5),
        (("clusters", 0, 0, "edges", 0), 0.0),
        (("clusters", 0, 1, "edges", 2), 10.0),
        (("clusters", 0, 1, "edges", -1), 61.0),
        (("clusters", 0, 4, "counts"), [1, 2]),
        (("clusters", 1), []),
    ],
)
def test_damaged_profiles_are_refused(path, value):
    rng = np.random.default_rng(4)
    values = profiles_of(people(rng), rng).to_dict()
    target = values
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises((ValueError, TypeError, KeyError)):
        Profiles.from_dict(json.loads(json.dumps(values)), Schema(COLUMNS))


def test_a_cluster_without_rows():
    """Noise alone: nothing fails, and every interval is as wide as the bounds allow."""
    rng = np.random.default_rng(5)
    full = profiles_of(people(rng), rng)
    empty = tuple(
        Histogram(np.rint(rng.normal(0, DEVIATION, len(one.counts))).astype(np.int64), one.edges)
        for one in full.histograms[2]
    )
    profiles = Profiles(COLUMNS, (*full.histograms[:2], empty), DEVIATION, 10_000.0, 10.0)
    for column in profiles.clusters[2].columns[:4]:
        low, high = column.quartiles[1].low, column.quartiles[1].high
        assert column.column.lower <= low <= high <= column.column.upper
        assert np.isfinite(column.sd).all()
    assert all(0.0 <= share.low <= share.high <= 1.0 for share in profiles.clusters[2]["plan"].shares)


def test_measured_numbers_stay_within_their_limits():
    assert Measured.around(0.99, 0.02, 0.0, 1.0).high == 1.0
    assert Measured.around(0.5, 0.1, 0.0, 1.0).error == pytest.approx(0.1)


def test_many_clusters_are_compared_as_one_pair_after_the_other():
    """Effects and their noise are those of the plain formula, in which every cluster meets the bins of every other."""
    rng = np.random.default_rng(5)
    parts = [
        Part(
            np.array([0.0, *np.sort(rng.uniform(0.5, 9.5, bins - 1)), 10.0]), rng.normal(60, 20, bins), 9.0 + bins, 30.0
        )
        for bins in (2, 5, 3, 7)
    ]
    grid = np.unique(np.concatenate([part.edges for part in parts]))
    cumulated = np.array([part.cumulated(grid) for part in parts])
    totals = cumulated[:, -1]

    def means(values, part):
        area = np.append(0.0, np.cumsum(np.diff(grid) * (values[1:] + values[:-1]) / 2))
        return np.diff(area[np.searchsorted(grid, part.edges)]) / np.diff(part.edges)

    for cluster, effect in enumerate(numeric_effects(parts)):
        above = means(cumulated.sum(axis=0) / totals.sum(), parts[cluster])
        size = 2 * (parts[cluster].counts / totals[cluster]) @ above - 1
        variance = 0.0
        for other, part in enumerate(parts):
            weights = (1 - size - 2 * means(cumulated[cluster] / totals[cluster], part)) / totals.sum()
            if other == cluster:
                weights = weights + (2 * above - (1 + size)) / totals[cluster]
            variance += part.variances(weights)
        assert (effect.size, effect.variance) == pytest.approx((size, variance))


@pytest.mark.parametrize("bounds", [(0, 100_000, "int"), (0, 100_000)])
def test_quartiles_of_amounts_that_are_mostly_none_are_none(bounds):
    amounts = np.where(np.arange(8000) % 10 < 8, 0, 7000 + np.arange(8000) % 900)
    model = DPM(bounds={"amount": bounds}, n_clusters=1, random_state=0).fit(pd.DataFrame({"amount": amounts}))
    assert [quartile.value for quartile in model.release_.profiles.everyone["amount"].quartiles] == [0.0, 0.0, 0.0]


def test_the_error_of_a_share_at_its_limit_is_not_halved():
    assert Measured.around(0.0, 0.02, 0.0, 1.0).longer_error == pytest.approx(0.02)
    assert Measured.around(1.0, 0.02, 0.0, 1.0).longer_error == pytest.approx(0.02)
    assert Measured.around(0.5, 0.02, 0.0, 1.0).longer_error == pytest.approx(0.02)


def test_no_rounded_number_is_minus_zero():
    assert [math.copysign(1.0, end) for end in Measured(-0.0, -0.0, -0.0).rounded] == [1.0] * 3
    assert math.copysign(1.0, Measured(-0.001, -1.0, 1.0).rounded[0]) == 1.0
