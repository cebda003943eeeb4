"""Clusters for every k from the cells of one release: what they hold, whether their errors are true, and how rows are labelled."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpmondrian import DPM, ParameterError, Release
from dpmondrian.engines import coded_blocks
from dpmondrian.release import Clusters
from dpmondrian.schema import Coordinates
from dpmondrian.tables import read_table

MIDDLES = np.array([[20.0, 20.0], [50.0, 70.0], [80.0, 30.0]])
BOUNDS = {"age": (0, 100, "int"), "income": (1, 1000, "log"), "plan": ["basic", "premium"]}


def blobs(n_rows: int = 6000, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.clip(MIDDLES[rng.integers(0, 3, n_rows)] + rng.normal(0, 6, (n_rows, 2)), 0, 100)


def people(n_rows: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 2, n_rows)
    return pd.DataFrame(
        {
            "age": np.rint(np.where(kind, 30, 60) + rng.normal(0, 5, n_rows)).astype(int),
            "income": np.exp(np.where(kind, 2, 5) + rng.normal(0, 0.3, n_rows)),
            "plan": np.where(rng.random(n_rows) < np.where(kind, 0.8, 0.2), "basic", "premium"),
        }
    )


@pytest.fixture(scope="module")
def model() -> DPM:
    return DPM(bounds=(0, 100), random_state=0).fit(blobs())


@pytest.fixture(scope="module")
def mixed() -> DPM:
    return DPM(bounds=BOUNDS, random_state=0).fit(people())


def places_of(release: Release, table) -> np.ndarray:
    """Return the places of rows on the grid of a release."""
    blocks = coded_blocks(read_table(table), Coordinates(release.schema), "error", release.grid)
    return np.concatenate([block.places().T for block in blocks]).astype(np.int64)


@pytest.fixture(scope="module", params=[None, 30])
def rare(request) -> Release:
    """Return a release of two plans, among eight that are declared, in one or in many clusters."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"age": rng.uniform(0, 100, 6000), "plan": np.where(rng.random(6000) < 0.9, "b", "p")})
    bounds = {"age": (0, 100), "plan": ["b", "p", *"uvwxyz"]}
    return DPM(bounds=bounds, n_clusters=request.param, random_state=0).fit(table).release_


@pytest.mark.parametrize("k", [1, 2, 7, 500])
def test_segments_have_no_categories_that_nobody_has(rare, k):
    segments = rare.clusters(k)
    shares = segments.sizes @ segments.centres[:, 1:] / segments.sizes.sum()
    assert np.abs(shares - [0.9, 0.1, *[0.0] * 7]).max() < 0.05
    assert np.allclose(segments.centres[:, 1:].sum(axis=1), 1.0)


def test_shares_of_all_rows_do_not_add_up_noise_that_was_cut_off(rare):
    shares = [share.value for share in rare.profiles.everyone["plan"].shares]
    assert np.abs(np.array(shares) - [0.9, 0.1, *[0.0] * 7]).max() < 0.05


# What there is for every k


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model", "mixed"])
def test_every_k_up_to_the_number_of_cells(name, request):
    release = request.getfixturevalue(name).release_
    schema, n_cells = release.schema, len(release.cells)
    for k in range(1, n_cells + 1):
        clusters = release.clusters(k)
        assert clusters.n_clusters == k
        assert clusters.centres.shape == clusters.centre_errors.shape == (k, len(schema.centre_columns))
        assert clusters.sizes.shape == clusters.size_errors.shape == (k,)
        assert np.all(np.diff(clusters.sizes) <= 0)
        assert np.all((clusters.centres >= schema.lower) & (clusters.centres <= schema.upper))
        assert np.all(clusters.size_errors > 0)
        assert np.all(clusters.centre_errors > 0)
        assert 0.0 <= clusters.quality <= 1.0
        assert sorted(set(clusters.cluster_of_cell.tolist())) == list(range(k))
    if schema.categories:
        np.testing.assert_allclose(clusters.centres[:, 2:].sum(axis=1), 1.0)


