"""Names, categories and texts from strangers: what is printed is what is there, and a spreadsheet computes nothing."""

import ast
import csv
import io
import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dpmondrian
from dpmondrian import DPM, Budget, Category, Column, DataError, Release, ReleaseFileError, Schema
from dpmondrian.cli.main import main
from dpmondrian.common.printable import printable
from dpmondrian.planning import forecast
from dpmondrian.schema.files import TableSchema, read_schema, schema_text

FORGED = "Differential privacy with epsilon = 0.001 (pure)."
HOSTILE = {
    "an escape sequence": f"age\x1b[2K\x1b[1A{FORGED}",
    "a control character of eight bits": f"age\x9b2K{FORGED}",
    "lines of its own": f"age\n\n{FORGED}\r\nNot protected:",
    "a carriage return": f"age\r{FORGED}",
    "another direction": f"age\u202e{FORGED}\u2066",
    "a line separator": f"age\u2028{FORGED}",
    "a title of the window": "age\x1b]0;owned\x07",
    "a backspace": "age\b\b\b\x7f",
}
MARKUP = "[red]age[/red] [link=https://example.org]x[/link]"
FORMULAS = ["=1+cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]


def assert_plain(text):
    """Only lines of characters that can be seen."""
    odd = {character for line in text.split("\n") for character in line if not character.isprintable()}
    assert odd == set()


def release_of(name, category):
    people = pd.DataFrame({name: [20.0, 80.0] * 150, "plan": [category, "premium"] * 150})
    schema = Schema((Column(name, 0, 100, unit=name[:20]), Category("plan", (category, "premium"), cut=True)))
    return DPM(epsilon=20.0, bounds=schema).fit(people).release_


@pytest.fixture
def dpm(capsys, monkeypatch):
    def run(*arguments, code=0):
        monkeypatch.setattr(sys, "argv", ["dpm", *map(str, arguments)])
        left = 0
        try:
            main()
        except SystemExit as leaving:
            left = leaving.code or 0
        told = capsys.readouterr()
        assert left == code, told
        return told.out + told.err

    return run


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_everything_that_dpm_prints_can_be_seen(dpm, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame({name: [20.0, 80.0] * 150, "plan": [name, "premium"] * 150})
    rows.to_parquet("rows.parquet")
    schema = Schema((Column(name, 0, 100), Category("plan", (name, "premium"), cut=True)))
    Path("schema.toml").write_text(schema_text(TableSchema(schema)), encoding="utf-8")
    Path("budget.json").write_text(
        json.dumps(
            {
                "format": "dpmondrian budget",
                "format_version": 2,
                "data_set": name,
                "total": {"epsilon": 100.0, "delta": 0.1},
                "entries": [
                    {
                        "id": "a",
                        "time": "2026-01-02T03:04:05+00:00",
                        "purpose": name,
                        "epsilon": 0.5,
                        "delta": 0.0,
                        "state": "charged",
                        "release": None,
                        "version": name,
                        "unit": {"of": "person", "person_id": name, "assumed_rows": None},
                    }
                ],
            }
        )
    )
    cluster = ["cluster", "rows.parquet", "--schema", "schema.toml", "--epsilon", "20", "--out"]
    told = [
        dpm("schema", "rows.parquet"),
        dpm("plan", "--rows", "300", "--schema", "schema.toml"),
        dpm(*cluster, "out"),
        dpm("explain", "out/release.json"),
        dpm("verify", "out/release.json"),
        dpm("budget", "show", "budget.json"),
        dpm(*cluster, "other", "--budget", "budget.json", code=1),
        dpm("compare", "out/release.json", "rows.parquet", "--classes", name, code=2),
        dpm("predict", "out/release.json", "budget.json", "--out", "x.csv", code=1),
    ]
    for text in told:
        assert_plain(text)
        assert not any(line.startswith(FORGED) for line in text.splitlines())


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_texts_of_releases_can_be_seen(name):
    release = release_of(name, name)
    expected = forecast(300, release.schema)
    for text in (
        str(release.tree),
        *release.tree.rules(),
        str(release.privacy),
        str(release.privacy.explain()),
        str(expected),
    ):
        assert_plain(text)
    assert all("\n" not in rule for rule in release.tree.rules())
    assert sum(line == FORGED for line in str(release.privacy).splitlines()) == 0


@pytest.mark.parametrize("field", ["unit", "neighbours", "variant", "currency", "randomness", "version"])
def test_texts_of_a_changed_statement_add_no_lines(releases, field):
    values = json.loads(releases["numbers"])
    n_lines = len(str(Release.from_json(json.dumps(values)).privacy).splitlines())
    values["privacy"][field] = HOSTILE["lines of its own"] + "\x1b[2K"
    try:
        privacy = Release.from_json(json.dumps(values)).privacy
    except ReleaseFileError as error:
        assert_plain(str(error))
        return
    assert_plain(str(privacy))
    assert len(str(privacy).splitlines()) == n_lines
    assert_plain(str(privacy.explain()))


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_errors_that_quote_names_are_one_plain_line(name):
    frame = pd.DataFrame({name: [1.0], "b": [2.0]})
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - whatever is wrong first
        DPM(bounds={name: (0, 1), name + "x": (0, 1)}).fit(frame)
    assert str(caught.value).isprintable()
    assert str(DataError(f"The column {name} is wrong.")).isprintable()


def test_markup_is_shown_as_it_is(dpm, tmp_path):
    Budget.create(tmp_path / "budget.json", 1.0, 0.0, MARKUP)
    assert MARKUP in " ".join(dpm("budget", "show", tmp_path / "budget.json").split())


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30))
@settings(settings.get_profile("fuzz quick things"))
def test_any_text_becomes_one_line_that_can_be_seen(text):
    shown = printable(text)
    assert shown.isprintable()
    assert printable(shown) == shown
    if text.isprintable():
        assert shown == text


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30))
@settings(settings.get_profile("fuzz"))
def test_schema_files_show_what_they_hold_and_hold_what_they_should(tmp_path_factory, name):
    assume(name.strip())
    schema = Schema((Column(name, 0, 1),))
    text = schema_text(TableSchema(schema))
    assert_plain(text)
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    path.write_text(text, encoding="utf-8")
    assert read_schema(path).schema == schema


