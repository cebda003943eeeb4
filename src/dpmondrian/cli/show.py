"""Sentences, texts and tables on a terminal: all that `dpm` prints goes through here, and is made safe to print."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dpmondrian.cli.wording import plural
from dpmondrian.common.printable import printable

if TYPE_CHECKING:
    import rich.console
    import rich.table

    from dpmondrian.quality import Comparison
    from dpmondrian.release import Release

_WIDTH_OF_FILES = 160
_MOST_COLUMNS, _MOST_CLUSTERS = 7, 40


def say(sentence: str, *, err: bool = False, red: bool = False) -> None:
    """Print one line on standard output, or on standard error; in red where colours are shown."""
    if red:
        console().print(printable(sentence), style="bold red", soft_wrap=True)
    else:
        print(printable(sentence), file=sys.stderr if err else sys.stdout, flush=True)


def say_text(text: str, *, err: bool = False) -> None:
    """Print a text of several lines; names in it must be made safe before, or they could add lines of their own."""
    lines = text.removesuffix("\n").split("\n")
    print(*map(printable, lines), sep="\n", file=sys.stderr if err else sys.stdout, flush=True)


def console() -> rich.console.Console:
    """Return standard output, as wide as the terminal, or wide enough for tables where there is none."""
    from rich.console import Console

    found = Console(highlight=False, markup=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, width=_WIDTH_OF_FILES)


def table_of(head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> rich.table.Table:
    """Return a table of texts; the first column is to the left, the others to the right."""
    import rich.table
    from rich.text import Text

    table = rich.table.Table(title=Text(printable(title)) if title else None)
    for number, name in enumerate(head):
        table.add_column(Text(printable(name)), justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def print_fitting(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> int:
    """Print as many of the first columns as fit without breaking a word, and return their number."""
    target = console()
    n_shown = _n_fitting(head, rows, target.width)
    target.print(table_of(head[:n_shown], [row[:n_shown] for row in rows], title))
    return n_shown


def _n_fitting(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """Return how many columns of a table fit; at least two. Headings may break between words, cells are kept whole."""
    from rich.cells import cell_len

    used = 1
    for column, name in enumerate(head):
        words = [*printable(name).split(), *(printable(row[column]) for row in rows)]
        used += 3 + max(map(cell_len, words), default=0)
        if used > width:
            return max(2, column)
    return len(head)


def print_clusters(release: Release) -> None:
    """Print size and centre of the clusters of a release, each with its standard error; of very many the first ones."""
    from dpmondrian.show.texts import certainty_texts, counted_text, numbers_first, value_text
    from dpmondrian.show.words import ENGLISH as WORDS

    order = numbers_first(release.schema)[:_MOST_COLUMNS]
    columns = [release.schema.centre_columns[j] for j in order]
    names = [column.name for column in columns]
    sure = certainty_texts(release)
    rows = [
        [
            str(cluster),
            f"{size:,.0f} ± {size_error:,.0f}",
            *filter(None, [sure[cluster]]),
            *(
                value_text(*facts).replace("\N{NO-BREAK SPACE}", " ")
                for facts in zip(columns, centre[order], errors[order], strict=True)
            ),
        ]
        for cluster, (size, size_error, centre, errors) in enumerate(
            zip(release.sizes, release.size_errors, release.centres, release.centre_errors, strict=True)
        )
    ]
    before = [WORDS("table.cluster"), counted_text(release.tree.counted)]
    before += [WORDS("table.certainty")] if any(sure) else []
    n_names = print_fitting((*before, *names), rows[:_MOST_CLUSTERS], _title(release)) - len(before)
    more = [(len(rows) - _MOST_CLUSTERS, "cluster"), (len(release.schema.centre_names) - n_names, "column")]
    left_out = " and ".join(plural(number, f"more {what}") for number, what in more if number > 0)
    say(" ".join([WORDS("notebook.errors"), *([f"{left_out} in centres.csv."] if left_out else [])]))


def _title(release: Release) -> str:
    """Return how many clusters there are, and what they cost in all."""
    from dpmondrian.show.words import ENGLISH as WORDS
    from dpmondrian.show.words import plain_number

    privacy = release.privacy
    numbers = {
        "n": len(release.centres),
        "epsilon": f"{privacy.total_epsilon:g}",
        "bounds_epsilon": f"{privacy.bounds_epsilon:g}",
        "delta": plain_number(privacy.delta),
    }
    return WORDS("table.title.bounds" if privacy.bounds_epsilon else "table.title", **numbers)


def print_comparison(compared: Comparison) -> None:
    """Print the metrics of a release beside those of KMeans."""
    rows = [
        (name.replace("_", " "), f"{value:.4g}", f"{compared.kmeans[name]:.4g}")
        for name, value in compared.release.items()
        if name != "silhouette" or compared.release["n_centres"] > 1  # of one cluster it means nothing
    ]
    console().print(table_of(("metric", "release", "KMeans (not private)"), rows))
