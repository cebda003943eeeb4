"""Tables of results on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpmondrian.cli.show import console, table_of

if TYPE_CHECKING:
    from dpmondrian_lab.pages.tables import Table

__all__ = ["print_table"]


def print_table(table: Table) -> None:
    """Print means (standard deviations); a star marks the best private algorithm of each metric."""
    from dpmondrian_lab.pages.names import METRIC_NAMES, algorithm_name, data_set_name
    from dpmondrian_lab.pages.tables import text_of

    for data_set in dict.fromkeys(data_set for data_set, _, _ in table):
        metrics = list(dict.fromkeys(metric for d, metric, _ in table if d == data_set))
        algorithms = list(dict.fromkeys(algorithm for d, _, algorithm in table if d == data_set))
        rows = [
            [
                algorithm_name(algorithm),
                *(
                    text_of(metric, table[data_set, metric, algorithm].summary)
                    + (" *" if table[data_set, metric, algorithm].best else "")
                    for metric in metrics
                ),
            ]
            for algorithm in algorithms
        ]
        head = ("", *(METRIC_NAMES[metric] for metric in metrics))
        console().print(table_of(head, rows, data_set_name(data_set)))
