"""Which rows of whom an engine keeps, whatever the table is."""

from collections import Counter

import numpy as np

from dpmondrian import Column, Schema
from dpmondrian.engines.grid import Grid
from dpmondrian.engines.sources import open_source
from dpmondrian.engines.store import Resources
from dpmondrian.schema.coordinates import Coordinates
from dpmondrian.tables.frames import Reader
from dpmondrian.tables.persons import PersonLimit

SCHEMA = Schema((Column("x", 0, 63, whole=True),))
KEY = np.array([7, 11], dtype=np.uint64)


def kept_per_value(table, most, on_missing="drop", key=KEY):
    """Return how many rows with each value of column "x" are kept, of a table with the persons "who"."""
    source = open_source(table, Reader(person_id="who"), ["x"])
    with source.engine(Coordinates(SCHEMA), on_missing, PersonLimit(most, key), Resources()) as engine:
        engine.encode(Grid.with_windows(SCHEMA, 64))
        [[counts]] = engine.histograms([0])
    in_between = counts[1::2]  # every second code lies between two values
    assert not in_between.any()
    return Counter({value: count for value, count in enumerate(counts[::2].tolist()) if count})
