"""All rows together, as far as clusters do not tell. Post-processing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpmondrian.schema import Indicator

if TYPE_CHECKING:
    from dpmondrian.release.release import Release


def with_shares_of_all(release: Release, centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the centre of all rows with shares of categories as profiles count them, where there are any.

    They are known better than from the centres of clusters: noise that would make a share negative is cut off there, which adds up.
    """
    centre = centre.copy()
    if release.profiles is None:
        return centre
    for j, column in enumerate(release.schema.centre_columns):
        if isinstance(column, Indicator) and column.of in release.profiles.names:
            centre[j] = release.profiles.everyone[column.of].share_of[column.category].value
    return centre
