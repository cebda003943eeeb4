"""How good a cut is: emptiness and centreness, each beside the interval in which one row can move it.

Scores are whole numbers of *score steps*: a score of the paper times the node's noisy count times
`STEPS`. So they are exact, and what one row can change does not depend on the node.
"""

from __future__ import annotations

from dpmondrian.dpm.scores.combine import STEPS, Score, centreness, centreness_slopes
from dpmondrian.dpm.scores.variance import VarianceScore

__all__ = ["STEPS", "Score", "VarianceScore", "centreness", "centreness_slopes"]
