"""All algorithms of the laboratory by key: ours, the peers, and code as it was published. To add one, add one entry to `ALGORITHMS`.

Evaluation, audit, pages and commands take keys, names and estimators from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any

__all__ = ["ALGORITHMS", "EVALUATED", "Algorithm"]

_DPM, _PEERS = "dpmondrian.estimator", "dpmondrian_lab.peers"


@dataclass(frozen=True)
class Algorithm:
    """An algorithm.

    Attributes
    ----------
    key : str
        For programs, files and the command line.
    name : str
        For tables and pictures.
    kind : {"ours", "peer", "foreign", "published", "not private"}
        A peer is our version of somebody else's algorithm. A foreign one is somebody else's code, whose promise was read and found
        right, but not proved here. Published ones are as their authors wrote them, mistakes included.
    estimator : str
        Module and class, which is imported when one is made.
    fixed : mapping
        Parameters that make the variant.
    evaluated : bool
        Whether it is part of the paper's evaluation.
    slow : bool
        A fit takes half a minute and more: fewer repetitions.
    left_out_on : tuple of str
        Data sets on which it takes too long; the page of results says how long.
    most_columns : int or None
        It is for tables of at most so many columns; None: any number.
    needs : str
        Module and function that says, as a sentence, why it cannot run here; empty if it always can.
    """

    key: str
    name: str
    kind: str
    estimator: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    evaluated: bool = True
    slow: bool = False
    left_out_on: tuple[str, ...] = ()
    most_columns: int | None = None
    needs: str = ""

    @property
    def private(self) -> bool:
        """False for what private algorithms are compared with; it is run once, not for every epsilon."""
        return self.kind != "not private"

    @property
    def sound(self) -> bool:
        """Whether it holds the epsilon that it is given. The published ones do not, so they cannot be the best."""
        return self.kind != "published"

    @property
    def competes(self) -> bool:
        """Whether it may be called the best private algorithm."""
        return self.private and self.sound

    def why_missing(self) -> str:
        """Return why it cannot run here, as a sentence; empty if it can."""
        return str(_named(self.needs)()) if self.needs else ""

    def make(self, facts: Mapping[str, Any], parameters: Mapping[str, Any] | None = None) -> Any:
        """Return a new estimator, with ``fit`` and ``cluster_centers_``.

        Parameters
        ----------
        facts : mapping
            What is known: budget, bounds, number of clusters and rows, seed. It gets those that it takes and that are not fixed.
        parameters : mapping, optional
            Parameters of its own; a wrong one is an error.
        """
        estimator = _named(self.estimator)
        taken = set(estimator._get_param_names())
        known = {fact: value for fact, value in facts.items() if fact in taken}
        return estimator(**{**known, **self.fixed, **(parameters or {})})


def _named(text: str) -> Any:
    """Return what a text such as "module:name" names."""
    module, _, name = text.partition(":")
    return getattr(import_module(module), name)


def _peer(key: str, name: str, estimator: str, **more: Any) -> Algorithm:
    return Algorithm(key, name, "peer", f"{_PEERS}:{estimator}", **more)


def _published(key: str, name: str, estimator: str) -> Algorithm:
    fixed = {"variant": "as_published"}
    return Algorithm(key, f"{name}, as published", "published", f"{_PEERS}:{estimator}", fixed)


def _dpm(key: str, name: str, evaluated: bool = True, **fixed: Any) -> Algorithm:
    return Algorithm(key, name, "ours", f"{_DPM}:DPM", fixed, evaluated)


def _synthetic(key: str, **fixed: Any) -> Algorithm:
    module = f"{_PEERS}.synthetic"
    return Algorithm(
        key,
        f"{key.upper()} + KMeans",
        "foreign",
        f"{module}:SyntheticKMeans",
        {"generator": key, **fixed},
        evaluated=False,
        slow=True,
        needs=f"{module}:why_missing",
    )


_FINDS_K: dict[str, Any] = {"n_clusters": None}

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        algorithm.key: algorithm
        for algorithm in (
            Algorithm("kmeans", "KMeans", "not private", f"{_PEERS}:KMeans"),
            Algorithm(
                "kmeans_10", "KMeans, best of 10", "not private", f"{_PEERS}.kmeans:ScaledKMeans", evaluated=False
            ),
            _peer("dp_lloyd", "DP-Lloyd", "DPLloyd"),
            _published("dp_lloyd_published", "DP-Lloyd", "DPLloyd"),
            _peer("em_mc", "EM-MC", "EMMC"),
            _published("em_mc_published", "EM-MC", "EMMC"),
            _peer("lsh_splits", "LSH-Splits", "LSHSplits"),
            _published("lsh_splits_published", "LSH-Splits", "LSHSplits"),
            _peer("fast_lloyd", "FastLloyd", "FastLloyd"),
            _peer("pe_means", "PE-means", "PEMeans", slow=True, left_out_on=("synth_100d",)),
            _peer("noisy_grid", "Noisy grid", "NoisyGrid", evaluated=False, most_columns=3),
            _synthetic("mst"),
            _synthetic("aim", n_bins=32),
            Algorithm(
                "dpm_published",
                "DPM, as published",
                "published",
                "dpmondrian_lab.audit.published:PublishedDPM",
                evaluated=False,
            ),
            _dpm("dpm_paper", "DPM, paper's variant", variant="paper", **_FINDS_K),
            _dpm("dpm", "DPM", **_FINDS_K),
            Algorithm(
                "dpm_release",
                "DPM, one release",
                "ours",
                f"{_PEERS}.one_release:OneRelease",
                evaluated=False,
                needs=f"{_PEERS}.one_release:why_missing",
            ),
            _dpm("dpm_k", "DPM, k given"),
            _dpm("dpm_pure", "DPM, pure epsilon", evaluated=False, delta=0.0, **_FINDS_K),
            _dpm("dpm_zcdp", "DPM, accountant zcdp", evaluated=False, accountant="zcdp", **_FINDS_K),
        )
    }
)
"""In the order of tables and pictures: what is not private first, ours last."""

EVALUATED: Mapping[str, Algorithm] = MappingProxyType(
    {key: algorithm for key, algorithm in ALGORITHMS.items() if algorithm.evaluated}
)
"""Those of the paper's evaluation."""
