"""What tasks return where they fail, and which libraries are imported: without any cluster."""

import subprocess
import sys

import pytest

from dpmondrian import DataError
from dpmondrian.engines.remote import Failure, guarded, raised
from dpmondrian.tables.frames import Reader

LIBRARIES = ("dask", "distributed", "duckdb", "grpc", "polars", "pyspark")


def failing(text):
    return int(text)


def test_an_error_that_may_quote_a_value_is_told_by_its_type():
    failure = guarded(failing, "ZXCANARY")
    assert isinstance(failure, Failure)
    assert "ValueError" in failure.message
    assert "ZXCANARY" not in repr(failure)
    with pytest.raises(DataError, match="ValueError") as error:
        raised(failure)
    assert error.value.__context__ is None


def test_an_error_of_our_own_is_told_as_it_is():
    failure = guarded(Reader().table, [["ZXCANARY"]])
    with pytest.raises(DataError, match="only numbers") as error:
        raised(failure)
    assert error.value.__context__ is None


def test_a_failure_is_handed_on():
    failure = Failure("words")
    assert guarded(failing, failure) is failure
    assert guarded(failing, ["1", failure]) is failure
    assert guarded(failing, "12") == raised(12) == 12


def test_libraries_of_clusters_are_imported_only_when_they_are_used():
    """With a seed, because OpenDP, which draws secure noise, imports polars where it is installed."""
    program = f"""
import sys
import warnings
import numpy as np
from dpmondrian import DPM
warnings.simplefilter("ignore")
DPM(bounds=(0, 1), max_depth=1, random_state=0).fit(np.full((100, 2), 0.5)).predict(np.full((3, 2), 0.5))
print([name for name in {LIBRARIES!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
