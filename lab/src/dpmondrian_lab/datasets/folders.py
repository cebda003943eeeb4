"""Real tables, and a public clustering suite: two folders of Parquet files that describe themselves.

``real/tables.json`` lists tables with their public bounds and a k. ``suite/README.md`` has a table with the bounds and the true
number of clusters of every set. Both folders are looked for where all data files are (`files`); other folders of the same form
serve as well.

========================  ==============================================================================
``real-adult``            a table with the k that is listed
``real-adult-k20``        the same rows with another k
``suite-s1``              a set with its own rows
``suite-s1-n50000``       resampled to so many rows, with jitter (`enlarged`); a larger set stays as it is
========================  ==============================================================================

Rows are clipped to the bounds, as every private algorithm does first, and rows with a missing value are left out. A column of
whole numbers is declared as such if its type says so, as `DPM` does with a data frame.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema import Column, Schema
from dpmondrian_lab.datasets.data_set import DataSet, Rows
from dpmondrian_lab.datasets.files import find_file
from dpmondrian_lab.datasets.tables import read_columns, whole_columns
from dpmondrian_lab.exceptions import DatasetError

__all__ = ["enlarged", "folder_data_set", "real_keys", "suite_keys"]

_USEFUL_LABEL = 0.3
"""A label counts as classes if KMeans with the listed k agrees with it at least so much (adjusted Rand, as listed)."""

_KEY = re.compile(r"(real|suite)-(\w+?)(?:-k([1-9]\d*))?(?:-n([1-9]\d*))?", re.ASCII)


def real_keys() -> tuple[str, ...]:
    """Return the keys of the real tables, each with the k that is listed."""
    return tuple(f"real-{name}" for name in _described("real"))


def suite_keys() -> tuple[str, ...]:
    """Return the keys of the suite, each with its own rows."""
    return tuple(f"suite-{name}" for name in _described("suite"))


def folder_data_set(key: str) -> DataSet | None:
    """Return a data set of the two folders; None if the key is not of their form."""
    parts = _KEY.fullmatch(key)
    if parts is None:
        return None
    folder, name, n_clusters, n_rows = parts.groups()
    if name not in _described(folder):
        raise DatasetError(f"There is no data set {key!r}. There are {', '.join(_described(folder))} in {folder}.")
    data_set = replace(_described(folder)[name], key=key)
    if n_clusters is not None:
        data_set = replace(data_set, n_clusters=int(n_clusters), name=f"{data_set.name}, k = {n_clusters}")
    if n_rows is not None and int(n_rows) > data_set.n_rows:
        read = partial(_read_enlarged, data_set, int(n_rows))
        data_set = replace(data_set, n_rows=int(n_rows), read=read, name=f"{data_set.name}, {int(n_rows):,} rows")
    return data_set


def enlarged(data_set: DataSet, n_rows: int) -> Rows:
    """Return rows drawn from those of a data set with replacement, moved by Gaussian jitter, and their classes.

    The jitter has, in every column on the common scale, half the median distance from the nearest other row, divided by the square
    root of the number of columns: copies stay nearer to each other than neighbours are, but are no copies any more.
    """
    from sklearn.neighbors import NearestNeighbors

    rows, classes = data_set.load()
    points = data_set.scaled(rows)
    nearest = NearestNeighbors(n_neighbors=2).fit(points).kneighbors(points)[0][:, 1]
    deviation = 0.5 * np.median(nearest) / np.sqrt(data_set.n_columns)
    generator = np.random.default_rng(42)
    chosen = generator.integers(0, len(rows), n_rows)
    jitter = deviation * generator.normal(size=(n_rows, data_set.n_columns)) / data_set.scaled(np.ones(rows.shape[1]))
    return _clipped(rows[chosen] + jitter, data_set.bounds), None if classes is None else classes[chosen]


def _read_enlarged(data_set: DataSet, n_rows: int, _: Path) -> Rows:
    return enlarged(data_set, n_rows)


def _described(folder: str) -> Mapping[str, DataSet]:
    """Return the data sets of a folder by name; raise `DatasetNotFoundError` if the folder is nowhere."""
    describe = {"real": _real, "suite": _suite}[folder]
    return describe(find_file({"real": "real/tables.json", "suite": "suite/README.md"}[folder]))


@lru_cache(maxsize=4)
def _real(path: Path) -> Mapping[str, DataSet]:
    try:
        entries = [_real_table(path.parent, entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError) as error:
        raise DatasetError(f"The file {path} does not describe tables ({error!r}).") from None
    return {entry.name: entry for entry in entries}


def _real_table(folder: Path, entry: Mapping[str, Any]) -> DataSet:
    name = str(entry["file"]).removesuffix(".parquet")
    has_classes = entry["ari"] is not None and entry["ari"] >= _USEFUL_LABEL
    return _data_set(
        folder,
        name,
        entry["bounds"],
        entry["rows"],
        entry["k"],
        entry["what"],
        has_classes=has_classes,
        has_noise=False,
    )


@lru_cache(maxsize=4)
def _suite(path: Path) -> Mapping[str, DataSet]:
    text = path.read_text(encoding="utf-8")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| `")]
    try:
        entries = [_suite_set(path.parent, cells, text) for cells in lines]
    except (ValueError, IndexError) as error:
        raise DatasetError(f"The file {path} does not describe a suite ({error!r}).") from None
    return {entry.name: entry for entry in entries}


def _suite_set(folder: Path, cells: list[str], text: str) -> DataSet:
    """Return the set that a line of the table describes: file, what, rows, columns, clusters, sizes, noise, bounds."""
    name = cells[0].strip("`").removesuffix(".parquet")
    n_rows, n_columns, n_clusters, n_noise = (int(cells[place].replace(",", "")) for place in (2, 3, 4, 6))
    if cells[7] == "see below":
        bounds = _bounds_by_column(text, name)
    else:
        bounds = dict.fromkeys((f"x{number}" for number in range(n_columns)), _pair(cells[7]))
    return _data_set(folder, name, bounds, n_rows, n_clusters, cells[1], has_classes=True, has_noise=n_noise > 0)


def _bounds_by_column(text: str, name: str) -> dict[str, tuple[float, float]]:
    """Return what a sentence such as "`a.parquet` by column: x0, x1 0:255; x2 always 9." says; what never varies is left out."""
    sentence = re.search(rf"`{name}\.parquet` by column:(.*?)\.\s", text, re.DOTALL)
    bounds = {}
    for part in sentence[1].split(";") if sentence else ():
        names, pair = re.findall(r"\bx\d+\b", part), re.search(r"\S+:\S+", part)
        if pair:
            bounds.update(dict.fromkeys(names, _pair(pair[0])))
    return bounds


def _pair(text: str) -> tuple[float, float]:
    lower, _, upper = text.partition(":")
    return float(lower), float(upper)


def _data_set(
    folder: Path,
    name: str,
    bounds: Mapping[str, Any],
    n_rows: int,
    n_clusters: int,
    what: str,
    has_classes: bool,
    has_noise: bool,
) -> DataSet:
    file = f"{folder.name}/{name}.parquet"
    whole = whole_columns(folder / f"{name}.parquet")
    # Rows are arrays, so columns have numbers for names.
    columns = (Column(f"x{j}", low, high, name in whole) for j, (name, (low, high)) in enumerate(bounds.items()))
    schema = Schema(tuple(columns))
    read = partial(_read, tuple(bounds), schema, has_classes, has_noise)
    return DataSet(
        f"{folder.name}-{name}", name, n_rows, len(bounds), n_clusters, schema, what, read, "", "file", file, False
    )


def _read(names: tuple[str, ...], schema: Schema, has_classes: bool, has_noise: bool, path: Path) -> Rows:
    """Return the clipped rows without missing values, and the number of every row's label; -1 is noise, whose label is 0."""
    rows, label = read_columns(path, "label" if has_classes else None, names)
    kept = np.isfinite(rows).all(axis=1)
    rows = _clipped(rows[kept], schema)
    if label is None:
        return rows, None
    labels = np.asarray(label.to_pylist())[kept]
    classes = np.unique(labels.astype(str), return_inverse=True)[1].astype(np.int64)
    return rows, np.where(labels == 0, -1, classes) if has_noise else classes


def _clipped(rows: NDArray[np.float64], bounds: tuple[float, float] | Schema) -> NDArray[np.float64]:
    return np.clip(rows, *((bounds.lower, bounds.upper) if isinstance(bounds, Schema) else bounds))
