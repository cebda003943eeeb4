"""Tables that are streamed, and how they are compared with tables in memory."""

import decimal
import os
from pathlib import Path

import numpy as np
import pyarrow as pa

from dpmondrian import Category
from dpmondrian.tables.frames import Reader
from dpmondrian.tables.identities import identities
from dpmondrian.tables.opening import open_stream

N_ROWS = 1000
CATEGORIES = {
    name: Category(name, levels)
    for name, levels in {
        "plan": ("basic", "premium"),
        "coded": ("a", "b"),
        "level": ("1", "2", "3"),
        "agrees": ("true", "false"),
        "share": ("0.5", "1"),
    }.items()
}


def made_table(n_rows=N_ROWS, seed=0):
    """Return a table with columns of all types, and with missing values."""
    generator = np.random.default_rng(seed)
    missing = generator.random(n_rows) < 0.1
    numbers = generator.normal(size=n_rows)
    return pa.table(
        {
            "double": pa.array(numbers, mask=missing),
            "huge": pa.array(generator.integers(2**53, 2**63, n_rows), pa.int64()),
            "unsigned": pa.array(2**64 - 1 - generator.integers(0, 2**60, n_rows).astype(np.uint64)),
            "single": pa.array(numbers.astype(np.float32)),
            "half": pa.array(numbers.astype(np.float16), mask=missing),
            "truth": pa.array(numbers > 0, mask=missing),
            "small": pa.array(generator.integers(0, 100, n_rows), pa.int8(), mask=missing),
            "money": pa.array(
                [
                    None if m else decimal.Decimal(int(v * 1e6)).scaleb(-3)
                    for v, m in zip(numbers, missing, strict=True)
                ],
                pa.decimal128(20, 3),
            ),
            "plan": pa.array(generator.choice(["basic", " premium", "gone", "NA"], n_rows), mask=missing),
            "coded": pa.array(generator.choice(["a", "b", "c"], n_rows), mask=missing).dictionary_encode(),
            "level": pa.array(generator.integers(1, 5, n_rows), mask=missing),
            "agrees": pa.array(numbers > 0, mask=missing),
            "share": pa.array(generator.choice([0.5, 1.0, np.nan], n_rows)),
            "person": pa.array(generator.integers(2**60, 2**60 + 50, n_rows), mask=missing),
        }
    )


def reader_of(table, person_id="person", **options):
    """Return a reader that knows the categories and the persons of a table."""
    categories = {name: category for name, category in CATEGORIES.items() if name in table.column_names}
    return Reader(categories, person_id if person_id in table.column_names else None, **options)


def rows_and_persons(tables):
    """Return the rows of tables as one array, and the ids of their persons."""
    tables = list(tables)
    rows = [block for table in tables for block in table.blocks()]
    persons = [
        own for table in tables if table._person is not None for own in identities(table._person).ids.to_pylist()
    ]
    return np.concatenate([np.empty((0, tables[0].n_columns)), *rows]), persons


def assert_same(stream, expected, passes=2):
    """In every pass a stream gives the rows of a table in memory, bit by bit."""
    head = stream.head
    numbers = [number for number, name in enumerate(head.names) if name not in head.written]
    assert head.n_rows == 0
    assert (head.names, head.named, head.text_names) == (expected.names, True, True)
    assert head.written == expected.written
    assert [head.whole[number] for number in numbers] == [expected.whole[number] for number in numbers]
    rows, persons = rows_and_persons([expected])
    for _ in range(passes):
        tables = [piece() for piece in stream.pieces()]
        for table in tables:
            assert (table.names, table.whole, table.written) == (head.names, head.whole, head.written)
        own_rows, own_persons = rows_and_persons([head, *tables])
        np.testing.assert_array_equal(own_rows, rows)
        assert own_persons == persons


def opened(X, columns=None, reader=None):
    """Return the stream of something that must be one."""
    stream = open_stream(X, columns, reader or Reader())
    assert stream is not None
    return stream


def read_rows(X, columns=None, reader=None):
    """Return all rows of something that is streamed."""
    stream = opened(X, columns, reader)
    return rows_and_persons([stream.head, *(piece() for piece in stream.pieces())])[0]


def touched_later(path: Path, seconds=5):
    """Move the time of the last change, which need not move by itself between two quick writes."""
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + seconds * 10**9))
