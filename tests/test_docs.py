"""Code in the documentation runs as it is printed, or says why not; commands that take too long at least exist.

A block that is not run has a comment in front of it: ``<!-- not run: why -->``. Programs are fenced; indented blocks are formulas,
maps and the like. The site itself is built by ``make docs``.
"""

import ast
import doctest
import glob
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpmondrian
import dpmondrian.quality
import dpmondrian.samples
from dpmondrian import DPM, Budget, FinishedRunError, read_schema

ROOT = Path(__file__).parents[1]
WRITTEN = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "lab").rglob("README.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
]
GENERATED = sorted((ROOT / "results").rglob("README.md"))
"""Pages that `dpm reproduce` and `dpm audit` write: their commands take hours, as they say."""
NOTEBOOKS = sorted(path for path in (ROOT / "docs" / "notebooks").glob("*.md") if path.stem != "index")

FENCE = re.compile(r"^(?:<!-- not run: (.+?) -->\n)?```(\S*).*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TEXTS = {"text", "bibtex"}
PROGRAMS = re.compile(r"^    (?:make|dpm|pip|python|\.venv/bin/\S+|import|from) \S", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block, and why it is not run."""

    reason: str
    language: str
    code: str

    @property
    def commands(self):
        """The lines of a shell block, as a shell would split them; of a session, what comes after the prompt."""
        lines = re.sub(r"\\\n", "", self.code).splitlines()
        if self.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        return [shlex.split(line, comments=True) for line in lines]


def blocks(page, *languages):
    found = [Block(*match) for match in FENCE.findall(page.read_text(encoding="utf-8"))]
    return [block for block in found if not languages or block.language in languages]


def named(path):
    return str(path.relative_to(ROOT))


def people(n_rows=20_000):
    """Return a table that suits every page: two kinds of invented people, two visits each."""
    old = np.arange(n_rows) % 4 > 1
    generator = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "patient": [f"P{row // 2}" for row in range(n_rows)],
            "age": np.where(old, 70, 30) + generator.integers(-12, 13, n_rows),
            "bmi": np.where(old, 34.0, 23.0) + generator.normal(size=n_rows),
            "income": np.exp(np.where(old, 10, 8) + generator.normal(size=n_rows) / 4),
            "plan": np.where(old, "premium", "basic"),
        }
    )


def files(folder):
    """Write what the pages read."""
    table = people()
    table.to_csv(folder / "patients.csv", index=False)
    (folder / "codes.csv").write_text("E11\nI10\n")
    (folder / "visits").mkdir()
    table.to_parquet(folder / "visits" / "2026.parquet")


KINDS = {"patients": 5, "customers": 4, "locations": 9}
"""How many kinds of people the samples have."""

PAGES = {
    "README.md": lambda: {"df": people()[["age", "bmi", "plan"]]},
    "docs/index.md": lambda: {"df": people()[["age", "bmi"]]},
    "docs/get-started.md": dict,
    "docs/guide.md": lambda: {"df": people()[["patient", "age", "income", "plan"]]},
    "docs/choosing.md": dict,
    "docs/preprocessing.md": lambda: {
        "table": people()[["age", "income"]],
        "rows": people()[["age", "income"]].to_numpy(float),
    },
    "docs/large-tables.md": dict,
    "docs/how-it-works.md": lambda: {"model": DPM(bounds=(0, 200)).fit(people()[["age", "bmi"]])},
    "docs/privacy/README.md": dict,
    "docs/privacy/checkpoint.md": lambda: {
        "FinishedRunError": FinishedRunError,
        "account": Budget.create("budget.json", epsilon=1.0, delta=1e-6),
        "df": people()[["age"]],
        "model": DPM(bounds=(0, 120)),
        "os": os,
    },
}
"""Pages with code that is run, and the names that they take for granted."""


@pytest.fixture
def dpm(monkeypatch, capsys):
    """Return a function that runs a command of ``dpm`` as a shell would."""
    from dpmondrian.cli.main import main

    def run(arguments):
        expanded = [name for word in arguments for name in (sorted(glob.glob(word)) if "*" in word else [word])]
        monkeypatch.setattr(sys, "argv", expanded)
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        assert code == 0, f"{shlex.join(arguments)}: {capsys.readouterr().err}"

    return run


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_a_page(page, tmp_path, monkeypatch, dpm):
    """In the order of the page: Python in one namespace, commands in one folder, TOML as the schema of both."""
    pytest.importorskip("matplotlib").use("agg")
    monkeypatch.chdir(tmp_path)
    files(tmp_path)
    names = PAGES[page]()
    for block in blocks(ROOT / page):
        if block.language == "toml":
            schema = Path("other.toml" if block.reason else "schema.toml")
            schema.write_text(block.code, encoding="utf-8")
            read_schema(schema)
        elif not block.reason and block.language == "python":
            exec(block.code, names)
        elif not block.reason and block.language in ("sh", "console"):
            for command in block.commands:
                dpm([*command, "--yes"] if command[1] == "init" else command)  # nobody answers its questions
                if command[1] in ("schema", "init"):  # a draft, which people fill in
                    Path("schema.toml").write_text(blocks(ROOT / "docs" / "guide.md", "toml")[0].code)
    if page == "docs/preprocessing.md":  # the second fit is refused, as the page says
        assert [entry.epsilon for entry in names["budget"].read().entries] == [1.0]


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=named)
def test_notebooks(notebook, tmp_path, monkeypatch):
    """All cells in one namespace; what is shown of the last line can be shown."""
    pytest.importorskip("matplotlib").use("agg")
    pytest.importorskip("dpmondrian_lab")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks(notebook, "{code-cell}"):
        *lines, last = ast.parse(block.code).body
        exec(compile(ast.Module(lines, []), named(notebook), "exec"), names)
        if isinstance(last, ast.Expr):
            repr(eval(compile(ast.Expression(last.value), named(notebook), "eval"), names))
        else:
            exec(compile(ast.Module([last], []), named(notebook), "exec"), names)
    sys.modules["matplotlib.pyplot"].close("all")
    if notebook.stem in KINDS:  # secure noise, so it varies: by one in 1 of 60 runs
        assert abs(names["model"].n_clusters_ - KINDS[notebook.stem]) <= 2


def problem_of(page, block):
    """Return what is wrong with a block, or nothing."""
    if block.language.startswith("{") or block.language in TEXTS or block.reason:
        return None
    if block.language == "toml":
        return None if tomllib.loads(block.code) else "empty"
    if block.language not in ("python", "sh", "console"):
        return f"unknown language {block.language!r}"
    run = named(page) in PAGES or page == ROOT / "docs" / "officers.md"  # which has a test of its own
    return None if run else "neither run nor says why not"


@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_every_block_is_run_or_says_why_not(page):
    assert [(problem, block.code) for block in blocks(page) if (problem := problem_of(page, block))] == []
    assert PROGRAMS.findall(re.sub(FENCE, "", page.read_text(encoding="utf-8"))) == []


def test_every_page_is_in_a_table_of_contents():
    contents = {page: blocks(page, "{toctree}") for page in WRITTEN}
    listed = {
        (page.parent / (re.search("<(.+)>", line) or [None, line])[1]).resolve().with_suffix(".md")
        for page, found in contents.items()
        for block in found
        for line in block.code.splitlines()
        if line and not line.startswith(":")
    }
    pages = {page for page in WRITTEN + GENERATED if page not in (ROOT / "README.md", ROOT / "docs" / "index.md")}
    assert pages - listed == set()


def commands_of(page):
    return [command for block in blocks(page, "sh", "console") for command in block.commands if command]


@pytest.mark.parametrize("page", WRITTEN + GENERATED, ids=named)
def test_commands_exist(page):
    """Targets of make, subcommands of dpm with their options, modules of Python."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for program, *arguments in commands_of(page):
        if program == "make":
            assert {word for word in arguments if "=" not in word} <= targets, arguments
        elif program.endswith("dpm"):
            assert_parses(arguments)
        elif arguments[:1] == ["-m"] and arguments[1].startswith("dpmondrian"):
            assert find_spec(arguments[1]) is not None


def assert_parses(arguments):
    """Find a command by its words, and look every option up."""
    import typer

    from dpmondrian.cli.commands import app

    command, words = typer.main.get_command(app), iter(arguments)
    while hasattr(command, "commands"):
        name = next(words, None)
        if name is None or name.startswith("-"):
            return
        command = command.get_command(typer.Context(command), name)
        assert command is not None, arguments
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word.split("=")[0] for word in words if word.startswith("--")} - {"--help"} <= known, arguments


def test_every_public_name_is_in_the_reference_with_an_example():
    reference = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md"))
    listed = set(re.findall(r"^\.\. auto\w+:: (\w+)$", reference, re.MULTILINE))
    public = set(dpmondrian.__all__) - {"__version__"}
    assert public - listed == set()
    assert {name for name in public if ">>>" not in (getattr(dpmondrian, name).__doc__ or "")} == set()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("home", [dpmondrian, dpmondrian.quality, dpmondrian.samples], ids=lambda home: home.__name__)
def test_examples_of_the_reference_can_be_copied(home, monkeypatch, tmp_path):
    """Each runs on its own, with the names that it imports."""
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for name in set(home.__all__) - {"__version__"}:
        for example in doctest.DocTestFinder().find(getattr(home, name), name, globs={}):
            runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def test_the_table_of_the_readme():
    """It is made of results/tables by a committed command."""
    made = runpy.run_path(str(ROOT / "docs" / "make_tables.py"))
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert made["MARKED"].search(readme)
    assert made["with_table"](readme) == readme, "Run python docs/make_tables.py"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="Needs OpenSSH.")
