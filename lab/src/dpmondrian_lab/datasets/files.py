"""Where data files are: the folder named by the environment variable ``DPMONDRIAN_DATA``, then the cache folder.

The cache folder is ``dpmondrian`` in ``$XDG_CACHE_HOME``, or ``~/.cache/dpmondrian``. Downloads and everything that is
computed once (embeddings, reference centres) are written there; the folder of ``DPMONDRIAN_DATA`` is only read.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dpmondrian_lab.exceptions import DatasetError, DatasetNotFoundError

__all__ = [
    "DATA_VARIABLE",
    "Progress",
    "cache_folder",
    "find_file",
    "staging",
]

DATA_VARIABLE = "DPMONDRIAN_DATA"

Progress = Callable[[str, int, int], None]
"""Called now and then with what is being done, how much of it is done, and how much there is (0: not known)."""


def cache_folder() -> Path:
    """Return the folder for files that this package writes; it need not exist."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG rules say that a relative path is to be ignored.
    return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "dpmondrian"


def find_file(name: str) -> Path:
    """Return the path of a data file; raise `DatasetNotFoundError` with the way out if it is nowhere."""
    named = os.environ.get(DATA_VARIABLE)
    for folder in ([Path(named)] if named else []) + [cache_folder()]:
        if (folder / name).is_file():
            return folder / name
    raise DatasetNotFoundError(
        f"The data file {name} was not found. Put it into {cache_folder()}, or set {DATA_VARIABLE} to its folder."
    )


@contextmanager
def staging() -> Iterator[Path]:
    """Make a folder beside the cached files for work in progress, for its owner only; it is gone afterwards.

    A finished file is moved out of it with ``os.replace``, so that no half file ever has a final name. Errors of the
    file system become a `DatasetError`.
    """
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=cache_folder()) as folder:
            yield Path(folder)
    except DatasetError:
        raise
    except OSError as error:
        reason = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or error
        raise DatasetError(f"Could not write to {cache_folder()}: {reason}.") from error
