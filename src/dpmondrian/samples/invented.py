"""Invented rows for a schema: groups of people who exist nowhere, to see what a release of such a table would look like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema import Category, Column, Schema

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True)
class Invented:
    """Rows of invented groups, and which row is of which group."""

    table: pyarrow.Table
    group: NDArray[np.int64]


def invented(schema: Schema, n_rows: int, n_groups: int, spread: float = 0.05, seed: int = 0) -> Invented:
    """Return rows that fit a schema, in groups as wide as a share (`spread`) of each column's range. Only the schema is looked at.

    The middles of a column's groups are spread evenly over its range, in an order of their own, so that groups are apart in every column.
    Two of three members of a group are in its own category.
    """
    import pyarrow as pa

    generator = np.random.default_rng(seed)
    weights = 1.0 / (1.0 + 0.35 * np.arange(n_groups))
    group = generator.choice(n_groups, n_rows, p=weights / weights.sum())
    columns = {
        column.name: _categories(column, group, generator)
        if isinstance(column, Category)
        else _numbers(column, group, n_groups, spread, generator)
        for column in schema.columns
    }
    return Invented(pa.table(columns), group)


def _numbers(
    column: Column, group: NDArray[np.int64], n_groups: int, spread: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    middles = generator.permutation((np.arange(n_groups) + 0.5) / n_groups) * 0.84 + 0.08
    share = np.clip(middles[group] + spread * generator.standard_normal(len(group)), 0.0, 1.0)
    if column.log:
        return np.asarray(column.lower * (column.upper / column.lower) ** share)
    values = column.lower + share * (column.upper - column.lower)
    return np.rint(values) if column.whole else values


def _categories(column: Category, group: NDArray[np.int64], generator: np.random.Generator) -> list[str]:
    names = np.array(column.categories)
    own = generator.integers(len(names), size=int(group.max(initial=0)) + 1)[group]
    stray = generator.integers(len(names), size=len(group))
    chosen: list[str] = names[np.where(generator.random(len(group)) < 2 / 3, own, stray)].tolist()
    return chosen
