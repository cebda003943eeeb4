"""The peers on neighbouring tables: what reaches the door moves no more than is paid for.

As for DPM (``test_neighbours.py``): a run on one table is recorded, the run on its neighbour gets the *same released
values*. Then everything public must be the same in both runs, and exact values may differ by the declared
sensitivity and no more. Published variants, and peers that are broken on purpose, must be caught.
"""

from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from dpmondrian import Column, Schema
from dpmondrian.tables.frames import read_table
from dpmondrian_lab.audit import compare_runs
from dpmondrian_lab.audit.recording import record
from dpmondrian_lab.peers import fast_lloyd, lsh_splits, noisy_grid, rows
from dpmondrian_lab.peers.dp_lloyd import DPLloyd
from dpmondrian_lab.peers.fast_lloyd import FastLloyd
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lsh_splits import COUNT, LSHSplits
from dpmondrian_lab.peers.noisy_grid import NoisyGrid
from dpmondrian_lab.peers.pe_means import PEMeans
from dpmondrian_lab.peers.rows import FixedPointRows

SCHEMA = Schema((Column("x", 0.0, 100.0), Column("y", -1.0, 1.0), Column("z", 0, 10, whole=True)))
PEERS = {
    "DP-Lloyd": DPLloyd(3, 40.0, SCHEMA, expected_rows=300),
    "DP-Lloyd, more clusters than rows": DPLloyd(30, 40.0, SCHEMA, expected_rows=300),
    "LSH-Splits": LSHSplits(3, 40.0, 1e-6, SCHEMA),
    "LSH-Splits, one leaf": LSHSplits(3, 0.1, 1e-6, SCHEMA),
    "FastLloyd": FastLloyd(3, 40.0, 1e-6, SCHEMA, expected_rows=300),
    "FastLloyd, more clusters than rows": FastLloyd(30, 40.0, 1e-6, SCHEMA, expected_rows=300),
    "Noisy grid": NoisyGrid(3, 40.0, SCHEMA),
    "Noisy grid, more clusters than rows": NoisyGrid(400, 1.0, SCHEMA),
    "PE-means, more clusters than rows": PEMeans(30, 4.0, 1e-6, SCHEMA, expected_rows=30),
}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Keep the threads of k-means, which wait for each other longer than they work, out of the way."""
    with threadpool_limits(1):
        yield


every_peer = pytest.mark.parametrize("name", PEERS)


def algorithm(peer, door=LabDoor):
    """Return the peer's algorithm as a function of a table."""
    run_settings = peer._settings()
    clip = peer._published_code_clips or not run_settings.published

    def centres_of(table):
        exact_rows = FixedPointRows.of(read_table(table), SCHEMA, clip)
        return peer._cluster(exact_rows, door(peer._plan(run_settings, 3)), run_settings)

    return centres_of


def compare(peer, table, neighbour, seed=0, door=LabDoor):
    """Record a run, replay what it released on the neighbour; return the part of each price that is used."""
    findings = compare_runs(algorithm(peer, door), table, neighbour, seed=seed)
    if "failure" in findings.kinds:  # which is no way to catch a mistake
        pytest.fail(str(findings))
    assert findings.kinds <= {"defect", "budget"}, str(findings)  # published variants say themselves what they are
    return findings.used


def base_rows(n_rows=300, seed=0):
    """Return three clusters, some rows on the bounds, beyond them, and repeated."""
    generator = np.random.default_rng(seed)
    middles = np.array([[20.0, -0.6, 2.0], [50.0, 0.6, 5.0], [85.0, 0.1, 9.0]])
    table = middles[generator.integers(0, 3, n_rows)] + generator.normal(size=(n_rows, 3)) * [3.0, 0.1, 0.7]
    table[::40] = [100.0, 1.0, 10.0]
    table[1::40] = [-1e6, 5.0, 0.49]
    return table


CORNERS = [[x, y, z] for x in (0.0, 100.0) for y in (-1.0, 1.0) for z in (0.0, 10.0)]
ADDED = [*CORNERS, [-1e300] * 3, [1e300] * 3, [1e9, -1e9, 4.5], [50.0, 0.0, 5.0], [20.0, -0.6, 2.0]]


