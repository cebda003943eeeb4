"""What is guaranteed about counts and cuts: the paper's utility bounds, corrected, with the constants of the code.

The paper (section on utility) bounds the noisy count, the score of the chosen cut, and how central it is. Three things differ
here. There is no offset lambda, so none of its terms. A selection pays for the range of the score, not for twice its largest
change, and its bound is divided by epsilon, which the paper's corollary leaves out. And the bound on central cuts follows
from the score itself, where the paper's lemma needs a ratio of weights that it states for the complement.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from dpmondrian.common.checks import check_integer, is_number
from dpmondrian.dpm import COUNT
from dpmondrian.dpm.scores import STEPS, Score, ValleyScore, centreness
from dpmondrian.exceptions import ParameterError
from dpmondrian.planning.design import Design

__all__ = ["BETA", "GoodCut", "central_cut", "count_bound", "cut_bound"]

BETA = 0.05
"""Probability with which a bound may fail, unless another is asked for."""


@dataclass(frozen=True)
class GoodCut:
    """A cut that is there to be found, in rows of its node.

    Attributes
    ----------
    peak : float
        Rows in the fullest window beside the cut's, on the side where that is lower.
    smaller_side : float
        Rows on the smaller side of the cut.
    valley : float
        Rows in the window of the cut itself.
    """

    peak: float
    smaller_side: float
    valley: float = 0.0

    def __post_init__(self) -> None:
        values = (self.peak, self.smaller_side, self.valley)
        if not all(is_number(value) and value >= 0 for value in values) or self.peak > self.smaller_side:
            raise ParameterError(
                "A good cut must have row counts >= 0, and no more rows in its peak than on its smaller side.",
                got=f"{values!r} (peak, smaller side, valley)",
            )


def count_bound(design: Design, level: int = 0, beta: float = BETA, n_counts: int = 1) -> float:
    """Return the rows by which noisy counts of a level differ from the true ones at most.

    **Guarantee.** With probability at least 1 - beta each of `n_counts` noisy counts of the level, as drawn, differs from the
    number of rows that it counts by no more than this. For discrete Gaussian noise of scale s it is ``s * sqrt(2 *
    ln(2 * n_counts / beta))``, since that noise is s-subgaussian. For discrete Laplace noise it is the least whole number that
    the law of the noise allows, about ``s * ln(n_counts / beta)``. It does not depend on the data.

    Parameters
    ----------
    design : Design
    level : int, default=0
        0 for all rows; i for both sides of the cuts that are chosen i-th.
    beta : float, default=0.05
    n_counts : int, default=1
        How many counts must all be near: the bound is over all of them together.
    """
    level = check_integer("level", level, 0, design.settings.max_depth, "Level 0 is the total number of rows.")
    n_counts = check_integer("n_counts", n_counts, 1, None, "One is a single count.")
    each = _checked_beta(beta) / n_counts
    scale = design.plan.find(COUNT, level).multiplier * design.settings.rows_per_person
    if design.is_gaussian:
        return scale * math.sqrt(2.0 * math.log(2.0 / each))
    beyond = math.log(2.0 / (each * (1.0 + math.exp(-1.0 / scale))))  # P[|X| >= x] = 2 exp(-x/s) / (1 + exp(-1/s))
    return float(max(0, math.ceil(scale * beyond) - 1))


def cut_bound(design: Design, level: int = 0, beta: float = BETA) -> float:
    """Return by how many rows the score of the chosen cut is behind the best one at most.

    **Guarantee.** With probability at least 1 - beta the cut that a node of this level chooses has a score of at least that of
    its best cut less this: ``s * (ln N + ln(1 / beta))`` with the scale s of the selection in rows (its planned multiplier
    times the score's range) and N candidates. The exponential mechanism takes a cut that is x behind with at most
    ``exp(-x / s)`` times the probability of the best, and there are fewer than N. Permute-and-flip (without delta) takes
    it only if a coin of probability ``exp(-x / s)`` shows heads. N is the number of the first node's candidates, of which no
    later node has more. A row of the score is a row in the peak of a valley; with `n_clusters`, a row of centreness.

    Parameters
    ----------
    design : Design
    level : int, default=0
        0 for the first cut, up to ``max_depth - 1``.
    beta : float, default=0.05
    """
    if not design.has_cuts:
        raise ParameterError(
            "This run makes no cuts, so there is no bound for them: 'max_depth' is 0, or no column can be cut.",
            "Increase 'max_depth', or add a numeric column.",
        )
    level = check_integer("level", level, 0, design.settings.max_depth - 1, "Level 0 is the first cut.")
    return design.split_scale(level) * (math.log(design.n_candidates) - math.log(_checked_beta(beta)))


def central_cut(
    design: Design, best: GoodCut, level: int = 0, beta: float = BETA, node_rows: float | None = None
) -> float:
    """Return the rows that lie on the smaller side of the chosen cut at least, if there is a cut as good as `best`.

    **Guarantee.** With probability at least 1 - beta, whatever else the node holds; 0 where nothing is guaranteed. With
    kappa the `cut_bound`:

    - Valleys (without `n_clusters`). The score of a cut with m rows on its smaller side is at most ``(1 + g * t / q) * m``,
      because no peak holds more than the smaller side, and centreness is at most ``g * t / q`` per row. So m is
      at least ``(peak - 1.5 * valley - kappa) / (1 + g * t / q)``.
    - Emptiness (with `n_clusters`). No window is emptier than empty, so the centreness of the chosen cut is at least that
      of `best` less ``alpha * valley + kappa``, and m is the least number of rows with that centreness.

    Parameters
    ----------
    design : Design
    best : GoodCut
        Of its score, valleys take the peak and the valley into account, emptiness the valley and the smaller side.
    level, beta
        As in `cut_bound`.
    node_rows : float, optional
        The released size of the node; None: that of an even tree. Valleys do not need it.
    """
    kappa, settings = cut_bound(design, level, beta), design.settings
    if settings.finds_k:
        lowest, highest = ValleyScore(settings.t, settings.q).change
        return max(0.0, (STEPS * (best.peak - kappa) + lowest * best.valley) / highest)
    assert settings.alpha is not None
    size = max(1, round(design.n_rows / 2.0**level if node_rows is None else node_rows))

    def worth(side: int) -> int:
        return int(centreness(np.array([side]), size, settings.t, settings.q)[0])

    weight = -Score(settings.t, settings.q, settings.alpha).change[0]
    needed = worth(math.floor(best.smaller_side)) - weight * best.valley - STEPS * kappa
    return float(bisect_left(range(size), needed, key=worth))


def _checked_beta(beta: float) -> float:
    if not is_number(beta) or not 0.0 < beta < 1.0:
        raise ParameterError(
            parameter="beta",
            rule="must be a number between 0 and 1",
            value=beta,
            way_out="It is the probability with which the bound may fail, such as 0.05.",
        )
    return float(beta)
