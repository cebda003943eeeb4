import os

import pytest

from dpmondrian_lab.datasets import data_set, files
from dpmondrian_lab.exceptions import DatasetNotFoundError


@pytest.fixture
def data_file():
    """Return a function that gives the path of a data file, or skips the test."""

    def find(name):
        if not os.environ.get(files.DATA_VARIABLE):
            pytest.skip(f"{files.DATA_VARIABLE} is not set to the folder of the data files.")
        try:
            return files.find_file(name)
        except DatasetNotFoundError as error:
            pytest.skip(str(error))

    return find


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return an empty cache folder; no other folder is looked at, and nothing loaded before is remembered."""
    monkeypatch.delenv(files.DATA_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data_set._load.cache_clear()
    yield files.cache_folder()
    data_set._load.cache_clear()
