"""What the rows of every cluster look like, column by column: private histograms, and what follows from them.

Everything here is post-processing of released counts. Noise in a histogram is independent from bin to bin, with one deviation; the
numbers of rows that the histograms of one cluster add up to are the same, so all of them tell it together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.release.coreset import numbers_of
from dpmondrian.release.differences import Difference, certain_differences
from dpmondrian.release.histograms import ColumnProfile, Histogram, Part
from dpmondrian.release.measured import Measured
from dpmondrian.release.tree import Tree
from dpmondrian.schema import Category, Column, Coordinates, Schema


@dataclass(frozen=True)
class Profile(Mapping[str, ColumnProfile]):
    """The columns of one cluster, or of all rows, by name."""

    columns: tuple[ColumnProfile, ...]

    def __getitem__(self, name: str) -> ColumnProfile:
        return {profile.column.name: profile for profile in self.columns}[name]

    def __iter__(self) -> Iterator[str]:
        return (profile.column.name for profile in self.columns)

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True)
class Profiles:
    """Histograms of every cluster and column as they were released, and what follows from them.

    Attributes
    ----------
    columns : tuple of Column and Category
        Those that have profiles.
    histograms : tuple of tuples of Histogram
        One for every cluster, in the order of clusters, and column.
    deviation : float
        Standard deviation of the noise in every count.
    total, total_error : float
        Number of all rows, as known from the tree.
    centres, centre_errors : float64 arrays of shape (n_clusters, n_columns), optional
        The released centres in these columns, on their scales, and their errors; those of categories play no part. None: medians.
    """

    columns: tuple[Column | Category, ...]
    histograms: tuple[tuple[Histogram, ...], ...]
    deviation: float
    total: float
    total_error: float
    centres: NDArray[np.float64] | None = None
    centre_errors: NDArray[np.float64] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the histograms as plain JSON values, by cluster and column."""
        return {
            "columns": list(self.names),
            "deviation": self.deviation,
            "clusters": [[histogram.to_dict() for histogram in own] for own in self.histograms],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], schema: Schema) -> Profiles:
        """Return the profiles that `to_dict` described, before `known`; raise ValueError, TypeError or KeyError if they are none."""
        names, [deviation] = values["columns"], numbers_of([values["deviation"]], (1,)).tolist()
        if not names or [name for name in schema.names if name in names] != names or not deviation > 0.0:
            raise ValueError("the profiles are of other columns, or have no noise")
        columns = tuple(schema.columns[schema.names.index(name)] for name in names)
        histograms = tuple(
            tuple(Histogram.from_dict(one, column) for one, column in zip(own, columns, strict=True))
            for own in values["clusters"]
        )
        return cls(columns, histograms, deviation, total=0.0, total_error=0.0)

    def known(self, schema: Schema, tree: Tree, centres: NDArray[np.float64], errors: NDArray[np.float64]) -> Profiles:
        """Return the same with what else is released: the number of all rows, and the centres, over `Schema.centre_columns`."""
        coordinates, names = Coordinates(schema), schema.centre_names
        on_scale, scale_errors = coordinates.of_centres(centres), coordinates.of_errors(errors, centres)
        at = [
            names.index(name) if name in names else -1 for name in self.names
        ]  # -1 stands for categories, which have other names
        return replace(
            self,
            total=float(tree.size[0]),
            total_error=float(tree.size_error[0]),
            centres=on_scale[:, at],
            centre_errors=scale_errors[:, at],
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def n_values(self) -> int:
        """Number of released counts."""
        return int(np.sum([len(histogram.counts) for own in self.histograms for histogram in own]))

    @cached_property
    def clusters(self) -> tuple[Profile, ...]:
        """The profile of every cluster."""
        sizes, variances = self._sizes
        return tuple(
            Profile(
                tuple(
                    ColumnProfile(column, (self._part(column, histogram, size, variance),))
                    for column, histogram in zip(self.columns, own, strict=True)
                )
            )
            for own, size, variance in zip(self.histograms, sizes.tolist(), variances.tolist(), strict=True)
        )

    @cached_property
    def everyone(self) -> Profile:
        """The profile of all rows: the sum of all clusters'."""
        return Profile(
            tuple(
                ColumnProfile(column, tuple(own.columns[j].parts[0] for own in self.clusters))
                for j, column in enumerate(self.columns)
            )
        )

    def rows_at_ends(self) -> NDArray[np.float64]:
        """Return how many of all rows the first and the last bin of every column hold, shape (n_columns, 2), as `everyone` does."""
        ends = np.array([[(one.counts[0], one.counts[-1]) for one in own] for own in self.histograms], dtype=np.float64)
        n_bins, totals = self._bins
        rows: NDArray[np.float64] = (ends + ((self._sizes[0][:, None] - totals) / n_bins)[:, :, None]).sum(axis=0)
        return rows

    @cached_property
    def _bins(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The numbers of bins, and what their counts add up to, for every cluster and column."""
        n_bins = np.array([[len(one.counts) for one in own] for own in self.histograms])
        return n_bins, np.array([[float(one.counts.sum()) for one in own] for own in self.histograms])

    @cached_property
    def _sizes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The numbers of rows of the clusters and their variances: the mean of all histograms, adding up to all rows."""
        n_columns, (n_bins, totals) = len(self.columns), self._bins
        sizes = totals.sum(axis=1) / n_columns
        variances = self.deviation**2 * n_bins.sum(axis=1) / n_columns**2
        part = variances / (variances.sum() + self.total_error**2)
        return sizes + part * (self.total - sizes.sum()), variances * (1.0 - part)

    def _part(self, column: Column | Category, histogram: Histogram, size: float, variance: float) -> Part:
        """Return counts that add up to the cluster's number of rows: what they lack is shared out evenly."""
        counts = histogram.counts + (size - histogram.counts.sum()) / len(histogram.counts)
        edges = np.arange(len(counts) + 1.0) if histogram.edges is None else histogram.edges
        scale = np.log(edges) if isinstance(column, Column) and column.log else edges
        return Part(scale.astype(np.float64), counts.astype(np.float64), self.deviation**2, variance)

    def rows(self) -> list[dict[str, Any]]:
        """Return a tidy table: a row for every cluster, and for "all" rows, and each numeric column and category.

        Quartiles and standard deviation of numeric columns, shares of categories, all with the ends of their 95 % intervals; None where
        there is no such number.
        """
        parts = [*((str(number), own) for number, own in enumerate(self.clusters)), ("all", self.everyone)]
        return [row for name, own in parts for column in own.columns for row in _tidy(name, column)]

    def differences(self, cluster: int, most: int = 3) -> tuple[Difference, ...]:
        """Return what sets a cluster apart from all rows, the largest differences first; none that noise could have made."""
        return self._differences[cluster][:most]

    def is_alike(self, cluster: int, most: int) -> bool:
        """Return whether another cluster differs from all rows in the same columns and directions, as far as `most` differences tell."""
        return self._signs(most)[self._sign(cluster, most)] > 1

    def _sign(self, cluster: int, most: int) -> tuple[tuple[str, str, str | None], ...]:
        return tuple((one.kind, one.name, one.category) for one in self.differences(cluster, most))

    def _signs(self, most: int) -> Counter[tuple[tuple[str, str, str | None], ...]]:
        """Return how many clusters have each way to differ."""
        if most not in self._counted_signs:
            self._counted_signs[most] = Counter(self._sign(cluster, most) for cluster in range(len(self.histograms)))
        return self._counted_signs[most]

    @cached_property
    def _counted_signs(self) -> dict[int, Counter[tuple[tuple[str, str, str | None], ...]]]:
        return {}

    @cached_property
    def _differences(self) -> tuple[tuple[Difference, ...], ...]:
        centres, errors = (
            self._medians if self.centres is None or self.centre_errors is None else (self.centres, self.centre_errors)
        )
        return certain_differences(self.everyone.columns, centres, errors)

    @property
    def _medians(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Medians with their errors, on the scales of the columns; zeros for categories."""
        found = [[column.scale_median for column in own.columns] for own in self.clusters]
        return np.array([[one.value for one in own] for own in found]), np.array(
            [[one.error for one in own] for own in found]
        )


_NUMBERS = ("share", "q1", "median", "q3", "sd")
"""What a tidy table holds of a column or category, each with the ends of its interval."""


def _tidy(cluster: str, profile: ColumnProfile) -> Iterator[dict[str, Any]]:
    """Yield the rows of a tidy table about one column."""
    found: list[tuple[str | None, dict[str, Measured]]]
    if profile.categories is None:
        found = [(None, dict(zip(_NUMBERS[1:], (*profile.quartiles, profile.sd), strict=True)))]
    else:
        found = [(category, {"share": share}) for category, share in profile.share_of.items()]
    for category, numbers in found:
        row: dict[str, Any] = {"cluster": cluster, "column": profile.column.name, "category": category}
        for name in _NUMBERS:
            one = numbers[name].rounded if name in numbers else (None, None, None)
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), one, strict=True))
        yield row
