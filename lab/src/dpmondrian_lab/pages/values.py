"""Numbers for texts: a placeholder such as ``${cell.synth_10d.dpm.inertia}`` is replaced by what the rows say.

::

    cell.<data set>.<algorithm>.<metric>     mean (standard deviation) of the experiment `kopt`
    mean.<data set>.<algorithm>.<metric>     the mean alone
    paper.<data set>.<algorithm>.<metric>    what the paper prints for the column that this algorithm repeats
    paper_mean.<...>                         its mean alone
    seconds.<data set>.<algorithm>           median time of a fit
    speed.<data set>.<algorithm>             how many times longer a fit takes than one of DPM

What was not measured reads "(not measured)". A placeholder of another form is an error.
"""

from __future__ import annotations

import math
import string
from collections.abc import Mapping
from typing import Any

from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.pages.published import published
from dpmondrian_lab.pages.summary import Grouped, grouped, number, summarise
from dpmondrian_lab.pages.tables import text_of

__all__ = ["NOT_MEASURED", "Values", "fill"]

NOT_MEASURED = "(not measured)"


class _Template(string.Template):
    idpattern = r"(?a:[a-z_][a-z0-9_.]*)"


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its placeholders replaced; raise `KeyError` for one that is not known."""
    return _Template(text).substitute(values)


class Values(dict[str, str]):
    """Placeholders and their texts: those given, and any that can be computed from rows."""

    def __init__(self, given: Mapping[str, str], kopt: list[Row], timing: list[Row]) -> None:
        super().__init__(given)
        self._kopt, self._timing = grouped(kopt), grouped(timing)

    def __missing__(self, name: str) -> str:
        kind, *parts = name.split(".")
        if kind in ("cell", "mean", "median", "paper", "paper_mean") and len(parts) == 3:
            return self._quality(kind, *parts)
        if kind in ("seconds", "speed") and len(parts) == 2:
            return self._time(kind, *parts)
        raise KeyError(name)

    def _quality(self, kind: str, data_set: str, algorithm: str, metric: str) -> str:
        if kind.startswith("paper"):
            paper = published(data_set, metric, algorithm)
            if paper is None:
                raise KeyError(f"{kind}.{data_set}.{algorithm}.{metric}")
            return paper.text if kind == "paper" else paper.text.partition(" ")[0]
        summary = summarise(_rows(self._kopt, data_set, algorithm), metric)
        if not summary.values:
            return NOT_MEASURED
        if kind == "cell":
            return text_of(metric, summary)
        return number(metric, summary.median if kind == "median" else summary.mean)

    def _time(self, kind: str, data_set: str, algorithm: str) -> str:
        median, ours = (summarise(_rows(self._timing, data_set, a), "seconds").median for a in (algorithm, "dpm"))
        value = median if kind == "seconds" else median / ours
        return NOT_MEASURED if math.isnan(value) else number("seconds", value)


def _rows(groups: Grouped, data_set: str, algorithm: str) -> list[Any]:
    return groups.get((data_set, algorithm), [])
