"""The types that users see are complete: a strict script passes, and mistakes in it are found."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".mypy_cache"
"""What `make types` has found out about other packages is not found out again."""
SCRIPT = ROOT / "tests" / "typed_user.py"


def strict(*scripts):
    """Return the exit code of mypy for scripts of a user, who has none of our settings, and the lines it says.

    It has a process of its own: half a gigabyte would stay in this one.
    """
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={CACHE}", *map(str, scripts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.slow
def test_a_strict_script(tmp_path):
    """Together with one that has a mistake: mypy takes seconds to begin."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(SCRIPT.read_text().replace("return centres", "return model.n_clusters_"))
    code, (error, summary) = strict(SCRIPT, wrong)
    assert (code, summary) == (1, "Found 1 error in 1 file (checked 2 source files)")
    assert f"{wrong.name}:" in error  # from its cache, mypy tells the folder of an earlier run
    assert 'Incompatible return value type (got "int"' in error


@pytest.mark.slow
def test_the_script_runs(tmp_path):
    script = runpy.run_path(str(SCRIPT))
    middles = np.repeat([[30.0, 22.0], [70.0, 35.0]], 3000, axis=0)
    rows = np.random.default_rng(0).normal(middles, 2.0)
    assert script["publish"](rows, tmp_path).shape == (2, 2)
    assert {path.name for path in tmp_path.iterdir()} >= {"schema.toml", "budget.json", "release.json", "report.html"}
    assert script["again"](rows, str(tmp_path / "budget.json")) == 0  # only 0.5 is left
