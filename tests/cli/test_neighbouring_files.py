"""Nothing that a command says or writes tells neighbouring files apart, but for the released values.

The run on a file is recorded; the run on its neighbour releases the *same values*. Then everything else must be the same:
output, errors, exit code, names, sizes and contents of files. Commands whose results are sensitive, and are called so, may differ
in the numbers that they are about.
"""

import re

import pytest

from dpmondrian import fitting
from dpmondrian.accounts import spending
from dpmondrian.privacy.door import Door
from dpmondrian.suggest import bounds as bounds_module

from .conftest import BOUNDS, HEADER, people_lines

STRANGE = {
    "beyond all bounds": "P0,1e300,-1e300,basic",
    "unknown category": "P9999,30.5,22.5,ZXCANARY",
    "missing": "P9999,,,",
    "nobody": ",44.4,33.3,basic",
    "a duplicate": people_lines()[0],
    "not a number of the usual kind": "P9999,-0.0,1e-320,premium",
}


class ReplayingDoor(Door):
    """Hands over the values that the first run released."""

    recorded = None
    waiting = None

    def _hand_over(self, released):
        if self.waiting is None:
            self.recorded.append(released)
            return released
        return self.waiting.pop(0)

    def counts(self, *arguments, **named):
        return self._hand_over(super().counts(*arguments, **named))

    def histograms(self, *arguments, **named):
        return self._hand_over(super().histograms(*arguments, **named))

    def select(self, *arguments, **named):
        return self._hand_over(super().select(*arguments, **named))

    def box_sums(self, *arguments, **named):
        return self._hand_over(super().box_sums(*arguments, **named))

    def ball_sums(self, *arguments, **named):
        return self._hand_over(super().ball_sums(*arguments, **named))


@pytest.fixture
def replaying(monkeypatch):
    """Make every fit use a door that records, and return a function that makes the following ones replay."""
    monkeypatch.setattr(ReplayingDoor, "recorded", [])
    monkeypatch.setattr(ReplayingDoor, "waiting", None)
    for module in (fitting, bounds_module):
        monkeypatch.setattr(module, "Door", ReplayingDoor)

    def replay():
        assert ReplayingDoor.recorded
        monkeypatch.setattr(ReplayingDoor, "waiting", list(ReplayingDoor.recorded))

    return replay


@pytest.fixture
def runs(tmp_path, monkeypatch, dpm):
    """Return a function that runs a command on a file and on each of its neighbours, in a folder each.

    It returns what the first run said and wrote, and the same of the others, by what is strange about their files.
    """

    def run(arguments, between=lambda: None, prepare=(), ignore=(), strange=tuple(STRANGE)):
        def once(number, lines):
            folder = tmp_path / f"folder {number}"
            folder.mkdir()
            (folder / "data.csv").write_text("\n".join([HEADER, *lines]) + "\n")
            monkeypatch.chdir(folder)
            monkeypatch.setattr(spending, "_UNCHARGED", set())  # a process each, with its first fit
            for command in prepare:
                assert dpm(*command).code == 0
            done = dpm(*arguments)
            files = {
                str(path.relative_to(folder)): masked(path.read_bytes())
                for path in sorted(folder.rglob("*"))
                if path.is_file() and path.name not in ("data.csv", *ignore)
            }
            between()
            return done, files

        lines = people_lines()
        first = once(0, lines)
        neighbours = {name: [*lines[:1000], STRANGE[name], *lines[1000:]] for name in strange}
        return first, {name: once(number, rows) for number, (name, rows) in enumerate(neighbours.items(), start=1)}

    return run


def masked(content):
    """Return the content of a file without times and the random ids of budgets."""
    content = re.sub(rb'"time": "[^"]*"', b'"time": ""', content)
    return re.sub(rb'"id": "[^"]*"', b'"id": ""', content)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        BOUNDS,
        [*BOUNDS, "--json"],
        [*BOUNDS, "--bounds", "plan=basic|premium", "--k", "2"],
        [*BOUNDS, "--person-id", "person", "--rows-per-person", "2", "--delta", "0"],
    ],
    ids=["plain", "json", "k and categories", "persons"],
)
def test_cluster(runs, replaying, options):
    arguments = ["cluster", "data.csv", *options, "--on-missing", "drop", "--out", "out", "--budget", "budget.json"]
    budget = ["budget", "new", "budget.json", "--epsilon", "2"]
    (done, files), neighbours = runs(arguments, replaying, [budget])
    assert done.code == 0
    assert set(files) >= {"out/release.json", "out/centres.csv", "out/report.html", "budget.json"}
    assert neighbours == dict.fromkeys(STRANGE, (done, files))


@pytest.mark.slow
def test_labels_are_all_that_differs_when_they_are_asked_for(runs, replaying):
    arguments = ["cluster", "data.csv", *BOUNDS, "--on-missing", "drop", "--out", "out", "--labels"]
    first, neighbours = runs(arguments, replaying, ignore=["labels.parquet"])
    assert neighbours == dict.fromkeys(STRANGE, first)


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--suggest-bounds", "--epsilon", "0.5", "--columns", "age,bmi"]])
def test_schema(runs, replaying, options):
    between = replaying if options else lambda: None
    first, neighbours = runs(["schema", "data.csv", *options, "--out", "schema.toml"], between)
    assert first[0].code == 0
    assert neighbours == dict.fromkeys(STRANGE, first)


@pytest.mark.slow
def test_predict_says_nothing_and_compare_only_its_numbers(tmp_path, dpm, runs, people):
    release = tmp_path / "out" / "release.json"
    assert dpm("cluster", people, *BOUNDS, "--on-missing", "drop", "--out", tmp_path / "out").code == 0
    first, neighbours = runs(["predict", release, "data.csv", "--out", "labels.csv"], ignore=["labels.csv"])
    assert first[0].code == 0
    assert neighbours == dict.fromkeys(STRANGE, first)
    for folder in tmp_path.glob("folder *"):
        told = dpm("compare", release, folder / "data.csv")
        assert told.code == 0
        assert "SENSITIVE" in told.out
        assert "CANARY" not in told.out + told.err


@pytest.mark.slow
def test_the_comparison_notices_a_leak(runs, replaying, monkeypatch):
    """A command that told the number of rows would be caught."""
    from dpmondrian.cli import cluster as command

    def talkative(rows, kinds):
        print(f"{sum(piece.read().num_rows for file in rows.files for piece in file.pieces(kinds))} rows")

    monkeypatch.setattr(command, "check_rows", talkative)
    arguments = ["cluster", "data.csv", *BOUNDS, "--out", "out"]
    (one, _), neighbours = runs(arguments, replaying, strange=["a duplicate"])
    other, _ = neighbours["a duplicate"]
    assert one.code == other.code == 0
    assert one != other
