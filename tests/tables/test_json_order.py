"""The first object of JSON lines is somebody's row: it decides neither which columns are released nor their order."""

import json

import pytest

from dpmondrian import DPM
from dpmondrian.exceptions import DataError


def write(path, first):
    rows = [first] + [{"a": 20.0 + i % 5, "b": 80.0 - i % 7} for i in range(300)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("bounds", [(0, 100), [(0, 50), (0, 100)]])
def test_columns_must_be_named(bounds, tmp_path):
    with pytest.raises(DataError, match="Pass the bounds by name"):
        DPM(bounds=bounds).fit(write(tmp_path / "x.jsonl", {"a": 1.0, "b": 2.0}))


@pytest.mark.slow
def test_named_columns_come_in_the_order_of_the_bounds(tmp_path):
    bounds, firsts = {"a": (0, 50), "b": (0, 100)}, [{"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}]
    releases = [DPM(bounds=bounds, random_state=0).fit(write(tmp_path / "x.jsonl", first)).release_ for first in firsts]
    assert releases[0].digest() == releases[1].digest()
