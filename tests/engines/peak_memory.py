"""Prints the peak memory, in bytes, of a fit on so many rows by 10 columns that are made as they are read, all spilled."""

import resource
import sys

import numpy as np
import pyarrow as pa

from dpmondrian import DPM, Resources

BATCH_ROWS = 50_000
SCHEMA = pa.schema([(f"x{j}", pa.float32()) for j in range(10)])


def batches(n_rows):
    for seed in range(n_rows // BATCH_ROWS):
        rows = np.random.default_rng(seed).random((10, BATCH_ROWS), dtype=np.float32)
        yield pa.record_batch([pa.array(column) for column in rows], schema=SCHEMA)


def main(n_rows):
    model = DPM(bounds=(0, 1), random_state=0, max_depth=2)
    model.fit(
        lambda: pa.RecordBatchReader.from_batches(SCHEMA, batches(n_rows)), resources=Resources(memory=0, threads=1)
    )
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


if __name__ == "__main__":
    main(int(sys.argv[1]))
