"""What is audited, and on which tables: our variants, our versions of the peers, and algorithms as published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.privacy import Plan
from dpmondrian.schema import Category, Column, Schema
from dpmondrian_lab.audit.neighbours import Pair
from dpmondrian_lab.audit.plans import largest_plan
from dpmondrian_lab.audit.published import averaged_gaps_pair
from dpmondrian_lab.peers.registry import ALGORITHMS, Algorithm

__all__ = [
    "DELTA",
    "EPSILON",
    "MIXED",
    "SCHEMAS",
    "SUBJECTS",
    "TWO_COLUMNS",
    "GamePair",
    "Subject",
    "game_pairs",
    "whole_run_pairs",
]

EPSILON, DELTA = 1.0, 1e-6
"""What all subjects claim; those without a delta claim 0."""

TWO_COLUMNS, MIXED = "2 columns", "5 columns, a category"
SCHEMAS: Mapping[str, Schema] = {
    TWO_COLUMNS: Schema((Column("x", 0.0, 1.0), Column("y", 0.0, 1.0))),
    MIXED: Schema((*(Column(name, 0.0, 1.0) for name in "uvwxy"), Category("z", ("a", "b", "c")))),
}
"""On few columns DPM counts rows in grids; on more, along lines, and it adds up categories."""


@dataclass(frozen=True)
class Subject:
    """An algorithm under audit.

    Attributes
    ----------
    algorithm : Algorithm
    effort : float
        Part of the usual number of runs, less where a run takes long.
    """

    algorithm: Algorithm
    effort: float = 1.0

    @property
    def key(self) -> str:
        """Key of the algorithm."""
        return self.algorithm.key

    @property
    def name(self) -> str:
        """Name of the algorithm."""
        return self.algorithm.name

    @property
    def kind(self) -> str:
        """Whether it is ours, a peer, or published by others."""
        return self.algorithm.kind

    @property
    def sound(self) -> bool:
        """Whether the claim must hold."""
        return self.algorithm.sound

    @property
    def delta(self) -> float:
        """What it claims besides `EPSILON`: 0 if it promises pure epsilon."""
        return 0.0 if self.key in _PURE else DELTA

    @property
    def schemas(self) -> list[str]:
        """Names of the schemas on which its draws differ, of those in `SCHEMAS` that it can use."""
        is_default = self.kind == "ours" and self.algorithm.fixed.get("variant") != "paper"
        return [TWO_COLUMNS, MIXED] if is_default else [TWO_COLUMNS]

    def plan(self, columns: str, **parameters: Any) -> Plan:
        """Return the plan of a run, of a variant of DPM, that makes every draw it may make on such columns."""
        schema = SCHEMAS[columns]
        return largest_plan(self.estimator(schema, **parameters), len(schema.centre_columns), bool(schema.categories))

    def estimator(self, bounds: Any, **parameters: Any) -> Any:
        """Return a new estimator that claims `EPSILON` if nothing else is said; parameters it does not know are left out."""
        given = {"epsilon": EPSILON, "delta": self.delta, "n_clusters": 2, "expected_rows": 1000, "max_depth": 2}
        return self.algorithm.make({**given, "bounds": bounds, **parameters})


_PURE = ("dpm_pure", "dp_lloyd", "noisy_grid", "dp_lloyd_published")
_EFFORTS = {
    "dpm": 1.0,
    "dpm_k": 1.0,
    "dpm_pure": 1.0,
    "dpm_zcdp": 1.0,
    "dpm_paper": 1.0,
    "dp_lloyd": 1.0,
    "fast_lloyd": 1.0,
    "noisy_grid": 1.0,
    "lsh_splits": 0.15,
    "em_mc": 0.15,
    "pe_means": 0.05,
    "dpm_published": 1.0,
    "dp_lloyd_published": 1.0,
    "em_mc_published": 0.15,
}

SUBJECTS: Mapping[str, Subject] = {key: Subject(ALGORITHMS[key], effort) for key, effort in _EFFORTS.items()}
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