def compare_all(peer, table, door=LabDoor):
    """Compare a table with what adding or removing each of the adversarial rows makes of it."""
    used = {}
    for number, row in enumerate(ADDED):
        neighbour = np.insert(table, [0, 150, 300][number % 3], row, axis=0)
        pair = (table, neighbour) if number % 2 else (neighbour, table)
        for query, part in compare(peer, *pair, number, door).items():
            used[query] = max(used.get(query, 0.0), part)
    return used


@pytest.mark.slow
@every_peer
def test_one_row_more_or_less(name):
    used = compare_all(PEERS[name], base_rows())
    # The worst rows use up what is paid for: a smaller price would be noticed. Two exceptions. A ball around a
    # cube around the mean is larger than the box; and a row at the radius must happen to be near a centre.
    least = {"leaf sums": 0.5, "relative sums": 0.5}
    assert {query for query, part in used.items() if part < least.get(query, 0.95)} == set()


def queries_of(name, table):
    return record(lambda: algorithm(PEERS[name])(table)).queries


def test_runs_do_what_these_tests_are_about():
    """Trees have several levels, cells are empty, rows are out of reach; otherwise the comparison would be idle."""
    queries = queries_of("LSH-Splits", base_rows())
    assert {("count", 3), ("leaf sums", None)} <= {(query.name, query.level) for query in queries}
    assert min(len(query.exact) for query in queries if query.name == "leaf sums") > 3
    queries = queries_of("FastLloyd, more clusters than rows", base_rows())
    counts = next(np.array(query.exact) for query in queries if query.name == "cell count")
    assert counts.min() == 0
    assert counts.sum() < 300
    assert len(queries_of("LSH-Splits, one leaf", base_rows())[-1].exact) == 1


@pytest.mark.slow
@every_peer
@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_tiny_tables(name, n_rows):
    table = base_rows()[:n_rows]
    for seed, row in enumerate(([0.0, -1.0, 0.0], [100.0, 1.0, 10.0], [50.0, 0.0, 5.0])):
        compare(PEERS[name], table, np.vstack([table, row]), seed)


def test_two_rows_are_not_covered():
    """The check notices more than one row."""
    table = base_rows()
    for name in ("DP-Lloyd", "LSH-Splits", "FastLloyd"):
        with pytest.raises(AssertionError):
            compare(PEERS[name], table, np.vstack([table, table[2:4]]))


