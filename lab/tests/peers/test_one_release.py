"""One release, many k: fitted without k, divided afterwards."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from dpmondrian_lab.peers import one_release
from dpmondrian_lab.peers.one_release import OneRelease, why_missing


class EveryK:
    """A DPM that answers every k."""

    given: dict

    def __init__(self, **given):
        EveryK.given = given

    def fit(self, rows):
        return self

    def clusters(self, k):
        return SimpleNamespace(centres=np.zeros((k, 2)))


def test_k_is_asked_for_after_the_release(monkeypatch):
    monkeypatch.setattr(one_release, "DPM", EveryK)
    assert why_missing() == ""
    model = OneRelease(7, 0.5, 1e-6, (0, 1), random_state=3).fit(np.zeros((9, 2)))
    assert model.cluster_centers_.shape == (7, 2)
    assert EveryK.given == {"epsilon": 0.5, "delta": 1e-6, "bounds": (0, 1), "random_state": 3}


def test_a_dpm_without_it_is_told(monkeypatch):
    monkeypatch.setattr(one_release, "DPM", object)
    assert why_missing().startswith("This DPM has no clusters(k)")