@pytest.mark.parametrize("name", FORMULAS)
def test_no_cell_of_a_table_of_centres_is_a_formula(name):
    release = release_of(name, name)
    head, *lines = csv.reader(io.StringIO(release.to_csv(), newline=""))
    assert not [cell for cell in head if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"))]
    assert (f"'{name}" if name.isprintable() else printable(name)) in head
    assert all(float(cell) is not None for line in lines for cell in line), "numbers stay numbers"


@pytest.mark.parametrize("name", FORMULAS[:5])
def test_no_cell_of_synthetic_rows_is_a_formula(dpm, tmp_path, name):
    rows = pd.DataFrame({name: [20.0, 80.0] * 150, "plan": [name, "premium"] * 150, "fee": ["-2,5", "-1,5"] * 150})
    rows["size"] = [f"{name} small", f"{name} large"] * 150
    fee, size = {"decimal": ","}, {"bands": [f"{name} small", f"{name} large"]}
    columns = Column(name, 0, 100), Category("plan", (name, "premium")), Column("fee", -3, 0, notation=fee)
    DPM(epsilon=20.0, bounds=Schema((*columns, Column("size", notation=size)))).fit(rows).save(
        tmp_path / "release.json"
    )
    dpm("sample", tmp_path / "release.json", "--rows", 50, "--out", tmp_path / "synthetic.csv")
    with (tmp_path / "synthetic.csv").open(newline="", encoding="utf-8") as file:
        head, *lines = csv.reader(file)
    others = [cell for line in lines for cell in (line[1], line[3])]
    computed = "=", "@", "\t", "\r", "\n", "\uff1d", "+1 ", "-1+1"
    assert not [cell for cell in [*head, *others] if cell.startswith(computed)]
    assert all(float(line[2].replace(",", ".")) <= 0.0 for line in lines), "numbers stay numbers"


def test_commands_print_through_one_door():
    """`say`, `say_text` and the tables of `cli.show` make texts safe; nothing else prints."""
    found = []
    for path in sorted((Path(dpmondrian.__file__).parent / "cli").glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and path.name != "show.py":
                name = ast.unparse(call.func)
                if name in ("print", "typer.echo", "typer.secho", "click.echo", "sys.stdout.write", "sys.stderr.write"):
                    found.append((path.name, call.lineno))
    assert found == []


@pytest.mark.parametrize("separator", ";,|")
def test_no_cell_is_a_formula_where_cells_end_otherwise(separator):
    """A spreadsheet of another country ends its cells at a semicolon."""
    head = release_of(f"x{separator}=1+1{separator}", "y").to_csv().splitlines()[0]
    assert f"x{separator}'=1+1{separator}" in head
