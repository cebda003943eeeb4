"""Data sets for examples and benchmarks: made here, or read from local copies of public files.

>>> from dpmondrian.datasets import get
>>> get("synth_10d").n_rows
100000
"""

from dpmondrian.datasets.data_set import DataSet
from dpmondrian.datasets.download import fetch
from dpmondrian.datasets.files import DatasetError, DatasetNotFoundError
from dpmondrian.datasets.references import reference_centres
from dpmondrian.datasets.registry import DATA_SETS, blob_data_set, get

__all__ = [
    "DATA_SETS",
    "DataSet",
    "DatasetError",
    "DatasetNotFoundError",
    "blob_data_set",
    "fetch",
    "get",
    "reference_centres",
]
