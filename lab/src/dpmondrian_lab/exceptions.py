"""Errors of the laboratory, in the hierarchy of the product.

::

    DPMondrianError
    ├── DatasetError                          a data set cannot be had
    │   ├── DatasetNotFoundError (also FileNotFoundError)
    │   └── DownloadError (also OSError)
    └── RowsError                             results of experiments cannot be read or written

    WorkerDiedError (RuntimeError)            a worker process ended in the middle of a task
"""

from __future__ import annotations

from dpmondrian.exceptions import DPMondrianError

__all__ = ["DatasetError", "DatasetNotFoundError", "DownloadError", "RowsError", "WorkerDiedError"]


class DatasetError(DPMondrianError):
    """A data set cannot be had: unknown, damaged, or not to be made on this machine."""


class DatasetNotFoundError(DatasetError, FileNotFoundError):
    """A data set is not on this machine."""


class DownloadError(DatasetError, OSError):
    """A file could not be downloaded; nothing of it was kept."""


class RowsError(DPMondrianError):
    """A file of rows cannot be read."""


class WorkerDiedError(RuntimeError):
    """A worker process ended in the middle of a task, for instance for want of memory."""
