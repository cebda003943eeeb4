"""Noise is drawn in one place, and imports point one way: read from the source, not from memory."""

import ast
from pathlib import Path

import pytest

import dpmondrian

PACKAGE = "dpmondrian"
ROOT = Path(dpmondrian.__file__).parent

ALLOWED = {
    "printable": set(),
    "exceptions": {"printable"},
    "interrupts": set(),
    "threads": {"interrupts"},
    "mechanisms": {"exceptions"},
    "kernels": set(),
    "domain": {"exceptions", "texts"},
    "grid": {"domain"},
    "texts": {"exceptions"},
    "identities": {"exceptions"},
    "persons": {"identities", "kernels"},
    "frames": {"domain", "exceptions", "persons", "texts"},
    "coordinates": {"_validation", "domain", "exceptions", "frames"},
    "accounting": {"_version", "domain", "exceptions", "printable"},
    "origin": {"domain", "exceptions"},
    "files": {"_validation", "_version", "domain", "exceptions", "identities", "interrupts", "origin", "texts"},
    "streams": {"exceptions", "files", "frames", "identities"},
    "engines": {
        "coordinates",
        "domain",
        "exceptions",
        "frames",
        "grid",
        "identities",
        "interrupts",
        "kernels",
        "persons",
        "streams",
        "threads",
    },
    "scoring": {"kernels", "threads"},
    "release": {"accounting", "exceptions", "interrupts", "mechanisms"},
    "tree": {"domain", "engines", "exceptions", "grid", "printable", "release", "scoring"},
    "centres": {"accounting", "engines", "grid", "release", "tree"},
    "joining": {"centres", "engines", "release", "tree"},
    "baselines": {
        "_validation",
        "accounting",
        "centres",
        "coordinates",
        "domain",
        "engines",
        "exceptions",
        "frames",
        "grid",
        "interrupts",
        "kernels",
        "release",
    },
}
"""What the rooms below the estimator may import, besides themselves. Rooms not named here are above them."""

SHOWN_BY = {"accounting.statement": {"report"}}
"""What a module may import from above when a notebook shows one of its objects."""


def modules():
    """Return dotted names (without the package) and paths of all modules."""
    names = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports_of(source, module, is_package=False):
    """Return the full names of everything that a module imports, anywhere in it, also relatively or by a string."""
    found = set()
    here = f"{PACKAGE}.{module}".rstrip(".").split(".")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + is_package] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            found.update(f"{prefix}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in (
            "import_module",
            "__import__",
        ):
            found.update(a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
    return found


def imports(module):
    path = modules()[module]
    return imports_of(path.read_text(encoding="utf-8"), module, path.name == "__init__.py")


def within(name, package):
    return name == package or name.startswith(f"{package}.")


def rooms_imported(module):
    """Return the top-level rooms of the package that a module imports."""
    own = (name.split(".") for name in imports(module) if within(name, PACKAGE))
    return {parts[1] for parts in own if len(parts) > 1}


@pytest.mark.parametrize(
    "source",
    [
        "import dpmondrian.privacy.mechanisms",
        "import dpmondrian.privacy.mechanisms.noise as quiet",
        "from dpmondrian import mechanisms",
        "from dpmondrian.privacy.mechanisms import noise",
        "from dpmondrian.privacy.mechanisms.noise import discrete_laplace",
        "from ..mechanisms.noise import discrete_laplace",
        "from .. import mechanisms",
        "def late():\n    from dpmondrian.privacy.mechanisms import noise",
        "import importlib\nimportlib.import_module('dpmondrian.privacy.mechanisms.noise')",
    ],
)
def test_every_way_to_import_is_seen(source):
    assert any(within(name, "dpmondrian.privacy.mechanisms") for name in imports_of(source, "tree.grower"))


def test_only_the_door_imports_mechanisms():
    importers = {
        module
        for module in modules()
        if not within(module, "mechanisms") and any(within(name, f"{PACKAGE}.mechanisms") for name in imports(module))
    }
    assert importers == {"release"}


@pytest.mark.parametrize("library", ["opendp", "random", "secrets"])
def test_only_mechanisms_import_sources_of_randomness(library):
    importers = {module for module in modules() if any(within(name, library) for name in imports(module))}
    assert all(within(module, "mechanisms") for module in importers)
    assert library != "opendp" or importers


def attributes_used(module):
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("private", ["_sampler", "_ledger"])
def test_nobody_reaches_through_the_door(private):
    users = {module for module in modules() if private in attributes_used(module)}
    assert users == {"release"}


@pytest.mark.parametrize("room", ALLOWED)
def test_imports_point_one_way(room):
    members = [module for module in modules() if within(module, room)]
    assert members
    for module in members:
        allowed = ALLOWED[room] | SHOWN_BY.get(module, set())
        assert rooms_imported(module) - {room} <= allowed, f"{module} imports from above it"


def test_the_plan_knows_nothing_of_rows():
    for module in ("accounting.plan", "accounting.ledger", "accounting.zcdp", "accounting.joint"):
        assert rooms_imported(module) <= {"accounting", "exceptions"}


def test_exact_statistics_are_reached_by_engines_and_scores_only():
    """Kernels see rows: only engines, scores, peers, the choice of a person's rows and labels use them."""
    users = {module for module in modules() if "kernels" in rooms_imported(module)}
    assert {module.split(".")[0] for module in users} <= {
        "engines", "scoring", "kernels", "labelling", "baselines", "persons",
    }  # fmt: skip
