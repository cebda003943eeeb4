import gzip
import json
import os
import pickle
import stat
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dpmondrian.samples.examples import HOME_BOUNDS, homes
from dpmondrian_lab.datasets import DATA_SETS, blob_data_set, files, get
from dpmondrian_lab.datasets.blobs import blobs
from dpmondrian_lab.datasets.checksums import content_checksum
from dpmondrian_lab.datasets.idx import parse_idx, read_idx
from dpmondrian_lab.datasets.tables import write_table
from dpmondrian_lab.exceptions import DatasetError, DatasetNotFoundError


@pytest.mark.parametrize(("n_rows", "n_columns", "n_clusters"), [(1000, 10, 64), (130, 3, 7)])
def test_blobs_are_those_of_the_paper(n_rows, n_columns, n_clusters):
    rows, labels = blobs(n_rows, n_columns, n_clusters)
    expected, expected_labels = make_blobs(
        n_rows, n_columns, centers=n_clusters, center_box=(-100, 100), cluster_std=1, random_state=42
    )
    np.testing.assert_allclose(rows, expected, atol=1e-12)
    np.testing.assert_array_equal(labels, expected_labels)


def test_homes_lie_on_the_map_and_are_the_same_each_time():
    rows, town = homes(2000)
    assert rows.shape == (2000, len(HOME_BOUNDS))
    assert np.all((rows > -5) & (rows < 105))
    assert set(town) == {-1, *range(9)}
    np.testing.assert_array_equal(rows, homes(2000)[0])


# The registry


def test_the_data_sets_of_the_paper_in_its_order():
    assert {key: data_set.name for key, data_set in DATA_SETS.items()} == {
        "mnist_embs": "MNIST Embs.",
        "fashion_embs": "Fashion Embs.",
        "synth_10d": "Synth-10d",
        "synth_100d": "Synth-100d",
        "uci_letters": "UCI Letters",
        "uci_gas": "UCI Gas",
    }
    assert list(DATA_SETS) == ["mnist_embs", "fashion_embs", "synth_10d", "synth_100d", "uci_letters", "uci_gas"]


@pytest.mark.parametrize(
    ("key", "diameter", "delta", "n_clusters"),
    [
        ("synth_10d", 632.456, 3.1623e-8, 64),
        ("synth_100d", 2000, 3.1623e-8, 64),
        ("mnist_embs", 82.219, 6.8041e-8, 10),
        ("fashion_embs", 82.219, 6.8041e-8, 10),
        ("uci_letters", 60, 3.9043e-7, 26),
        ("uci_gas", 3671.9, 1.4204e-7, 2),
    ],
)
def test_diameter_delta_and_k_are_those_of_the_paper(key, diameter, delta, n_clusters):
    data_set = get(key)
    assert data_set.diameter == pytest.approx(diameter, rel=2e-5)
    assert data_set.delta == pytest.approx(delta, rel=2e-5)
    assert data_set.n_clusters == n_clusters


def test_every_data_set_has_its_facts_and_a_checksum():
    for data_set in DATA_SETS.values():
        assert len(data_set.facts) > 100
        assert len(data_set.checksum) == 64
        assert (data_set.source == "made") == (data_set.file == "")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("synth10d", "Did you mean synth_10d"),
        ("letters", "Did you mean uci_letters"),
        ("UCI-gas", "Did you mean uci_gas"),
        ("zzz", "There are mnist_embs, .* uci_gas"),
        ("blobs-0x10-64", "blobs-5000x10-64"),
    ],
)
def test_an_unknown_key_is_answered_with_near_ones(key, hint):
    with pytest.raises(DatasetError, match=hint):
        get(key)


def test_blobs_of_any_size_are_found_by_their_key():
    data_set = blob_data_set(500, 3, 7)
    assert data_set.key == "blobs-500x3-7"
    assert get(data_set.key) == data_set
    assert pickle.loads(pickle.dumps(data_set)) == data_set
    rows, classes = data_set.load()
    np.testing.assert_array_equal(rows, blobs(500, 3, 7)[0])
    assert len(np.unique(classes)) == 7


