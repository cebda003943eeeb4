"""Three invented tables about people, with what is public about them: for the demo, the examples and the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema import Category, Column, Schema, TableSchema

if TYPE_CHECKING:
    import pyarrow


HOME_BOUNDS = {"east_km": (0.0, 100.0), "north_km": (0.0, 100.0)}
"""Public bounds of `homes`: the edges of the map, known without looking at a row."""


def homes(n_rows: int = 20_000, n_towns: int = 9, seed: int = 5) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return where invented patients live on a map of 100 by 100 km, and the town of each (-1: in the country).

    Towns differ in size and width; one patient in fifty lives somewhere in between.
    """
    generator = np.random.default_rng(seed)
    towns = generator.uniform(8, 92, size=(n_towns, 2))
    shares = generator.dirichlet(np.full(n_towns, 6.0))
    label = generator.choice(n_towns, size=n_rows, p=shares)
    width = generator.uniform(0.5, 1.1, size=n_towns)
    rows = towns[label] + generator.normal(size=(n_rows, 2)) * width[label, None]
    scattered = generator.random(n_rows) < 0.02
    rows[scattered] = generator.uniform(0, 100, size=(int(scattered.sum()), 2))
    label[scattered] = -1
    return rows, label


@dataclass(frozen=True)
class Example:
    """An invented table."""

    about: str  # what it shows, in a sentence
    make: Callable[..., pyarrow.Table]  # from a number of people and a seed to the table
    table_schema: TableSchema  # what is public about it


def patients(n_people: int = 20_000, seed: int = 0) -> pyarrow.Table:
    """Return age, body mass index, blood pressure and long-term blood sugar of invented patients of five kinds.

    One row in a hundred has a wrong value, as real tables do.

    Parameters
    ----------
    n_people : int, default=20_000
    seed : int, default=0

    Returns
    -------
    table : pyarrow.Table
        ``table.to_pandas()`` is a data frame of pandas, where that is installed.

    Examples
    --------
    >>> from dpmondrian.samples import patients
    >>> patients(1000).column_names
    ['age', 'bmi', 'systolic', 'hba1c']
    """
    import pyarrow as pa

    generator = np.random.default_rng(seed)
    middles = np.array(
        [[31, 23, 114, 5.2], [34, 36, 128, 5.5], [58, 26, 158, 5.4], [66, 34, 142, 8.3], [83, 22, 136, 5.9]]
    )
    widths = np.array(
        [[4.5, 1.3, 5.0, 0.18], [4.0, 1.6, 6.0, 0.2], [4.0, 1.4, 6.0, 0.2], [4.0, 1.6, 6.0, 0.5], [3, 1.3, 7, 0.25]]
    )
    kind = generator.choice(len(middles), n_people, p=[0.32, 0.13, 0.22, 0.18, 0.15])
    rows = middles[kind] + generator.normal(size=(n_people, 4)) * widths[kind]
    wrong = np.flatnonzero(generator.random(n_people) < 0.01)
    column = generator.integers(0, 4, len(wrong))
    rows[wrong, column] = generator.uniform([0, 10, 60, 3], [120, 60, 260, 16], (len(wrong), 4))[
        np.arange(len(wrong)), column
    ]
    age, bmi, pressure, sugar = rows.T
    return pa.table(
        {
            "age": np.rint(age).astype(np.int64),
            "bmi": bmi.round(1),
            "systolic": np.rint(pressure).astype(np.int64),
            "hba1c": sugar.round(2),
        }
    )


def customers(n_people: int = 6_000, seed: int = 0) -> pyarrow.Table:
    """Return the orders of invented customers, up to twelve each, of four kinds, with the channel they came by.

    A few came by a channel that nobody had thought of.

    Parameters
    ----------
    n_people : int, default=6_000
    seed : int, default=0

    Returns
    -------
    table : pyarrow.Table
        A row per order; the column "customer" says whose.

    Examples
    --------
    >>> from dpmondrian.samples import customers
    >>> customers(1000).column_names[:2]
    ['customer', 'amount']
    """
    import pyarrow as pa

    generator = np.random.default_rng(seed)
    orders = generator.integers(1, 13, n_people)
    kind = np.repeat(generator.choice(4, n_people, p=[0.35, 0.30, 0.20, 0.15]), orders)
    n_rows = len(kind)
    amount = np.exp(np.array([2.3, 4.0, 5.8, 3.3])[kind] + generator.normal(0, 0.25, n_rows))
    hour = np.array([12.6, 20.5, 10.0, 8.0])[kind] + generator.normal(0, 0.7, n_rows)
    items = 1 + generator.poisson(np.array([0.8, 2.0, 14.0, 1.0])[kind])
    channels = np.array(["app", "web", "shop", "fax"])
    shares = np.array(
        [[0.85, 0.10, 0.045, 0.005], [0.25, 0.70, 0.045, 0.005], [0.02, 0.38, 0.55, 0.05], [0.1, 0.1, 0.79, 0.01]]
    )
    channel = (generator.random(n_rows)[:, None] > np.cumsum(shares, axis=1)[kind]).sum(axis=1)
    return pa.table(
        {
            "customer": [f"C{number:05d}" for number in np.repeat(np.arange(n_people), orders).tolist()],
            "amount": amount.round(2),
            "hour": np.clip(hour, 0, 23.99).round(2),
            "items": items,
            "channel": channels[np.minimum(channel, 3)].tolist(),
        }
    )


def locations(n_people: int = 20_000, seed: int = 5) -> pyarrow.Table:
    """Return where invented patients live on a map of 100 by 100 km.

    Parameters
    ----------
    n_people : int, default=20_000
    seed : int, default=5

    Returns
    -------
    table : pyarrow.Table

    Examples
    --------
    >>> from dpmondrian.samples import locations
    >>> locations(1000).num_rows
    1000
    """
    import pyarrow as pa

    rows, _ = homes(n_people, seed=seed)
    return pa.table(dict(zip(HOME_BOUNDS, rows.round(3).T, strict=True)))


EXAMPLES = {
    "locations": Example(
        "Where do 20,000 patients live?",
        locations,
        TableSchema(Schema(tuple(Column(name, low, high, unit="km") for name, (low, high) in HOME_BOUNDS.items()))),
    ),
    "patients": Example(
        "Which kinds of patients does a practice have?",
        patients,
        TableSchema(
            Schema(
                (
                    Column("age", 0, 120, whole=True, unit="years"),
                    Column("bmi", 10, 60, unit="kg/m2"),
                    Column("systolic", 60, 260, whole=True, unit="mmHg"),
                    Column("hba1c", 3, 16, unit="%"),
                )
            )
        ),
    ),
    "customers": Example(
        "Who orders what, and when? Several orders per customer, categories, a log scale.",
        customers,
        TableSchema(
            Schema(
                (
                    Column("amount", 1, 10_000, log=True, unit="EUR"),
                    Column("hour", 0, 24, unit="h"),
                    Column("items", 1, 100, whole=True),
                    Category("channel", ("app", "web", "shop")),
                )
            ),
            person_id="customer",
            rows_per_person=2,
        ),
    ),
}
"""The examples by name."""
