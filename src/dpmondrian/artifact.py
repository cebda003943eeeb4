"""The released part of a fitted model as one object: JSON in and out, versioned, enough to predict with."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.accounting.statement import PrivacyStatement
from dpmondrian.coordinates import Coordinates
from dpmondrian.domain import Schema
from dpmondrian.exceptions import ReleaseFileError
from dpmondrian.tree.structure import Tree

__all__ = ["FORMAT_VERSION", "Release"]

FORMAT = "dpmondrian release"
FORMAT_VERSION = 2
_LARGEST = 1e100


@dataclass(frozen=True)
class Release:
    """All that may be published of a run.

    Attributes
    ----------
    schema : Schema
        Public columns and bounds.
    named : bool
        Whether the columns have names of their own (else x0, x1, ... by position).
    centres, centre_errors : float64 arrays of shape (n_clusters, n_centre_columns)
        Cluster centres and the standard errors of the noise in them, over `Schema.centre_columns`: a value per numeric column,
        and the share of every category.
    sizes, size_errors : float64 arrays of shape (n_clusters,)
    tree : Tree
    privacy : PrivacyStatement
    parameters : dict
        The other parameters of the run, by name: all public.
    """

    schema: Schema
    named: bool
    centres: NDArray[np.float64]
    centre_errors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    tree: Tree
    privacy: PrivacyStatement
    parameters: dict[str, Any]

    @property
    def directions(self) -> NDArray[np.float64]:
        """Public weights of the columns in every direction that rules may name, shape (n_directions, n_centre_columns).

        A direction is the weighted sum of ``(value - middle) / range`` of the clipped values, with middle and range of the
        bounds; of logarithms on a log scale.
        """
        return Coordinates(self.schema, self.parameters.get("directions", 0)).matrix

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain JSON values."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "parameters": self.parameters,
            "columns": self.schema.to_dict(),
            "named": self.named,
            "clusters": [
                {"size": size, "size_error": size_error, "centre": centre, "centre_error": centre_error}
                for size, size_error, centre, centre_error in zip(
                    self.sizes.tolist(),
                    self.size_errors.tolist(),
                    self.centres.tolist(),
                    self.centre_errors.tolist(),
                    strict=True,
                )
            ],
            "tree": self.tree.to_dict(),
            "privacy": self.privacy.to_dict(),
        }

    def to_json(self) -> str:
        """Return the release as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def _file_text(self) -> str:
        return self.to_json() + "\n"

    def save(self, path: str | Path) -> None:
        """Write the release to a JSON file."""
        Path(path).write_text(self._file_text(), encoding="utf-8", newline="\n")

    def to_csv(self) -> str:
        """Return sizes and centres with their standard errors as CSV text, a line per cluster."""
        names = self.schema.centre_names
        table = io.StringIO()
        writer = csv.writer(table, lineterminator="\n")
        writer.writerow(
            ["cluster", "size", "size_error", *(part for name in names for part in (name, f"{name} error"))]
        )
        centres = np.stack([self.centres, self.centre_errors], axis=2).reshape(len(self.sizes), -1)
        for cluster, (size, error, centre) in enumerate(zip(self.sizes, self.size_errors, centres, strict=True)):
            writer.writerow([cluster, float(size), float(error), *centre.tolist()])
        return table.getvalue()

    def digest(self) -> str:
        """Return the SHA-256 of the file that `save` writes."""
        return hashlib.sha256(self._file_text().encode()).hexdigest()

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Return the release that `to_json` wrote; raise `ReleaseFileError` if it is not one."""
        try:
            values = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise ReleaseFileError(f"This is not a saved release: not valid JSON ({type(error).__name__}).") from None
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ReleaseFileError(f"This is not a saved release: the field 'format' must be {FORMAT!r}.")
        if values.get("format_version") != FORMAT_VERSION:
            raise ReleaseFileError(
                f"The release has format version {values.get('format_version')!r}, this version of dpmondrian reads "
                f"{FORMAT_VERSION}. Use the version of dpmondrian that wrote it."
            )
        try:
            return cls._from_dict(values)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ReleaseFileError(f"The saved release is damaged: {error}.") from None

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Return the release saved in a JSON file."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise ReleaseFileError("This is not a saved release: not UTF-8 text.") from None

    @classmethod
    def _from_dict(cls, values: Mapping[str, Any]) -> Release:
        privacy = PrivacyStatement.from_dict(values["privacy"])
        schema = Schema.from_dict(values["columns"], privacy.bounds_epsilon)
        clusters = values["clusters"]
        shape = (len(clusters), len(schema.centre_columns))

        def read(field: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
            array = np.array([cluster[field] for cluster in clusters], dtype=np.float64)
            if array.shape != shape or not np.all(np.abs(array) <= _LARGEST):
                raise ValueError(f"the field {field!r} of the clusters has the wrong shape or is too large")
            return array

        if not clusters:
            raise ValueError("there are no clusters")
        coordinates = Coordinates(schema, values["parameters"].get("directions", 0))
        tree = Tree.from_dict(coordinates.schema.names, values["tree"], coordinates.rule_ranges, shape[1])
        tree = replace(tree, log_columns=coordinates.log_columns, categories=coordinates.categories)
        if tree.cluster.max() >= len(clusters):
            raise ValueError("the tree names a cluster that is not there")
        if list(privacy.bounds) != schema.to_dict() or not isinstance(values["named"], bool):
            raise ValueError("the bounds of the privacy statement are not those of the columns")
        centres = read("centre", shape)
        all_centres = centres if tree.leaf_centres is None else np.concatenate([centres, tree.leaf_centres])
        if np.any(all_centres[:, list(coordinates.log_columns)] <= 0):
            raise ValueError("a centre on a log scale is not positive")
        return cls(
            schema=schema,
            named=values["named"],
            centres=centres,
            centre_errors=read("centre_error", shape),
            sizes=read("size", shape[:1]),
            size_errors=read("size_error", shape[:1]),
            tree=tree,
            privacy=privacy,
            parameters={str(name): value for name, value in values["parameters"].items()},
        )


def _refuse_constant(name: str) -> None:
    """Refuse NaN and infinities, which JSON does not have but Python's reader accepts."""
    raise ValueError(f"{name} is not a number")