@pytest.mark.parametrize("sizes", [(5, 2, 6), (5, 0, 2), (0, 1, 0)])
def test_blobs_that_cannot_be_are_refused(sizes):
    with pytest.raises(DatasetError, match="n_clusters <= n_rows"):
        blob_data_set(*sizes)


def test_rows_are_loaded_once_and_cannot_be_changed():
    rows, classes = get("blobs-300x2-4").load()
    assert get("blobs-300x2-4").load()[0] is rows
    for array in (rows, classes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_made_data_have_their_checksum():
    rows, classes = get("synth_10d").load()
    assert rows.shape == (100_000, 10)
    means = np.array([rows[classes == number].mean(axis=0) for number in range(64)])
    assert ((rows - means[classes]) ** 2).sum() == pytest.approx(9.998e5, rel=1e-4)


# Content of the files


def test_letters_are_resampled_evenly(data_file):
    data_file("letter.parquet")
    rows, letter = get("uci_letters").load()
    assert rows.shape == (18_720, 16)
    assert rows.dtype == np.float64
    assert set(np.unique(rows)) == set(range(16))
    assert np.bincount(letter).tolist() == [720] * 26


def test_gas_has_the_eleven_measures_and_no_classes(data_file):
    data_file("gas_turbine.parquet")
    rows, classes = get("uci_gas").load()
    assert rows.shape == (36_733, 11)
    assert classes is None


@pytest.mark.parametrize("key", ["mnist_embs", "fashion_embs"])
def test_embeddings_lie_within_their_bounds(data_file, key):
    data_file(f"{key}.parquet")
    rows, classes = get(key).load()
    assert rows.shape == (60_000, 40)
    assert rows.min() >= 0
    assert rows.max() <= 13
    assert set(classes) == set(range(10))


def test_a_missing_file_says_where_to_put_it_and_how_to_get_it(cache):
    with pytest.raises(DatasetNotFoundError, match=r"letter\.parquet .* DPMONDRIAN_DATA .*dpm fetch uci_letters"):
        get("uci_letters").load()
    assert not get("uci_letters").is_available()
    assert get("synth_10d").is_available()


def test_a_damaged_file_is_refused(cache):
    cache.mkdir(parents=True)
    (cache / "letter.parquet").write_bytes(b"PAR1 and so on")
    assert get("uci_letters").is_available()
    with pytest.raises(DatasetError, match=r"letter\.parquet is damaged"):
        get("uci_letters").load()


def test_a_file_of_another_data_set_is_refused(cache):
    cache.mkdir(parents=True)
    write_table({"a": np.zeros(5), "b": np.zeros(5)}, cache / "gas_turbine.parquet")
    with pytest.raises(DatasetError, match="another one than its name says"):
        get("uci_gas").load()
    write_table({"a": np.zeros(5), "year": np.zeros(5)}, cache / "gas_turbine.parquet")
    with pytest.raises(DatasetError, match="must have 36733 x 11 values, but has 5 x 1"):
        get("uci_gas").load()


def test_changed_values_are_refused(cache):
    cache.mkdir(parents=True)
    columns = {f"c{number}": np.zeros(36_733) for number in range(11)}
    write_table({**columns, "year": np.zeros(36_733)}, cache / "gas_turbine.parquet")
    with pytest.raises(DatasetError, match="not the expected one"):
        get("uci_gas").load()


def test_letters_with_a_letter_missing_are_refused(cache):
    cache.mkdir(parents=True)
    write_table({"x": np.zeros(2), "letter": np.array(["A", "C"])}, cache / "letter.parquet")
    with pytest.raises(DatasetError, match="lacks the letter B"):
        get("uci_letters").load()


@pytest.fixture
def trained(cache):
    """Return the checksum of a file of embeddings in the cache that is not the shipped one."""
    cache.mkdir(parents=True)
    rows, classes = np.full((60_000, 40), 1.5, dtype=np.float32), np.arange(60_000) % 10
    columns = {f"e{number}": rows[:, number] for number in range(40)}
    write_table({**columns, "label": classes.astype(np.int8)}, cache / "mnist_embs.parquet")
    return content_checksum(rows.astype(np.float64), classes)


def test_embeddings_trained_here_are_accepted_by_the_checksum_in_their_recipe(cache, trained):
    (cache / "mnist_embs.json").write_text(json.dumps({"checksum": trained}))
    assert get("mnist_embs").load()[0].shape == (60_000, 40)
    assert get("mnist_embs").content_checksum() == trained


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (None, "not the expected one"),
        ('{"checksum": "0000"}', "not the expected one"),
        ("half", "not the recipe of a training"),
        ("[]", "not the recipe of a training"),
        ("{}", "not the recipe of a training"),
    ],
)
def test_other_embeddings_are_refused(cache, trained, recipe, message):
    if recipe is not None:
        (cache / "mnist_embs.json").write_text(recipe)
    with pytest.raises(DatasetError, match=message):
        get("mnist_embs").load()


