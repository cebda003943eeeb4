"""``dpm verify``: a list of checks, a verdict, an exit code; and every command refuses what it refuses."""

import json
import re
from pathlib import Path

import pytest


@pytest.fixture
def published(tmp_path, dpm, people):
    """Return a folder with a release that a budget paid for."""
    from .conftest import BOUNDS

    budget, out = tmp_path / "budget.json", tmp_path / "published"
    assert dpm("budget", "new", budget, "--epsilon", "3", "--data-set", "people").code == 0
    made = dpm("cluster", people, *BOUNDS, "--on-missing", "drop", "--budget", budget, "--out", out)
    assert made.code == 0, made.err
    return out


def test_a_release_as_it_was_written_holds(published, dpm):
    release, budget = published / "release.json", published.parent / "budget.json"
    for options in ([], ["--budget", budget]):
        told = dpm("verify", release, *options)
        assert told.code == 0
        assert "failed" not in told.out
        assert told.out.splitlines()[-2] == f"Digest: {json.loads(release.read_text())['digest']}"
        assert "is consistent" in told.out.splitlines()[-1]
    found = json.loads(dpm("verify", release, "--budget", budget, "--json").out)
    assert found["holds"] is True
    assert {"name": "budget", "state": "ok", "words": "the account was charged for exactly this release"} in found[
        "checks"
    ]


def test_the_page_for_officers_shows_what_is_printed(published, dpm):
    page = (Path(__file__).parents[2] / "docs" / "officers.md").read_text()
    [shown] = re.findall(r"^\$ dpm verify published/release.json --budget budget.json\n(.*?)^```", page, re.M | re.S)
    told = dpm("verify", published / "release.json", "--budget", published.parent / "budget.json").out
    assert re.sub("Digest: .*", "", shown) == re.sub("Digest: .*", "", told)


def test_a_smaller_epsilon_is_refused_by_every_command(published, dpm, people, tmp_path):
    release = published / "release.json"
    values = json.loads(release.read_text())
    values["privacy"]["epsilon"] = 0.1
    release.write_text(json.dumps(values))
    told = dpm("verify", release)
    assert told.code == 1
    failed = {line.split()[1] for line in told.out.splitlines() if line.startswith("failed")}
    assert {"digest", "ledger", "price", "account"} <= failed
    assert told.out.splitlines()[-1].startswith("Do not rely on this file")
    assert json.loads(dpm("verify", release, "--json").out)["holds"] is False
    for command in (
        ["report", release, "--out", tmp_path / "new.html"],
        ["explain", release],
        ["predict", release, people, "--out", tmp_path / "labels.csv"],
        ["compare", release, people],
    ):
        refused = dpm(*command)
        assert (refused.code, refused.out) == (1, "")
        assert "contradicts itself" in refused.err
        assert "dpm verify" in refused.err
    assert not (tmp_path / "new.html").exists()


@pytest.mark.parametrize("text", ["", "{}", "age,bmi\n1,2\n", '{"format": "dpmondrian release", "format_version": 2}'])
def test_what_is_no_release_fails_one_check(tmp_path, dpm, text):
    (tmp_path / "release.json").write_text(text)
    told = dpm("verify", tmp_path / "release.json")
    assert told.code == 1
    assert told.out.startswith("failed         form ")
    assert json.loads(dpm("verify", tmp_path / "release.json", "--json").out)["digest"] is None


def test_the_account_of_another_data_set_fails(published, dpm, tmp_path):
    assert dpm("budget", "new", tmp_path / "other.json", "--epsilon", "3").code == 0
    told = dpm("verify", published / "release.json", "--budget", tmp_path / "other.json")
    assert told.code == 1
    assert "no charge for a release with this digest" in told.out


def test_wrong_use(published, dpm, tmp_path):
    assert dpm("verify").code == 2
    assert dpm("verify", published / "release.json", "--budgte", "x").code == 2
    assert dpm("verify", tmp_path / "nowhere.json").code == 1
    assert dpm("verify", published / "release.json", "--budget", tmp_path / "nowhere.json").code == 1
