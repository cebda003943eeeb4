"""How good a cut is: emptiness and centreness, each beside the interval in which one row can move it.

Scores are whole numbers of *score steps*: a score of the paper times the node's noisy count times
`STEPS`. So they are exact, and what one row can change does not depend on the node.
"""

from __future__ import annotations

from dpmondrian.dpm.scores.centreness import centreness, centreness_slopes
from dpmondrian.dpm.scores.combine import Score
from dpmondrian.dpm.scores.steps import STEPS
from dpmondrian.dpm.scores.valley import ValleyScore, window_widths

__all__ = ["STEPS", "Score", "ValleyScore", "centreness", "centreness_slopes", "window_widths"]
