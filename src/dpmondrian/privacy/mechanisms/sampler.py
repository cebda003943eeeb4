"""Integer noise for the door: OpenDP for short vectors, the exact vector sampler for long or uneven ones.

OpenDP's samplers are exact and vetted but take about 14 microseconds a draw, and a measurement of its
own for every scale. The counts of all but the widest levels do not notice; the centres of 64 clusters in
10 columns need 1,920 draws of hundreds of scales, which would cost more than the rest of the fit. `noise`
draws from the same law much faster. A seeded run cannot use OpenDP, which takes no seed, and uses `noise` throughout.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import RandomnessError
from dpmondrian.privacy.draws import EXPONENTIAL, GAUSSIAN, LAPLACE, PERMUTE_AND_FLIP
from dpmondrian.privacy.mechanisms.bits import BitSource
from dpmondrian.privacy.mechanisms.noise import discrete_gaussian, discrete_laplace
from dpmondrian.privacy.mechanisms.selection import exponential_mechanism, permute_and_flip

OPENDP_MAX_DRAWS = 4

_EXACT = {GAUSSIAN: discrete_gaussian, LAPLACE: discrete_laplace}
_SELECTION = {EXPONENTIAL: exponential_mechanism, PERMUTE_AND_FLIP: permute_and_flip}


def _opendp() -> Any:
    """Return OpenDP, imported when secure bits are first made, before anything is drawn; its prelude would load scikit-learn."""
    try:
        import opendp.domains
        import opendp.measurements
        import opendp.metrics
        import opendp.mod
    except MemoryError:
        raise
    except Exception as error:  # of whatever kind: OpenDP raises a bare Exception if its library cannot be loaded
        raise RandomnessError(
            f"OpenDP, which draws the noise, could not be loaded ({error.args[-1] if error.args else type(error).__name__}). Nothing "
            "was drawn. If memory is scarce, free some or raise the limit of this process (ulimit -v) or container; otherwise reinstall opendp."
        ) from None
    return opendp


@lru_cache(maxsize=64)
def _opendp_measurement(mechanism: str, scale: float) -> Any:
    """Return OpenDP's measurement; building one takes longer than a call, and plans repeat their scales."""
    dp = _opendp()
    dp.mod.enable_features("contrib")
    domain = dp.domains.vector_domain(dp.domains.atom_domain(T="i64"))
    if mechanism == GAUSSIAN:
        return dp.measurements.make_gaussian(domain, dp.metrics.l2_distance(T="i64"), scale=scale)
    return dp.measurements.make_laplace(domain, dp.metrics.l1_distance(T="i64"), scale=scale)


def opendp_noise(mechanism: str, scale: float, size: int) -> NDArray[np.int64]:
    """Return `size` integers of noise drawn by OpenDP from its own secure generator."""
    # For a few values a list crosses into OpenDP faster than an array.
    return np.array(_opendp_measurement(mechanism, scale)([0] * size), dtype=np.int64)


class Sampler:
    """Draws noise and selections by mechanism name, from secure or seeded bits."""

    def __init__(self, bits: BitSource) -> None:
        self._bits = bits
        self.secure = bits.secure

    def noise(self, mechanism: str, scales: NDArray[np.float64], *purpose: str | int) -> NDArray[np.int64]:
        """Return integer noise of the given scales, flattened, for a named purpose."""
        flat = np.ascontiguousarray(scales, dtype=np.float64).ravel()
        if self.secure and 0 < flat.size <= OPENDP_MAX_DRAWS and np.all(flat == flat[0]):
            return opendp_noise(mechanism, float(flat[0]), flat.size)
        return _EXACT[mechanism](flat, self._bits.child(*purpose))

    def select(self, mechanism: str, scores: NDArray[np.int64], scale: float, *purpose: str | int) -> int:
        """Return the index of the chosen candidate for a named purpose."""
        return _SELECTION[mechanism](scores, scale, self._bits.child(*purpose))

    def person_key(self) -> NDArray[np.uint64]:
        """Return two uniform words."""
        return self._bits.child("key of persons").words(2).copy()  # a part would keep the words of later draws alive
