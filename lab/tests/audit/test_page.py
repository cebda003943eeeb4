"""``dpm audit`` and its page: what is said, what is written, and when it fails."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace

import pytest

from dpmondrian_lab.audit import page, perform
from dpmondrian_lab.audit.catalogue import SUBJECTS
from dpmondrian_lab.audit.page import page_text, summary_rows, verdict, write_audit
from dpmondrian_lab.audit.perform import AuditRow, Effort, run_audit, wrong_rows

TINY = Effort(game_runs=40, least_runs=40, canary_runs=5, transcripts=200, table_runs=1, replay_rows=20, law_pairs=2)
WHO = ("dpm_paper", "dpm_published", "dp_lloyd", "dp_lloyd_published")


@pytest.fixture(scope="module")
def rows():
    return run_audit(TINY, subjects=WHO)


@pytest.mark.slow
def test_every_instrument_is_used_on_every_subject(rows):
    done = {(row.instrument, row.subject) for row in rows}
    assert {("replay", key) for key in WHO} <= done
    assert {("tight", "dpm_paper"), ("tables", "dpm_paper")} <= done
    assert {("game", key) for key in WHO} <= done
    assert {("canaries", key) for key in WHO} <= done
    assert {("exact law", "dpm_paper"), ("exact law", "dpm_published"), ("ledger", "dp_lloyd_published")} <= done


def test_all_variants_and_peers_are_in_the_catalogue():
    assert {key for key, subject in SUBJECTS.items() if not subject.sound} == {
        "dpm_published",
        "dp_lloyd_published",
        "em_mc_published",
    }
    assert len(SUBJECTS) == 14


@pytest.mark.slow
def test_published_algorithms_are_found_wrong_and_ours_are_not(rows):
    assert not list(wrong_rows(rows))
    said = {key: verdict(SUBJECTS[key], rows) for key in WHO}
    assert said == {
        "dpm_paper": "nothing found",
        "dp_lloyd": "nothing found",
        "dpm_published": "refuted",
        "dp_lloyd_published": "refuted",
    }


@pytest.mark.slow
def test_replay_law_and_ledger_find_the_published_defects(rows):
    by_key = {(row.instrument, row.subject): row for row in rows if row.instrument != "game"}
    assert "sensitivity (interval size)" in by_key["replay", "dpm_published"].words
    assert "sensitivity (sums)" in by_key["replay", "dpm_published"].words
    assert "law (interval size)" in by_key["exact law", "dpm_published"].words
    assert "control flow" in by_key["replay", "dp_lloyd_published"].words
    assert by_key["ledger", "dp_lloyd_published"].measured == pytest.approx(1.936, abs=1e-3)


@pytest.mark.slow
def test_other_processes_change_nothing(rows):
    some = [row for row in rows if row.subject == "dp_lloyd" and row.instrument in ("replay", "canaries")]
    again = run_audit(TINY, subjects=("dp_lloyd",), instruments=("replay", "canaries"), jobs=2)
    assert [row.to_dict() for row in again] == [row.to_dict() for row in some]


@pytest.mark.slow
def test_the_page_is_written_whole_and_the_same_every_time(rows, tmp_path):
    written = write_audit(rows, TINY, tmp_path / "one")
    again = write_audit(rows, TINY, tmp_path / "two")
    assert {path.name for path in written} == {
        "README.md",
        "rows.json",
        "rows.csv",
        "lower-bounds.png",
        "lower-bounds.svg",
        "prices.png",
        "prices.svg",
        "profiles.png",
        "profiles.svg",
    }
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]
    stored = json.loads((tmp_path / "one" / "rows.json").read_text())
    assert [row["subject"] for row in stored] == [row.subject for row in rows]
    with (tmp_path / "one" / "rows.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)
    text = (tmp_path / "one" / "README.md").read_text()
    for name in re.findall(r"\]\(([\w.-]+)\)", text):
        assert (tmp_path / "one" / name).exists()


@pytest.mark.slow
def test_the_page_shows_claims_bounds_and_verdicts_side_by_side(rows):
    text = page_text(rows, TINY)
    assert "Nothing was found wrong in ours. Refuted: DPM, as published; DP-Lloyd, as published." in text
    assert "| DPM, paper's variant | 2 columns | 1e-06 | 1 | 0.655 | 65.5 % | 0.665 | 98.5 % | 100.00 % |" in text
    assert "| DPM, paper's variant | 64 crowds, a row in the corner |" in text
    line = next(line for line in text.splitlines() if line.startswith("| DPM, as published | 1 |"))
    assert line.endswith("| **refuted** |")
    assert "| interval size | DPM, as published |" in text
    assert "| sums | DPM, paper's variant | 100 % | - |" in text


@pytest.mark.slow
def test_the_page_shows_claimed_and_attained_curves(rows):
    [row] = [row for row in rows if row.instrument == "tight"]
    assert len(row.details["curve"]) > 10
    for point in row.details["curve"]:
        assert point["attained"] <= min(point["claimed"], point["composed"]) * (1 + 1e-9)
    assert "![Claimed and attained privacy profiles](profiles.png)" in page_text(rows, TINY)
    assert "profiles.png" not in page_text([row for row in rows if row.instrument != "tight"], TINY)


@pytest.mark.slow
def test_something_wrong_of_ours_is_said_first(rows):
    broken = [
        replace(row, ok=False, measured=2.0) if row.subject == "dp_lloyd" and row.instrument == "game" else row
        for row in rows
    ]
    assert len(list(wrong_rows(broken))) == 4
    assert "Something is WRONG in 4 rows." in page_text(broken, TINY)
    assert {line[0]: line[-1] for line in summary_rows(broken)}["DP-Lloyd"] == "**WRONG**"


def test_a_row_of_infinite_numbers_is_plain_json():
    row = AuditRow("replay", "dpm", "pairs", 1.0, 0.0, None, False, "words", {"sums": float("inf")}, {"a": [1, 2.0]})
    assert json.loads(json.dumps(row.to_dict(), allow_nan=False))["used"] == {"sums": "inf"}


@pytest.fixture
def dpm(monkeypatch, capsys):
    """Return a function that runs ``dpm`` in this process and returns exit code, output and errors."""
    import sys

    from dpmondrian.cli.main import main

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpm", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


@pytest.fixture
def finished(monkeypatch, rows):
    """Let the command find rows that are there already, and return a function that sets them."""
    asked = {}

    def put(found):
        def run(effort, **options):
            asked.update(options, effort=effort)
            return found

        monkeypatch.setattr(perform, "run_audit", run)
        return asked

    return put


@pytest.fixture
def no_figures(monkeypatch):
    """Let the page be written without its figures, which take seconds and of which another test looks at every byte."""
    monkeypatch.setattr(page, "_draw", lambda *arguments: [])


@pytest.mark.slow
def test_the_command_prints_verdicts_and_writes_the_page(dpm, finished, rows, tmp_path):
    asked = finished(rows)
    code, out, _ = dpm("audit", "--quick", "--out", tmp_path / "page", "--seed", 3, "--jobs", 1)
    assert code == 0
    assert "DPM, as published" in out
    assert "refuted" in out
    assert (tmp_path / "page" / "README.md").exists()
    assert (asked["effort"], asked["seed"], asked["jobs"]) == (Effort.quick(), 3, 1)


@pytest.mark.slow
def test_the_command_fails_if_something_of_ours_is_wrong(dpm, finished, rows, no_figures, tmp_path):
    finished([replace(rows[0], subject="dpm", ok=False), *rows])
    code, _, err = dpm("audit", "--quick", "--out", tmp_path / "page")
    assert code == 1
    assert "1 audits found something wrong" in err


@pytest.mark.slow
def test_json_for_machines(dpm, finished, rows, no_figures, tmp_path):
    finished(rows)
    code, out, _ = dpm("audit", "--quick", "--out", tmp_path / "page", "--json")
    assert code == 0
    assert json.loads(out) == [row.to_dict() for row in rows]


def test_a_wrong_name_is_told_with_the_nearest(dpm):
    code, _, err = dpm("audit", "--algorithms", "dpm_publshed")
    assert code == 2
    assert "dpm_published" in err
