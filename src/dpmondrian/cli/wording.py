"""Errors in the words of the command line: options in place of parameters, and its own ways out."""

from __future__ import annotations

import errno
import re
from typing import Any

from dpmondrian.exceptions import DPMondrianError, WayOut, Wording

_OF_THEIR_NAME = (
    "bounds checkpoint classes columns data_set decimal delimiter delta epsilon format header k memory missing on_missing person_id "
    "profiles query rows_per_person sheet spread thousands threads"
)
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _OF_THEIR_NAME.split()} | {
    "expected_clusters": "--clusters",
    "n_clusters": "--k",
    "n_rows": "--rows",
    "random_state": "--seed",
}
_WAYS_OUT = {
    WayOut.LET_DPM_CHOOSE: "Omit it to let DPM choose.",
    WayOut.RELEASE_CELLS: "Releases of 'dpm cluster' have cells.",
    WayOut.GIVE_BOUNDS: "Pass bounds that are known without the data, for example --bounds age=0:120.",
    WayOut.HANDLE_MISSING: "Use --on-missing drop to drop these rows, or --on-missing middle to replace missing values with the "
    "middle of the column's bounds (no for yes/no, other for categories). Or leave columns with many of them out with --columns.",
    WayOut.DROP_UNKNOWN_PEOPLE: "Use --on-missing drop or --on-missing middle to drop rows whose person is unknown.",
    WayOut.NAME_COLUMNS: "Pass the bounds by name, for example --bounds age=0:120 --bounds 'plan=basic|premium'.",
    WayOut.NAME_FORMAT: "Name its format, such as --format csv, or rename or convert it.",
    WayOut.NUMBER_COLUMNS: "Pass bounds only for columns of the table.",
    WayOut.OTHER_FOLDER: "Use another folder (TMPDIR), or increase --memory.",
    WayOut.MORE_SPACE: "Use a folder with more space (TMPDIR), or increase --memory.",
    WayOut.QUERY_DATABASE: "Pass only the database, with --query.",
    WayOut.SELECT_ROWS: 'For example --query "SELECT age, income FROM people".',
    WayOut.COPY_FILES: "Copy the files to this machine.",
    WayOut.LESS_NOISE: "Increase --epsilon, or decrease --rows-per-person.",
    WayOut.FINER_NOISE: "Decrease --epsilon.",
    WayOut.ALLOW_CUTS: "Add a numeric column, or allow cuts between categories with 'cut = true' in a schema file, or pass --k.",
    WayOut.TAKE_RELEASE: "To start a new run, delete the file or pass another one with --checkpoint.",
}
_WITHOUT_REASON = re.compile("without exception set|without setting an exception")
"""What Python says of a library that failed and set no error: mostly one that was refused memory and did not expect that."""
_REASONS = {
    errno.ENOENT: "does not exist. Check its name and folder",
    errno.EISDIR: "is a folder. Pass a file",
    errno.ENOTDIR: "has a parent that is not a folder. Check the path",
    errno.EACCES: "cannot be accessed: permission denied. Ask its owner, or change its permissions",
    errno.EPERM: "cannot be accessed: permission denied. Ask its owner, or change its permissions",
    errno.ENOSPC: "cannot be written: the disk is full. Free some space",
}


class _OptionWording(Wording):
    """The words of ``dpm``; a parameter that no option sets keeps its name."""

    def parameter(self, name: str, of: str) -> str:
        return f"{_OPTIONS[name]!r} option" if name in _OPTIONS else super().parameter(name, of)

    def fact(self, name: str, column: str) -> str:
        is_option = name in ("bounds", "decimal", "missing", "thousands")  # --format is that of a file
        return f"{_OPTIONS[name]!r} option for column {column!r}" if is_option else super().fact(name, column)

    def setting(self, name: str, value: Any) -> str:
        return f"{_OPTIONS[name]} is {value!r}" if name in _OPTIONS else super().setting(name, value)

    def way_out(self, key: WayOut) -> str:
        return _WAYS_OUT[key]


OPTIONS = _OptionWording()


def error_sentence(error: Exception) -> str:
    """Return what to say of an error. The text of one that nobody foresaw may hold a value of the data, so only its kind is told."""
    if isinstance(error, DPMondrianError):
        return error.sentence(OPTIONS)
    if scarce := scarcity_sentence(error):
        return scarce
    if isinstance(error, OSError):
        return system_sentence(error)
    return (
        f"{type(error).__name__}. This is a bug in dpm. The message may contain values from the data and is not shown; on "
        "synthetic data, set DPMONDRIAN_TRACEBACK=1 to see it."
    )


def system_sentence(error: OSError) -> str:
    """Return what an error of the system means."""
    code = errno.errorcode.get(error.errno or 0, type(error).__name__)
    if error.filename is None:
        return f"the operating system refused to read or write ({code})."
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
            "the process ran out of memory. Free some, or raise the limit of the process (ulimit -v) or container; --threads 1 and a "
            "lower --memory use less."
        )
    if isinstance(error, SystemError) and _WITHOUT_REASON.search(text):
        return (
            "a library failed without giving a reason, which usually means too little memory. Free some, or raise the limit of the "
            "process (ulimit -v) or container; --threads 1 and a lower --memory use less. If there is enough memory, this is a bug."
        )
    if "shared object" in text:
        return (
            "a library could not be loaded. If memory is scarce, free some, or raise the limit of the process (ulimit -v) or "
            "container; otherwise reinstall dpmondrian."
        )
    if "can't start new thread" in text:
        return (
            "the process cannot start more threads. Close other programs, or raise the limit of the user (ulimit -u) or container; "
            "--threads 1 uses fewer."
        )
    return ""


def plural(number: int, noun: str) -> str:
    """Return a number of things in words: "1 cluster", "2 clusters"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
