"""Tables on a terminal: one per data set, a line per algorithm, a column per metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpmondrian.reporting.tables import Table

__all__ = ["print_table"]

_WIDTH_OF_FILES = 160


def print_table(table: Table) -> None:
    """Print means (standard deviations); a star marks the best private algorithm of each metric."""
    import rich.table
    from rich.console import Console

    from dpmondrian.reporting.names import METRIC_NAMES, algorithm_name, data_set_name
    from dpmondrian.reporting.tables import text_of

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH_OF_FILES)
    for data_set in dict.fromkeys(data_set for data_set, _, _ in table):
        metrics = list(dict.fromkeys(metric for d, metric, _ in table if d == data_set))
        algorithms = list(dict.fromkeys(algorithm for d, _, algorithm in table if d == data_set))
        shown = rich.table.Table("", *(METRIC_NAMES[metric] for metric in metrics), title=data_set_name(data_set))
        for algorithm in algorithms:
            cells = [table[data_set, metric, algorithm] for metric in metrics]
            texts = [
                text_of(metric, cell.summary) + (" *" if cell.best else "")
                for metric, cell in zip(metrics, cells, strict=True)
            ]
            shown.add_row(algorithm_name(algorithm), *texts)
        console.print(shown)
