"""How good a cut is: emptiness and centreness, each beside the interval in which one row can move it.

Scores are whole numbers of *score steps*: a score of the paper times the node's noisy count times
`STEPS`. So they are exact, and what one row can change does not depend on the node.
"""

STEPS = 2**16

__all__ = ["STEPS"]
