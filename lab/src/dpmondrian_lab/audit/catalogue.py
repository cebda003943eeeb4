"""What is audited, and on which tables: our variants, our versions of the peers, and algorithms as published."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.estimator import DPM
from dpmondrian_lab.audit.neighbours import Pair
from dpmondrian_lab.audit.published import PublishedDPM, averaged_gaps_pair
from dpmondrian_lab.peers import EMMC, DPLloyd, FastLloyd, LSHSplits, PEMeans

__all__ = ["DELTA", "EPSILON", "SUBJECTS", "GamePair", "Subject", "game_pairs", "whole_run_pairs"]

EPSILON, DELTA = 1.0, 1e-6
"""What all subjects claim; those without a delta claim 0."""


@dataclass(frozen=True)
class Subject:
    """An algorithm under audit.

    Attributes
    ----------
    key, name : str
    kind : {"ours", "peer", "published"}
        A peer is our version of somebody else's algorithm. Published ones are as their authors wrote them.
    make : callable
        From parameters, always with `bounds`, to an estimator.
    delta : float
    effort : float
        Part of the usual number of runs, less where a run takes long.
    """

    key: str
    name: str
    kind: str
    make: Callable[..., Any] = field(repr=False)
    delta: float = DELTA
    effort: float = 1.0

    @property
    def sound(self) -> bool:
        """Whether the claim must hold."""
        return self.kind != "published"

    def estimator(self, bounds: Any, **parameters: Any) -> Any:
        """Return a new estimator that claims `EPSILON` if nothing else is said; parameters it does not know are left out."""
        given = {"epsilon": EPSILON, "delta": self.delta, "n_clusters": 2, "expected_rows": 1000, "max_depth": 2}
        given |= {"bounds": bounds, **parameters}
        return self.make(**{name: value for name, value in given.items() if name in _open_parameters(self.make)})


def _open_parameters(make: Any) -> set[str]:
    """Return the parameters that an estimator takes and that are not fixed yet."""
    if isinstance(make, partial):
        return _open_parameters(make.func) - set(make.keywords)
    return set(make._get_param_names())


_FINDS_K = partial(DPM, n_clusters=None)

SUBJECTS: Mapping[str, Subject] = {
    subject.key: subject
    for subject in (
        Subject("dpm", "DPM", "ours", _FINDS_K),
        Subject("dpm_k", "DPM, k given", "ours", DPM),
        Subject("dpm_pure", "DPM, pure epsilon", "ours", _FINDS_K, delta=0.0),
        Subject("dpm_pld", "DPM, accountant pld", "ours", partial(_FINDS_K, accountant="pld"), effort=0.15),
        Subject("dpm_paper", "DPM, variant paper", "ours", partial(_FINDS_K, variant="paper")),
        Subject("dp_lloyd", "DP-Lloyd", "peer", DPLloyd, delta=0.0),
        Subject("fast_lloyd", "FastLloyd", "peer", FastLloyd),
        Subject("lsh_splits", "LSH-Splits", "peer", LSHSplits, effort=0.15),
        Subject("em_mc", "EM-MC", "peer", EMMC, effort=0.15),
        Subject("pe_means", "PE-means", "peer", PEMeans, effort=0.05),
        Subject("dpm_published", "DPM as published", "published", PublishedDPM),
        Subject(
            "dp_lloyd_published",
            "DP-Lloyd as published",
            "published",
            partial(DPLloyd, variant="as_published"),
            delta=0.0,
        ),
        Subject(
            "em_mc_published", "EM-MC as published", "published", partial(EMMC, variant="as_published"), effort=0.15
        ),
    )
}
"""All subjects, ours first."""


@dataclass(frozen=True)
class GamePair:
    """Two neighbouring tables on bounds (0, 1), and the number of clusters that is asked for."""

    pair: Pair
    n_clusters: int = 2
    bounds: tuple[float, float] = (0.0, 1.0)

    @property
    def name(self) -> str:
        """Name of the pair."""
        return self.pair.name


def game_pairs() -> list[GamePair]:
    """Return the pairs of tables on which membership games are played.

    - alternating gaps: the interval size of the published DPM changes completely;
    - no row and one row: an empty group that is treated otherwise gives itself away;
    - a row beyond the bounds: gives itself away unless it is clipped;
    - a row between two crowds: changes what looks like a valley.
    """
    crowds = _two_crowds(100)
    return [
        GamePair(averaged_gaps_pair()),
        GamePair(Pair("no row and one row", np.empty((0, 2)), np.array([[1.0, 1.0]])), n_clusters=1),
        GamePair(Pair("a row beyond the bounds", crowds, np.vstack([crowds, [[1e6, 1e6]]]))),
        GamePair(Pair("a row between two crowds", crowds, np.vstack([crowds, [[0.5, 0.5]]]))),
    ]


def whole_run_pairs() -> list[Pair]:
    """Return pairs of which one row moves many draws of a run by much: trees of many levels, and a row far from all centres."""
    few, many = _lattice_of_crowds(4, 3000, 0.015), _lattice_of_crowds(8, 1000, 0.008)
    return [
        Pair("16 crowds, a row in the middle", few, np.vstack([few, [[0.5, 0.5]]])),
        Pair("64 crowds, a row in the corner", many, np.vstack([many, [[1.0, 1.0]]])),
    ]


def _lattice_of_crowds(per_side: int, rows_per_crowd: int, deviation: float) -> NDArray[np.float64]:
    generator = np.random.default_rng(0)
    places = np.linspace(0.06, 0.94, per_side)
    crowds = [generator.normal((x, y), deviation, (rows_per_crowd, 2)) for x in places for y in places]
    return np.clip(np.concatenate(crowds), 0.0, 1.0)


def _two_crowds(rows_per_crowd: int) -> NDArray[np.float64]:
    generator = np.random.default_rng(0)
    crowds = [generator.normal(middle, 0.04, (rows_per_crowd, 2)) for middle in (0.25, 0.75)]
    return np.clip(np.concatenate(crowds), 0.0, 1.0)