row_values = st.tuples(
    st.sampled_from([-1e9, 0.0, 50.0, 100.0, 1e9]) | st.floats(-10, 110),
    st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-1.5, 1.5),
    st.integers(-1, 11).map(float) | st.floats(-1, 11),
)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=120)
@given(
    st.lists(row_values, max_size=25),
    row_values,
    st.sampled_from(["DP-Lloyd", "LSH-Splits", "FastLloyd", "FastLloyd, more clusters than rows", "Noisy grid"]),
    st.integers(0, 1000),
)
def test_search_for_a_pair_that_breaks_the_promise(table, row, name, seed):
    table = np.array(table, dtype=np.float64).reshape(-1, 3)
    compare(PEERS[name], table, np.insert(table, len(table) // 2, row, axis=0), seed)


@pytest.mark.slow
@every_peer
def test_order_of_rows_changes_nothing(name):
    table = base_rows()
    one, other = queries_of(name, table), queries_of(name, np.random.default_rng(0).permutation(table))
    assert one
    for before, after in zip(one, other, strict=True):
        assert np.array_equal(before.exact, after.exact)


# --- what must be caught ------------------------------------------------------------------------------------------


def test_skipping_empty_clusters_is_caught():
    """diffprivlib's mistake: a row in a cluster of its own makes one more cluster move."""
    published = DPLloyd(30, 40.0, SCHEMA, variant="as_published", expected_rows=300)
    table = np.repeat([[20.0, -0.6, 2.0]], 50, axis=0)
    with pytest.raises(AssertionError, match="control flow"):
        compare(published, table, np.vstack([table, [100.0, 1.0, 10.0]]))


def test_rows_that_are_not_clipped_are_caught():
    """The published wrapper's mistake."""
    published = LSHSplits(3, 40.0, 1e-6, SCHEMA, variant="as_published")
    table = np.clip(base_rows(), SCHEMA.lower, SCHEMA.upper)
    compare(published, table, np.vstack([table, [50.0, 0.0, 5.0]]))
    with pytest.raises(AssertionError, match="price"):
        compare(published, table, np.vstack([table, [1e6, 0.0, 5.0]]))


def without_radius(exact_rows, centres, radius):
    return rows.nearest_centre(exact_rows.displacement, centres)


def labels_by_position(points, centres):
    return np.arange(len(points)) % len(centres)


def sums_that_count_twice(self, label, n_groups):
    counts, sums = TRUE_SUMS(self, label, n_groups)
    return 2 * counts, 2 * sums


def only_filled_children(door, level, node, counts, beyond, least):
    """Draw noise for a child only if there are rows in it."""
    if level == lsh_splits._DEPTH or not np.any(counts >= 3 * least):
        return np.full((len(counts), 2), -1), np.empty(0)
    exact = np.zeros((len(counts), 2), dtype=np.int64)
    here = node >= 0
    np.add.at(exact, (node[here], beyond[here, level].astype(int)), 1)
    filled = exact > 0
    child_of = np.full(exact.shape, -1)
    child_of[filled] = np.arange(filled.sum())
    return child_of, np.maximum(door.counts(COUNT, level + 1, exact[filled]).astype(float), 1.0)


def mean_from_the_data(exact_rows, door, published):
    TRUE_MEAN(exact_rows, door, published)
    return exact_rows.displacement.mean(axis=0)


def exact_cells_per_side(noisy_total, run_settings, n_columns):
    """Choose the grid by how many rows the last table had: seen from here, the exact number."""
    return 3 + next(EXACT_NUMBERS) % 2


def rows_that_count_twice(exact_rows, shape):
    return 2 * TRUE_COUNTS(exact_rows, shape)


TRUE_COUNTS, EXACT_NUMBERS = noisy_grid._exact_counts, count()
TRUE_SUMS, TRUE_MEAN = FixedPointRows.sums, lsh_splits._private_mean
BROKEN = [
    ("FastLloyd", fast_lloyd, "_near_enough", without_radius),
    ("FastLloyd", fast_lloyd, "nearest_centre", labels_by_position),
    ("FastLloyd", FixedPointRows, "sums", sums_that_count_twice),
    ("DP-Lloyd", FixedPointRows, "sums", sums_that_count_twice),
    ("LSH-Splits", FixedPointRows, "sums", sums_that_count_twice),
    ("LSH-Splits", lsh_splits, "_children", only_filled_children),
    ("LSH-Splits", lsh_splits, "_private_mean", mean_from_the_data),
    ("Noisy grid", noisy_grid, "cells_per_side", exact_cells_per_side),
    ("Noisy grid", noisy_grid, "_exact_counts", rows_that_count_twice),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "owner", "attribute", "broken"), BROKEN)
def test_a_broken_peer_is_caught(monkeypatch, name, owner, attribute, broken):
    table = base_rows()
    monkeypatch.setattr(owner, attribute, broken)
    with pytest.raises(AssertionError):
        compare_all(PEERS[name], table)


class HalfOfTheNoise:
    def __init__(self, sampler):
        self._sampler = sampler

    def noise(self, mechanism, scales, *purpose):
        return self._sampler.noise(mechanism, scales / 2, *purpose)

    def public_seed(self, *purpose):
        return self._sampler.public_seed(*purpose)


class HalvesTheNoise(LabDoor):
    """Draws with half of the noise that is written in the ledger."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._sampler = HalfOfTheNoise(self._sampler)


@pytest.mark.parametrize("name", ["DP-Lloyd", "LSH-Splits", "FastLloyd", "Noisy grid"])
def test_half_of_the_noise_is_caught(name):
    table = base_rows()
    with pytest.raises(AssertionError, match="price"):
        compare_all(PEERS[name], table, HalvesTheNoise)
