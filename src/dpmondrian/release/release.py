"""The released part of a fitted model as one object: JSON in and out, versioned, enough to predict with.

What is read is verified (`dpmondrian.release.verification`): a file that contradicts itself is refused, however it is opened.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import check_integer, is_number
from dpmondrian.common.file_kinds import kind_of_file
from dpmondrian.common.whole_files import write_file
from dpmondrian.dpm import Figures, Nearest, Partition, Regions, partition_from_dict
from dpmondrian.engines import Grid
from dpmondrian.exceptions import ParameterError, ReleaseFileError
from dpmondrian.release.coreset import Coreset, numbers_of
from dpmondrian.release.csv_text import csv_text, table_text
from dpmondrian.release.every_k import Clusters, EveryK, Hierarchy, Qualities
from dpmondrian.release.measured import Quality
from dpmondrian.release.profiles import Profiles
from dpmondrian.release.statement import Origin, PrivacyStatement, counted_in
from dpmondrian.release.synthetic import synthetic_rows
from dpmondrian.release.tree import Tree
from dpmondrian.schema import Coordinates, Estimate, Schema

FORMAT = "dpmondrian release"
FORMAT_VERSION = 7  # the constants of plans and the keys of statements belong to it: whoever changes them raises it

LARGEST_FILE = 2**26  # a longer file is not read: nobody's memory is filled by opening what a stranger sent
_MOST_CONTAINERS = 2**17  # lists and objects; an empty one has three characters in a file and sixty bytes in memory
_MOST_TEXTS = 2**19  # names of fields and texts; each takes up to 200 bytes while its object is made
_MOST_VALUES = 2**22
_LARGEST_WIDE_TEXT = 2**23  # one character beyond ASCII can make a text take four times as much
_MOST_CENTRE_COLUMNS = 2**16
_MOST_NAME_CHARACTERS = 2**24  # of all indicators: each repeats the name of its column
_MOST_LEVELS = 12
_MOST_SYNTHETIC = 10**8
_LONGEST_NAME = 100
_LARGEST_NUMBER = 1e300
_FIELDS = ("size", "size_error", "centre", "centre_error", "certainty")
"""What a file says of every cluster."""
_LONG_LIST, _LINE_BREAK = re.compile(r"\[\n\s+([^\[\]{}\"]*?)\n\s*\]"), re.compile(r"\n\s+")
"""Lists of numbers are written on one line. No text has a line break in JSON."""


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
    certainty : float64 array of shape (n_clusters,) or None
        How sure it is that each cluster is apart from the others, from 0 to 1; None where k was given.
    partition : Partition or None
        Which cluster a row belongs to, where that is not the one with the nearest centre; see `rule`.
    cells : Coreset or None
        From which `clusters` for every other k follow; None in the paper's variant.
    tree : Tree
    privacy : PrivacyStatement
    parameters : dict
        The other parameters of the run, by name: all public.
    origin : Origin
        Day, name of the data set, and the state of its account.
    profiles : Profiles or None
        Histograms of every cluster and column; None where nobody asked for them, and in the paper's variant.
    figures : Figures or None
        What was measured of the quality of the clusters, likewise; see `quality`.
    names : mapping from int to str
        Names that the holder gave to clusters. They are in the file, beside what the digest covers.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian import DPM, Release
    >>> release = DPM(bounds=(0, 100)).fit(np.repeat([[20.0], [80.0]], 5000, axis=0)).release_
    >>> again = Release.from_json(release.to_json())  # whoever reads it needs no rows
    >>> again.centres.round().ravel().tolist() in ([20.0, 80.0], [80.0, 20.0])
    True
    """

    schema: Schema
    named: bool
    centres: NDArray[np.float64]
    centre_errors: NDArray[np.float64]
    sizes: NDArray[np.float64]
    size_errors: NDArray[np.float64]
    certainty: NDArray[np.float64] | None
    partition: Regions | None
    cells: Coreset | None
    tree: Tree
    privacy: PrivacyStatement
    parameters: dict[str, Any]
    origin: Origin
    profiles: Profiles | None = None
    figures: Figures | None = None
    names: Mapping[int, str] = field(default_factory=dict)

    @property
    def all_parameters(self) -> dict[str, Any]:
        """The parameters of the run, by the names that `DPM` has for them; raise TypeError if a file has one of them twice."""
        return dict(
            epsilon=self.privacy.epsilon,
            delta=self.privacy.delta,
            bounds=self.schema,
            variant=self.privacy.variant,
            rows_per_person=self.privacy.rows_per_person,
            accountant=self.privacy.accountant,
            **self.parameters,
        )

    @cached_property
    def grid(self) -> Grid:
        """The public grid on whose places rows, centres and cells are compared."""
        return Grid.with_windows(Coordinates(self.schema).schema, self.parameters["windows"])

    @cached_property
    def rule(self) -> Partition:
        """Which cluster a row belongs to: a public rule on the places of `grid`."""
        return self.nearest(self.centres) if self.partition is None else self.partition

    @property
    def cluster_of_part(self) -> NDArray[np.int64]:
        """The cluster of every part that the rule names: itself."""
        return np.arange(len(self.sizes))

    def nearest(self, centres: NDArray[np.float64]) -> Nearest:
        """Return the rule by which rows belong to the nearest of some points."""
        places = self.grid.places_of(Coordinates(self.schema).of_centres(centres))
        return Nearest(np.rint(places).astype(np.int64))

    @property
    def found_one(self) -> bool:
        """Whether clusters were looked for and none is apart from the rest."""
        return self.certainty is not None and len(self.sizes) == 1

    @cached_property
    def _every_k(self) -> EveryK:
        return EveryK(self)

    def clusters(self, k: int) -> Clusters:
        """Return k clusters made of the released cells. This is post-processing: it reads no rows and spends nothing.

        Parameters
        ----------
        k : int
            From 1 to 10,000. Whatever k is, the rows are divided into as many segments; whether these are apart from each other is
            what `certainty` says of the clusters that were found. With more segments than cells, cells are divided: see `Clusters`.
        """
        return self._every_k.clusters(k)

    @cached_property
    def quality(self) -> Quality | None:
        """How good the clusters are, measured on the rows with noise; None where nothing was measured (`profiles=False`)."""
        return None if self.figures is None else self._every_k.own_quality()

    def qualities(self, ks: Iterable[int] | None = None) -> Qualities:
        """Return how good `clusters` are for each of several k; by default from 1 to 20, and up to all whose silhouettes are measured. Spends nothing."""
        return self._every_k.qualities(ks)

    def sample(self, n_rows: int, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Return synthetic rows, column by column. This is post-processing: it reads no rows and spends nothing.

        Parameters
        ----------
        n_rows : int
        seed : int, optional
            Repeats the rows. It protects nothing and endangers nothing: what is drawn from is released anyway.
        """
        n_rows = check_integer("n_rows", n_rows, 1, _MOST_SYNTHETIC, "Draw several times for more.")
        return synthetic_rows(self, n_rows, np.random.default_rng(seed))

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """How the cells go together step by step, each time those whose union adds least to the variance within (Ward)."""
        return self._every_k.hierarchy()

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain JSON values."""
        values = self._covered()
        names = {"names": {str(cluster): self.names[cluster] for cluster in sorted(self.names)}} if self.names else {}
        return {"format": FORMAT, "format_version": FORMAT_VERSION, "digest": digest_of(values), **names, **values}

    def named_cluster(self, cluster: int, name: str) -> Release:
        """Return the release with a name for one of its clusters, an empty one for none; its digest stays the same."""
        check_integer("cluster", cluster, 0, len(self.sizes) - 1, "Clusters are numbered from 0.")
        names = {number: text for number, text in self.names.items() if number != cluster}
        return replace(self, names=_checked_names(names | ({cluster: name} if name else {}), len(self.sizes)))

    def _covered(self) -> dict[str, Any]:
        """Return what the digest covers: everything but itself."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "origin": self.origin.to_dict(),
            "parameters": self.parameters,
            "columns": self.schema.to_dict(),
            "named": self.named,
            "clusters": [dict(zip(_FIELDS, values, strict=True)) for values in self.by_cluster()],
            "partition": None if self.partition is None else self.partition.to_dict(),
            "cells": None if self.cells is None else self.cells.to_dict(),
            "profiles": None if self.profiles is None else self.profiles.to_dict(),
            "figures": None if self.figures is None else self.figures.to_dict(),
            "tree": self.tree.to_dict(),
            "privacy": self.privacy.to_dict(),
        }

    def by_cluster(self) -> Iterator[tuple[Any, ...]]:
        """Return size, size_error, centre, centre_error and certainty of every cluster, as plain values."""
        certainty = [None] * len(self.sizes) if self.certainty is None else self.certainty.tolist()
        arrays = (self.sizes, self.size_errors, self.centres, self.centre_errors)
        return zip(*(array.tolist() for array in arrays), certainty, strict=True)

    def to_json(self) -> str:
        """Return the release as JSON text."""
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
        return _LONG_LIST.sub(lambda found: f"[{_LINE_BREAK.sub(' ', found[1])}]", text)

    def save(self, path: str | Path) -> None:
        """Write the release to a JSON file, whole or not at all: an older file of this name stays as it is if that fails.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        write_file(path, self.to_json() + "\n", overwrite=True)

    def to_csv(self) -> str:
        """Return sizes and centres with their standard errors as CSV text, a line per cluster; see `csv_text`."""
        return csv_text(self.schema.centre_names, self.sizes, self.size_errors, self.centres, self.centre_errors)

    def profiles_to_csv(self) -> str:
        """Return the profiles as CSV text: a line for every cluster, and all rows, and every column or category; see `Profiles.rows`."""
        return table_text([] if self.profiles is None else self.profiles.rows())

    def digest(self) -> str:
        """Return the digest of the release, see `digest_of`: the one in its file, and in the account of its budget."""
        return digest_of(self._covered())

    def __getstate__(self) -> dict[str, Any]:
        """Return what pickles hold: the fields, and nothing that was computed from them."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Return the release that `to_json` wrote; raise `ReleaseFileError` if it is not one, or contradicts itself."""
        from dpmondrian.release.verification import verify

        release, stated_digest = cls.parsed(text)
        failed = verify(release, stated_digest).failed
        if failed:
            raise ReleaseFileError(
                f"The saved release contradicts itself: {failed[0].words:.300}. It was modified after it was written, or is damaged; 'dpm verify' lists all problems. Ask the publisher for the original."
            )
        return release

    @classmethod
    def parsed(cls, text: str) -> tuple[Release, str]:
        """Return a release of the right form and the digest that its file states, neither of them verified.

        Raises `ReleaseFileError` if the form is not that of a release.
        """
        values = _parsed(text)
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise ReleaseFileError(f"This is not a saved release: the field 'format' must be {FORMAT!r}.")
        version = values.get("format_version")
        if version != FORMAT_VERSION:
            told = f"format version {version!r:.50}" if type(version) is int else "no valid format version"
            raise ReleaseFileError(
                f"The release has {told}, this version of dpmondrian reads {FORMAT_VERSION}. Use the version of dpmondrian that wrote it."
            )
        try:
            names = {int(number): text for number, text in values.pop("names", {}).items()}
            release, digest = cls._from_dict(values), values.pop("digest")
            release = replace(release, names=_checked_names(names, len(release.sizes)))
            if not isinstance(digest, str) or _canonical(release._covered()) != _canonical(values):
                raise ValueError("it contains unknown fields, or values of the wrong type")
            return release, digest
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError, ParameterError) as error:
            words = f"{error!s:.200}".rstrip(".")
            raise ReleaseFileError(f"The saved release is damaged: {words}.") from None

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Return the release saved in a JSON file; raise `ReleaseFileError` if it is not one, or contradicts itself."""
        try:
            return cls.from_json(text_of(path))
        except ReleaseFileError:
            refuse_other_kinds(path)
            raise

    @classmethod
    def _from_dict(cls, values: Mapping[str, Any]) -> Release:
        privacy = PrivacyStatement.from_dict(values["privacy"])
        _check_names(values["columns"])
        people = privacy.rows_per_person, privacy.unit.person_id
        estimate = Estimate(privacy.bounds_epsilon, *people, privacy.releasable) if privacy.bounds_epsilon else None
        schema = Schema.from_dict(values["columns"], estimate)
        clusters = values["clusters"]
        if not isinstance(clusters, list) or not clusters:
            raise ValueError("there are no clusters")
        shape = (len(clusters), len(schema.centre_columns))
        known, partition = [cluster["certainty"] for cluster in clusters], values["partition"]
        coordinates = Coordinates(schema)
        tree = Tree.from_dict(coordinates.schema.names, values["tree"], coordinates.rule_ranges)
        tree = replace(tree, categories=coordinates.categories, notations=coordinates.notations)
        tree = replace(tree, counted=counted_in(*people))
        if list(privacy.bounds) != schema.to_dict() or not isinstance(values["named"], bool):
            raise ValueError("the bounds of the privacy statement are not those of the columns")
        cells = None if values["cells"] is None else Coreset.from_dict(values["cells"], schema)
        centres = [numbers_of([cluster[name] for cluster in clusters], shape) for name in ("centre", "centre_error")]
        profiles = None if values["profiles"] is None else Profiles.from_dict(values["profiles"], schema)
        figures = values["figures"]
        release = cls(
            schema=schema,
            named=values["named"],
            centres=centres[0],
            centre_errors=centres[1],
            sizes=numbers_of([cluster["size"] for cluster in clusters], shape[:1]),
            size_errors=numbers_of([cluster["size_error"] for cluster in clusters], shape[:1]),
            certainty=None if all(value is None for value in known) else numbers_of(known, shape[:1]),
            partition=partition and partition_from_dict(partition, shape[1]),
            cells=cells,
            tree=tree,
            privacy=privacy,
            parameters=values["parameters"],
            origin=Origin.from_dict(values["origin"]),
            profiles=profiles and profiles.known(schema, tree, *centres),
            figures=None if figures is None else Figures.from_dict(figures, 0 if cells is None else len(cells)),
        )
        release._check_clusters()
        _check_tree(tree, len(clusters))
        _check_parameters(release.parameters)
        return release

    def _check_clusters(self) -> None:
        """Raise ValueError unless centres lie within the bounds, and sizes and errors are not negative."""
        if not np.all((self.centres >= self.schema.lower) & (self.centres <= self.schema.upper)):
            raise ValueError("a centre lies beyond the bounds of its column")
        if min(values.min() for values in (self.sizes, self.size_errors, self.centre_errors)) < 0:
            raise ValueError("a size or an error of a cluster is negative")
        if self.certainty is not None and not np.all((self.certainty >= 0.0) & (self.certainty <= 1.0)):
            raise ValueError("a certainty is not between 0 and 1")


def _checked_names(names: dict[int, str], n_clusters: int) -> dict[int, str]:
    """Return names of clusters; raise ValueError if one is not a short text, or of a cluster that does not exist."""
    texts = all(
        isinstance(name, str) and len(name.strip()) > 0 and len(name) <= _LONGEST_NAME for name in names.values()
    )
    if not texts or not all(0 <= cluster < n_clusters for cluster in names):
        raise ParameterError(
            parameter="name",
            rule=f"must be a text of at most {_LONGEST_NAME} characters, of a cluster that exists",
            way_out="Choose a short name.",
        )
    return names


def digest_of(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what a release holds, as hexadecimal digits.

    It is that of the canonical JSON text: keys sorted, no spaces, ASCII, whole numbers without a decimal point. So it is a
    digest of values; line breaks and the way in which a program writes numbers do not change it.
    """
    return hashlib.sha256(_canonical(values).encode("ascii")).hexdigest()


