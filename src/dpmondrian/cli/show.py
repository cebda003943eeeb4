"""Tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.console
    import rich.table

    from dpmondrian.artifact import Release
    from dpmondrian.comparison import Comparison
    from dpmondrian.reporting.tables import Table

__all__ = ["console", "print_clusters", "print_comparison", "print_table", "table_of"]

_WIDTH_OF_FILES = 160
_MOST_COLUMNS, _MOST_CLUSTERS = 7, 40


def console() -> rich.console.Console:
    """Return standard output, as wide as the terminal, or wide enough for tables where there is none."""
    from rich.console import Console

    found = Console(highlight=False, markup=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, width=_WIDTH_OF_FILES)


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> rich.table.Table:
    """Return a table of texts; the first column is to the left, the others to the right."""
    import rich.table
    from rich.text import Text

    table = rich.table.Table(title=Text(title) if title else None)
    for number, name in enumerate(head):
        table.add_column(Text(name), justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def print_clusters(release: Release) -> None:
    """Print size and centre of the clusters of a release, each with its standard error; of very many the first ones."""
    names = release.schema.centre_names[:_MOST_COLUMNS]
    rows = [
        [
            str(cluster),
            f"{size:,.0f} ± {size_error:,.0f}",
            *(f"{value:.4g} ± {error:.2g}" for _, value, error in zip(names, centre, errors, strict=False)),
        ]
        for cluster, (size, size_error, centre, errors) in enumerate(
            zip(release.sizes, release.size_errors, release.centres, release.centre_errors, strict=True)
        )
    ]
    privacy = release.privacy
    title = f"{len(rows)} clusters, epsilon = {privacy.epsilon:g}, delta = {privacy.delta:g}"
    console().print(table_of(("cluster", release.tree.counted, *names), rows[:_MOST_CLUSTERS], title))
    more = [(len(rows) - _MOST_CLUSTERS, "clusters"), (len(release.schema.centre_names) - len(names), "columns")]
    left_out = " and ".join(f"{number} more {what}" for number, what in more if number > 0)
    if left_out:
        print(f"{left_out} in centres.csv.")


def print_comparison(compared: Comparison) -> None:
    """Print the metrics of a release beside those of KMeans."""
    rows = [
        (name.replace("_", " "), f"{value:.6g}", f"{compared.kmeans[name]:.6g}")
        for name, value in compared.release.items()
    ]
    console().print(table_of(("metric", "release", "KMeans (not private)"), rows))


def print_table(table: Table) -> None:
    """Print means (standard deviations); a star marks the best private algorithm of each metric."""
    import rich.table

    from dpmondrian.reporting.names import METRIC_NAMES, algorithm_name, data_set_name
    from dpmondrian.reporting.tables import text_of

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
        console().print(shown)
