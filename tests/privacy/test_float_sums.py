"""The same seed gives the same bytes on every supported Python: `sum` of floats was changed in Python 3.12, `math.fsum` was not."""

import ast
import builtins
import warnings
from pathlib import Path

import numpy as np
import pytest

from dpmondrian import DPM

ROOT = Path(__file__).parents[2]
ROOMS = [
    *(ROOT / "src" / "dpmondrian" / room for room in ("privacy", "dpm", "release", "accounts", "suggest", "forecast")),
    ROOT / "lab" / "src" / "dpmondrian_lab" / "peers",
]
"""Where released values and their prices are computed. Engines and the verification add whole numbers only."""

GENERATOR = np.random.default_rng(11)
ROWS = np.vstack([GENERATOR.normal(centre, 3, (700, 2)) for centre in (20, 50, 80)])
SETTINGS = {
    "default": {},
    "pure": {"delta": 0.0},
    "pld": {"accountant": "pld"},
    "paper": {"variant": "paper"},
    "k": {"n_clusters": 3},
}


def is_count(call):
    """Return whether a call adds truth values, as in ``sum(x == y for x in xs)``: exact on every Python."""
    [argument] = call.args
    return isinstance(argument, ast.GeneratorExp) and isinstance(argument.elt, ast.Compare)


def float_sums(source):
    """Return the lines that call the builtin `sum` for more than counting."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "sum"]
    return [call.lineno for call in named if len(call.args) != 1 or not is_count(call)]


def test_released_values_and_prices_are_not_added_by_the_builtin_sum():
    files = [path for room in ROOMS for path in room.rglob("*.py") if "verification" not in path.parts]
    assert len(files) > 50
    found = {str(path.relative_to(ROOT)): float_sums(path.read_text(encoding="utf-8")) for path in files}
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_a_builtin_sum_would_be_found():
    assert float_sums(
        "x = sum(v for v in vs)\ny = sum(vs, 0.0)\nz = sum(a == b for a, b in ps)\nw = math.fsum(vs)"
    ) == [1, 2]


def release(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPM(bounds=(0, 100), max_depth=3, random_state=5, **SETTINGS[name]).fit(ROWS)
    return model.release_.to_json()


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_a_sum_that_rounds_differently_changes_no_release(name, monkeypatch):
    expected, real, n_float_sums = release(name), builtins.sum, []

    def other_sum(values, /, start=0):
        total = real(values, start)
        if type(total) is float:
            n_float_sums.append(total)
            return total * (1 + 1e-12)
        return total

    monkeypatch.setattr(builtins, "sum", other_sum)
    found = release(name)
    monkeypatch.undo()
    assert found == expected, f"{len(n_float_sums)} sums of floats"
