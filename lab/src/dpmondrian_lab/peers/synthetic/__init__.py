"""Synthetic data, then KMeans: what one would do with a package of the shelf.

The package runs in an environment of its own (`environment`) and is never imported here; rows and results go through files.
"""

from dpmondrian_lab.peers.synthetic.environment import why_missing
from dpmondrian_lab.peers.synthetic.estimator import SyntheticKMeans, synthetic_rows

__all__ = ["SyntheticKMeans", "synthetic_rows", "why_missing"]
