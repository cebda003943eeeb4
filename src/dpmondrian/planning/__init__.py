"""Planning a release before any data is touched: what to expect from a guessed number of rows, a schema and a budget.

`forecast` puts everything together. Its parts take a `Design`, made by `make_design`:

===============  ============================================================================================
`size_error`     how well sizes will be known
`clear_size`     how many rows a cluster needs for its size to be clear of noise
`centre_errors`  how well the centre of a cluster will be known, by column
`findable`       without k: the smallest cluster and the least gap that are found in nine of ten runs
===============  ============================================================================================

`was_findable` and `few_rows` say the same of a release, by its released number of rows.
"""

from __future__ import annotations

from dpmondrian.planning.design import Design, make_design
from dpmondrian.planning.doubts import doubts_of, few_rows, misfits, noisy_rows, was_findable
from dpmondrian.planning.errors import CentreError, SizeError, centre_errors, clear_size, interval_factor, size_error
from dpmondrian.planning.finding import Findable, findable
from dpmondrian.planning.forecast import Forecast, Outlook, forecast

__all__ = [
    "CentreError",
    "Design",
    "Findable",
    "Forecast",
    "Outlook",
    "SizeError",
    "centre_errors",
    "clear_size",
    "doubts_of",
    "few_rows",
    "findable",
    "forecast",
    "interval_factor",
    "make_design",
    "misfits",
    "noisy_rows",
    "size_error",
    "was_findable",
]
