"""The peers of the paper's evaluation and newer ones, under one interface and behind the same door.

`KMeans` is not private. The others need the number of clusters. ``variant="as_published"`` repeats the mistakes of the
published code, to reproduce its numbers; the statement of such a run tells what it really costs.
"""

from dpmondrian.baselines.dp_lloyd import DPLloyd
from dpmondrian.baselines.em_mc import EMMC
from dpmondrian.baselines.fast_lloyd import FastLloyd
from dpmondrian.baselines.kmeans import KMeans
from dpmondrian.baselines.lsh_splits import LSHSplits
from dpmondrian.baselines.pe_means import PEMeans

__all__ = ["EMMC", "DPLloyd", "FastLloyd", "KMeans", "LSHSplits", "PEMeans"]
