"""The environment of the synthetic data: Python with dpmm, which asks for old versions of NumPy, pandas and OpenDP.

``make synthetic``, or ``python -m dpmondrian_lab.peers.synthetic``, makes it in the cache folder; 500 MB, a minute.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from dpmondrian_lab.datasets.files import cache_folder

__all__ = ["PACKAGE", "environment_python", "make_environment", "why_missing"]

PACKAGE = "dpmm==0.1.9"
"""The version whose code was read, see ``docs/privacy/peers.md``."""
_INTERPRETERS = (sys.executable, "python3.11", "python3.10")


def environment_python() -> Path:
    """Return the interpreter of the environment; it need not exist."""
    return cache_folder() / "synthetic" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def why_missing() -> str:
    """Return why there is no synthetic data, as a sentence; empty if the environment is there."""
    if environment_python().exists():
        return ""
    return "Synthetic data needs an environment of its own, which is not there. 'make synthetic' makes it."


def make_environment() -> None:
    """Make the environment, unless it is there. If anything fails, nothing is left of it."""
    if not why_missing():
        return
    folder = cache_folder() / "synthetic"
    unfinished = folder.with_name("synthetic-unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        _run(_old_python(), "-m", "venv", str(unfinished))
        python = unfinished / environment_python().relative_to(folder)
        _run(str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _old_python() -> str:
    """Return an interpreter that dpmm accepts, 3.10 or 3.11."""
    for name in _INTERPRETERS:
        path = shutil.which(name)
        if path is not None and _run(path, "-c", "import sys; print(sys.version_info[:2] < (3, 12))") == "True":
            return path
    raise OSError(f"{PACKAGE} needs Python 3.10 or 3.11, and neither was found.")


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()  # noqa: S603
