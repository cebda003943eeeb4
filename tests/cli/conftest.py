"""Running ``dpm`` in this process and in one of its own, and small files of invented people."""

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from dpmondrian.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def dpm(capsys, monkeypatch):
    """Return a function that runs ``dpm`` with arguments in this process."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpm", *map(str, arguments)])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        told = capsys.readouterr()
        assert "Traceback" not in told.err
        return Done(code, told.out, told.err)

    return run


@pytest.fixture
def dpm_process():
    """Return a function that runs ``dpm`` with arguments in a process of its own."""

    def run(*arguments, program=("-m", "dpmondrian"), **options):
        command = [sys.executable, *program, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, **options)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


CANARY = "987654.321"


def written(folder):
    """Return the names of all files and folders, hidden ones too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.fixture
def refused(tmp_path, dpm, monkeypatch):
    """Return a function that runs a command, which must fail in one sentence and leave nothing behind."""
    monkeypatch.chdir(tmp_path)

    def run(code, fragment, *arguments):
        before = written(tmp_path)
        done = dpm(*arguments)
        assert done.code == code, done
        assert done.out == ""
        assert fragment in " ".join(done.err.replace("│", " ").split())
        assert CANARY not in done.err
        assert "CANARY" not in done.err
        assert written(tmp_path) == before
        return done

    return run


def people_lines(n_rows=3000, seed=0):
    """Return the lines of a CSV file about two kinds of people."""
    generator = np.random.default_rng(seed)
    kind = generator.integers(0, 2, n_rows)
    age = np.where(kind, 30, 70) + generator.normal(0, 3, n_rows)
    bmi = np.where(kind, 22, 40) + generator.normal(0, 2, n_rows)
    plan = np.array(["basic", "premium", "gold"])[generator.integers(0, 3, n_rows)]
    return [f"P{number // 2},{a:.3f},{b:.3f},{p}" for number, (a, b, p) in enumerate(zip(age, bmi, plan, strict=True))]


HEADER = "person,age,bmi,plan"
BOUNDS = ["--bounds", "age=0:120", "--bounds", "bmi=10:60"]


@pytest.fixture
def people(tmp_path):
    """Return a CSV file about people."""
    path = tmp_path / "people.csv"
    path.write_text("\n".join([HEADER, *people_lines()]) + "\n")
    return path
