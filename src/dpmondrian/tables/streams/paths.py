"""The files behind paths, globs and folders."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from dpmondrian.exceptions import DataError, WayOut
from dpmondrian.tables.source import DATABASES, ENDINGS, Source

__all__ = ["PathLike", "paths_in", "sources_of"]

PathLike: TypeAlias = "str | os.PathLike[str]"

_IGNORED = (".", "_")
"""How names begin of what other programs leave beside tables: ``_SUCCESS``, ``.part-0.crc``."""


def paths_in(items: Sequence[Any]) -> Sequence[PathLike]:
    """Return the items if all of them are paths, else nothing."""
    return items if all(isinstance(item, str | os.PathLike) for item in items) else []


def sources_of(paths: Sequence[PathLike], delimiter: str | None = None) -> list[Source]:
    """Return the files of one format behind paths, globs and folders: those of each in sorted order.

    Folders are searched to the bottom. Their names tell no values: columns are in the files.

    Raises
    ------
    DataError
        If there are none, or of several formats, or something else beside them.
    """
    sources = [_source(file, delimiter) for path in paths for file in _files(path)]
    other = next((source for source in sources if source.format != sources[0].format), None)
    if other is not None:
        raise DataError(
            f"All files must have the same format. {str(sources[0].path)!r} is of format {sources[0].format}, {str(other.path)!r} of "
            f"format {other.format}. Pass files of one format, such as 'folder/*.parquet'."
        )
    return sources


def _source(file: Path, delimiter: str | None) -> Source:
    if ENDINGS.get(file.suffix.lower()) in DATABASES:
        raise DataError(
            f"The file {str(file)!r} is a database and needs a query that selects the rows.", WayOut.QUERY_DATABASE
        )
    return Source(file, delimiter=delimiter)


def _files(path: PathLike) -> list[Path]:
    text = os.path.expanduser(path)
    if "://" in text:
        raise DataError(f"{text!r} is a URL, but only paths on this machine can be read.", WayOut.COPY_FILES)
    if os.path.isdir(text):
        found = sorted(_in_folder(Path(text), set()))
        if not found:
            raise DataError(f"The folder {text!r} contains no files. Check its name, or write the tables there.")
        return found
    if os.path.lexists(text) or not glob.has_magic(text):
        return [Path(text)]
    return _matches(text)


def _in_folder(folder: Path, seen: set[str]) -> Iterator[Path]:
    """Yield the files in a folder and in those below it, in any order."""
    place = os.path.realpath(folder)
    if place in seen:
        raise DataError(
            f"The folder {str(folder)!r} can be reached in two ways, so its rows would count twice. Remove the link."
        )
    seen.add(place)
    for entry in _entries(folder):
        if entry.name.startswith(_IGNORED):
            continue
        if entry.is_dir():
            yield from _in_folder(Path(entry.path), seen)
        else:
            yield Path(entry.path)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        raise DataError(
            f"The folder {str(folder)!r} cannot be read: permission denied, or it was deleted ({type(error).__name__}). Check its name and permissions."
        ) from None


def _matches(pattern: str) -> list[Path]:
    """Return the files that a pattern matches, and those in the folders that it matches."""
    spelt = Path(pattern).parts
    asks_for_all = any(part.startswith(_IGNORED) and glob.has_magic(part) for part in spelt)
    found: set[Path] = set()
    for match in map(Path, glob.iglob(pattern, recursive=True)):
        if not asks_for_all and any(part.startswith(_IGNORED) for part in match.parts if part not in spelt):
            continue
        found.update(_in_folder(match, set()) if os.path.isdir(match) else [match])
    if not found:
        raise DataError(f"The pattern {pattern!r} matches no readable file. Check its folder and wildcards.")
    return sorted(found)
