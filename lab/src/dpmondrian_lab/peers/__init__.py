"""The peers of the paper's evaluation and newer ones, under one interface and behind the same door.

`KMeans` is not private. The others need the number of clusters. ``variant="as_published"`` repeats the mistakes of the
published code, to reproduce its numbers; the statement of such a run tells what it really costs.
"""

from dpmondrian_lab.peers.dp_lloyd import DPLloyd
from dpmondrian_lab.peers.em_mc import EMMC
from dpmondrian_lab.peers.fast_lloyd import FastLloyd
from dpmondrian_lab.peers.kmeans import KMeans
from dpmondrian_lab.peers.lsh_splits import LSHSplits
from dpmondrian_lab.peers.noisy_grid import NoisyGrid
from dpmondrian_lab.peers.pe_means import PEMeans

__all__ = ["EMMC", "DPLloyd", "FastLloyd", "KMeans", "LSHSplits", "NoisyGrid", "PEMeans"]
