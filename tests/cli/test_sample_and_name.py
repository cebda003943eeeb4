"""Synthetic rows and names of clusters on the command line."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from dpmondrian import DPM, Release
from dpmondrian.cli.commands import app
from dpmondrian.show.texts import cluster_text

BOUNDS = {"age": (0, 120, "int"), "income": (1.0, 1e6, "log"), "plan": ["basic", "premium"]}


@pytest.fixture(scope="module")
def release():
    import pandas as pd

    rng = np.random.default_rng(0)
    old = rng.random(5000) < 0.4
    rows = pd.DataFrame(
        {
            "age": np.rint(rng.normal(np.where(old, 75, 30), 5)),
            "income": np.exp(rng.normal(np.where(old, 8, 10), 0.3)),
            "plan": np.where(rng.random(5000) < np.where(old, 0.9, 0.2), "premium", "basic"),
        }
    )
    return DPM(bounds=BOUNDS, epsilon=2.0, n_clusters=2).fit(rows).release_  # else noise makes a third one now and then


def dpm(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_synthetic_rows_follow_the_release(release, tmp_path):
    path, out = tmp_path / "release.json", tmp_path / "synthetic.csv"
    release.save(path)
    result = dpm("sample", path, "--rows", 4000, "--out", out, "--seed", 3)
    assert result.exit_code == 0, result.output
    assert "nothing was spent" in result.output
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert len(rows) == 4000
    age, income = (np.array([float(row[name]) for row in rows]) for name in ("age", "income"))
    assert all(row["age"].isdigit() for row in rows)
    assert 0 <= age.min() <= age.max() <= 120
    assert 1 <= income.min() <= income.max() <= 1e6
    premium = np.array([row["plan"] == "premium" for row in rows])
    assert abs(np.mean(age > 52) - 0.4) < 0.05
    assert premium[age > 52].mean() > 0.75  # what goes together in the rows does so here
    assert premium[age <= 52].mean() < 0.35
    assert np.corrcoef(age, np.log(income))[0, 1] < -0.7
    assert dpm("sample", path, "--rows", 5, "--out", out).exit_code == 1  # the file exists


def test_synthetic_rows_are_written_like_the_table():
    """They can be clustered again with the same schema, which reads dates, bands, words and decimal commas only as declared."""
    import pandas as pd

    bounds = {
        "seen": {"date": "days", "format": "%d.%m.%Y", "lower": "2020-01-01", "upper": "2020-12-31"},
        "age": {"bands": ["young", "old"]},
        "smoker": {"yes": ["Y"], "no": ["N"]},
        "cost": {"lower": 0, "upper": 10, "decimal": ","},
    }
    rows = pd.DataFrame({"seen": "24.12.2020", "age": "old", "smoker": "Y", "cost": "3,5"}, index=range(500))
    sample = DPM(bounds=bounds).fit(rows).sample(200)
    assert DPM(bounds=bounds).fit(sample).n_clusters_ >= 1
    assert set(sample["age"]) <= {"young", "old"}
    assert set(sample["smoker"]) <= {"Y", "N"}


def test_names_stay_beside_the_digest(release, tmp_path):
    path = tmp_path / "release.json"
    release.save(path)
    result = dpm("name", path, 1, "retired commuters")
    assert result.exit_code == 0, result.output
    named = Release.load(path)
    assert named.names == {1: "retired commuters"}
    assert named.digest() == release.digest() == json.loads(path.read_text())["digest"]
    assert cluster_text(named, 1).startswith("Cluster 1: retired commuters")
    assert dpm("explain", path, 1).output.startswith("Cluster 1: retired commuters")
    assert "from 0 to 1. Got 2 instead" in str(dpm("explain", path, 2).exception)
    assert dpm("name", path, 1, "").exit_code == 0
    assert Release.load(path).names == {}
    assert path.read_text() == release.to_json() + "\n"


@pytest.mark.parametrize("names", [{"9": "x"}, {"0": ""}, {"0": 3}, {"0": "x" * 101}, {"zero": "x"}, ["x"]])
def test_wrong_names_in_a_file_are_refused(release, names):
    values = json.loads(release.to_json()) | {"names": names}
    with pytest.raises(Exception, match="damaged"):
        Release.from_json(json.dumps(values))


@pytest.mark.parametrize(("cluster", "name"), [(99, "x"), (0, "x" * 101), (0, "   ")])
def test_wrong_names_are_refused(release, tmp_path, cluster, name):
    path = tmp_path / "release.json"
    release.save(path)
    assert dpm("name", path, cluster, name).exit_code != 0
    assert Release.load(path).names == {}
