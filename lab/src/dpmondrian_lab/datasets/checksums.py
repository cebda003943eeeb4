"""The checksum of a data set: of its decoded values, so that it does not depend on the bytes of the file."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["content_checksum"]


def content_checksum(rows: NDArray[np.float64], classes: NDArray[np.int64] | None) -> str:
    """Return the SHA-256 of the rows as little-endian float64, line by line, followed by the classes as int64."""
    digest = hashlib.sha256(np.ascontiguousarray(rows, dtype="<f8").data)
    if classes is not None:
        digest.update(np.ascontiguousarray(classes, dtype="<i8").data)
    return digest.hexdigest()
