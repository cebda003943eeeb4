"""``make quick`` on every supported Python and with the lowest versions that pyproject.toml allows: ``make matrix``.

Each has an environment of its own in ``.matrix``. Interpreters are looked for on the path and among those of pyenv; one that
cannot be had is named, and is no failure. Prints a line for each; exit code 1 if tests failed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".matrix"
UV = Path(sys.executable).with_name("uv")
LOCK = ROOT / "requirements.lock"
LOWEST = FOLDER / "lowest.lock"


def supported() -> list[str]:
    """Return the versions that pyproject.toml names, such as "3.11", lowest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return re.findall(r":: (3\.\d+)'", str(project["classifiers"]))


def interpreter(version: str) -> str | None:
    """Return a Python of a version that runs, or None."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [shutil.which(f"python{version}"), *pyenv.glob(f"versions/{version}.*/bin/python")]
    asked = f"import sys; sys.exit(not sys.version.startswith('{version}.'))"
    for python in filter(None, found):
        if subprocess.run([python, "-c", asked], capture_output=True, check=False).returncode == 0:
            return str(python)
    return None


def write_lowest(version: str) -> None:
    """Choose the lowest versions of everything that pyproject.toml names."""
    FOLDER.mkdir(exist_ok=True)
    subprocess.run(
        [UV, "pip", "compile", "--quiet", "--python-version", version, "--resolution", "lowest-direct", "--generate-hashes",
         "--no-header", "--group", "dev", "pyproject.toml", "-o", LOWEST],
        cwd=ROOT, check=True,
    )  # fmt: skip


def outcome(name: str, version: str, lock: Path) -> str:
    """Return how `make quick` ended in an environment."""
    python = interpreter(version)
    if python is None:
        return "not run: there is no such Python here"
    command = ["make", "quick", f"VENV=.matrix/{name}", f"PYTHON={python}", f"LOCK={lock.relative_to(ROOT)}"]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    return "passed" if code == 0 else "FAILED"


def main(wanted: list[str]) -> None:
    """Run all, or those that are named, one after the other."""
    lowest = supported()[0]
    runs = {f"python{version}": (version, LOCK) for version in supported()} | {"lowest": (lowest, LOWEST)}
    if not wanted or "lowest" in wanted:
        write_lowest(lowest)
    outcomes = {name: outcome(name, *runs[name]) for name in wanted or runs}
    print("\n".join(f"{name:12} {text}" for name, text in outcomes.items()))
    sys.exit("FAILED" in outcomes.values())


if __name__ == "__main__":
    main(sys.argv[1:])
