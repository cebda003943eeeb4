"""Missing and infinite values, by the caller's rule; and values beyond the bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import DataError, WayOut
from dpmondrian.kernels.reference import DROP, ERROR, MIDDLE
from dpmondrian.schema import Schema

__all__ = ["MISSING_RULES", "clipped_rows", "missing_value_error"]

MISSING_RULES = {"error": ERROR, "drop": DROP, "middle": MIDDLE}


def missing_value_error() -> DataError:
    """Return the error for missing values; it says nothing about where or how many they are."""
    return DataError(
        "The table contains NaN, missing or infinite values.", WayOut.HANDLE_MISSING, because={"on_missing": "error"}
    )


def clipped_rows(block: NDArray[np.float64], schema: Schema, missing: int) -> NDArray[np.float64]:
    """Return rows clipped to the bounds; missing values raise, become NaN (`DROP`), or become the middle."""
    finite = np.isfinite(block)
    if not finite.all():
        if missing == ERROR:
            raise missing_value_error()
        block = np.where(finite, block, (schema.lower + schema.upper) / 2 if missing == MIDDLE else np.nan)
    return np.clip(block, schema.lower, schema.upper)
