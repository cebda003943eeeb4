"""Data sets for examples and benchmarks: made here, or read from local copies of public files.

>>> from dpmondrian_lab.datasets import get
>>> get("synth_10d").n_rows
100000
"""

from dpmondrian_lab.datasets.data_set import DataSet
from dpmondrian_lab.datasets.download import fetch
from dpmondrian_lab.datasets.references import reference_centres
from dpmondrian_lab.datasets.registry import DATA_SETS, blob_data_set, get

__all__ = [
    "DATA_SETS",
    "DataSet",
    "blob_data_set",
    "fetch",
    "get",
    "reference_centres",
]
