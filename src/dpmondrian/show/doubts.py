"""What is doubtful about a fit in words, and as warnings of `DPM.fit`; from public things only.

Before the fit that is what the parameters promise; afterwards also what follows from the released number of rows. Only the latter
needs a forecast, and loads it.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

from dpmondrian.exceptions import FewRowsWarning, WeakPromiseWarning
from dpmondrian.privacy.promise import Doubt, PromiseDoubt, promise_doubts

if TYPE_CHECKING:
    from dpmondrian.dpm.settings import Settings
    from dpmondrian.release.release import Release

__all__ = ["promise_sentence", "warn_of_few_rows", "warn_of_promise"]


def warn_of_promise(settings: Settings, stacklevel: int) -> None:
    """Warn, before anything is spent, if the parameters promise little."""
    for doubt in promise_doubts(settings.epsilon, settings.delta):
        warnings.warn(promise_sentence(doubt), WeakPromiseWarning, stacklevel=stacklevel + 1)


def warn_of_few_rows(release: Release, settings: Settings, stacklevel: int) -> None:
    """Warn, after a fit, if delta is large or clusters are hardly found, for as many rows as were released.

    Privacy
    -------
    The number of rows is the noisy one at the root of the released tree.
    """
    from dpmondrian.forecast.doubts import noisy_rows, rows_needed
    from dpmondrian.show.forecast_words import rows_doubts

    privacy, n_rows = release.privacy, noisy_rows(release)
    known = {doubt.value for doubt in promise_doubts(privacy.epsilon, privacy.delta)}
    for doubt in promise_doubts(privacy.epsilon, privacy.delta, n_rows):
        if doubt.value not in known:  # of this number nothing was said before
            warnings.warn(promise_sentence(doubt), WeakPromiseWarning, stacklevel=stacklevel + 1)
    smallest = rows_needed(release, settings)
    for sentence in [] if smallest is None else rows_doubts(n_rows, smallest, release.tree.counted):
        warnings.warn(f"What was found may be noise: {sentence}", FewRowsWarning, stacklevel=stacklevel + 1)


def promise_sentence(doubt: PromiseDoubt) -> str:
    """Return a doubt about a promise in words, the same for whoever clusters and whoever plans."""
    if doubt.kind is Doubt.LARGE_EPSILON:
        return (
            f"epsilon = {doubt.value:g} promises next to nothing to anybody: probabilities may differ by a factor of "
            f"exp({doubt.value:g}). Common choices lie between 0.1 and 3."
        )
    if doubt.kind is Doubt.DELTA_ABOVE_ROWS:
        assert doubt.n_rows is not None
        return (
            f"delta = {doubt.value:g} is more than 1 / {doubt.n_rows:,}: it would allow publishing somebody's row as it is. Choose "
            f"one well below that, such as {_small_delta(doubt.n_rows)}."
        )
    return (
        f"delta = {doubt.value:g} is large: with about this probability somebody's row may be published as it is. Choose one well "
        "below 1 / (number of people), such as 1e-7."
    )


def _small_delta(n_rows: int) -> str:
    """Return a power of ten of at most a hundredth of 1 / n."""
    return f"{10.0 ** -(math.ceil(math.log10(n_rows)) + 2):.0e}"
