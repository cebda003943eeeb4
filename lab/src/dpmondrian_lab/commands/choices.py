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
    from dpmondrian_lab.pages.targets import GROUPS, TARGETS

    if target not in GROUPS and target not in TARGETS:
        known = [*TARGETS, *GROUPS]
        hint = nearest_names([target], known) or f" There are {', '.join(known)}."
        raise typer.BadParameter(f"There is no target {target!r}.{hint}", param_hint="TARGET")
    names = list(GROUPS.get(target, (target,)))
    if any(TARGETS[name].is_figure for name in names):
        pyplot()
    return names


def make_selection(target: str, algorithms: tuple[str, ...], data_sets: tuple[str, ...]) -> Selection:
    """Return what is selected for a target; its own data sets if none are named."""
    from dpmondrian_lab.experiments.catalogue import make_experiment
    from dpmondrian_lab.experiments.spec import Selection
    from dpmondrian_lab.pages.targets import GROUPS, TARGETS

    _check_algorithms(algorithms)
    _check_data_sets(target, data_sets)
    if target in GROUPS:
        return Selection(data_sets, algorithms)
    selection = Selection(data_sets or TARGETS[target].own, algorithms)
    experiment = make_experiment(TARGETS[target].experiment)
    if not experiment.runs(selection=selection):
        known = ", ".join(experiment.algorithms)
        own = " on its own data sets" if experiment.grids[0].closed else ""
        raise typer.BadParameter(f"The target {target} takes only {known}{own}.", param_hint="--algorithms")
    return selection


def _check_algorithms(names: tuple[str, ...]) -> None:
    from dpmondrian.common.checks import nearest_names
    from dpmondrian_lab.peers.registry import ALGORITHMS

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
        if target in TARGETS and not TARGETS[target].shows(name):
            raise typer.BadParameter(f"The target {target} does not show {name}.", param_hint="--data-sets")
