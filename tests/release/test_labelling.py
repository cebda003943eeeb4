"""Labels by the released rule: the same from the fit, from predict and from a loaded release, whatever the rule and the table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpmondrian import DPM, DataError
from dpmondrian.dpm.partition import Cuts, Everything, GridMap
from dpmondrian.engines import coded_blocks
from dpmondrian.release import Labeller
from dpmondrian.schema import Coordinates
from dpmondrian.tables import read_table

MIDDLES = np.array([[15.0] * 5, [50.0] * 5, [85.0] * 5])
KINDS = {"map": (2, {}), "cuts": (5, {}), "everything": (2, {}), "nearest": (2, {"n_clusters": 3})}
RULES = {"map": GridMap, "cuts": Cuts, "everything": Everything, "nearest": type(None)}


def table_of(kind: str, n_rows: int = 4000) -> pd.DataFrame:
    n_columns, rng = KINDS[kind][0], np.random.default_rng(3)
    middles = np.full((1, n_columns), 50.0) if kind == "everything" else MIDDLES[:, :n_columns]
    rows = middles[rng.integers(0, len(middles), n_rows)] + rng.normal(0, 4, (n_rows, n_columns))
    return pd.DataFrame(rows, columns=[f"x{j}" for j in range(n_columns)])


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    table = table_of(request.param)
    model = DPM(bounds=dict.fromkeys(table.columns, (0, 100)), random_state=0, **KINDS[request.param][1]).fit(table)
    assert isinstance(model.release_.partition, RULES[request.param])
    return model, table


@pytest.mark.slow
def test_labels_are_those_of_the_rule(fitted, tmp_path):
    model, table = fitted
    release = model.release_
    blocks = coded_blocks(read_table(table), Coordinates(release.schema), "error", release.grid)
    places = np.concatenate([block.places().T for block in blocks]).astype(np.int64)
    expected = release.rule.clusters(places).tolist()
    assert model.labels_.tolist() == expected
    model.save(tmp_path / "release.json")
    loaded = DPM.load(tmp_path / "release.json")
    for other in (table, pa.Table.from_pandas(table), table[table.columns[::-1]]):
        assert loaded.predict(other).tolist() == expected
    assert Labeller.of(release).predict(table).tolist() == expected
    assert DPM(**model.get_params()).fit_predict(table).tolist() == expected


def test_labels_of_a_file_are_the_same(fitted, tmp_path):
    model, table = fitted
    table.to_parquet(tmp_path / "rows.parquet")
    assert model.predict(tmp_path / "rows.parquet").tolist() == model.labels_.tolist()


def test_rows_that_lack_values(fitted):
    model, table = fitted
    holes = table.copy()
    holes.iloc[[0, 7], 0] = np.nan, np.inf
    with pytest.raises(DataError):
        Labeller.of(model.release_, "error").predict(holes)
    dropped = Labeller.of(model.release_, "drop").predict(holes)
    assert np.flatnonzero(dropped == -1).tolist() == [0, 7]
    assert np.delete(dropped, [0, 7]).tolist() == np.delete(model.labels_, [0, 7]).tolist()
    filled = holes.replace(np.inf, np.nan).fillna(50.0)
    assert Labeller.of(model.release_, "middle").predict(holes).tolist() == model.predict(filled).tolist()


def test_no_rows_have_no_labels(fitted):
    model, table = fitted
    assert model.predict(table[:0]).tolist() == []


def test_people_and_missing_values_change_nothing_about_labels(tmp_path):
    table = table_of("map").assign(who=np.repeat(np.arange(2000), 2))
    bounds = {"x0": (0, 100), "x1": (0, 100)}
    for parameters in ({"person_id": "who"}, {"on_missing": "drop"}):
        rows = table if "person_id" in parameters else table[["x0", "x1"]]
        model = DPM(bounds=bounds, random_state=0, **parameters).fit(rows)
        model.save(tmp_path / "release.json")
        loaded = DPM.load(tmp_path / "release.json")
        assert loaded.predict(rows).tolist() == model.predict(rows).tolist() == model.labels_.tolist()
        (tmp_path / "release.json").unlink()