def test_the_checksum_is_of_the_values_not_of_their_form():
    rows, classes = np.arange(6.0).reshape(2, 3), np.array([0, 1])
    assert content_checksum(rows, classes) == content_checksum(
        np.asfortranarray(rows.astype(np.float32)), classes.astype(np.int8)
    )
    assert content_checksum(rows, classes) != content_checksum(rows, None)
    assert content_checksum(rows, classes) != content_checksum(rows + 1e-9, classes)


# Folders and idx files


def test_the_cache_folder_follows_the_rules_of_xdg(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for value, expected in (("", tmp_path / ".cache"), ("relative", tmp_path / ".cache"), ("/some", Path("/some"))):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert files.cache_folder() == expected / "dpmondrian"


def test_the_named_folder_comes_before_the_cache(cache, tmp_path, monkeypatch):
    cache.mkdir(parents=True)
    (cache / "file").touch()
    assert files.find_file("file") == cache / "file"
    monkeypatch.setenv(files.DATA_VARIABLE, str(tmp_path))
    assert files.find_file("file") == cache / "file"
    (tmp_path / "file").touch()
    assert files.find_file("file") == tmp_path / "file"


def test_unfinished_work_is_for_its_owner_and_leaves_nothing(cache):
    with pytest.raises(KeyboardInterrupt), files.staging() as folder:  # noqa: PT012
        assert folder.parent == cache
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "half").write_bytes(b"x")
        raise KeyboardInterrupt
    assert list(cache.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs the device /dev/full, which is always full")
def test_a_full_disk_is_named(cache):
    with pytest.raises(DatasetError, match="the disk is full"), files.staging():
        Path("/dev/full").write_bytes(b"x")


def test_a_cache_folder_that_cannot_be_made_is_named(cache):
    cache.parent.write_text("a file in its way")
    with pytest.raises(DatasetError, match=r"Could not write to .*dpmondrian"), files.staging():
        pass


def idx(*shape, header=b"\0\0\x08", values=b""):
    sizes = b"".join(size.to_bytes(4, "big") for size in shape)
    return gzip.compress(header + bytes([len(shape)]) + sizes + values)


def test_idx_files_are_read(cache):
    (cache / "mnist").mkdir(parents=True)
    (cache / "mnist" / "images.gz").write_bytes(idx(2, 3, values=bytes(range(6))))
    np.testing.assert_array_equal(read_idx("mnist/images.gz"), np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"not gzip", "not a whole gzip file"),
        (idx(2, 3, values=bytes(6))[:-9], "not a whole gzip file"),
        (idx(2, 3, header=b"\0\0\x0d", values=bytes(6)), "not an idx file"),
        (gzip.compress(b"\0\0"), "not an idx file"),
        (gzip.compress(b"\0\0\x08\x03\0\0"), "not an idx file"),
        (idx(2, 3, values=bytes(5)), "not as long as its header says"),
        (idx(2**31, 2**31, 2**31, values=bytes(5)), "not as long as its header says"),
    ],
    ids=["no gzip", "torn", "other type", "short", "no sizes", "too few values", "huge"],
)
def test_damaged_idx_files_are_refused(raw, message):
    with pytest.raises(DatasetError, match=message):
        parse_idx(raw, "images.gz")
