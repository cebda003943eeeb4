"""Public data sets from local Parquet files.

Files are looked for in the folder named by the environment variable ``DPMONDRIAN_DATA``, then in
``~/.cache/dpmondrian``. Reading needs pyarrow.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["DATA_VARIABLE", "DatasetNotFoundError", "find_file", "gas", "letters"]

DATA_VARIABLE = "DPMONDRIAN_DATA"


class DatasetNotFoundError(FileNotFoundError):
    """A data set is not on this machine."""


def find_file(name: str) -> Path:
    """Return the path of a data file; raise `DatasetNotFoundError` with the way out if it is nowhere."""
    named = os.environ.get(DATA_VARIABLE)
    folders = ([Path(named)] if named else []) + [Path.home() / ".cache" / "dpmondrian"]
    for folder in folders:
        if (folder / name).is_file():
            return folder / name
    raise DatasetNotFoundError(
        f"The data file {name} was not found. Put it into ~/.cache/dpmondrian, or set {DATA_VARIABLE} to its folder."
    )


def letters() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return UCI Letter Recognition as the paper resampled it: 720 rows a letter, with replacement, 16 columns 0..15."""
    import pyarrow.parquet as pq

    table = pq.read_table(find_file("letter.parquet"))
    letter = np.array([ord(value) - ord("A") for value in table.column("letter").to_pylist()])
    columns = [name for name in table.column_names if name != "letter"]
    rows = np.column_stack([table.column(name).to_numpy() for name in columns])
    generator = np.random.default_rng(42)
    chosen = []
    for number in range(26):
        of_letter = np.flatnonzero(letter == number)
        chosen.append(of_letter[generator.integers(0, of_letter.size, size=720)])
    order = np.concatenate(chosen)[generator.permutation(26 * 720)]
    return rows[order], letter[order]


def gas() -> NDArray[np.float64]:
    """Return UCI Gas Turbine CO and NOx Emission: 36,733 rows, 11 columns."""
    import pyarrow.parquet as pq

    table = pq.read_table(find_file("gas_turbine.parquet"))
    return np.column_stack([table.column(name).to_numpy() for name in table.column_names if name != "year"])
