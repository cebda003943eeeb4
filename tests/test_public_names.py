"""The public names, their docstrings, and a light import."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import dpmondrian
import dpmondrian_lab

MODULES = sorted(
    module.name
    for package in (dpmondrian, dpmondrian_lab)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith(("__main__", "._views")) and ".benchmarks" not in module.name
)


def test_public_names():
    """In the order of ruff's RUF022: constants, then classes, then the rest, each sorted."""
    assert dpmondrian.__all__ == [
        "DPM",
        "BoundsError",
        "Budget",
        "BudgetError",
        "Category",
        "CheckpointError",
        "Column",
        "DPMondrianError",
        "DataError",
        "FewRowsWarning",
        "FinishedRunError",
        "MisfitWarning",
        "NotReleasableWarning",
        "OneClusterWarning",
        "OutputError",
        "ParameterError",
        "PlotsMissingError",
        "PrivacyStatement",
        "RandomnessError",
        "Release",
        "ReleaseFileError",
        "Resources",
        "Schema",
        "Source",
        "TableSchema",
        "Tree",
        "WeakPromiseWarning",
        "__version__",
        "forecast",
        "read_schema",
        "render_report",
        "suggest_bounds",
        "write_schema",
    ]


def test_every_public_name_is_there():
    assert set(dpmondrian.__all__) <= set(dir(dpmondrian))
    for name in dpmondrian.__all__:
        assert getattr(dpmondrian, name) is not None
    with pytest.raises(AttributeError, match="DPMM"):
        dpmondrian.DPMM  # noqa: B018


def undocumented(thing, path: str) -> list[str]:
    """Return the public parts of a class or function that have no docstring of their own."""
    missing = [] if inspect.getdoc(thing) else [path]
    if inspect.isclass(thing):
        for name, member in vars(thing).items():
            public = not name.startswith("_") and (callable(member) or isinstance(member, property | classmethod))
            if public and not inspect.getdoc(member):
                missing.append(f"{path}.{name}")
    return missing


def test_every_module_and_public_name_has_a_docstring():
    modules = {name: importlib.import_module(name) for name in MODULES}
    assert [name for name, module in modules.items() if not module.__doc__] == []
    missing = [
        path
        for name, module in modules.items()
        for public, thing in vars(module).items()
        if public in getattr(module, "__all__", [public]) and not public.startswith("_")
        if callable(thing) and getattr(thing, "__module__", "") == name
        for path in undocumented(thing, f"{name}.{public}")
    ]
    assert missing == []


def test_every_parameter_and_attribute_of_the_estimator_is_described():
    described = inspect.getdoc(dpmondrian.DPM).split("Examples\n")[0]
    for name in dpmondrian.DPM().get_params():
        assert f"{name} :" in described or f"{name}," in described or f", {name}" in described
    for name in ("cluster_centers_", "cluster_sizes_", "n_clusters_", "tree_", "privacy_", "release_", "labels_"):
        assert f"{name} :" in described


IN_FRESH_INTERPRETER = """
import sys

def no_network(event, args):
    if event.startswith("socket.") or event.startswith("urllib."):
        raise RuntimeError("network: " + event)

sys.addaudithook(no_network)
import dpmondrian
dpmondrian.__version__, dir(dpmondrian)
heavy = ["sklearn", "opendp", "pandas", "polars", "pyarrow", "matplotlib", "scipy", "dp_accounting"]
loaded = [name for name in heavy if name in sys.modules]
if "--fit" in sys.argv:
    dpmondrian.DPM(bounds=(0, 1)).fit([[0.5], [0.25]] * 2000).privacy_.to_json()
    loaded = [name for name in ("pandas", "polars", "pyarrow", "matplotlib", "dp_accounting") if name in sys.modules]
print(loaded)
"""


def in_fresh_interpreter(*arguments: str) -> str:
    command = [sys.executable, "-c", IN_FRESH_INTERPRETER, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.stderr == ""
    return done.stdout.strip()


def test_import_is_light_and_takes_no_network():
    assert in_fresh_interpreter() == "[]"


@pytest.mark.slow
def test_a_fit_takes_no_network():
    in_fresh_interpreter("--fit")
