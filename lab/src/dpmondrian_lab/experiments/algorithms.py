"""The algorithms of the evaluation by key. To add one, add one entry to `ALGORITHMS`.

Estimators are imported when one is made, so that listing the algorithms costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from dpmondrian_lab.datasets.registry import DataSet

__all__ = ["ALGORITHMS", "Algorithm"]

Make: TypeAlias = "Callable[[DataSet, float, float, int | None, Mapping[str, Any]], Any]"


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the evaluation.

    Attributes
    ----------
    key : str
        For programs, files and the command line.
    name : str
        For tables and pictures, which take it from `reporting.names`.
    make : callable
        From data set, epsilon, delta, seed (None: secure noise) and further parameters to an estimator with ``fit``
        and ``cluster_centers_``.
    private : bool
        False for the line that private algorithms are compared with; it is run once, not for every epsilon.
    sound : bool
        Whether it holds the epsilon it is given. The published variants do not, so they cannot be the best.
    slow : bool
        A fit takes half a minute and more: fewer repetitions.
    left_out_on : tuple of str
        Data sets on which it takes too long; the page of results says how long.
    """

    key: str
    name: str
    make: Make = field(repr=False)
    private: bool = True
    sound: bool = True
    slow: bool = False
    left_out_on: tuple[str, ...] = ()

    @property
    def competes(self) -> bool:
        """Whether it may be called the best private algorithm."""
        return self.private and self.sound


def _kmeans(data_set: DataSet, _epsilon: float, _delta: float, seed: int | None, parameters: Mapping[str, Any]) -> Any:
    from dpmondrian_lab.peers import KMeans

    return KMeans(data_set.n_clusters, random_state=seed, **parameters)


def _dpm(knows_k: bool = False, **fixed: Any) -> Make:
    def make(data_set: DataSet, epsilon: float, delta: float, seed: int | None, parameters: Mapping[str, Any]) -> Any:
        from dpmondrian.estimator import DPM

        known = {"n_clusters": data_set.n_clusters} if knows_k else {}
        return DPM(
            epsilon=epsilon, delta=delta, bounds=data_set.bounds, random_state=seed, **{**known, **fixed, **parameters}
        )

    return make


def _peer(class_name: str, pure: bool = False, **fixed: Any) -> Make:
    def make(data_set: DataSet, epsilon: float, delta: float, seed: int | None, parameters: Mapping[str, Any]) -> Any:
        given = {"expected_rows": data_set.n_rows, "random_state": seed, **fixed, **parameters}
        if not pure:
            given["delta"] = delta
        peer = getattr(import_module("dpmondrian_lab.peers"), class_name)
        return peer(data_set.n_clusters, epsilon, bounds=data_set.bounds, **given)

    return make


_PUBLISHED: dict[str, Any] = {"variant": "as_published"}

ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        algorithm.key: algorithm
        for algorithm in (
            Algorithm("kmeans", "KMeans", _kmeans, private=False),
            Algorithm("dp_lloyd", "DP-Lloyd", _peer("DPLloyd", pure=True)),
            Algorithm(
                "dp_lloyd_published", "DP-Lloyd, as published", _peer("DPLloyd", pure=True, **_PUBLISHED), sound=False
            ),
            Algorithm("em_mc", "EM-MC", _peer("EMMC")),
            Algorithm("em_mc_published", "EM-MC, as published", _peer("EMMC", **_PUBLISHED), sound=False),
            Algorithm("lsh_splits", "LSH-Splits", _peer("LSHSplits")),
            Algorithm(
                "lsh_splits_published", "LSH-Splits, as published", _peer("LSHSplits", **_PUBLISHED), sound=False
            ),
            Algorithm("fast_lloyd", "FastLloyd", _peer("FastLloyd")),
            Algorithm("pe_means", "PE-means", _peer("PEMeans"), slow=True, left_out_on=("synth_100d",)),
            Algorithm("dpm_paper", "DPM, paper's variant", _dpm(variant="paper")),
            Algorithm("dpm", "DPM", _dpm()),
            Algorithm("dpm_k", "DPM, k given", _dpm(knows_k=True)),
        )
    }
)
"""In the order of tables and pictures: what is not private first, ours last."""
