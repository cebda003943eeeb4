"""What each distribution requires: a hospital that installs dpmondrian gets nothing of the laboratory."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from dpmondrian import __version__

ROOT = Path(__file__).parents[1]
SOURCES = {"dpmondrian": ROOT / "src" / "dpmondrian", "dpmondrian-lab": ROOT / "lab" / "src" / "dpmondrian_lab"}
PROJECTS = {"dpmondrian": ROOT / "pyproject.toml", "dpmondrian-lab": ROOT / "lab" / "pyproject.toml"}
RESEARCH = {"torch", "matplotlib", "dp-accounting", "riskcal", "pandas", "polars", "selenium", "dpmondrian-lab"}
MODULES = {
    "markupsafe": "jinja2",
    "sklearn": "scikit-learn",
}
"""Modules that are named differently from the distribution that brings them."""
CALLERS = {"pandas", "polars", "distributed"}
"""Whose tables are taken from a caller who has them: imported only if they are there."""


def project(name):
    return tomllib.loads(PROJECTS[name].read_text(encoding="utf-8"))["project"]


def named(requirements):
    return {re.match(r"[\w-]+", requirement)[0] for requirement in requirements}


def imported(folder):
    """Return the distributions of all modules that files of a folder import, at any place in them."""
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                found.add(node.module.split(".")[0])
    return {MODULES.get(name, name.replace("_", "-")) for name in found - set(sys.stdlib_module_names)}


def test_the_core_requires_nothing_of_research():
    assert named(project("dpmondrian")["dependencies"]) & RESEARCH == set()


@pytest.mark.parametrize("name", PROJECTS)
def test_what_is_imported_is_required_or_an_extra(name):
    projects = [project("dpmondrian")] if name == "dpmondrian" else [project("dpmondrian"), project(name)]
    known = {name, *CALLERS}
    for one in projects:
        known |= named(one["dependencies"])
        known |= {name for extra in one["optional-dependencies"].values() for name in named(extra)}
    assert imported(SOURCES[name]) - known == set()


def test_the_version_is_the_same_everywhere():
    """In the package, the citation, and the changelog: as a section, or the one that is being written."""
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections[0] in ("Unreleased", __version__)
    assert __version__ not in sections[1:]


def test_the_laboratory_brings_the_core():
    assert "dpmondrian" in named(project("dpmondrian-lab")["dependencies"])
