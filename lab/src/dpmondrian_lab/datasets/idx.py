"""The idx format of MNIST and Fashion-MNIST: a short header, then unsigned bytes."""

from __future__ import annotations

import gzip
import math
import zlib

import numpy as np
from numpy.typing import NDArray

from dpmondrian_lab.datasets.files import find_file
from dpmondrian_lab.exceptions import DatasetError

__all__ = ["parse_idx", "read_idx"]


def read_idx(name: str) -> NDArray[np.uint8]:
    """Return the array in a gzip-compressed idx file among the data files, such as mnist/train-images-idx3-ubyte.gz."""
    return parse_idx(find_file(name).read_bytes(), name)


def parse_idx(compressed: bytes, name: str) -> NDArray[np.uint8]:
    """Return the array of unsigned bytes in a gzip-compressed idx file; its name is for the error only."""
    try:
        raw = gzip.decompress(compressed)
    except (OSError, EOFError, zlib.error):
        raise DatasetError(f"The file {name} is not a whole gzip file. Delete it and fetch it again.") from None
    # Two zero bytes, 8 for unsigned bytes, the number of dimensions; then their lengths.
    if raw[:3] != b"\0\0\x08" or len(raw) < 4 + 4 * raw[3]:
        raise DatasetError(f"The file {name} is not an idx file of unsigned bytes. Delete it and fetch it again.")
    shape = np.frombuffer(raw, ">u4", count=raw[3], offset=4).tolist()
    if len(raw) != 4 + 4 * len(shape) + math.prod(shape):
        raise DatasetError(f"The file {name} is not as long as its header says. Delete it and fetch it again.")
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)
