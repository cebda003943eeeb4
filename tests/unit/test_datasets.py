import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dpmondrian.datasets import files
from dpmondrian.datasets.synthetic import HOME_BOUNDS, blobs, homes


@pytest.fixture
def data_file():
    def find(name):
        try:
            return files.find_file(name)
        except files.DatasetNotFoundError as error:
            pytest.skip(str(error))

    return find


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


def test_letters_are_resampled_evenly(data_file):
    data_file("letter.parquet")
    rows, letter = files.letters()
    assert rows.shape == (18_720, 16)
    assert rows.max() <= 15
    assert np.bincount(letter).tolist() == [720] * 26


def test_gas_has_the_eleven_measures(data_file):
    data_file("gas_turbine.parquet")
    assert files.gas().shape == (36_733, 11)


def test_a_missing_file_says_where_to_put_it(monkeypatch, tmp_path):
    monkeypatch.setenv(files.DATA_VARIABLE, str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(files.DatasetNotFoundError, match=r"letter\.parquet .* DPMONDRIAN_DATA"):
        files.letters()
