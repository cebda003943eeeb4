"""Rows from a real PostgreSQL server: types, one snapshot for all passes, nothing but reading, and no value or password in messages."""

import datetime as dt

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.exceptions import DataError, ParameterError
from dpmondrian.schema import Column, Dates, Numbers
from dpmondrian.tables import Source, open_file

pytestmark = pytest.mark.slow
PEOPLE = """
CREATE TABLE people AS SELECT g AS id, (g % 100)::int2 AS age, g::numeric / 4 AS cost, g::numeric(12, 0) AS insurance, (g % 2 = 0) AS smoker,
'2020-01-01'::date + g % 365 AS admitted, timestamptz '2020-01-01 12:00+02' AS seen, 'plan ' || g % 2 AS plan, 12.5::money AS fee,
CASE WHEN g % 10 = 0 THEN '-9' ELSE (g % 7)::text END AS lab, md5(g::text)::uuid AS code FROM generate_series(1, 60000) AS g
"""
QUERY = "SELECT * FROM people ORDER BY id"


def execute(address, *statements):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture(scope="module")
def people(postgres):
    execute(postgres, PEOPLE)
    return postgres


def test_types_are_known_without_a_row(people):
    kinds = open_file(Source(people, QUERY)).kinds
    assert kinds == {
        "id": "whole",
        "age": "whole",
        "cost": "number",
        "insurance": "whole",
        "smoker": "truth",
        "admitted": "date",
        "seen": "date",
        "plan": "text",
        "fee": "number",
        "lab": "text",
        "code": "text",
    }


def test_values_mean_what_they_mean_elsewhere(people):
    kinds = {"cost": "number", "fee": "number", "smoker": "number", "plan": "text", "insurance": "id", "code": "id"}
    kinds |= {"admitted": Dates(), "seen": Dates(date="hours"), "lab": Numbers(missing=("-9",))}
    table = open_file(Source(people, f"{QUERY} LIMIT 10;")).read(kinds)
    first, tenth = table.slice(0, 1).to_pylist()[0], table.slice(9, 1).to_pylist()[0]
    days = (dt.date(2020, 1, 2) - dt.date(1970, 1, 1)).days
    assert first.pop("code").count("-") == 4
    assert first == {
        "cost": 0.25,
        "fee": 12.5,
        "smoker": 0,
        "plan": "plan 1",
        "insurance": 1,
        "admitted": days,
        "seen": (days - 1) * 24 + 10,
        "lab": 1.0,
    }
    assert np.isnan(tenth["lab"])


def test_every_pass_sees_the_same_rows(postgres):
    execute(postgres, "CREATE TABLE moving AS SELECT g AS a FROM generate_series(1, 50000) AS g")
    opened = open_file(Source(postgres, "SELECT a FROM moving"))
    before = opened.read({"a": "number"})
    execute(postgres, "DELETE FROM moving WHERE a % 2 = 0", "INSERT INTO moving SELECT 1 FROM generate_series(1, 9)")
    assert opened.has_rows({"a": "number"})
    assert opened.read({"a": "number"}).equals(before)
    assert open_file(Source(postgres, "SELECT a FROM moving")).read({"a": "number"}).num_rows == 25009


def test_fits_and_limits_people_like_other_sources(people):
    bounds = {
        "age": (0, 100),
        "cost": (0, 15000),
        "admitted": {"date": "days", "lower": "2019-01-01", "upper": "2021-12-31"},
    }
    query = "SELECT id / 2 AS person, age, cost, admitted FROM people"
    settings = {"epsilon": 1.0, "person_id": "person", "rows_per_person": 1, "random_state": 0, "bounds": bounds}
    fitted = DPM(**settings).fit(Source(people, query))
    table = open_file(Source(people, query)).read(
        {"person": "id", "age": "number", "cost": "number", "admitted": Dates()}
    )
    same = DPM(**{**settings, "bounds": {**bounds, "admitted": Column("admitted", 17897, 18992)}}).fit(table)
    np.testing.assert_array_equal(fitted.cluster_centers_, same.cluster_centers_)
    np.testing.assert_array_equal(fitted.cluster_sizes_, same.cluster_sizes_)


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM people RETURNING id",
        "SELECT 1 AS a; SELECT 2 AS a",
        "SELECT 'CANARY'::int AS a",
        "WITH gone AS (DELETE FROM people RETURNING id) SELECT * FROM gone",
        "SELECT a FROM nowhere",
        "SELECT 1 AS a) AS b; DROP TABLE people; --",
    ],
)
def test_queries_only_read_and_fail_without_a_value(people, query):
    with pytest.raises(DataError, match=r"query on .* failed") as caught:
        open_file(Source(people, query)).read({"a": "number"})
    assert "CANARY" not in f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"
    assert open_file(Source(people, QUERY)).read({"id": "number"}).num_rows == 60000


def test_the_password_is_nowhere(people):
    address = people.replace("tester@", "tester:SECRET77@") + "?application_name=SECRET77"
    source = Source(address, QUERY)
    shown = [repr(source), source.title, str(source.path), repr(open_file(source))]
    with pytest.raises(DataError) as unreachable:
        open_file(Source(address.replace("127.0.0.1:", "127.0.0.1:1"), QUERY))
    with pytest.raises(ParameterError) as no_query:
        Source(address)
    assert "SECRET77" not in " ".join([*shown, repr(unreachable.value), repr(no_query.value)])


def test_ids_that_a_float_cannot_tell_apart_are_refused(people):
    query = f"SELECT {2**60}::numeric AS person, 1 AS a"
    with pytest.raises(DataError, match="float cannot distinguish"):
        DPM(bounds={"a": (0, 1)}, person_id="person").fit(Source(people, query))
