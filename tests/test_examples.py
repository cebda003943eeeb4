"""The examples run, and write what they say."""

import runpy
from pathlib import Path

import pytest

from dpmondrian import DPM, Budget

EXAMPLES = Path(__file__).parents[1] / "examples"
WRITTEN = {
    "locations": {"release.json", "report.html", "map.png", "hierarchy.png"},
    "patients": {"release.json", "report.html", "budget.json"},
    "customers": {"release.json", "report.html"},
}
CLUSTERS = {"locations": 9, "patients": 5, "customers": 4}


@pytest.mark.slow
@pytest.mark.parametrize("example", WRITTEN)
def test_examples(example, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="The examples draw pictures, which needs the extra 'plots'.").use("agg")
    folder = tmp_path / "out"
    monkeypatch.setattr("sys.argv", [example, str(folder)])
    runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    assert {path.name for path in folder.iterdir()} - {"budget.json.lock"} == WRITTEN[example]
    assert (
        abs(DPM.load(folder / "release.json").n_clusters_ - CLUSTERS[example]) <= 1
    )  # the noise is secure, so it varies
    assert str(folder) in capsys.readouterr().out
    if example == "patients":
        assert Budget(folder / "budget.json").read().spent_epsilon == 1.0


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(WRITTEN)
