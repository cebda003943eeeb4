"""Counts that add up: the least-squares fit of all noisy counts along the tree. Post-processing, free.

Hay, Rastogi, Miklau and Suciu (2010), with a variance of its own for every level. A rejected cut has
left two counts behind; their sum is another look at the node.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.tree.grower import GrownTree

__all__ = ["consistent_counts"]


def consistent_counts(
    tree: GrownTree, variance: Callable[[int], float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the fitted count of every node and a standard error for it.

    Parameters
    ----------
    tree : GrownTree
    variance : callable
        Noise variance of the counts of a level (public).

    Notes
    -----
    Upwards, each node's own count is averaged with those of its rejected cuts and with the sum of its children, by
    inverse variance.
    Downwards, what the children lack to their parent's fit is shared between them by variance. The standard
    error is that of the upward average: the downward step can only improve it.
    """
    upward = [0.0] * len(tree.nodes)
    spread = [0.0] * len(tree.nodes)
    for node in reversed(tree.nodes):
        looks = [(float(node.noisy_count), variance(node.level))]
        looks += [(float(total), 2.0 * variance(level)) for level, total in node.rejected]
        if node.children is not None:
            left, right = node.children
            looks.append((upward[left] + upward[right], spread[left] + spread[right]))
        weight = math.fsum(1.0 / look_variance for _, look_variance in looks)
        upward[node.number] = math.fsum(count / look_variance for count, look_variance in looks) / weight
        spread[node.number] = 1.0 / weight
    fitted = list(upward)
    for node in tree.nodes:
        if node.children is not None:
            left, right = node.children
            lack = fitted[node.number] - fitted[left] - fitted[right]
            part = spread[left] / (spread[left] + spread[right])
            fitted[left] += lack * part
            fitted[right] += lack * (1.0 - part)
    return np.array(fitted), np.sqrt(spread)
