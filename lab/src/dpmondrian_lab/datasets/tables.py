"""The Parquet files: one reader per data set, which returns rows and classes, and one writer. Both need pyarrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian_lab.exceptions import DatasetError

__all__ = ["read_columns", "read_embeddings", "read_gas", "read_letters", "whole_columns", "write_table"]


def read_letters(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return UCI Letter Recognition as the paper resampled it: 720 rows a letter, with replacement, then shuffled."""
    rows, names = read_columns(path, "letter")
    letter = np.array([ord(name) - ord("A") for name in names.to_pylist()])
    generator = np.random.default_rng(42)
    chosen = []
    for number in range(26):
        of_letter = np.flatnonzero(letter == number)
        if not of_letter.size:
            raise DatasetError(f"The file {path} lacks the letter {chr(ord('A') + number)}, so it is damaged.")
        chosen.append(of_letter[generator.integers(0, of_letter.size, size=720)])
    order = np.concatenate(chosen)[generator.permutation(26 * 720)]
    return rows[order], letter[order]


def read_gas(path: Path) -> tuple[NDArray[np.float64], None]:
    """Return the eleven measures of UCI Gas Turbine CO and NOx Emission, which has no classes."""
    return read_columns(path, "year")[0], None


def read_embeddings(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the activations in a file of embeddings, and the class of each image."""
    rows, label = read_columns(path, "label")
    return rows, label.to_numpy().astype(np.int64)


def write_table(columns: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Write columns as a Parquet file of one row group, compressed with zstd."""
    arrow, parquet = _pyarrow()
    table = arrow.table(dict(columns))
    parquet.write_table(table, path, compression="zstd", row_group_size=max(1, table.num_rows))


def read_columns(path: Path, last: str | None, names: Sequence[str] = ()) -> tuple[NDArray[np.float64], Any]:
    """Return the named columns, or all but the last one, as rows of float64, and the last one, if it is asked for, as it is."""
    arrow, parquet = _pyarrow()
    try:
        table = parquet.read_table(path)
        others = [table.column(name).to_numpy() for name in names or table.column_names if name != last]
        return np.column_stack(others).astype(np.float64), last and table.column(last)
    except (arrow.ArrowException, OSError, KeyError, ValueError) as error:
        raise DatasetError(f"The file {path} is damaged or another one than its name says.") from error


def whole_columns(path: Path) -> frozenset[str]:
    """Return the names of the columns whose type is one of whole numbers; nothing but the head of the file is read."""
    arrow, parquet = _pyarrow()
    try:
        return frozenset(field.name for field in parquet.read_schema(path) if arrow.types.is_integer(field.type))
    except (arrow.ArrowException, OSError) as error:
        raise DatasetError(f"The file {path} is missing or damaged.") from error


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DatasetError("Data files need pyarrow. Install dpmondrian with the extra 'data'.") from None
    return pyarrow, pyarrow.parquet
