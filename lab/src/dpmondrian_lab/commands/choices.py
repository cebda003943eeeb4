"""What a user chose, checked: a wrong name is told with the nearest right one, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from dpmondrian_lab.experiments.spec import Selection

__all__ = ["make_selection", "target_names"]


def target_names(target: str) -> list[str]:
    """Return the names of the targets to make. Figures need matplotlib, which is asked for here."""
    from dpmondrian.common.checks import nearest_names
    from dpmondrian.show.plots import pyplot
    from dpmondrian_lab.pages.targets import TARGETS

    if target != "all" and target not in TARGETS:
        hint = nearest_names([target], [*TARGETS, "all"]) or f" There are {', '.join(TARGETS)} and all."
        raise typer.BadParameter(f"There is no target {target!r}.{hint}", param_hint="TARGET")
    names = list(TARGETS) if target == "all" else [target]
    if any(TARGETS[name].is_figure for name in names):
        pyplot()
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
    from dpmondrian_lab.peers.registry import EVALUATED

    for name in names:
        if name not in EVALUATED:
            hint = nearest_names([name], list(EVALUATED)) or f" There are {', '.join(EVALUATED)}."
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