def test_sizes_add_up_to_the_number_of_rows(model):
    release = model.release_
    for k in (1, 2, 5, 10):
        clusters = release.clusters(k)
        assert clusters.sizes.sum() == pytest.approx(release.tree.size[0])
    one = release.clusters(1)
    assert one.size_errors[0] == pytest.approx(release.tree.size_error[0])


def test_the_same_from_the_model_and_from_its_file(model, mixed, tmp_path):
    for fitted in (model, mixed):
        fitted.save(tmp_path / "release.json")
        loaded = DPM.load(tmp_path / "release.json")
        for k in (1, 3, 7):
            assert loaded.clusters(k).to_dict() == fitted.clusters(k).to_dict()
        assert loaded.qualities().to_dict() == fitted.qualities().to_dict()
        assert loaded.hierarchy_.linkage.tolist() == fitted.hierarchy_.linkage.tolist()
        assert (loaded.certainty_ is None) == (fitted.certainty_ is None)
        (tmp_path / "release.json").unlink()


def test_asking_again_gives_the_same_and_nothing_is_written(model):
    before = model.release_.to_json()
    assert model.clusters(4) is model.clusters(4)
    assert replace(model.release_).clusters(4).to_dict() == model.clusters(4).to_dict()
    assert model.release_.to_json() == before


def test_cells_in_one_place_are_divided_too():
    release = DPM(bounds=(0, 100), random_state=0, profiles=False).fit(np.full((3000, 1), 100.0)).release_
    cells = release.cells
    places = np.repeat([[100.0], [40.0]], [3, 2], axis=0)
    same = replace(cells, centres=places, centre_errors=np.full((5, 1), 0.1), sizes=np.full(5, 600.0))
    merged = replace(release, cells=same)
    for k in range(1, 6):
        assert merged.clusters(k).n_clusters == k
    assert merged.clusters(2).centres.ravel().tolist() == pytest.approx([100.0, 40.0], abs=0.01)


@pytest.mark.parametrize("k", [0, -1, 10_001, 2.0, "2", True, None, np.nan], ids=repr)
def test_a_k_that_cannot_be_is_refused_with_a_way_out(model, k):
    with pytest.raises(ParameterError, match=r"from 1 to 10000.*the number of segments"):
        model.clusters(k)


def test_the_papers_variant_has_no_cells():
    model = DPM(bounds=(0, 100), variant="paper", random_state=0).fit(blobs(500))
    assert model.cells_ is None
    assert not hasattr(model, "hierarchy_")
    for ask in (lambda: model.clusters(2), model.qualities, lambda: model.release_.hierarchy):
        with pytest.raises(ParameterError, match=r"no cells.*variant='default'"):
            ask()


def test_with_k_given_there_are_other_numbers_too():
    model = DPM(bounds=(0, 100), n_clusters=3, random_state=0).fit(blobs())
    assert model.certainty_ is None
    assert model.clusters(5).n_clusters == 5
    np.testing.assert_allclose(
        np.sort(model.clusters(3).centres, axis=0), np.sort(model.cluster_centers_, axis=0), atol=3.0
    )


# Whether errors and qualities are true


@pytest.mark.slow
def test_stated_errors_are_those_that_show():
    """Of rows that belong to their nearest cell, which is what sizes and centres are about."""
    of_sizes, of_centres, of_quality = [], [], []
    for seed in range(6):
        rows = blobs(8000, seed)
        model = DPM(bounds=(0, 100), random_state=seed).fit(rows)
        for k in (2, 3, 5, 8):
            clusters = model.clusters(k)
            labels = clusters.predict(rows)
            counts = np.bincount(labels, minlength=k)
            means = np.array([rows[labels == c].mean(axis=0) for c in range(k)])
            of_sizes += ((clusters.sizes - counts) / clusters.size_errors).tolist()
            of_centres += ((clusters.centres - means) / clusters.centre_errors).ravel().tolist()
            within = ((rows - clusters.centres[labels]) ** 2).sum()
            explained = 1.0 - within / ((rows - rows.mean(axis=0)) ** 2).sum()
            of_quality.append((clusters.quality - explained) / clusters.quality_error)
    assert 0.5 < np.sqrt(np.mean(np.square(of_sizes))) < 1.6
    assert 0.5 < np.sqrt(np.mean(np.square(of_centres))) < 1.6
    assert np.sqrt(np.mean(np.square(of_quality))) < 2.0


