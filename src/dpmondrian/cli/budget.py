"""``dpm budget``: the ledger of a data set, what was spent of it and what is left."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpmondrian.cli import options
from dpmondrian.cli.show import say, say_text
from dpmondrian.cli.stopping import printed, stoppable

if TYPE_CHECKING:
    from dpmondrian.accounts import BudgetState

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False)

BudgetArgument = Annotated[Path, typer.Argument(help="The budget file.")]


@app.callback()
def budget() -> None:
    """Manage the privacy budget of a data set: a file that is charged before every release and never exceeds its total.

    \b
    Examples:
      dpm budget new budget.json --epsilon 3 --delta 1e-6 --data-set "patients 2026"
      dpm budget show budget.json
    """  # noqa: D301


@app.command()
@stoppable
def new(
    file: BudgetArgument,
    epsilon: Annotated[float, typer.Option(help="Total epsilon that may ever be spent on this data set.")],
    delta: Annotated[float, typer.Option(help="Total delta that may ever be spent on this data set.")] = 1e-6,
    data_set: Annotated[str, typer.Option(help="Name of the data set, published with every release.")] = "",
) -> None:
    """Create the budget file of a data set.

    \b
    Example:
      dpm budget new budget.json --epsilon 3 --delta 1e-6 --data-set "patients 2026"
    """  # noqa: D301
    from dpmondrian.accounts import Budget

    Budget.create(file, epsilon, delta, data_set)
    with printed(f"The budget file was written: {file}"):
        say(f"Written: {file}. Pass it to every run on this data set: --budget {shlex.quote(str(file))}")


@app.command()
@stoppable
def show(file: BudgetArgument, as_json: options.Json = False) -> None:
    """Show what a budget was spent on, and what is left of it.

    \b
    Example:
      dpm budget show budget.json
    """  # noqa: D301
    from dpmondrian.accounts import Budget

    state = Budget(file).read()
    if as_json:
        spent = {"epsilon": state.spent_epsilon, "delta": state.spent_delta}
        left = dict(zip(("epsilon", "delta"), state.left, strict=True))
        say_text(json.dumps({**json.loads(state.to_json()), "spent": spent, "left": left}, indent=2))
    else:
        _print(state)


def _print(state: BudgetState) -> None:
    from dpmondrian.cli.show import print_fitting
    from dpmondrian.show.words import plain_number

    rows = [
        (
            entry.time,
            entry.purpose,
            plain_number(entry.epsilon),
            plain_number(entry.delta),
            entry.state,
            (entry.release or "-")[:12],
        )
        for entry in state.entries
    ]
    title = f"Budget of {state.data_set}" if state.data_set else "Budget"
    print_fitting(("time", "purpose", "epsilon", "delta", "state", "release"), rows, title)
    if state.unit is not None:
        say(f"Unit of privacy: {state.unit}.")
    left_epsilon, left_delta = state.left
    say(f"Total: epsilon = {plain_number(state.epsilon)}, delta = {plain_number(state.delta)}.")
    say(
        f"Spent: epsilon = {plain_number(state.spent_epsilon)}, delta = {plain_number(state.spent_delta)} (sum of all entries)."
    )
    say(f"Left:  epsilon = {plain_number(left_epsilon)}, delta = {plain_number(left_delta)}.")
