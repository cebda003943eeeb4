"""The types that users see are complete: a strict script passes, and mistakes in it are found."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".mypy_cache" / "users"
SCRIPT = ROOT / "tests" / "typed_user.py"


def strict(script):
    """Return the exit code of mypy for a script of a user, who has none of our settings, and what it says.

    It has a process of its own: half a gigabyte would stay in this one.
    """
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={CACHE}", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.slow
def test_a_strict_script(tmp_path):
    assert strict(SCRIPT) == (0, "Success: no issues found in 1 source file\n")
    wrong = tmp_path / "wrong.py"
    wrong.write_text(SCRIPT.read_text().replace("return centres", "return model.n_clusters_"))
    code, said = strict(wrong)
    assert (code, 'Incompatible return value type (got "int"' in said) == (1, True)


@pytest.mark.slow
def test_the_script_runs(tmp_path):
    script = runpy.run_path(str(SCRIPT))
    middles = np.repeat([[30.0, 22.0], [70.0, 35.0]], 3000, axis=0)
    rows = np.random.default_rng(0).normal(middles, 2.0)
    assert script["publish"](rows, tmp_path).shape == (2, 2)
    assert {path.name for path in tmp_path.iterdir()} >= {"schema.toml", "budget.json", "release.json", "report.html"}
    assert script["again"](rows, str(tmp_path / "budget.json")) == 0  # only 0.5 is left
