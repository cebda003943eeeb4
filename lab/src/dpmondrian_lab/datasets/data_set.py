"""A data set with what is public about it, and how its content is loaded and checked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema import Schema
from dpmondrian_lab.datasets.checksums import content_checksum
from dpmondrian_lab.datasets.files import find_file
from dpmondrian_lab.exceptions import DatasetError, DatasetNotFoundError

__all__ = ["DataSet", "Rows"]

Rows = tuple[NDArray[np.float64], NDArray[np.int64] | None]
"""The rows (n, d), and the classes (n,) if there are any; -1 for rows of no class, which are not judged."""


@dataclass(frozen=True)
class DataSet:
    """A data set with what is public about it. `load` returns the rows.

    Attributes
    ----------
    key : str
        For programs, files and the command line.
    name : str
        For tables and pictures.
    n_rows, n_columns : int
        The shape that `load` returns.
    n_clusters : int
        k for the algorithms that need it.
    bounds : tuple of two floats, or Schema
        The box of the evaluation. A pair is the same for all columns, and rows may lie outside; a schema has columns of
        different units, and rows were clipped to it.
    facts : str
        What it is, licence, citation.
    read : callable
        Returns rows and classes; takes the path of the file, if the data set has one.
    checksum : str
        SHA-256 of the content, see `checksums`; empty: any content of the right shape is accepted.
    source : "made", "file" or "trained"
        Made from a seed; read from a file; or read from a file that may also have been trained on this machine. Then
        it has another content, and the JSON file of the same name beside it holds the checksum.
    file : str
        The name of its file, if it has one.
    complete : bool
        False if rows with missing values are left out, so that there are at most `n_rows`.
    """

    key: str
    name: str
    n_rows: int
    n_columns: int
    n_clusters: int
    bounds: tuple[float, float] | Schema
    facts: str
    read: Callable[..., Rows] = field(compare=False, repr=False)
    checksum: str = ""
    source: Literal["made", "file", "trained"] = "made"
    file: str = ""
    complete: bool = True

    @property
    def diameter(self) -> float:
        """The diagonal of the box, with all columns on a common scale; with one pair of bounds (high - low) * sqrt(d)."""
        if isinstance(self.bounds, Schema):
            return float(np.linalg.norm((self.bounds.upper - self.bounds.lower) * self.bounds.weights))
        return (self.bounds[1] - self.bounds[0]) * math.sqrt(self.n_columns)

    def scaled(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows or centres with all columns on a common scale, on which distances are measured."""
        return points * self.bounds.weights if isinstance(self.bounds, Schema) else points

    @property
    def delta(self) -> float:
        """The delta of the paper's evaluation, n**-1.5; n is public there."""
        return float(self.n_rows**-1.5)

    def is_available(self) -> bool:
        """Return whether `load` finds the file that it needs, if any."""
        try:
            return not self.file or find_file(self.file).is_file()
        except DatasetNotFoundError:
            return False

    def load(self) -> Rows:
        """Return the rows, float64 (n, d), and the classes, int64 (n,) or None; both read-only.

        The content is checked once and kept for the rest of the process.
        """
        return _load(self)[0]

    def content_checksum(self) -> str:
        """Return the checksum of what `load` returns: the one that was given, or that of the local training."""
        return _load(self)[1]

    def read_checked(self, path: Path | None = None) -> tuple[Rows, str]:
        """Return rows, classes and their checksum, read anew, from the given file if the data set has one.

        Raises `DatasetError` if they are not the expected ones.
        """
        rows, classes = self.read() if path is None else self.read(path)
        n_expected = self.n_rows if self.complete else min(len(rows), self.n_rows)
        if rows.shape != (n_expected, self.n_columns):
            raise DatasetError(
                f"The data set {self.key} must have {self.n_rows} x {self.n_columns} values, but has "
                f"{' x '.join(map(str, rows.shape))}."
            )
        # The last bits of a logarithm differ between machines, so only three decimals of made data are compared.
        found = content_checksum(np.round(rows, 3) if self.source == "made" else rows, classes)
        if self.checksum not in ("", found) and (path is None or found != self._trained_checksum(path)):
            raise DatasetError(
                f"The content of the data set {self.key} is not the expected one: its SHA-256 is {found[:12]}... instead "
                f"of {self.checksum[:12]}...."
            )
        return (rows, classes), found

    def _trained_checksum(self, path: Path) -> str:
        """Return the checksum that a training on this machine recorded beside the file, or nothing."""
        recipe = path.with_suffix(".json")
        if self.source != "trained" or not recipe.is_file():
            return ""
        try:
            return str(json.loads(recipe.read_text(encoding="utf-8"))["checksum"])
        except (ValueError, KeyError, TypeError):
            raise DatasetError(f"The file {recipe} is not the recipe of a training. Delete it and its data.") from None


# Eight, so that a run over all data sets of the paper reads each once, while curves over many sizes stay in memory.
@lru_cache(maxsize=8)
def _load(data_set: DataSet) -> tuple[Rows, str]:
    """Return the content and its checksum, after checking both."""
    content, checksum = data_set.read_checked(_path(data_set))
    for array in content:
        if array is not None:
            array.setflags(write=False)
    return content, checksum


def _path(data_set: DataSet) -> Path | None:
    try:
        return find_file(data_set.file) if data_set.file else None
    except DatasetNotFoundError as error:
        raise DatasetNotFoundError(f"{error} The command 'dpm fetch {data_set.key}' gets it.") from None
