"""What is doubtful about a fit, said by `DPM.fit` and ``dpm cluster`` alike, from public things only.

Before the fit that is what the parameters promise; afterwards also what follows from the released number of rows.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from dpmondrian.exceptions import FewRowsWarning, WeakPromiseWarning

if TYPE_CHECKING:
    from dpmondrian.dpm.settings import Settings
    from dpmondrian.release.release import Release

__all__ = ["promise_doubts_of", "warn_of_few_rows", "warn_of_promise"]


def warn_of_promise(settings: Settings, stacklevel: int) -> None:
    """Warn, before anything is spent, if the parameters promise little."""
    from dpmondrian.show.forecast_words import promise_doubts

    for sentence in promise_doubts(settings.epsilon, settings.delta):
        warnings.warn(sentence, WeakPromiseWarning, stacklevel=stacklevel + 1)


def warn_of_few_rows(release: Release, settings: Settings, stacklevel: int) -> None:
    """Warn, after a fit, if delta is large or clusters are hardly found, for as many rows as were released.

    Privacy
    -------
    The number of rows is the noisy one at the root of the released tree.
    """
    for sentence in _new_doubts(release):
        warnings.warn(sentence, WeakPromiseWarning, stacklevel=stacklevel + 1)
    for sentence in _few_rows(release, settings):
        warnings.warn(f"What was found may be noise: {sentence}", FewRowsWarning, stacklevel=stacklevel + 1)


def promise_doubts_of(release: Release) -> list[str]:
    """Return sentences about the promise of a release that is not worth much."""
    from dpmondrian.show.forecast_words import promise_doubts

    return promise_doubts(release.privacy.epsilon, release.privacy.delta, _noisy_rows(release))


def _new_doubts(release: Release) -> list[str]:
    """Return what the released number of rows adds to the doubts that the parameters raised already."""
    from dpmondrian.show.forecast_words import promise_doubts

    known = promise_doubts(release.privacy.epsilon, release.privacy.delta)
    kinds = {sentence.split()[0] for sentence in known}
    return [sentence for sentence in promise_doubts_of(release) if sentence.split()[0] not in kinds]


def _few_rows(release: Release, settings: Settings) -> list[str]:
    from dpmondrian.forecast.design import EXPECTED_CLUSTERS, Design
    from dpmondrian.forecast.finding import smallest_cluster
    from dpmondrian.show.forecast_words import rows_doubts

    n_rows = _noisy_rows(release)
    clusters = min(settings.n_clusters or EXPECTED_CLUSTERS, n_rows)
    design = Design(n_rows, release.schema, settings, clusters)
    if (
        settings.paper or not design.has_cuts
    ):  # the paper's variant is there to repeat its results, and is not planned for
        return []
    return rows_doubts(n_rows, smallest_cluster(design).rows, release.tree.counted)


def _noisy_rows(release: Release) -> int:
    """Return the released number of all rows, at least one."""
    return max(1, round(float(release.tree.size[0])))
