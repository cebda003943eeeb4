"""The data sets of the paper's evaluation, blobs and shapes of any size, and those of two folders (`folders`), by key.

To add a data set, write a function that returns its rows (n, d) and its classes (n,), or None instead of classes, and
add one entry to `DATA_SETS`. Leave the checksum empty at first; `DataSet.content_checksum` says what to put there.
Experiments, reference centres and tables go by the entry and need no change.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

import numpy as np

from dpmondrian.schema import Column, Schema
from dpmondrian_lab.datasets import shapes, tables
from dpmondrian_lab.datasets.blobs import blobs
from dpmondrian_lab.datasets.data_set import DataSet, Rows
from dpmondrian_lab.datasets.folders import folder_data_set
from dpmondrian_lab.exceptions import DatasetError

__all__ = ["DATA_SETS", "DataSet", "Rows", "blob_data_set", "get", "shape_key"]

_BOX = (-100.0, 100.0)

_SYNTHETIC = (
    "{} rows in {} columns, {} round Gaussian clusters of standard deviation 1 with centres in [-100, 100]; made with "
    "the seed 42. The bounds are those of the centres: some rows lie outside."
)

_EMBEDDINGS = (
    "40 activations of the second-to-last layer of a small network for each of the 60,000 training images of {}; a "
    "stand-in for the embeddings of the DPM paper, which are not public in usable form. The bounds hold by "
    "construction. Images: {}"
)

_MNIST = (
    "LeCun, Y., Bottou, L., Bengio, Y., Haffner, P. (1998). Gradient-based learning applied to document recognition. "
    "Proceedings of the IEEE 86(11), 2278-2324. Licence most often stated as CC BY-SA 3.0."
)

_FASHION = (
    "Xiao, H., Rasul, K., Vollgraf, R. (2017). Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning "
    "Algorithms. arXiv:1708.07747. Licence MIT, copyright 2017 Zalando SE."
)

_LETTERS = (
    "UCI Letter Recognition: 16 integer features 0..15 of images of capital letters, resampled as in the DPM paper to "
    "720 rows a letter, with replacement. Licence CC BY 4.0. Slate, D. (1991). Letter Recognition [Dataset]. UCI "
    "Machine Learning Repository. doi:10.24432/C5ZP40."
)

_GAS = (
    "UCI Gas Turbine CO and NOx Emission Data Set: 11 measures of a gas turbine, hourly, 2011 to 2015, not scaled. The "
    "bounds are the extremes of the data, as in the DPM paper; a private use needs bounds that are known without it. "
    "Licence CC BY 4.0. UCI Machine Learning Repository (2019). doi:10.24432/C5WC95. Kaya, H., Tufekci, P., Uzun, E. "
    "(2019). Turkish Journal of Electrical Engineering & Computer Sciences 27(6), 4783-4796."
)


def blob_data_set(
    n_rows: int, n_columns: int, n_clusters: int, key: str = "", name: str = "", checksum: str = ""
) -> DataSet:
    """Return blobs of any size as a data set, for curves over the number of rows or of clusters.

    The default key, such as "blobs-5000x10-64", is understood by `get`, also in another process.
    """
    if not 1 <= n_clusters <= n_rows or n_columns < 1:
        raise DatasetError(
            f"Blobs need at least one column and 1 <= n_clusters <= n_rows. Got {n_rows} rows, {n_columns} columns, "
            f"{n_clusters} clusters."
        )
    return DataSet(
        key=key or f"blobs-{n_rows}x{n_columns}-{n_clusters}",
        name=name or f"Blobs {n_rows:,} x {n_columns}, {n_clusters} clusters",
        n_rows=n_rows,
        n_columns=n_columns,
        n_clusters=n_clusters,
        bounds=_BOX,
        facts=_SYNTHETIC.format(f"{n_rows:,}", n_columns, n_clusters),
        read=partial(blobs, n_rows, n_columns, n_clusters),
        checksum=checksum,
    )


def _embeddings(key: str, name: str, images: str, source: str, checksum: str) -> DataSet:
    return DataSet(
        key=key,
        name=name,
        n_rows=60_000,
        n_columns=40,
        n_clusters=10,
        bounds=(0.0, 13.0),
        facts=_EMBEDDINGS.format(images, source),
        read=tables.read_embeddings,
        checksum=checksum,
        source="trained",
        file=f"{key}.parquet",
    )


_ENTRIES = (
    _embeddings(
        "mnist_embs",
        "MNIST Embs.",
        "MNIST",
        _MNIST,
        "c449b570ff9d4920ca532374d8e8b447d880f1f1f152a01bcca01f5e11fecfad",
    ),
    _embeddings(
        "fashion_embs",
        "Fashion Embs.",
        "Fashion-MNIST",
        _FASHION,
        "2c1bff7ed14e590072d2c88fc2da72c0d4c8d63bb140453aa9127a217c23923e",
    ),
    blob_data_set(
        100_000,
        10,
        64,
        key="synth_10d",
        name="Synth-10d",
        checksum="18ac410d42120e935cd6c7185520fade6d81cb7b326445bc2ce870ddd9ead846",
    ),
    blob_data_set(
        100_000,
        100,
        64,
        key="synth_100d",
        name="Synth-100d",
        checksum="d8b577f066e349d17411aac00cb6597be0ec3357c092a9aef75e174dd80572b2",
    ),
    DataSet(
        key="uci_letters",
        name="UCI Letters",
        n_rows=18_720,
        n_columns=16,
        n_clusters=26,
        bounds=(0.0, 15.0),
        facts=_LETTERS,
        read=tables.read_letters,
        checksum="a580a8268cd3ae03c61cd9dfe200d1f6d1dacaf57596af23d3412c6a04fd45d1",
        source="file",
        file="letter.parquet",
    ),
    DataSet(
        key="uci_gas",
        name="UCI Gas",
        n_rows=36_733,
        n_columns=11,
        n_clusters=2,
        bounds=(-6.23, 1100.9),
        facts=_GAS,
        read=tables.read_gas,
        checksum="c3a4bbe40426c42421b8ca1c6289943b4e1280de890ffa531b76cba0fff49b9a",
        source="file",
        file="gas_turbine.parquet",
    ),
)

DATA_SETS: Mapping[str, DataSet] = MappingProxyType({entry.key: entry for entry in _ENTRIES})
"""The paper's data sets by key, in the paper's order."""


_SHAPES: Mapping[str, tuple[Callable[..., shapes.Shape], int | None]] = MappingProxyType(
    {
        **{
            make.__name__: (make, 1)
            for make in (
                shapes.one_uniform,
                shapes.one_gaussian,
                shapes.one_student,
                shapes.one_exponential,
                shapes.one_flat,
            )
        },
        "touching": (shapes.touching, 2),
        "diagonal": (shapes.diagonal, 2),
        "separated": (shapes.separated, None),
        "unequal_sizes": (shapes.unequal_sizes, 9),
    }
)
"""Shapes that have keys, and how many clusters they have; None: as many as the key says."""

_BLOBS_KEY = re.compile(r"blobs-([1-9]\d*)x([1-9]\d*)-([1-9]\d*)", re.ASCII)
_SHAPE_KEY = re.compile(r"([a-z_]+)-([1-9]\d*)x([1-9]\d*)(?:-(\d+(?:\.\d+)?))?-s(\d+)", re.ASCII)


def shape_key(name: str, n_rows: int, n_columns: int, value: float | None = None, seed: int = 0) -> str:
    """Return the key of a shape, such as "touching-20000x2-3.5-s0": name, rows, columns, its own parameter, seed."""
    return f"{name}-{n_rows}x{n_columns}" + (f"-{value:g}" if value is not None else "") + f"-s{seed}"


def get(key: str) -> DataSet:
    """Return the data set with this key; also blobs and shapes of any size, and those of folders (`folders`)."""
    if key in DATA_SETS:
        return DATA_SETS[key]
    if sizes := _BLOBS_KEY.fullmatch(key):
        n_rows, n_columns, n_clusters = map(int, sizes.groups())
        return blob_data_set(n_rows, n_columns, n_clusters)
    if (parts := _SHAPE_KEY.fullmatch(key)) and parts[1] in _SHAPES:
        return _shape_data_set(key, *parts.groups())
    if (found := folder_data_set(key)) is not None:
        return found
    near = difflib.get_close_matches(key.lower().replace("-", "_"), DATA_SETS, n=2, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are {', '.join(DATA_SETS)}."
    raise DatasetError(f"There is no data set {key!r}. {hint} Blobs of any size are called such as blobs-5000x10-64.")


def _shape_data_set(key: str, name: str, n_rows: str, n_columns: str, value: str | None, seed: str) -> DataSet:
    make, n_clusters = _SHAPES[name]
    given = [] if value is None else [int(value) if n_clusters is None else float(value)]
    columns = (Column(f"x{number}", 0, 4, whole=True) for number in range(int(n_columns)))
    return DataSet(
        key=key,
        name=key.rpartition("-")[0],
        n_rows=int(n_rows),
        n_columns=int(n_columns),
        n_clusters=int(given[0]) if n_clusters is None else n_clusters,
        bounds=Schema(tuple(columns)) if name == "one_flat" else (0.0, 100.0),
        facts=str(make.__doc__),
        read=partial(_read_shape, make, *given, int(n_columns), int(n_rows), int(seed)),
    )


def _read_shape(make: Callable[..., shapes.Shape], *parameters: float) -> Rows:
    shape = make(*parameters)
    return shape.rows.astype(np.float64), shape.truth
