"""Errors in the words of the command line: options in place of parameters, and its own ways out."""

from __future__ import annotations

import errno
import re
from typing import Any

from dpmondrian.exceptions import WayOut, Wording

__all__ = ["OPTIONS", "plural", "scarcity_sentence", "system_sentence"]

_OPTIONS = {
    "bounds": "--bounds",
    "checkpoint": "--checkpoint",
    "classes": "--classes",
    "columns": "--columns",
    "data_set": "--data-set",
    "delimiter": "--delimiter",
    "delta": "--delta",
    "epsilon": "--epsilon",
    "expected_clusters": "--clusters",
    "memory": "--memory",
    "n_clusters": "--k",
    "n_rows": "--rows",
    "on_missing": "--on-missing",
    "person_id": "--person-id",
    "query": "--query",
    "random_state": "--seed",
    "rows_per_person": "--rows-per-person",
    "spread": "--spread",
    "threads": "--threads",
}
_WAYS_OUT = {
    WayOut.LET_DPM_CHOOSE: "Leave it out to let DPM choose.",
    WayOut.GIVE_BOUNDS: "Give bounds that are known without the data, for instance --bounds age=0:120.",
    WayOut.HANDLE_MISSING: "Use --on-missing drop to leave such rows out, or --on-missing middle to replace missing values with the "
    "middle of the column's bounds.",
    WayOut.DROP_UNKNOWN_PEOPLE: "Use --on-missing drop or --on-missing middle to leave out rows whose person is unknown.",
    WayOut.NAME_COLUMNS: "Give the bounds by name, for instance --bounds age=0:120 --bounds 'plan=basic|premium'.",
    WayOut.NUMBER_COLUMNS: "Give bounds for columns of the table only.",
    WayOut.OTHER_FOLDER: "Give another folder (TMPDIR), or raise --memory.",
    WayOut.MORE_SPACE: "Give a folder with more space (TMPDIR), or raise --memory.",
    WayOut.QUERY_DATABASE: "Name the database alone, with --query.",
    WayOut.SELECT_ROWS: 'For instance --query "SELECT age, income FROM people".',
    WayOut.COPY_FILES: "Copy the files to this machine.",
    WayOut.LESS_NOISE: "Raise --epsilon, or lower --rows-per-person.",
    WayOut.FINER_NOISE: "Lower --epsilon.",
    WayOut.ALLOW_CUTS: "Add a numeric column, or allow cuts between categories with 'cut = true' in a schema file; or give --k.",
    WayOut.TAKE_RELEASE: "For a new run delete the file, or give another one with --checkpoint.",
}
_WITHOUT_REASON = re.compile("without exception set|without setting an exception")
"""What Python says of a library that failed and set no error: mostly one that was refused memory and did not expect that."""
_REASONS = {
    errno.ENOENT: "does not exist. Check its name and folder",
    errno.EISDIR: "is a folder. Give a file",
    errno.ENOTDIR: "lies in something that is not a folder. Check the path",
    errno.EACCES: "may not be read or written by you. Ask its owner, or change its permissions",
    errno.EPERM: "may not be read or written by you. Ask its owner, or change its permissions",
    errno.ENOSPC: "cannot be written: the disk is full. Make room",
}


class _OptionWording(Wording):
    """The words of ``dpm``; a parameter that no option sets keeps its name."""

    def parameter(self, name: str, of: str) -> str:
        return f"{_OPTIONS[name]!r} option" if name in _OPTIONS else super().parameter(name, of)

    def setting(self, name: str, value: Any) -> str:
        return f"{_OPTIONS[name]} is {value!r}" if name in _OPTIONS else super().setting(name, value)

    def way_out(self, key: WayOut) -> str:
        return _WAYS_OUT[key]


OPTIONS = _OptionWording()


def system_sentence(error: OSError) -> str:
    """Return what an error of the system means."""
    code = errno.errorcode.get(error.errno or 0, type(error).__name__)
    if error.filename is None:
        return f"the system refuses to read or write ({code})."
    name = error.filename.decode(errors="replace") if isinstance(error.filename, bytes) else str(error.filename)
    return f"The file {name!r} {_REASONS.get(error.errno or 0, f'cannot be read or written ({code})')}."


def scarcity_sentence(error: BaseException) -> str:
    """Return what the system has too little of, and a way out; an empty text if the error is another one."""
    text = str(error)
    if (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or "failed to map segment" in text  # a library that is loaded when it is first used
        or "annot allocate memory" in text
    ):
        return (
            "the system gives this process no more memory. Free some, or raise the limit of the process (ulimit -v) or container; "
            "options --threads 1 and a lower --memory take less."
        )
    if isinstance(error, SystemError) and _WITHOUT_REASON.search(text):
        return (
            "a library failed and did not say why, as happens where memory is scarce. Free some, or raise the limit of the process "
            "(ulimit -v) or container; options --threads 1 and a lower --memory take less. If there is enough, it is a defect."
        )
    if "shared object" in text:
        return (
            "a library could not be loaded. If memory is scarce, free some, or raise the limit of the process (ulimit -v) or "
            "container; else install dpmondrian again."
        )
    if "can't start new thread" in text:
        return (
            "the system gives this process no more threads. End other programs, or raise the limit of the user (ulimit -u) or "
            "container; the option --threads 1 takes fewer."
        )
    return ""


def plural(number: int, noun: str) -> str:
    """Return a number of things in words: "1 cluster", "2 clusters"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