def test_qualities_grow_and_begin_at_nothing(model):
    qualities = model.qualities()
    assert qualities.k.tolist() == list(range(1, max(20, min(64, len(model.cells_))) + 1))
    assert qualities.quality[0] == pytest.approx(0.0, abs=1e-6)
    assert np.all(np.diff(qualities.quality) > -2.0 * qualities.error[1:])
    assert qualities.quality[2] > 0.85
    some = model.qualities([3, 2])
    assert some.quality.tolist() == qualities.quality[[2, 1]].tolist()


def test_more_noise_means_larger_errors():
    rows = blobs()
    errors = [
        DPM(bounds=(0, 100), epsilon=epsilon, random_state=0).fit(rows).clusters(3).centre_errors.mean()
        for epsilon in (0.3, 3.0)
    ]
    assert errors[0] > 2.0 * errors[1]  # fewer and larger cells make up for some of it


# More clusters than cells


@pytest.fixture(scope="module")
def few_cells() -> DPM:
    return DPM(bounds=(0, 100), epsilon=0.5, random_state=0).fit(blobs(1500))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["few_cells", "mixed"])
def test_more_clusters_than_cells(name, request):
    release = request.getfixturevalue(name).release_
    schema, n_cells = release.schema, len(release.cells)
    whole = release.clusters(n_cells)
    for k in (n_cells + 1, 2 * n_cells, 500):
        clusters = release.clusters(k)
        assert clusters.n_clusters == clusters.rule.n_clusters == k
        assert clusters.is_divided
        assert not whole.is_divided
        assert clusters.sizes.sum() == pytest.approx(whole.sizes.sum())
        assert np.all(np.diff(clusters.sizes) <= 0)
        assert np.all((clusters.centres >= schema.lower) & (clusters.centres <= schema.upper))
        if schema.categories:
            np.testing.assert_allclose(clusters.centres[:, 2:].sum(axis=1), 1.0)
        assert clusters.quality == whole.quality  # nobody knows what the parts of a cell explain
        assert clusters.quality_error > whole.quality_error
        assert (clusters.cluster_of_cell < 0).sum() >= min(k - n_cells, 1)
        assert clusters.to_dict()["divided"]
    assert len(release.clusters(10_000).sizes) == 10_000


def test_parts_belong_to_one_cell_and_are_larger_in_doubt(few_cells):
    rows, release = blobs(1500), few_cells.release_
    n_cells = len(release.cells)
    cell = release.nearest(release.cells.centres).clusters(places_of(release, rows))
    clusters = few_cells.clusters(3 * n_cells)
    labels = clusters.predict(rows)
    assert labels.tolist() == clusters.rule.clusters(places_of(release, rows)).tolist()
    assert all(len(np.unique(cell[labels == part])) == 1 for part in np.unique(labels))
    relative = clusters.size_errors / np.maximum(clusters.sizes, 1.0)
    assert relative.min() > (release.cells.size_error / release.cells.sizes).min()


@pytest.mark.slow
def test_stated_errors_of_parts_are_those_that_show():
    of_sizes, of_centres = [], []
    for seed in range(6):
        rows = blobs(1500, seed)
        model = DPM(bounds=(0, 100), epsilon=0.5, random_state=seed).fit(rows)
        for k in (len(model.cells_) + 3, 2 * len(model.cells_), 40):
            clusters = model.clusters(k)
            labels = clusters.predict(rows)
            counts = np.bincount(labels, minlength=k)
            of_sizes += ((clusters.sizes - counts) / clusters.size_errors).tolist()
            for c in np.flatnonzero(counts > 10):
                of_centres += (
                    (clusters.centres[c] - rows[labels == c].mean(axis=0)) / clusters.centre_errors[c]
                ).tolist()
    assert 0.3 < np.sqrt(np.mean(np.square(of_sizes))) < 1.6
    assert 0.3 < np.sqrt(np.mean(np.square(of_centres))) < 1.6


