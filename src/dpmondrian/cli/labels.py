"""The cluster of every row, found and written piece by piece, so that memory does not grow with the rows. Sensitive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dpmondrian.release import Labeller
    from dpmondrian.tables import Files

LABEL_ENDINGS = (".parquet", ".csv")


def write_labels(
    path: Path,
    labeller: Labeller,
    rows: Files,
    threads: int | None = None,
    reading: Callable[[int, int | None], None] | None = None,
    overwrite: bool = False,
) -> None:
    """Write the cluster of every row of some files to a file that only its owner can read.

    The ending of `path`, one of `LABEL_ENDINGS`, tells the format. With ``on_missing="drop"`` rows with missing values get
    -1. `reading` is told what is read and what there is, for a bar only: it is exact.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from dpmondrian.common.whole_files import new_private_file

    schema = pa.schema([("cluster", pa.int32())])
    open_writer = pa.csv.CSVWriter if path.suffix == ".csv" else pa.parquet.ParquetWriter
    with new_private_file(path, overwrite=overwrite) as file, open_writer(file, schema) as writer:
        for labels in _labels(labeller, rows, threads, reading):
            writer.write_table(pa.table([labels], schema=schema))


def _labels(
    labeller: Labeller,
    rows: Files,
    threads: int | None,
    reading: Callable[[int, int | None], None] | None,
) -> Iterator[NDArray[np.int32]]:
    """Yield the labels of all rows in order."""
    import numpy as np

    from dpmondrian.common.threads import Threads
    from dpmondrian.tables import Reader

    schema = labeller.coordinates.given
    pieces = rows.stream(schema.names, Reader(schema.written, order=schema.names)).pieces(reading)
    pool = Threads(None, threads)
    while parts := pool.map(lambda piece: labeller.labels(piece()), islice(pieces, pool.n_threads)):
        yield np.concatenate(parts)