def test_the_page_for_officers_signs_and_verifies(tmp_path):
    """Its own commands, with another key; a release that was changed does not have the signed digest."""
    (tmp_path / "published").mkdir()
    DPM(bounds=(0, 100), max_depth=1).fit(np.full((50, 1), 20.0)).save(tmp_path / "published" / "release.json")
    dpm = tmp_path / "dpm"
    dpm.write_text('#!/bin/sh\nexec "$PYTHON" -m dpmondrian "$@"\n')
    dpm.chmod(0o755)
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    (tmp_path / "signers").write_text(f"privacy@hospital.example {key.with_suffix('.pub').read_text()}")
    write, sign, verify = [block.code for block in blocks(ROOT / "docs" / "officers.md", "sh") if not block.reason]

    def run(text):
        text = text.replace("~/.ssh/id_ed25519", "key")
        return subprocess.run(
            text, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
            env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable},
        )  # fmt: skip

    for command in (write, sign):
        done = run(command)
        assert done.returncode == 0, done.stderr
    verify = verify.replace("release.json", "published/release.json").replace(
        "release.digest.sig", "published/release.digest.sig"
    )
    good = run(verify)
    assert (good.returncode, 'Good "dpmondrian" signature for privacy@hospital.example' in good.stdout) == (0, True)
    DPM(bounds=(0, 100), max_depth=1).fit(np.full((50, 1), 20.0)).save(tmp_path / "published" / "release.json")
    assert run(verify).returncode != 0


@pytest.mark.parametrize("page", ["README.md", "docs/get-started.md"])
def test_what_an_attacker_finds_at_epsilon_1_is_not_more_than_a_page_says(page):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    stated = re.search(r"wrongly accuses 1 in 100 .{,80} identifies (?:at most|fewer than) ([\d.]+) in 100", text)
    model = DPM(epsilon=1.0, delta=1e-7, bounds=(0, 100), random_state=0).fit(np.linspace(0.0, 100.0, 5000)[:, None])
    assert stated
    assert 100.0 * model.privacy_.explain().rates[0].true_positives <= float(stated[1])
