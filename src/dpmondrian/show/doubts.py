"""What is doubtful about a run in words, and as warnings of `DPM.fit`; from public things only.

Before the fit that is what the parameters promise; afterwards also what follows from the released number of rows. Only the latter
needs a forecast, and loads it.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from dpmondrian.common.printable import printable
from dpmondrian.exceptions import FewRowsWarning, MisfitWarning, WeakPromiseWarning
from dpmondrian.privacy import Doubt, promise_doubts
from dpmondrian.show.words import ENGLISH, Words
from dpmondrian.show.words.numbers import rough_size

if TYPE_CHECKING:
    from dpmondrian.dpm import Settings
    from dpmondrian.release import Release

FAILURES = ("nothing_found", "few_rows", "blurred_centres")
"""Doubts that make a run useless."""

_MOST_COLUMNS = 6


def warn_of_promise(settings: Settings, stacklevel: int) -> None:
    """Warn, before anything is spent, if the parameters promise little."""
    for doubt in promise_doubts(settings.epsilon, settings.delta):
        warnings.warn(doubt_text(doubt), WeakPromiseWarning, stacklevel=stacklevel + 1)


def warn_of_release(release: Release, stacklevel: int) -> None:
    """Warn, after a fit, if delta is large, nothing or less than asked for could be found, or a column does not fit, judging by what was released.

    Privacy
    -------
    The number of rows is the noisy one at the root of the released tree.
    """
    from dpmondrian.planning import few_rows, misfits, noisy_rows

    privacy = release.privacy
    known = {doubt.parameter for doubt in promise_doubts(privacy.epsilon, privacy.delta)}
    for doubt in promise_doubts(privacy.epsilon, privacy.delta, noisy_rows(release)):
        if doubt.parameter not in known:  # of this parameter nothing was said before
            warnings.warn(doubt_text(doubt), WeakPromiseWarning, stacklevel=stacklevel + 1)
    for doubt in misfits(release):
        warnings.warn(doubt_text(doubt), MisfitWarning, stacklevel=stacklevel + 1)
    for doubt in few_rows(release):
        sentence = doubt_text(doubt, release.tree.counted)
        useless = ENGLISH("doubt.noise", sentence=sentence) if doubt.key in FAILURES else sentence
        warnings.warn(useless, FewRowsWarning, stacklevel=stacklevel + 1)


def doubt_text(doubt: Doubt, counted: str = "rows", words: Words = ENGLISH) -> str:
    """Return a doubt as a sentence or two; `counted` is what the rows are: "rows" or "people"."""
    fields = {name: _value_text(name, value) for name, value in doubt.values.items()}
    return words(f"doubt.{doubt.key}", counted=words(f"counted.{counted}"), **fields)


def _value_text(name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(printable, value[:_MOST_COLUMNS])) + (" ..." if len(value) > _MOST_COLUMNS else "")
    if isinstance(value, int):
        return f"{value:,}"
    return rough_size(value) if name in ("rows", "needed") else f"{value:g}"
