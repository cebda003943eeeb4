"""Rooms are layers: each imports only from rooms below it, late imports included. Read from the source, not from memory."""

import ast
from functools import cache
from pathlib import Path

import pytest

import dpmondrian
import dpmondrian_lab

LAYERS = (
    ("_version", "exceptions", "common"),
    ("kernels",),
    ("schema",),
    ("tables",),
    ("engines",),
    ("privacy",),
    ("dpm",),
    ("release",),
    ("accounts",),
    ("suggest",),
    ("planning",),
    ("quality",),
    ("show",),
    ("fitting",),
    ("estimator",),
    ("samples",),
    ("cli", "web", "__main__"),
)
"""All rooms of the package, from the lowest to the highest. Those of one line may import each other."""

DISPLAYS = {
    "planning.forecast",
    "release.every_k",
    "release.explain",
    "release.statement",
    "release.tree",
    "release.verification.checks",
}
"""Modules whose objects show themselves (`__str__`, `_repr_html_`, `plot`): they may ask `show`, at that moment and not before."""

WITHIN_PRIVACY = (
    "promise",
    "draws",
    "accountants",
    "plan",
    "ledger",
    "integers",
    "mechanisms",
    "door",
)
"""The same inside the trusted room."""

ROOT = Path(dpmondrian.__file__).parent


@cache
def modules(root=ROOT):
    """Return dotted names (without the package) and paths of all modules."""
    names = {}
    for path in sorted(root.rglob("*.py")):
        parts = list(path.relative_to(root).with_suffix("").parts)
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


@cache
def parsed(source):
    """Return the syntax tree of a module, which several tests look at."""
    return ast.parse(source)


def imports_of(source, module, *, package="dpmondrian", is_package=False, late=True):
    """Return the full names of all that a module imports, also relatively, for types or by a string; with `late`, in functions."""
    tree = parsed(source)
    here = f"{package}.{module}".rstrip(".").split(".")
    found = set()
    for node in _nodes(tree, late):
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


def _nodes(tree, late):
    """Yield all nodes of a tree, without `late` not those in functions."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(
            child
            for child in ast.iter_child_nodes(node)
            if late or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        )


@cache
def imports(module, late=True):
    """Return what a module of the package imports."""
    path = modules()[module]
    return imports_of(path.read_text(encoding="utf-8"), module, is_package=path.name == "__init__.py", late=late)


def within(name, package):
    """Return whether a dotted name is a package or inside of it."""
    return name == package or name.startswith(f"{package}.")


def rooms_imported(module, late=True):
    """Return the rooms of the package that a module imports from."""
    own = (name.split(".") for name in imports(module, late) if within(name, "dpmondrian"))
    return {parts[1] for parts in own if len(parts) > 1 and parts[1] in HEIGHTS}


HEIGHTS = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
MEMBERS = [module for module in modules() if module]


def test_every_room_has_its_layer():
    assert {module.split(".")[0] for module in MEMBERS} == set(HEIGHTS)


def rooms_above(module):
    """Return the rooms above its own that a module imports from."""
    height = HEIGHTS[module.split(".")[0]]
    above = {room for room in rooms_imported(module) if HEIGHTS[room] > height}
    return above - {"show"} if module in DISPLAYS and "show" not in rooms_imported(module, late=False) else above


def offenders(found):
    """Return the modules about which something was found."""
    return {module: what for module, what in found.items() if what}


def test_modules_import_from_below():
    assert offenders({module: rooms_above(module) for module in MEMBERS}) == {}


def test_displays_are_displays():
    assert all("show" in rooms_imported(module) for module in DISPLAYS)


def test_the_trusted_room_is_ordered_too():
    for module in (module for module in MEMBERS if module.startswith("privacy.")):
        inner = {name.split(".")[2] for name in imports(module) if name.startswith("dpmondrian.privacy.")}
        here = WITHIN_PRIVACY.index(module.split(".")[1])
        assert all(WITHIN_PRIVACY.index(other) <= here for other in inner), module


TOOLBOXES = {"_version", "exceptions", "common", "kernels", "cli", "estimator", "fitting"}
"""Modules by themselves, without a front: each is imported by its own name."""
LAB = Path(dpmondrian_lab.__file__).parent


def deep_imports(source, module, package="dpmondrian"):
    """Return what a module imports past the front of another room: from a module in place of its package."""
    here, known = (package, module.split(".")[0]), modules()
    found = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.ImportFrom) and within(node.module or "", "dpmondrian"):
            inner = node.module.removeprefix("dpmondrian").lstrip(".")
            room = inner.split(".")[0]
            is_front = inner in known and known[inner].name == "__init__.py"
            if ("dpmondrian", room) != here and room not in TOOLBOXES and not is_front:
                found.append(node.module)
    return found


@pytest.mark.parametrize(("package", "root"), [("dpmondrian", ROOT), ("dpmondrian_lab", LAB)])
def test_other_rooms_are_entered_by_their_front(package, root):
    members = {module: path for module, path in modules(root).items() if module}
    found = {
        module: deep_imports(path.read_text(encoding="utf-8"), module, package) for module, path in members.items()
    }
    assert offenders(found) == {}


def test_nothing_imports_the_laboratory():
    found = {module: [name for name in imports(module) if within(name, "dpmondrian_lab")] for module in MEMBERS}
    assert offenders(found) == {}


def test_a_way_past_the_front_is_seen():
    assert deep_imports("def late():\n    from dpmondrian.privacy.plan import Plan", "dpm.plan") == [
        "dpmondrian.privacy.plan"
    ]
    assert deep_imports("from dpmondrian.privacy import Plan", "dpm.plan") == []
