"""What can be reproduced: every target needs the rows of one experiment and writes its files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from dpmondrian.common.whole_files import write_file
from dpmondrian_lab.experiments.catalogue import BEYOND, EXPERIMENTS
from dpmondrian_lab.experiments.rows import Row
from dpmondrian_lab.experiments.store import Store
from dpmondrian_lab.pages.figures.bars import figure1, figure5
from dpmondrian_lab.pages.figures.beyond import nulls_figure, ratio_figure, suite_figure
from dpmondrian_lab.pages.figures.curves import clusters_figure, epsilon_figure, rows_figure
from dpmondrian_lab.pages.figures.heat_maps import figure4
from dpmondrian_lab.pages.figures.shares import figure6
from dpmondrian_lab.pages.published import TABLE_DATA_SETS
from dpmondrian_lab.pages.summary import grouped, summaries
from dpmondrian_lab.pages.tables import Table, csv_table, make_table, markdown_table

__all__ = ["GROUPS", "TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """A table or figure.

    Attributes
    ----------
    experiment : str
        Whose rows it shows.
    draw : callable
        From rows and output folder to the paths of the files written.
    is_figure : bool
        Needs matplotlib.
    own : tuple of str
        Data sets that it shows, if these are fewer than those of the experiment.
    foreign : tuple of str
        Data sets that belong to another target.
    """

    experiment: str
    draw: Callable[[list[Row], Path], list[Path]]
    is_figure: bool = True
    own: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()

    def shows(self, data_set: str) -> bool:
        """Return whether a data set has a place here."""
        return data_set not in self.foreign

    def rows(self, store: Store) -> list[Row]:
        """Return the rows in the folder that have a place here."""
        return [row for row in store.published(self.experiment) if self.shows(row.run.data_set)]

    def write(self, store: Store) -> list[Path]:
        """Write the files and return their paths; none if no row has a place here."""
        shown = self.rows(store)
        return self.draw(shown, store.folder) if shown else []

    def table(self, store: Store) -> Table:
        """Return the numbers to print: none for figures, but for running times, which have no other table."""
        if self.experiment == "timing":
            return summaries(grouped(self.rows(store)), ("seconds",))
        return {} if self.is_figure else make_table(self.rows(store))


def _table(name: str) -> Target:
    def draw(rows: list[Row], folder: Path) -> list[Path]:
        table = make_table(rows)
        paths = [folder / "tables" / f"{name}.md", folder / "tables" / f"{name}.csv"]
        for path, text in zip(paths, (markdown_table(table), csv_table(table)), strict=True):
            write_file(path, text, overwrite=True, make_folder=True)
        return paths

    other = "table3" if name == "table2" else "table2"
    return Target("kopt", draw, False, TABLE_DATA_SETS[name], TABLE_DATA_SETS[other])


def _figure(
    experiment: str,
    draw: Callable[[list[Row], Path], list[Path]],
    own: tuple[str, ...] = (),
    foreign: tuple[str, ...] = (),
) -> Target:
    return Target(experiment, lambda rows, folder: draw(rows, folder / "figures"), True, own, foreign)


def _text_only(experiment: str) -> Target:
    """Return a target that only the page shows."""
    return Target(experiment, lambda rows, folder: [])


TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "table2": _table("table2"),
        "table3": _table("table3"),
        "fig1": _figure("kopt", figure1, TABLE_DATA_SETS["table2"], TABLE_DATA_SETS["table3"]),
        "fig4": _figure("centreness", figure4),
        "fig5": _figure("timing", figure5),
        "fig6": _figure("budget", figure6),
        "epsilon": _figure("epsilon", epsilon_figure),
        "rows": _figure("rows", rows_figure),
        "clusters": _figure("clusters", clusters_figure),
        "real_k": _figure("real_k", ratio_figure),
        "real_found": _text_only("real_found"),
        "real_times": _text_only("real_times"),
        "suite": _figure("suite", suite_figure),
        "nulls": _figure("nulls", nulls_figure),
    }
)

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "all": tuple(name for name in TARGETS if TARGETS[name].experiment in EXPERIMENTS),
        "real": tuple(name for name in TARGETS if TARGETS[name].experiment in BEYOND),
    }
)
"""Targets that make a page together: the paper's evaluation, and what goes beyond it."""
