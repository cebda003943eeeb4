"""Bounds that were estimated from the rows: whatever is done on the page afterwards, what they have cost stays part of the promise."""

import json

import pytest

pytest.importorskip("starlette", reason="Needs the extra 'web'.")

from dpmondrian.exceptions import BoundsError
from dpmondrian.web.columns import declared_schema
from dpmondrian.web.works import Work

COLUMNS = {"age": {"kind": "number", "lower": "0", "upper": "120"}}


def work_of(person, rows, **estimate):
    people = {"column": person or "", "rows": str(rows)}
    return Work("0" * 12, 0.0, columns=COLUMNS, people=people, estimate={"epsilon": 0.1, "entry": "e1", **estimate})


@pytest.mark.parametrize(("person", "rows", "cost"), [(None, 1, 0.1), (None, 5, 0.5)])
def test_more_rows_of_a_person_make_bounds_dearer(person, rows, cost):
    known = declared_schema(work_of(person, rows, rows_per_person=1, person_id=None))
    assert known.schema.bounds_epsilon(rows, person) == pytest.approx(cost)
    assert known.schema.estimate.entry == "e1", "what is paid already is not paid again"


def test_bounds_of_other_people_are_refused():
    with pytest.raises(BoundsError, match="different units"):
        declared_schema(work_of("patient", 1, rows_per_person=1, person_id=None))
    with pytest.raises(BoundsError, match="different units"):
        declared_schema(work_of(None, 1, rows_per_person=1, person_id="patient"))
    known = declared_schema(work_of("patient", 3, rows_per_person=1, person_id="patient"))
    assert known.schema.bounds_epsilon(3, "patient") == 0.1, "a person is protected whatever is kept of their rows"


@pytest.mark.slow
def test_a_schema_file_brings_the_cost_of_its_bounds(serve, people):
    server = serve()
    people(server.folder / "people.csv")
    text = "bounds_epsilon = 0.25\n[columns.age]\nlower = 0\nupper = 120\n[columns.visits]\nlower = 0\nupper = 30\n"
    (server.folder / "known.toml").write_text(text)
    user = server.user()
    work = user.post("/choose", {"path": "people.csv"})[1]["location"].removesuffix("/columns")
    assert user.post(f"{work}/schema", {"schema": "known.toml"})[0] == 303
    assert user.post(f"{work}/bounds", {"epsilon": "0.5", "column-1": "on"})[0] == 400, "these would be forgotten"
    user.post(f"{work}/plan", {"epsilon": "1"})
    user.post(f"{work}/account", {"how": "none"})
    user.post(f"{work}/run", {"out": "published"})
    assert user.until(work, "done", "stopped") == "done", user.get(f"{work}/run")[2]
    release = json.loads((server.folder / "published" / "release.json").read_text(encoding="utf-8"))
    assert release["privacy"]["bounds_epsilon"] == 0.25