def _canonical(values: Any) -> str:
    return json.dumps(_with_whole_numbers(values), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _with_whole_numbers(value: Any) -> Any:
    """Return JSON values with integers in place of floats that are whole, which some programs write without a point."""
    if isinstance(value, dict):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def refuse_other_kinds(path: str | Path) -> None:
    """Raise `ReleaseFileError` if a file is plainly something else than a release."""
    if (kind := kind_of_file(path)) not in ("", "a release"):
        raise ReleaseFileError(
            f"The file {str(path)!r} is {kind}, expected a release.", "'dpm cluster' writes it as release.json."
        ) from None


def text_of(path: str | Path) -> str:
    """Return the text of a file, unless it is too large for a release."""
    with Path(path).open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > (LARGEST_FILE if content.isascii() else _LARGEST_WIDE_TEXT):
        raise ReleaseFileError("This is not a saved release: it is too large for one.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ReleaseFileError("This is not a saved release: not UTF-8 text.") from None


def _parsed(text: str) -> Any:
    """Return the JSON values of a text that is not too large for a release, in which no field is there twice.

    What it will take in memory is counted before it is parsed: a container, a text and a number have their brackets, quotes and
    commas.
    """
    n_containers, n_texts, n_values = text.count("[") + text.count("{"), text.count('"') // 2, text.count(",")
    too_many = n_containers > _MOST_CONTAINERS or n_texts > _MOST_TEXTS or n_values > _MOST_VALUES
    if len(text) > LARGEST_FILE or too_many:
        raise ReleaseFileError("This is not a saved release: it is too large for one.")
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_different_keys)
    except (ValueError, RecursionError) as error:
        raise ReleaseFileError(f"This is not a saved release: not valid JSON ({type(error).__name__}).") from None


def _refuse_constant(name: str) -> None:
    """Refuse NaN and infinities, which JSON does not have but Python's reader accepts."""
    raise ValueError(f"{name} is not a number")


def _different_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, refusing one that another reader might understand differently."""
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a field occurs twice")
    return values


def _is_plain_number(value: Any) -> bool:
    return is_number(value) and abs(value) <= _LARGEST_NUMBER


def _check_names(columns: Any) -> None:
    """Raise ValueError if there are too many columns of centres, or their names would be too long together."""
    if not isinstance(columns, list) or not all(isinstance(column, dict) for column in columns):
        raise ValueError("the columns are not a list of objects")
    n_columns, n_characters = 0, 0
    for column in columns:
        name, categories = column.get("name"), column.get("categories", [])
        if not isinstance(name, str) or not isinstance(categories, list):
            raise ValueError("a column has no name, or categories that are not a list")
        n_columns += len(categories) + 1
        n_characters += len(name) * (len(categories) + 1)
    if n_columns > _MOST_CENTRE_COLUMNS or n_characters > _MOST_NAME_CHARACTERS:
        raise ValueError("there are too many columns or categories, or their names are too long")


def _check_tree(tree: Tree, n_clusters: int) -> None:
    """Raise ValueError unless the tree is one that a fit can grow."""
    if tree.depths.max() > _MOST_LEVELS:
        raise ValueError(f"the tree has more than {_MOST_LEVELS} levels")
    if tree.cluster.max() >= n_clusters:
        raise ValueError("the tree refers to a cluster that does not exist")
    if tree.size_error.min() < 0:
        raise ValueError("an error in the tree is negative")


def _nested(value: Any) -> Iterable[Any]:
    """Return the values that a parameter holds."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]


def _check_parameters(parameters: Any) -> None:
    """Raise ValueError unless parameters are plain values by name, or mappings of such."""
    nested = [_nested(value) for value in parameters.values()]
    for value in itertools.chain(*nested):
        if not (value is None or isinstance(value, str | bool) or _is_plain_number(value)):
            raise ValueError("a parameter is not a string, a boolean or a number")
