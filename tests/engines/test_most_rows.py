"""Condition C1 of the theorem: a table with too many rows is refused on every engine, before anything is drawn or charged.

The limit is lowered here. It is checked where the rows were counted, in the one place that all engines share.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpmondrian import DPM, Budget, DataError
from dpmondrian.engines import base
from dpmondrian_lab.peers import DPLloyd

LIMIT = 300
PARAMETERS = {"bounds": {"x": (0, 1), "y": (0, 1)}, "random_state": 0, "max_depth": 1}


def rows(n_rows):
    return pd.DataFrame(np.random.default_rng(0).random((n_rows, 2)), columns=["x", "y"])


def as_parquet(frame, folder):
    pq.write_table(pa.Table.from_pandas(frame), folder / f"{len(frame)}.parquet", row_group_size=70)
    return folder / f"{len(frame)}.parquet"


def on_dask(frame, folder):
    dd = pytest.importorskip("dask.dataframe", reason="Needs the extra 'dask'.")
    return dd.from_pandas(frame, npartitions=3)


ENGINES = {
    "memory": lambda frame, folder: frame,
    "stream": as_parquet,
    "reader": lambda frame, folder: pa.Table.from_pandas(frame).to_reader,
    "Dask": on_dask,
}


def assert_refused(table, path, **parameters):
    """Fit; there is an error, no draw, and no charge."""
    budget, drawn = Budget.create(path, 10, 1e-3), []
    with pytest.raises(DataError, match="too many rows"):
        DPM(**PARAMETERS | parameters).fit(table, budget=budget, progress=lambda *draw: drawn.append(draw))
    assert drawn == []
    assert budget.read().entries == ()


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["default", "paper"])
@pytest.mark.parametrize("engine", ENGINES)
def test_too_many_rows_are_refused(engine, variant, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "MOST_ROWS", LIMIT)
    of_variant = {} if variant == "default" else {"variant": variant}
    assert_refused(ENGINES[engine](rows(LIMIT), tmp_path), tmp_path / "budget.json", **of_variant)
    DPM(**PARAMETERS | of_variant).fit(ENGINES[engine](rows(LIMIT - 1), tmp_path))


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_are_not_kept_do_not_count(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(base, "MOST_ROWS", LIMIT)
    frame = rows(2 * LIMIT).assign(who=np.arange(2 * LIMIT) % (LIMIT - 1))
    DPM(**PARAMETERS, person_id="who").fit(ENGINES[engine](frame, tmp_path))
    assert_refused(ENGINES[engine](frame, tmp_path), tmp_path / "budget.json", person_id="who", rows_per_person=2)


def test_the_limit_is_the_one_of_the_proofs():
    """Counts in 2**24 parts of a row, and sums in 2**30 parts of what one row adds, with noise of 40 scales of 2**45, fit 64 bits."""
    from dpmondrian.engines.grid import PLACES
    from dpmondrian.privacy import integers

    assert base.MOST_ROWS == 2**32
    noise = 40 * 2**45
    assert base.MOST_ROWS * integers.MOST_PARTS_OF_ROWS + noise < 2**63
    assert base.MOST_ROWS * integers.MOST_PARTS_OF_SUMS + noise < 2**63
    assert PLACES < integers.PLACES


def test_peers_are_refused_too(monkeypatch):
    monkeypatch.setattr(base, "MOST_ROWS", LIMIT)
    with pytest.raises(DataError, match="too many rows"):
        DPLloyd(n_clusters=2, bounds=(0, 1), random_state=0).fit(rows(LIMIT).to_numpy())
