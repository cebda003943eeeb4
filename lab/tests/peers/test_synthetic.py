"""Synthetic data, then KMeans: coding by public bounds; and, where its environment is, what dpmm really draws."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dpmondrian import Column, Schema
from dpmondrian_lab.peers.registry import ALGORITHMS
from dpmondrian_lab.peers.synthetic import SyntheticKMeans, environment, estimator, generate, why_missing
from dpmondrian_lab.peers.synthetic.estimator import Codes

SCHEMA = Schema((Column("x0", 0.0, 10.0), Column("x1", 0, 1, whole=True), Column("x2", -50, 149, whole=True)))


def codes():
    return Codes(SCHEMA, 20)


@pytest.fixture
def needs_environment():
    if why_missing():
        pytest.skip(why_missing())


def test_bins_are_equal_and_whole_numbers_have_their_own():
    assert codes().n_codes.tolist() == [20, 2, 20]
    rows = np.array([[0.0, 0, -50], [0.49, 1, -41], [0.5, 1, -40], [10.0, 0, 149], [-1e9, 7, 1e9]])
    assert codes().encode(rows).tolist() == [[0, 0, 0], [0, 1, 0], [1, 1, 1], [19, 0, 19], [0, 1, 19]]


def test_every_code_is_decoded_into_its_bin():
    given = np.stack([np.arange(40) % 20, np.arange(40) % 2, np.arange(40) % 20], axis=1)
    values = codes().decode(given, np.random.default_rng(0))
    np.testing.assert_array_equal(codes().encode(values), given)
    assert set(values[:, 1]) == {0.0, 1.0}
    assert len(np.unique(values[:, 0])) == 40


def test_rows_matter_only_through_their_codes(monkeypatch):
    """Two tables with the same codes ask for the same: nothing else reaches the generator."""
    asked = []

    def answer(command, **_):
        folder = Path(command[-1])
        asked.append((np.load(folder / "codes.npy").tolist(), (folder / "request.json").read_text()))
        np.save(folder / "synthetic.npy", np.load(folder / "codes.npy"))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(estimator, "why_missing", lambda: "")
    monkeypatch.setattr(estimator, "subprocess", SimpleNamespace(run=answer, PIPE=subprocess.PIPE))
    rows = np.random.default_rng(0).uniform(0, 1, (200, 2))
    cells = np.floor(rows * 4) / 4
    for table in (rows, cells):
        model = SyntheticKMeans(3, bounds=(0, 1), n_bins=4, random_state=0).fit(table)
        assert model.cluster_centers_.shape == (3, 2)
    assert asked[0] == asked[1]
    assert json.loads(asked[0][1]) == {
        "generator": "mst", "epsilon": 1.0, "delta": 1e-7, "n_codes": [4, 4], "seed": 0
    }  # fmt: skip


def test_without_the_environment_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "make synthetic" in why_missing()
    assert ALGORITHMS["mst"].why_missing() == why_missing()
    with pytest.raises(OSError, match="make synthetic"):
        SyntheticKMeans(2, bounds=(0, 1)).fit(np.zeros((5, 2)))


def test_an_environment_that_cannot_be_made_leaves_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(environment, "PACKAGE", "no-such-package-at-all==0.0")
    monkeypatch.setattr(environment, "_run", fails_to_install)
    with pytest.raises(subprocess.CalledProcessError):
        environment.make_environment()
    assert why_missing()
    assert not list(tmp_path.rglob("*"))


def fails_to_install(*command):
    if "pip" in command:
        raise subprocess.CalledProcessError(1, command)
    return "True"


def test_no_python_is_old_enough(monkeypatch):
    monkeypatch.setattr(environment, "_run", lambda *command: "False")
    with pytest.raises(OSError, match=r"3\.10 or 3\.11"):
        environment._old_python()


@pytest.mark.slow
@pytest.mark.parametrize("key", ["mst", "aim"])
def test_centres_are_near_to_the_groups(needs_environment, blobs, middles, key):
    model = ALGORITHMS[key].make({"epsilon": 2.0, "bounds": (-100, 100), "n_clusters": 4, "random_state": 0}).fit(blobs)
    distance = np.linalg.norm(middles[:, None] - model.cluster_centers_, axis=2).min(axis=1)
    assert distance.max() < 15


SPENT = """
import json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import generate
from dpmm.models import aim, mst
from dpmm.models.base.mechanisms import cdp_rho, mechanism
spent = []
def noise(sigma, size=None):
    spent.append(0.5 / sigma**2)
    return np.random.default_rng(0).normal(0.0, sigma, size)
def paid(select):
    def choose(self, scores, epsilon, *rest, **named):
        spent.append(epsilon**2 / 8)
        return select(self, scores, epsilon, *rest, **named)
    return choose
aim.gaussian_noise = mechanism.gaussian_noise = noise
aim.AIM.exponential_mechanism = paid(aim.AIM.exponential_mechanism)
mst.MST.exponential_mechanism = paid(mst.MST.exponential_mechanism)
request = {"generator": sys.argv[2], "epsilon": 0.7, "delta": 1e-6, "n_codes": [8] * 4, "seed": 0}
generate.generate(np.random.default_rng(0).integers(0, 8, (3000, 4)), request)
print(json.dumps([sum(spent), cdp_rho(0.7, 1e-6)]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("key", "least"), [("mst", 0.9), ("aim", 0.999)])
def test_what_dpmm_draws_costs_no_more_than_its_rho(needs_environment, key, least):
    """For rows added or removed: every marginal has sensitivity 1, every score of a selection has, too."""
    command = [str(environment.environment_python()), "-I", "-W", "ignore", "-c", SPENT]
    folder = str(Path(generate.__file__).parent)
    done = subprocess.run([*command, folder, key], capture_output=True, text=True, check=True)
    spent, rho = json.loads(done.stdout.splitlines()[-1])
    assert least * rho < spent <= rho * (1 + 1e-9)


@pytest.mark.slow
def test_the_laboratory_never_imports_dpmm():
    code = "import dpmondrian_lab.peers.synthetic.estimator, dpmondrian_lab.peers.synthetic.generate, sys; assert 'dpmm' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
