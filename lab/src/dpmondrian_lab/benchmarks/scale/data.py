"""The rows of the benchmark: Gaussian clusters, made block by block, so that a file may be larger than the memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpmondrian.common.whole_files import new_private_file
from dpmondrian.quality import inertia

N_CLUSTERS = 10
DEVIATION = 3.0
SAMPLE_ROWS = 100_000
GROUP_ROWS = 2**20
SEED = 42

# What a stream of random numbers is for; the blocks of a file have the numbers from _BLOCKS on.
_CENTRES, _SAMPLE, _BLOCKS = 0, 1, 2


def _generator(n_columns: int, stream: int) -> np.random.Generator:
    return np.random.default_rng([SEED, n_columns, stream])


def true_centres(n_columns: int) -> np.ndarray:
    return _generator(n_columns, _CENTRES).uniform(-80, 80, (N_CLUSTERS, n_columns)).astype(np.float32)


def _columns(n_columns: int, n_rows: int, stream: int) -> np.ndarray:
    """Return rows column by column, shape (n_columns, n_rows)."""
    generator = _generator(n_columns, stream)
    label = generator.integers(N_CLUSTERS, size=n_rows)
    columns = generator.standard_normal((n_columns, n_rows), dtype=np.float32)
    columns *= DEVIATION
    for column, centre in zip(columns, true_centres(n_columns).T, strict=True):
        column += centre[label]
    return columns


def write(path: Path, n_rows: int, n_columns: int) -> None:
    """Write a Parquet file, on the disk and whole when it has its name: what is still to be written would disturb a measurement."""
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(n_columns)])
    with new_private_file(path, overwrite=True) as file, pq.ParquetWriter(file, schema) as writer:
        for number, start in enumerate(range(0, n_rows, GROUP_ROWS)):
            columns = _columns(n_columns, min(GROUP_ROWS, n_rows - start), _BLOCKS + number)
            writer.write_table(pa.table(list(columns), schema=schema), row_group_size=GROUP_ROWS)


def read_array(path: Path) -> np.ndarray:
    """Return the rows of a file as an array, without a second copy of them in between."""
    file = pq.ParquetFile(path)
    rows = np.empty((file.metadata.num_rows, file.metadata.num_columns), dtype=np.float32)
    start = 0
    for batch in file.iter_batches():
        for j, column in enumerate(batch.columns):
            rows[start : start + batch.num_rows, j] = column
        start += batch.num_rows
    return rows


def inertia_ratio(centres: np.ndarray) -> float:
    """Return the inertia of rows that were not clustered, as a multiple of that of the true centres."""
    n_columns = centres.shape[1]
    sample = _columns(n_columns, SAMPLE_ROWS, _SAMPLE).T.astype(np.float64)
    return inertia(sample, centres.astype(np.float64)) / inertia(sample, true_centres(n_columns).astype(np.float64))
