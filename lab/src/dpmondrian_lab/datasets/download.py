"""Get public data sets into the cache folder, from where `DataSet.load` reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from dpmondrian_lab.datasets import archives
from dpmondrian_lab.datasets.data_set import DataSet
from dpmondrian_lab.datasets.embeddings import RECIPES, require_torch, train
from dpmondrian_lab.datasets.files import Progress, cache_folder, find_file, staging
from dpmondrian_lab.datasets.registry import get
from dpmondrian_lab.datasets.tables import write_table
from dpmondrian_lab.datasets.transfer import download
from dpmondrian_lab.exceptions import DatasetError, DatasetNotFoundError

__all__ = ["IMAGES", "fetch", "fetch_images"]


@dataclass(frozen=True)
class _Source:
    """A file on a public server: its folder there, its path in it, the most bytes it may have, and its SHA-256."""

    base: str
    path: str
    limit: int
    sha256: str = ""

    def download(self, path: Path, base: str | None, progress: Progress | None) -> None:
        download(f"{(base or self.base).rstrip('/')}/{self.path}", path, self.limit, self.sha256, progress)


_UCI = "https://archive.ics.uci.edu/static/public"
_MNIST = "https://ossci-datasets.s3.amazonaws.com"
_FASHION = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data"

# The repository makes its zip files anew now and then, so the content is checked instead of the bytes.
_ARCHIVES: Mapping[str, tuple[_Source, Callable[[Path], Mapping[str, NDArray[Any]]]]] = {
    "uci_letters": (_Source(_UCI, "59/letter+recognition.zip", 8 << 20), archives.letter_columns),
    "uci_gas": (
        _Source(_UCI, "551/gas+turbine+co+and+nox+emission+data+set.zip", 8 << 20),
        archives.gas_columns,
    ),
}

IMAGES: Mapping[str, Mapping[str, _Source]] = {
    "mnist": {
        "mnist/train-images-idx3-ubyte.gz": _Source(
            _MNIST,
            "mnist/train-images-idx3-ubyte.gz",
            9_912_422,
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        ),
        "mnist/train-labels-idx1-ubyte.gz": _Source(
            _MNIST,
            "mnist/train-labels-idx1-ubyte.gz",
            28_881,
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        ),
    },
    "fashion_mnist": {
        "fashion_mnist/train-images-idx3-ubyte.gz": _Source(
            _FASHION,
            "fashion/train-images-idx3-ubyte.gz",
            26_421_880,
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        ),
        "fashion_mnist/train-labels-idx1-ubyte.gz": _Source(
            _FASHION,
            "fashion/train-labels-idx1-ubyte.gz",
            29_515,
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        ),
    },
}
"""The training images and labels, by folder and by file in the folders of the data."""


def fetch(key: str, progress: Progress | None = None, base: str | None = None) -> DataSet:
    """Get what a data set needs, and return the data set, ready to be loaded.

    Tables of the UCI repository are downloaded and converted. For embeddings the images are downloaded and the network
    is trained, which needs torch and takes about a quarter of an hour on one core. What is there is not fetched again.

    Parameters
    ----------
    key : str
        See `registry.get`.
    progress : callable, optional
        See `files.Progress`.
    base : str, optional
        Another server with the same paths, instead of the public ones.
    """
    data_set = get(key)
    if _is_complete(data_set):
        return data_set
    if data_set.source == "trained":
        require_torch()
        fetch_images(RECIPES[key].images, progress, base)
        train(key, progress)
    else:
        _fetch_archive(data_set, progress, base)
    return data_set


def fetch_images(folder: str, progress: Progress | None = None, base: str | None = None) -> None:
    """Download the training images and labels of "mnist" or "fashion_mnist", unless they are there."""
    for name, source in IMAGES[folder].items():
        try:
            find_file(name)
        except DatasetNotFoundError:
            with staging() as unfinished:
                source.download(unfinished / "file", base, progress)
                (cache_folder() / folder).mkdir(exist_ok=True)
                os.replace(unfinished / "file", cache_folder() / name)


def _is_complete(data_set: DataSet) -> bool:
    """Return whether the data set can be loaded; a damaged file counts as missing if it lies in the cache folder."""
    try:
        data_set.load()
    except DatasetNotFoundError:
        return False
    except DatasetError:
        if find_file(data_set.file) != cache_folder() / data_set.file:
            raise
        return False
    return True


def _fetch_archive(data_set: DataSet, progress: Progress | None, base: str | None) -> None:
    """Download, convert and check in a folder that is thrown away, then move the result into its place."""
    if data_set.key not in _ARCHIVES:
        raise DatasetError(f"It is not known where to get the data set {data_set.key}: {data_set.facts}")
    source, columns = _ARCHIVES[data_set.key]
    with staging() as unfinished:
        archive, table = unfinished / source.path.rpartition("/")[2], unfinished / data_set.file
        source.download(archive, base, progress)
        write_table(columns(archive), table)
        data_set.read_checked(table)
        os.replace(table, cache_folder() / data_set.file)
