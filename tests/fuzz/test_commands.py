"""Whatever is typed after ``dpm``: exit code 0, 1 or 2 with a sentence, never a defect, and nothing of the rows in it."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian.cli.main import main

FILES = [
    "people.csv",
    "release.json",
    "schema.toml",
    "budget.json",
    "missing.csv",
    "folder",
    "broken.json",
    "people.parquet",
]
VALUES = [
    "0",
    "1",
    "-1",
    "1e400",
    "nan",
    "x",
    "",
    "age",
    "age=0:120",
    "age=0:120,plan=a|b",
    "plan=a|b",
    "2",
    "\x00",
    "é",
    "=:|",
]
OPTIONS = [
    *(
        "--bounds",
        "--schema",
        "--epsilon",
        "--delta",
        "--k",
        "--on-missing",
        "--out",
        "--budget",
        "--columns",
        "--person-id",
    ),
    *(
        "--rows-per-person",
        "--delimiter",
        "--query",
        "--seed",
        "--rows",
        "--json",
        "--quiet",
        "--labels",
        "--force",
        "--unknown",
    ),
    *("--", "-q", "--help", "--version"),
]
COMMANDS = ["cluster", "schema", "plan", "predict", "report", "compare", "budget", "unknown"]
BUDGET_COMMANDS = ["new", "show", "charge"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, people, releases):
    """Return a folder with a file of each kind."""
    folder = tmp_path_factory.mktemp("commands")
    people[["age", "plan", "person"]].to_csv(folder / "people.csv", index=False)
    people[["age", "plan", "person"]].to_parquet(folder / "people.parquet")
    (folder / "release.json").write_text(releases["everything"])
    (folder / "broken.json").write_text(releases["everything"][:-50])
    (folder / "schema.toml").write_text("[columns.age]\nlower = 0\nupper = 120\n")
    (folder / "folder").mkdir()
    return folder


@st.composite
def command_lines(draw):
    """Return arguments, most of which make some sense."""
    arguments = [draw(st.sampled_from(COMMANDS))]
    if arguments == ["budget"]:
        arguments.append(draw(st.sampled_from(BUDGET_COMMANDS)))
    arguments += draw(st.lists(st.sampled_from(FILES), max_size=2))
    if draw(st.booleans()):
        arguments += ["--bounds", "age=0:120"]
    for _ in range(draw(st.integers(0, 3))):
        arguments.append(draw(st.sampled_from(OPTIONS)))
        arguments += draw(st.lists(st.sampled_from(VALUES) | st.sampled_from(FILES), max_size=1))
    return arguments


@settings(settings.get_profile("fuzz slow things"))
@given(arguments=command_lines())
def test_arguments(folder, arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["dpm", *arguments])
        told = Told()
        patch.setattr(sys, "stderr", told)
        patch.setattr(sys, "stdout", told)
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = leaving.code or 0
    assert code in (0, 1, 2)
    assert "defect" not in told.text
    assert "Traceback" not in told.text
    assert code == 0 or told.text.strip()


class Told:
    """A stream that keeps what is written to it."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text if isinstance(text, str) else text.decode()
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False
