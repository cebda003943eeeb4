"""What a user's typed script does with dpmondrian; `mypy --strict` accepts it."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpmondrian import (
    DPM,
    Budget,
    BudgetError,
    Category,
    Column,
    PrivacyStatement,
    Release,
    Resources,
    Schema,
    TableSchema,
    Tree,
    forecast,
    read_schema,
    render_report,
    suggest_bounds,
    write_schema,
)


def publish(rows: NDArray[np.float64], folder: Path) -> NDArray[np.float64]:
    """Fit once, write what may be published, and return the centres."""
    schema = Schema((Column("age", 0, 120, whole=True, unit="years"), Column("bmi", 10, 60)))
    known = TableSchema(schema, person_id=None, rows_per_person=1)
    write_schema(known, folder / "schema.toml")
    print(forecast(len(rows), read_schema(folder / "schema.toml").schema, epsilon=1.0))
    budget = Budget.create(folder / "budget.json", epsilon=1.5, delta=1e-6, data_set="patients")
    model: DPM = DPM(epsilon=1.0, bounds=[(0, 120, "int"), (10, 60)]).fit(
        rows, budget=budget, resources=Resources(threads=2)
    )
    release: Release = model.release_
    tree: Tree = model.tree_
    privacy: PrivacyStatement = model.privacy_
    centres: NDArray[np.float64] = model.cluster_centers_
    sizes: NDArray[np.float64] = model.clusters(3).sizes
    print(tree, privacy.explain().advantage, model.n_clusters_ + 1, sizes.sum(), model.qualities([2, 3]).quality)
    release.save(folder / "release.json")
    (folder / "report.html").write_text(render_report(Release.load(folder / "release.json")))
    return centres


def again(rows: NDArray[np.float64], account: str) -> int:
    """Try a second fit."""
    bounds = suggest_bounds(rows, epsilon=0.1).schema()
    try:
        model = DPM(bounds=bounds, n_clusters=4).fit(rows, budget=account)
    except BudgetError as error:
        print(error.way_out)
        return 0
    categories: tuple[str, ...] = Category("plan", ("basic", "premium")).levels
    return model.n_clusters_ + len(categories)
