"""What a user chose, checked: a wrong name is told with the nearest right one, before anything runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from dpmondrian_lab.experiments.spec import Selection

__all__ = ["check_text", "make_selection", "split_names", "target_names"]


def split_names(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names in texts with commas between them; a name with a comma stands in double quotes, as in a CSV file."""
    given = [texts] if isinstance(texts, str) else list(texts or ())
    check_text(given)
    try:
        rows = list(csv.reader(given, skipinitialspace=True, strict=True))
    except csv.Error:
        raise typer.BadParameter(
            "Names must have commas between them, and a name with a comma must stand in double quotes. Got a quote that is not "
            "closed, or closed within a name."
        ) from None
    return tuple(dict.fromkeys(name.strip() for row in rows for name in row if name.strip()))


def check_text(texts: Sequence[str | None]) -> None:
    """Refuse texts of the command line that are not UTF-8; Python carries their bytes as code points that nothing can write."""
    for text in texts:
        if text is not None and any("\ud800" <= character <= "\udfff" for character in text):
            raise typer.BadParameter(
                f"Names of columns must be UTF-8 text. Got {text!r}. Check the settings of your shell."
            )


def target_names(target: str) -> list[str]:
    """Return the names of the targets to make. Figures need matplotlib, which is asked for here."""
    from dpmondrian.common.checks import nearest_names
    from dpmondrian_lab.pages.figures.style import drawing
    from dpmondrian_lab.pages.targets import TARGETS

    if target != "all" and target not in TARGETS:
        hint = nearest_names([target], [*TARGETS, "all"]) or f" There are {', '.join(TARGETS)} and all."
        raise typer.BadParameter(f"There is no target {target!r}.{hint}", param_hint="TARGET")
    names = list(TARGETS) if target == "all" else [target]
    if any(TARGETS[name].is_figure for name in names):
        with drawing():
            pass
    return names


def make_selection(target: str, algorithms: tuple[str, ...], data_sets: tuple[str, ...]) -> Selection:
    """Return what is selected for a target; its own data sets if none are named."""
    from dpmondrian_lab.experiments.catalogue import make_experiment
    from dpmondrian_lab.experiments.spec import Selection
    from dpmondrian_lab.pages.targets import TARGETS

    _check_algorithms(algorithms)
    _check_data_sets(target, data_sets)
    if target == "all":
        return Selection(data_sets, algorithms)
    selection = Selection(data_sets or TARGETS[target].own, algorithms)
    experiment = make_experiment(TARGETS[target].experiment)
    if not experiment.runs(selection=selection):
        known = dict.fromkeys(algorithm for grid in experiment.grids for algorithm in grid.algorithms)
        raise typer.BadParameter(f"The target {target} takes only {', '.join(known)}.", param_hint="--algorithms")
    return selection


def _check_algorithms(names: tuple[str, ...]) -> None:
    from dpmondrian.common.checks import nearest_names
    from dpmondrian_lab.experiments.algorithms import ALGORITHMS

    for name in names:
        if name not in ALGORITHMS:
            hint = nearest_names([name], list(ALGORITHMS)) or f" There are {', '.join(ALGORITHMS)}."
            raise typer.BadParameter(f"There is no algorithm {name!r}.{hint}", param_hint="--algorithms")


def _check_data_sets(target: str, names: tuple[str, ...]) -> None:
    from dpmondrian_lab.datasets.registry import get
    from dpmondrian_lab.exceptions import DatasetError
    from dpmondrian_lab.pages.targets import TARGETS

    for name in names:
        try:
            get(name)
        except DatasetError as error:
            raise typer.BadParameter(str(error), param_hint="--data-sets") from None
        if target != "all" and not TARGETS[target].shows(name):
            raise typer.BadParameter(f"The target {target} does not show {name}.", param_hint="--data-sets")
