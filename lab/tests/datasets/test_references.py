import numpy as np
import pytest

from dpmondrian_lab.datasets import DataSet, blob_data_set, reference_centres
from dpmondrian_lab.datasets.references import Search, search_references
from dpmondrian_lab.exceptions import DatasetError

SMALL = Search(largest_k=9, first_rows=400, best=2, seeds=6, kept=4, silhouette_rows=500)


NPY = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }".ljust(117) + b"\n"
"""A file with one array."""


@pytest.fixture
def rows():
    """Return five clear clusters."""
    return blob_data_set(600, 3, 5).load()[0]


@pytest.fixture
def measured(rows):
    """Return the rows as a data set that was not made here, so that its clusters are not known."""
    return DataSet("measured", "Measured", 600, 3, 5, (-100, 100), "facts", lambda: (rows.copy(), None), source="file")


def test_the_reference_of_made_data_are_the_means_of_its_classes():
    data_set = blob_data_set(600, 3, 5)
    (reference,) = reference_centres(data_set)
    rows, classes = data_set.load()
    np.testing.assert_allclose(reference, [rows[classes == number].mean(axis=0) for number in range(5)])


def test_the_search_finds_the_number_of_clusters_and_keeps_the_best_runs(rows):
    steps = []
    found = search_references(rows, SMALL, lambda *step: steps.append(step))
    silhouettes = [silhouette for silhouette, _ in found]
    assert [len(centres) for _, centres in found][:2] == [5, 5]
    assert len(found) == 4
    assert silhouettes == sorted(silhouettes, reverse=True)
    assert steps == [("searching references", step, 20) for step in range(1, 21)]


def test_references_are_searched_once_and_then_read(cache, measured):
    steps = []
    first = reference_centres(measured, lambda *step: steps.append(step), SMALL)
    (path,) = (cache / "references").iterdir()
    assert path.name.startswith(f"measured-{measured.content_checksum()[:12]}-")
    n_steps = len(steps)
    again = reference_centres(measured, lambda *step: steps.append(step), SMALL)
    assert len(steps) == n_steps
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    with np.load(path, allow_pickle=False) as arrays:
        assert '"largest_k": 9' in str(arrays["recipe"])
        assert len(arrays["silhouettes"]) == 4
    reference_centres(measured, search=Search(largest_k=4, first_rows=300, best=1, seeds=1, kept=1))
    assert len(list((cache / "references").iterdir())) == 2


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"no npz file", b"PK\x03\x04 half", NPY])
def test_a_damaged_file_of_references_is_named(cache, measured, damage):
    reference_centres(measured, search=SMALL)
    (path,) = (cache / "references").iterdir()
    path.write_bytes(damage)
    with pytest.raises(DatasetError, match=r"damaged\. Delete it"):
        reference_centres(measured, search=SMALL)
