"""Databases from strangers: a view cannot read other files of whoever opens the database."""

import sqlite3

import pytest

from dpmondrian import DPM, DataError
from dpmondrian.tables.files import Source, open_file

duckdb = pytest.importorskip("duckdb")

SECRET = "4711"


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text(f"age\n{SECRET}\n")
    return path


VIEWS = {
    "read_csv": "select age from read_csv('{}')",
    "a path in place of a table": "select age from '{}'",
    "read_text": "select length(content) as age from read_text('{}')",
    "read_blob": "select octet_length(content) as age from read_blob('{}')",
    "glob": "select length(file) as age from glob('{}')",
    "a table beside the file": "select age from people union all select age from read_csv_auto('{}')",
}


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_duckdb_reads_no_other_file(tmp_path, secret, view):
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table people as select 30.0 as age")
        connection.execute(f"create view patients as {VIEWS[view].format(secret)}")
    for use in (lambda source: open_file(source).read({"age": "number"}), open_file):
        with pytest.raises(DataError, match="can only read this database and no other file") as caught:
            use(Source(path, query="select age from patients"))
        assert SECRET not in str(caught.value)
    assert open_file(Source(path, query="select age from people")).read({"age": "number"})["age"].to_pylist() == [30.0]


@pytest.mark.parametrize(
    "query",
    [
        "select age from read_csv('{}')",
        "attach '{}' as other",
        "set enable_external_access = true",
        "install httpfs",
        "load httpfs",
        "copy (select 1) to '{}.out'",
    ],
)
def test_a_query_on_duckdb_stays_in_the_database(tmp_path, secret, query):
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table people as select 30.0 as age")
    with pytest.raises(DataError):
        open_file(Source(path, query=query.format(secret))).read({"age": "number"})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["people.duckdb", "secret.csv"]


def sqlite_file(path, *statements):
    connection = sqlite3.connect(path)
    for statement in ("create table people (age real)", "insert into people values (30.0)", *statements):
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("function", ["load_extension('{}')", "readfile('{}')", "fts3_tokenizer('simple')"])
def test_a_view_of_sqlite_reaches_nothing_outside(tmp_path, secret, function):
    view = f"create view patients as select {function.format(secret)} as age"
    path = sqlite_file(tmp_path / "people.sqlite", view)
    with pytest.raises(DataError, match="can only read this database"):
        open_file(Source(path, query="select age from patients")).read({"age": "number"})


@pytest.mark.parametrize("query", ["attach '{}' as other", "pragma trusted_schema = on", "select load_extension('{}')"])
def test_a_query_on_sqlite_stays_in_the_database(tmp_path, query):
    other = sqlite_file(tmp_path / "other.sqlite")
    path = sqlite_file(tmp_path / "people.sqlite")
    with pytest.raises(DataError):
        open_file(Source(path, query=query.format(other))).read({"age": "number"})
    assert open_file(Source(path, query="select age from people")).read({"age": "number"})["age"].to_pylist() == [30.0]


def test_views_of_the_database_itself_are_read(tmp_path):
    """Also with the functions that SQLite does not call harmless, where the view does not need them."""
    view = "create view patients as select abs(age) + random() * 0 as age from people"
    path = sqlite_file(tmp_path / "people.sqlite", view)
    source = Source(path, query="select age from patients")
    assert open_file(source).read({"age": "number"})["age"].to_pylist() == [30.0]
    with duckdb.connect(str(tmp_path / "people.duckdb")) as connection:
        connection.execute("create table people as select 30.0 as age from range(500)")
        connection.execute("create view patients as select age + 1 as age from people")
    model = DPM(bounds={"age": (0, 120)}, max_depth=1)
    model.fit([Source(tmp_path / "people.duckdb", query="select age from patients")])
    assert model.n_clusters_ >= 1
