"""Messages of the library in the words of the command line: options in place of parameters."""

from __future__ import annotations

import errno
import re

__all__ = ["in_options", "plural", "scarcity_sentence", "system_sentence"]

_OPTIONS = {
    "bounds": "--bounds",
    "checkpoint": "--checkpoint",
    "data_set": "--data-set",
    "delimiter": "--delimiter",
    "delta": "--delta",
    "epsilon": "--epsilon",
    "n_clusters": "--k",
    "on_missing": "--on-missing",
    "person_id": "--person-id",
    "query": "--query",
    "random_state": "--seed",
    "rows_per_person": "--rows-per-person",
}
_REASONS = {
    errno.ENOENT: "does not exist. Check its name and folder",
    errno.EISDIR: "is a folder. Give a file",
    errno.ENOTDIR: "lies in something that is not a folder. Check the path",
    errno.EACCES: "may not be read or written by you. Ask its owner, or change its permissions",
    errno.EPERM: "may not be read or written by you. Ask its owner, or change its permissions",
    errno.ENOSPC: "cannot be written: the disk is full. Make room",
}


def in_options(text: str) -> str:
    """Return a message of the library with the options of ``dpm`` in place of the parameters that they set."""
    if text.startswith("In the schema file"):
        return text  # there the names are keys
    text = text.replace("on_missing='drop' or 'middle'", "--on-missing drop or --on-missing middle")
    text = re.sub(r"\bon_missing='(\w+)'", r"--on-missing \1", text)
    text = re.sub(r"\bThe '(\w+)' parameter(?: of DPM)?", _option, text)
    text = text.replace("column of 'person_id'", "column of --person-id").replace("person_id=None", "no --person-id")
    text = text.replace("person_id='", "--person-id '")
    text = text.replace("raise the memory limit", "raise --memory").replace(
        "(TMPDIR, or Resources(folder=...))", "(TMPDIR)"
    )
    text = re.sub(r"Pass a DuckDB relation, such as .*", "Name the database alone, with --query.", text)
    text = re.sub(r"Pass pyarrow\.dataset.*", "Copy the files to this machine.", text)
    return text.replace("Use None to let DPM choose.", "Leave it out to let DPM choose.")


def _option(match: re.Match[str]) -> str:
    option = _OPTIONS.get(match[1])
    return match[0] if option is None else f"The '{option}' option"


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
