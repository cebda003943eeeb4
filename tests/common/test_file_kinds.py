"""Files of another kind are named, and nothing else of them."""

import pytest

from dpmondrian import Release, read_schema
from dpmondrian.accounts import Budget
from dpmondrian.common.file_kinds import kind_of_file
from dpmondrian.exceptions import DPMondrianError

CONTENTS = {
    "a CSV file": b"CANARY,b\n1,2\n3,4\n",
    "a Parquet file": b"PAR1CANARY",
    "a release": b'{\n  "format": "dpmondrian release", "CANARY": 1',
    "a budget file": b'{"format": "dpmondrian budget", "CANARY"',
    "a schema file": b"# CANARY\n[columns.age]\nlower = 0\n",
    "an HTML page": b"<!doctype html><title>CANARY</title>",
    "an Excel workbook or another zip archive": b"PK\x03\x04CANARY",
    "": b"CANARY",
}


@pytest.mark.parametrize(("kind", "content"), CONTENTS.items())
def test_kinds(tmp_path, kind, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert kind_of_file(path) == kind
    for expected, read in {
        "a release": Release.load,
        "a schema file": read_schema,
        "a budget file": lambda path: Budget(path).read(),
    }.items():
        if kind == expected:
            continue
        with pytest.raises(DPMondrianError) as caught:
            read(path)
        assert "CANARY" not in str(caught.value)
        assert not kind or f"is {kind}, expected {expected}" in str(caught.value)


def test_there_may_be_no_file(tmp_path):
    assert kind_of_file(tmp_path / "nowhere") == ""
