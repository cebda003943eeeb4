"""Files from elsewhere: schema files, budget files and tables, whole and damaged, read or refused in one sentence."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import Budget, BudgetError, DPMondrianError
from dpmondrian.accounts.budget import BudgetState
from dpmondrian.schema.draft import draft_schema
from dpmondrian.schema.files import read_schema, schema_text
from dpmondrian.tables.files import Source, open_file

SCHEMA = """\
person_id = "customer"
rows_per_person = 5
bounds_epsilon = 0.1

[columns.age]
lower = 0
upper = 120
whole = true
unit = "years"

[columns.income]
lower = 1.5
upper = 1e6
log = true

[columns."a plan"]
categories = ["basic", "premium", 3, true]
cut = true
weight = 0.5
"""

BUDGET = {
    "format": "dpmondrian budget",
    "format_version": 2,
    "data_set": "people",
    "total": {"epsilon": 2.0, "delta": 1e-6},
    "entries": [
        {
            "id": "0123456789abcdef",
            "time": "2026-01-02T03:04:05+00:00",
            "purpose": "clusters",
            "epsilon": 0.5,
            "delta": 1e-7,
            "state": "released",
            "release": "ab" * 32,
            "version": "1.0",
            "unit": {"of": "person", "person_id": None, "assumed_rows": 3},
        }
    ],
}

TOML_VALUES = st.sampled_from(
    [
        *(
            "0",
            "-1",
            "1e400",
            "-inf",
            "nan",
            "inf",
            "true",
            '""',
            '"x"',
            "[]",
            "[1]",
            '["a", "a"]',
            "[[1]]",
            "{}",
            "{a = 1}",
        ),
        *(
            "2020-01-01",
            "9" * 5000,
            "0x10",
            "1_000",
            "'''",
            '"\\\\ud800"',
            '"\\\\u0000"',
            "1e-320",
            "1e100",
            "[" * 2000,
            "07:32:00",
        ),
    ]
)
PIECES = st.binary(max_size=4) | st.sampled_from(
    [b"[", b"]", b"=", b"\n", b'"', b"#", b".", b"\x00", b"\xff", b"-", b"9" * 50]
)


def damaged(draw, content):
    """Return bytes in up to three places of which something else stands."""
    content = bytearray(content)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        content[start : start + draw(st.sampled_from([0, 1, 4, 100]))] = draw(PIECES)
    return bytes(content)


@st.composite
def schema_files(draw):
    if draw(st.booleans()):
        return damaged(draw, SCHEMA.encode())
    lines = SCHEMA.splitlines()
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(0, len(lines) - 1))
        key = (
            lines[place].split("=")[0]
            if "=" in lines[place]
            else draw(st.sampled_from(["lower ", "x ", "columns ", '"" ']))
        )
        change = draw(st.sampled_from(["value", "again", "remove"]))
        new = [f"{key}= {draw(TOML_VALUES)}"] if change == "value" else [lines[place]] * 2 if change == "again" else []
        lines[place : place + 1] = new
        lines = lines or [""]
    return "\n".join(lines).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def test_whole_files_are_read(folder):
    (folder / "schema.toml").write_text(SCHEMA)
    assert len(read_schema(folder / "schema.toml").schema.columns) == 3
    assert BudgetState.from_json(json.dumps(BUDGET)).spent_epsilon == 0.5


@settings(settings.get_profile("fuzz quick things"))
@given(content=schema_files())
def test_schema_files(folder, content):
    path = folder / "schema.toml"
    path.write_bytes(content)
    try:
        schema = read_schema(path)
    except DPMondrianError as error:
        told = str(error)
    else:
        path.write_text(schema_text(schema), encoding="utf-8")
        assert read_schema(path) == schema
        told = ""
    assert len(told) < 20_000


@settings(settings.get_profile("fuzz quick things"))
@given(names=st.lists(st.text(max_size=8), max_size=4), kind=st.sampled_from(["number", "text", "whole", "unknown"]))
def test_drafts_of_schemas(folder, names, kind):
    path = folder / "draft.toml"
    try:
        text = draft_schema(dict.fromkeys(names, kind))
        path.write_text(text, encoding="utf-8")
        read_schema(path)
    except (DPMondrianError, UnicodeEncodeError):  # a lone surrogate, which no file can hold
        return


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 0.5, 1e-320, 1e308, 10**400, "", "x", "charged", "\ud800", "x" * 2000]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["", "id", "epsilon"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(settings.get_profile("fuzz"))
@given(data=st.data(), new=JSON, what=st.sampled_from(["value", "value", "remove", "repeat", "bytes"]))
def test_budget_files(folder, data, new, what):
    """A damaged file allows nothing; whatever is still read keeps its own rules, and is left as it was when refused."""
    values = json.loads(json.dumps(BUDGET))
    places = [(values, key) for key in values] + [(values["total"], key) for key in ("epsilon", "delta")]
    places += [(values["entries"][0], key) for key in BUDGET["entries"][0]]
    where, key = data.draw(st.sampled_from(places))
    if what == "value":
        where[key] = new
    elif what == "remove":
        del where[key]
    elif what == "repeat":
        values["entries"] *= 2
    content = damaged(data.draw, json.dumps(values).encode()) if what == "bytes" else json.dumps(values).encode()
    path = folder / "budget.json"
    path.write_bytes(content)
    path.chmod(0o600)
    try:
        before = Budget(path).read()
        Budget(path).charge(0.1, 1e-8, "test")
    except BudgetError:
        assert path.read_bytes() == content
        return
    after = Budget(path).read()
    assert after.spent_epsilon <= after.epsilon * (1 + 1e-9)
    assert len(after.entries) == len(before.entries) + 1


FORMATS = {
    "csv": pa.csv.write_csv,
    "parquet": pa.parquet.write_table,
    "feather": lambda table, path: pa.feather.write_feather(table, str(path)),
    "jsonl": lambda table, path: table.to_pandas().to_json(path, orient="records", lines=True),
}


@pytest.fixture(scope="module")
def tables(folder):
    frame = pd.DataFrame(
        {"age": [34.5, 28.25, np.nan, 71.0] * 20, "plan": ["basic", "ZX", None, 'x,"y'] * 20, "n": range(80)}
    )
    contents = {}
    for ending, write in FORMATS.items():
        path = folder / f"whole.{ending}"
        write(pa.Table.from_pandas(frame), path)
        contents[ending] = path.read_bytes()
        assert open_file(Source(path)).read({"age": "number", "plan": "text"}).num_rows == 80
    return contents


@settings(settings.get_profile("fuzz quick things"))
@given(
    data=st.data(),
    ending=st.sampled_from(list(FORMATS)),
    given_ending=st.sampled_from([None, None, *FORMATS, "csv.gz", "db"]),
)
def test_files_of_tables(folder, tables, data, ending, given_ending):
    path = folder / f"damaged.{given_ending or ending}"
    path.write_bytes(damaged(data.draw, tables[ending]))
    for use in (open_file, lambda source: open_file(source).read({"age": "number", "plan": "text", "n": "number"})):
        try:
            use(Source(path))
        except DPMondrianError as error:
            told = str(error)
            assert "ZX" not in told
            assert "28.25" not in told


@settings(settings.get_profile("fuzz"))
@given(
    content=st.binary(max_size=300),
    ending=st.sampled_from([*FORMATS, "tsv", "csv.gz", "csv.xz", "arrow", "json", "db", "duckdb", "zip", ""]),
)
def test_files_of_anything(folder, content, ending):
    path = folder / f"anything.{ending}"
    path.write_bytes(content)
    try:
        columns = open_file(Source(path, query="select 1 as a" if ending in ("db", "duckdb") else None)).kinds
        open_file(Source(path)).read(dict.fromkeys(columns, "text"))
    except DPMondrianError:
        return
