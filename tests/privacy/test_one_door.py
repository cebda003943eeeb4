"""Noise is drawn in one place: read from the source, not from memory. The order of all rooms is in ``tests/test_layers.py``."""

import ast
import importlib.util
import sys
from functools import cache
from pathlib import Path

import pytest

import dpmondrian_lab

spec = importlib.util.spec_from_file_location("layers", Path(__file__).parents[1] / "test_layers.py")
layers = sys.modules["layers"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layers)

MECHANISMS = "dpmondrian.privacy.mechanisms"
LAB = Path(dpmondrian_lab.__file__).parent
OF_THE_LAB = {name: path for name, path in layers.modules(LAB).items() if name.startswith(("peers", "audit"))}


def importers_of(library):
    """Return the modules of the core that import a library, a room or a part of it."""
    return {m for m in layers.modules() if any(layers.within(name, library) for name in layers.imports(m))}


@pytest.mark.parametrize(
    "source",
    [
        "import dpmondrian.privacy.mechanisms",
        "import dpmondrian.privacy.mechanisms.noise as quiet",
        "from dpmondrian.privacy import mechanisms",
        "from dpmondrian.privacy.mechanisms import noise",
        "from dpmondrian.privacy.mechanisms.noise import discrete_laplace",
        "from ...privacy.mechanisms.noise import discrete_laplace",
        "from ...privacy import mechanisms",
        "def late():\n    from dpmondrian.privacy.mechanisms import noise",
        "import importlib\nimportlib.import_module('dpmondrian.privacy.mechanisms.noise')",
    ],
)
def test_every_way_to_import_is_seen(source):
    assert any(layers.within(name, MECHANISMS) for name in layers.imports_of(source, "dpm.finding.lines"))


def test_only_the_door_imports_mechanisms():
    others = {m for m in importers_of(MECHANISMS) if not layers.within(m, "privacy.mechanisms")}
    assert others == {"privacy.door"}


def test_in_the_laboratory_only_its_door_and_its_own_mechanism_do():
    importers = set()
    for module, path in OF_THE_LAB.items():
        names = layers.imports_of(path.read_text(encoding="utf-8"), module, package="dpmondrian_lab")
        if any(layers.within(name, MECHANISMS) for name in names) and not layers.within(module, "peers.cover"):
            importers.add(module)
    assert importers == {"peers.lab_door"}


def test_the_core_knows_nothing_of_the_laboratory():
    importers = importers_of("dpmondrian_lab")
    assert all(layers.within(module, "cli") for module in importers)  # which looks for its commands


@pytest.mark.parametrize("library", ["opendp", "random", "secrets"])
def test_only_mechanisms_import_sources_of_randomness(library):
    importers = importers_of(library)
    rooms = ("privacy.mechanisms", "web") if library == "secrets" else ("privacy.mechanisms",)  # the page has a token
    assert all(any(layers.within(module, room) for room in rooms) for module in importers)
    assert library != "opendp" or importers


@cache
def attributes_used(path):
    tree = layers.parsed(path.read_text(encoding="utf-8"))
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("private", ["_sampler", "_ledger"])
def test_nobody_reaches_through_the_door(private):
    users = {module for module, path in layers.modules().items() if private in attributes_used(path)}
    assert users == {"privacy.door"}
    in_lab = {module for module, path in OF_THE_LAB.items() if private in attributes_used(path)}
    assert in_lab <= {"peers.lab_door", "audit.recording"}  # peers draw more; recordings note what is drawn


def test_the_door_can_be_read_in_an_afternoon():
    text = layers.modules()["privacy.door"].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 350


def test_the_plan_knows_nothing_of_rows():
    for module in (
        "privacy.draws",
        "privacy.plan",
        "privacy.ledger",
        "privacy.accountants.zcdp",
        "privacy.accountants.pld",
    ):
        assert layers.rooms_imported(module) <= {"privacy", "exceptions", "common"}


def test_exact_statistics_are_reached_by_engines_and_scores_only():
    """Kernels see rows: only engines, scores, the choice of a person's rows and labels use them; hills are those of noisy grids."""
    users = {module for module in layers.modules() if "kernels" in layers.rooms_imported(module)}
    allowed = ("engines", "dpm.scores", "kernels", "dpm.finding", "dpm.merging", "release.labelling", "tables.persons")
    assert all(any(layers.within(module, room) for room in allowed) for module in users), users


NAMES = {
    node.value
    for room in ("privacy.draws", "dpm.draws", "suggest.draws")
    for node in ast.walk(layers.parsed(layers.modules()[room].read_text(encoding="utf-8")))
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and len(node.value) < 25
} - {"score steps"}


@pytest.mark.parametrize("root", [layers.ROOT, LAB], ids=["core", "laboratory"])
def test_names_of_draws_and_mechanisms_stand_in_one_place(root):
    """Those of two words, which cannot mean anything else; peers name their own draws, some like DPM's."""
    assert {"discrete Gaussian", "coarse sums", "exponential mechanism", "cell count"} <= NAMES
    found = {}
    for module, path in layers.modules(root).items():
        if module in ("privacy.draws", "dpm.draws", "suggest.draws") or module.startswith(("show", "pages")):
            continue
        tree = layers.parsed(path.read_text(encoding="utf-8"))
        named = {id(call.args[0]) for call in ast.walk(tree) if isinstance(call, ast.Call) and _makes_a_draw(call)}
        texts = {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and id(node) not in named and node.value in NAMES
        }
        if texts:
            found[module] = texts
    assert not found


def _makes_a_draw(call):
    return getattr(call.func, "id", "") == "Draw" and bool(call.args)
