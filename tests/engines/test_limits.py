"""Rows per person in streams: the same rows are kept as in memory, and a stream that changes its rows is refused."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import DPM
from dpmondrian.common.threads import Threads
from dpmondrian.engines.limits import limited_stream
from dpmondrian.engines.store import Store
from dpmondrian.exceptions import DataError
from dpmondrian.tables.frames import Reader, read_table
from dpmondrian.tables.opening import open_stream
from dpmondrian.tables.persons import PersonLimit

KEY = np.array([3, 4], dtype=np.uint64)


def visits(n_rows, n_people, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({"x": rng.integers(0, 3, n_rows) / 2, "who": rng.integers(0, n_people, n_rows)})


def stream_of(table, size):
    batches = table.to_batches(max_chunksize=size)
    return open_stream(
        lambda: pa.RecordBatchReader.from_batches(table.schema, iter(batches)), ["x"], Reader(person_id="who")
    )


def values_of(tables):
    return sorted(value for table in tables for block in table.blocks() for value in block[:, 0].tolist())


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(0, 120), st.integers(1, 40), st.integers(1, 4), st.integers(1, 50), st.integers(0, 4000))
def test_a_stream_keeps_the_same_rows_as_a_table(n_rows, n_people, most, size, most_bytes):
    table, limit = visits(n_rows, n_people), PersonLimit(most, KEY)
    with Store(0) as store:
        limited = limited_stream(stream_of(table, size), limit, "error", store, Threads(None, 2), most_bytes)
        kept = [piece() for piece in limited.pieces()]
    in_memory = read_table(table, person_id="who").limited(limit, "error")
    assert values_of(kept) == values_of([in_memory])
    assert len(values_of(kept)) == sum(min(most, int(n)) for n in np.bincount(table["who"].to_numpy()))


def passes(*tables):
    """Return a function whose readers give another table each time, and the last one again and again."""
    waiting = list(tables)

    def reader():
        table = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(max_chunksize=100)))

    return reader


@pytest.mark.parametrize("change", ["another order", "fewer rows", "more rows", "other people"])
def test_a_stream_that_changes_between_passes_is_refused_before_anything_is_drawn(change):
    table = visits(500, 250)
    changed = {
        "another order": table.take(np.random.default_rng(0).permutation(500)),
        "fewer rows": table.slice(0, 390),
        "more rows": pa.concat_tables([table, table]),
        "other people": visits(500, 250, seed=1),
    }[change]
    drawn = []
    model = DPM(bounds={"x": (0, 1)}, person_id="who", random_state=0)
    model.fit(passes(table))
    with pytest.raises(DataError, match="when it was read a second time"):
        # The first reader tells names and types, the second one whose rows there are.
        model.fit(passes(table, table, changed), progress=lambda name, done, planned: drawn.append(name))
    assert drawn == []