def test_categories_are_divided_by_what_rows_have(mixed):
    """A single cell of two plans and no spread otherwise: its parts are those who have each plan."""
    cells = replace(
        mixed.cells_,
        centres=np.array([[40.0, 50.0, 0.7, 0.3, 0.0]]),
        centre_errors=np.array([[1.0, 1.0, 0.01, 0.01, 0.01]]),
        sizes=np.array([4000.0]),
        spread=0.0,
    )
    own_centres = np.repeat(cells.centres, mixed.n_clusters_, axis=0)
    clusters = replace(mixed.release_, cells=cells, centres=own_centres, profiles=None, figures=None).clusters(2)
    np.testing.assert_allclose(clusters.centres[:, 2:], np.eye(3)[:2], atol=1e-9)
    np.testing.assert_allclose(clusters.sizes / clusters.sizes.sum(), [0.7, 0.3])
    table = people()
    assert clusters.predict(table).tolist() == (table["plan"] == "premium").astype(int).tolist()


def test_a_single_cell_without_spread_is_divided_too():
    release = DPM(bounds=(0, 100), random_state=0, profiles=False).fit(np.full((3000, 1), 100.0)).release_
    alone = replace(
        release,
        cells=replace(
            release.cells,
            centres=np.array([[100.0]]),
            centre_errors=np.array([[0.1]]),
            sizes=np.array([3000.0]),
            spread=0.0,
        ),
    )
    clusters = alone.clusters(7)
    assert clusters.n_clusters == 7
    assert np.all(np.isfinite(clusters.to_dict()["quality_error"]))
    assert clusters.predict(np.full((5, 1), 100.0)).max() < 7


# Labels


def test_rows_belong_to_their_nearest_cell(model):
    rows, release = blobs(), model.release_
    cell = release.nearest(release.cells.centres).clusters(places_of(release, rows))
    for k in (1, 4, len(release.cells)):
        labels = model.clusters(k).predict(rows)
        assert labels.dtype == np.int32
        assert labels.tolist() == model.clusters(k).cluster_of_cell[cell].tolist()


def test_categories_and_log_scales_are_labelled(mixed):
    table = people()
    clusters = mixed.clusters(2)
    labels = clusters.predict(table)
    ages = np.array([table["age"][labels == c].mean() for c in range(2)])
    assert np.all(np.abs(ages - clusters.centres[:, 0]) < 5.0 * clusters.centre_errors[:, 0])


def test_missing_values_of_rows_to_label():
    rows = blobs(1000)
    holes = rows.copy()
    holes[3, 0] = np.nan
    model = DPM(bounds=(0, 100), on_missing="drop", random_state=0).fit(rows)
    labels = model.clusters(3).predict(holes)
    assert labels[3] == -1
    assert np.delete(labels, 3).tolist() == np.delete(model.clusters(3).predict(rows), 3).tolist()


# What is shown


def test_segments_print_as_a_table(mixed):
    text = str(mixed.clusters(2))
    assert text.startswith("2 segments of about ")
    assert "of the variance" in text
    head, first, second = text.splitlines()[2:]
    assert head.split()[:3] == ["segment", "rows", "share"]
    assert first.split()[0], second.split()[0] == ("0", "1")
    assert str(mixed.clusters(1)).startswith("One segment of about ")
    n_cells = len(mixed.cells_)
    assert f"The release holds {n_cells} cells: more segments are made by dividing" in str(mixed.clusters(n_cells + 1))
    assert str(mixed.qualities()).splitlines()[0] == "segments  variance explained  silhouette"


def test_as_csv_and_json(mixed):
    clusters: Clusters = mixed.clusters(3)
    lines = clusters.to_csv().splitlines()
    assert lines[0].startswith("cluster,size,size_error,age,age error,income,income error,plan=basic,")
    assert len(lines) == 4
    values = json.loads(json.dumps(clusters.to_dict(), allow_nan=False))
    assert values["n_clusters"] == 3
    assert list(values["clusters"][0]["centre"]) == list(mixed.release_.schema.centre_names)
