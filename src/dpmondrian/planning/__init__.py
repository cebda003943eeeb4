"""Planning a release before any data is touched: what to expect from a guessed number of rows, a schema and a budget.

>>> from dpmondrian import Column, Schema, forecast
>>> expected = forecast(20_000, Schema((Column("age", 0, 120, unit="years"), Column("bmi", 10, 60))), epsilon=1.0)
>>> print(str(expected).splitlines()[0])
Total number of rows: accurate to about ± 102.

`forecast` puts everything together. Its parts take a `Design`, made by `make_design`:

==================  ===================================================================================
`count_error`       how well sizes will be known
`centre_errors`     how well the centre of a cluster will be known, by column
`smallest_cluster`  how many rows a cluster needs to be found (an estimate)
`count_bound`       guaranteed: how far a noisy count is off at most
`cut_bound`         guaranteed: how far the chosen cut is behind the best one at most
`central_cut`       guaranteed: how many rows the chosen cut has on its smaller side at least
==================  ===================================================================================
"""

from __future__ import annotations

from dpmondrian.planning.bounds import GoodCut, central_cut, count_bound, cut_bound
from dpmondrian.planning.centres import CentreError, centre_errors
from dpmondrian.planning.counts import SizeError, count_error, interval_factor
from dpmondrian.planning.design import Design, make_design
from dpmondrian.planning.doubts import doubts_of, few_rows, noisy_rows
from dpmondrian.planning.finding import SmallestCluster, smallest_cluster
from dpmondrian.planning.forecast import Forecast, Guarantees, Outlook, forecast

__all__ = [
    "CentreError",
    "Design",
    "Forecast",
    "GoodCut",
    "Guarantees",
    "Outlook",
    "SizeError",
    "SmallestCluster",
    "central_cut",
    "centre_errors",
    "count_bound",
    "count_error",
    "cut_bound",
    "doubts_of",
    "few_rows",
    "forecast",
    "interval_factor",
    "make_design",
    "noisy_rows",
    "smallest_cluster",
]
