"""The released part of a fitted model as one object: JSON in and out, versioned, enough to predict with.

What is read is verified (`dpmondrian.release.verification`): a file that contradicts itself is refused, however it is opened.
"""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.checks import is_number
from dpmondrian.common.printable import printable
from dpmondrian.common.whole_files import write_file
from dpmondrian.exceptions import ReleaseFileError
from dpmondrian.release.origin import Origin
from dpmondrian.release.statement import PrivacyStatement
from dpmondrian.release.tree import Tree
from dpmondrian.release.unit import counted_in
from dpmondrian.schema import Coordinates, Estimate, Schema

__all__ = ["FORMAT_VERSION", "Release", "digest_of", "text_of"]

FORMAT = "dpmondrian release"
FORMAT_VERSION = 4
"""The constants of plans and the keys of statements belong to it: whoever changes them raises it."""

LARGEST_FILE = 2**26
"""A longer file is not read: nobody's memory is filled by opening what a stranger sent."""
_MOST_CONTAINERS = 2**17  # lists and objects; an empty one has three characters in a file and sixty bytes in memory
_MOST_TEXTS = 2**19  # names of fields and texts; each takes up to 200 bytes while its object is made
_MOST_VALUES = 2**21
_LARGEST_WIDE_TEXT = 2**23  # one character beyond ASCII can make a text take four times as much
_MOST_CENTRE_COLUMNS = 2**16
_MOST_NAME_CHARACTERS = 2**24  # of all indicators: each repeats the name of its column
_MOST_LEVELS = 12
_MOST_LINES, _LONGEST_TEXT = 1000, 10**5  # of the privacy statement
_LARGEST_ERROR = 1e120
"""Noise is up to 2**45 times, the range up to 1e3 (logarithms) times what the largest bound is, 1e100."""
_LARGEST_NUMBER = 1e300
_FORMULA = re.compile("(^|[;,|\t])(?=[ ]*[=+\\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a formula begins: at the start of a name, and after what a spreadsheet may take for the end of a cell."""


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
    origin : Origin
        Day, name of the data set, and the state of its account.
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
    origin: Origin

    @property
    def directions(self) -> NDArray[np.float64]:
        """Public weights of the columns in every direction that rules may name, shape (n_directions, n_centre_columns).

        A direction is the weighted sum of ``(value - middle) / range`` of the clipped values, with middle and range of the
        bounds; of logarithms on a log scale.
        """
        return Coordinates(self.schema, self.parameters.get("directions", 0)).matrix

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain JSON values."""
        values = self._covered()
        return {"format": FORMAT, "format_version": FORMAT_VERSION, "digest": digest_of(values), **values}

    def _covered(self) -> dict[str, Any]:
        """Return what the digest covers: everything but itself."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "origin": self.origin.to_dict(),
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

    def save(self, path: str | Path) -> None:
        """Write the release to a JSON file, whole or not at all: an older file of this name stays as it is if that fails.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        write_file(path, self.to_json() + "\n", overwrite=True)

    def to_csv(self) -> str:
        """Return sizes and centres with their standard errors as CSV text, a line per cluster.

        A name that a spreadsheet would take for a formula has an apostrophe before it, and what cannot be seen is written as an
        escape. `to_json` has the names as they are.
        """
        names = [_no_formula(name) for name in self.schema.centre_names]
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
        """Return the digest of the release, see `digest_of`: the one in its file, and in the account of its budget."""
        return digest_of(self._covered())

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Return the release that `to_json` wrote; raise `ReleaseFileError` if it is not one, or contradicts itself."""
        from dpmondrian.release.verification import verify

        release, stated_digest = cls.parsed(text)
        failed = verify(release, stated_digest).failed
        if failed:
            raise ReleaseFileError(
                f"The saved release contradicts itself: {failed[0].words:.300}. It was changed after it was written, or is damaged; "
                "'dpm verify' shows all that is wrong. Ask whoever published it for the original."
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
            told = repr(version) if isinstance(version, int | None) else "that is not a number"
            raise ReleaseFileError(
                f"The release has format version {told:.50}, this version of dpmondrian reads {FORMAT_VERSION}. Use the "
                "version of dpmondrian that wrote it."
            )
        try:
            release, digest = cls._from_dict(values), values.pop("digest")
            if not isinstance(digest, str) or _canonical(release._covered()) != _canonical(values):
                raise ValueError("it holds fields that no release has, or values of another kind")
            return release, digest
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            words = f"{error!s:.200}".rstrip(".")
            raise ReleaseFileError(f"The saved release is damaged: {words}.") from None

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Return the release saved in a JSON file; raise `ReleaseFileError` if it is not one, or contradicts itself."""
        return cls.from_json(text_of(path))

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
        coordinates = Coordinates(schema, values["parameters"].get("directions", 0))
        tree = Tree.from_dict(coordinates.schema.names, values["tree"], coordinates.rule_ranges, shape[1])
        tree = replace(
            tree,
            counted=counted_in(*people),
            log_columns=coordinates.log_columns,
            categories=coordinates.categories,
        )
        if list(privacy.bounds) != schema.to_dict() or not isinstance(values["named"], bool):
            raise ValueError("the bounds of the privacy statement are not those of the columns")
        release = cls(
            schema=schema,
            named=values["named"],
            centres=_numbers_of(clusters, "centre", shape),
            centre_errors=_numbers_of(clusters, "centre_error", shape),
            sizes=_numbers_of(clusters, "size", shape[:1]),
            size_errors=_numbers_of(clusters, "size_error", shape[:1]),
            tree=tree,
            privacy=privacy,
            parameters=values["parameters"],
            origin=Origin.from_dict(values["origin"]),
        )
        release._check_clusters()
        _check_tree(tree, len(clusters))
        _check_statement(privacy)
        _check_parameters(release.parameters)
        return release

    def _check_clusters(self) -> None:
        """Raise ValueError unless centres lie within the bounds, and sizes and errors are not negative."""
        for centres in (self.centres, self.tree.leaf_centres):
            if centres is not None and not np.all((centres >= self.schema.lower) & (centres <= self.schema.upper)):
                raise ValueError("a centre lies beyond the bounds of its column")
        if min(values.min() for values in (self.sizes, self.size_errors, self.centre_errors)) < 0:
            raise ValueError("a size or an error of a cluster is negative")


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


def _no_formula(name: str) -> str:
    """Return a name that no spreadsheet computes or hands to another program (OWASP, "CSV injection")."""
    name = printable(name)
    return _FORMULA.sub(r"\1'", name)


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
        raise ValueError("a field is there twice")
    return values


def _is_plain_number(value: Any) -> bool:
    return is_number(value) and abs(value) <= _LARGEST_NUMBER


def _numbers_of(clusters: list[Any], name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a field of all clusters as an array; texts and truth values are not taken for numbers."""
    values = [cluster[name] for cluster in clusters]
    lists = [values] if len(shape) == 1 else values
    if not all(isinstance(items, list) and all(map(_is_plain_number, items)) for items in lists):
        raise ValueError(f"the field {name!r} of the clusters must hold numbers")
    array = np.array(values, dtype=np.float64)
    if array.shape != shape or not np.all(np.abs(array) <= _LARGEST_ERROR):
        raise ValueError(f"the field {name!r} of the clusters has the wrong shape or is too large")
    return array


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
    depth = np.zeros(len(tree.column), dtype=np.int64)
    for node in np.flatnonzero(tree.column >= 0):  # children come after their parents
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    if depth.max() > _MOST_LEVELS:
        raise ValueError(f"the tree has more than {_MOST_LEVELS} levels")
    if tree.cluster.max() >= n_clusters:
        raise ValueError("the tree names a cluster that is not there")
    if tree.size_error.min() < 0:
        raise ValueError("an error in the tree is negative")


def _check_statement(privacy: PrivacyStatement) -> None:
    """Raise ValueError unless the statement can be printed: numbers that are not negative, texts that are not too long."""
    if len(privacy.entries) > _MOST_LINES:
        raise ValueError("the privacy statement is too long")
    texts = [privacy.unit.person_id or "", privacy.variant, privacy.currency, privacy.version]
    texts += [text for entry in privacy.entries for text in (entry.name, entry.mechanism, entry.unit)]
    if not all(isinstance(text, str) and len(text) <= _LONGEST_TEXT for text in texts):
        raise ValueError("a text of the privacy statement is none or too long")
    entries = [(entry.sensitivity, entry.scale, entry.cost, entry.n_draws, entry.delta) for entry in privacy.entries]
    levels = [entry.level for entry in privacy.entries if entry.level is not None]
    numbers = [privacy.epsilon, privacy.bounds_epsilon, privacy.rho or 0.0, privacy.rows_per_person]
    numbers += [privacy.earlier_fits, *levels]
    if not all(_is_plain_number(value) and value >= 0 for value in (*numbers, *itertools.chain(*entries))):
        raise ValueError("a number of the privacy statement is negative or too large")


def _check_parameters(parameters: Any) -> None:
    """Raise ValueError unless parameters are plain values by name, or mappings of such."""
    nested = [value.values() if isinstance(value, dict) else [value] for value in parameters.values()]
    for value in itertools.chain(*nested):
        if not (value is None or isinstance(value, str | bool) or _is_plain_number(value)):
            raise ValueError("a parameter is neither a text, a truth value nor a number")
