"""What epsilon means: how well the best attacker can tell whether one person is in the table."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from dpmondrian.exceptions import BudgetError
from dpmondrian.privacy.accountants import PLD_SLACK, Composition, bounded_range_rho, smallest_met

if TYPE_CHECKING:
    from dpmondrian.release.statement import PrivacyStatement, Unit

_FALSE_POSITIVES = (0.01, 0.05, 0.1)
_SEARCH_STEPS = 25
_LARGEST_EXPONENT = 700.0
_LARGEST_COST = 1e15


@dataclass(frozen=True)
class Rate:
    """How many members an attacker finds at most who wrongly accuses a given share of the others.

    Attributes
    ----------
    false_positives : float
        Share of those who are not in the table that the attacker accuses of it.
    true_positives : float
        Most of those who are in the table that the attacker can find, as a share.
    by_epsilon_alone : float
        What epsilon and delta alone would allow.
    """

    false_positives: float
    true_positives: float
    by_epsilon_alone: float


@dataclass(frozen=True)
class Explanation:
    """Bounds on what the best attacker can learn about one unit. Prints as text.

    Attributes
    ----------
    epsilon, delta : float
        The guarantee, including what was spent on bounds.
    unit : Unit
        Whose privacy is protected.
    releasable : bool
        False for a run with a seed: none of this holds against anyone who knows the seed.
    basis : {"privacy loss", "zCDP"}
        What the bounds were computed from.
    advantage : float
        Maximum difference between true positive and false positive rates, whatever the attacker does.
    advantage_by_epsilon_alone : float
        What epsilon and delta alone would allow.
    rates : tuple of Rate
        True positives at false positives of 1 %, 5 % and 10 %.
    """

    epsilon: float
    delta: float
    unit: Unit
    releasable: bool
    basis: str
    advantage: float
    advantage_by_epsilon_alone: float
    rates: tuple[Rate, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain JSON values."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the explanation as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def __str__(self) -> str:
        from dpmondrian.show.texts import explanation_text

        return explanation_text(self)


def explain(
    statement: PrivacyStatement, composition: Composition | None = None, slack: float = PLD_SLACK
) -> Explanation:
    """Return what a privacy statement means for the best attacker; raise `BudgetError` where nothing is promised.

    Bounds estimated from the same rows before count as one more pure draw. `composition` is that of the ledger's draws, unless they
    compose in another way, and `slack` what was kept back of epsilon and delta for noise that is nearly continuous.
    """
    if math.isinf(statement.epsilon):
        raise BudgetError(
            "No finite epsilon holds for this result, so there is no bound on what an attacker can learn."
        )
    if not all(0.0 <= entry.cost <= _LARGEST_COST and 0.0 <= entry.delta < 1.0 for entry in statement.entries):
        raise BudgetError(
            "The ledger of this statement contains a cost or delta that no draw has; it cannot be explained."
        )
    epsilon, delta = statement.total_epsilon, statement.delta
    if composition is None:
        composition = _composition(statement)
    profile = _profile(composition, statement, slack if composition.mu > 0.0 else 0.0)
    return Explanation(
        epsilon=epsilon,
        delta=delta,
        unit=statement.unit,
        releasable=statement.releasable,
        basis="zCDP" if composition.rho > 0.0 else "privacy loss",
        advantage=min(profile(0.0), _advantage_of_promise(epsilon, delta)),
        advantage_by_epsilon_alone=_advantage_of_promise(epsilon, delta),
        rates=tuple(_rate(profile, epsilon, delta, alpha) for alpha in _FALSE_POSITIVES),
    )


def _composition(statement: PrivacyStatement) -> Composition:
    """Return what the run is dominated by. Of draws that were decided on the way only the total is known before they are made."""
    listed = Composition.of(statement.entries, statement.currency, fine=statement.accountant == "pld")
    if not statement.staged:
        return listed
    return Composition(pure=(statement.epsilon,)) if statement.rho is None else Composition(rho=statement.rho)


def _profile(composition: Composition, statement: PrivacyStatement, slack: float) -> Callable[[float], float]:
    """Return the function from any real epsilon to a delta at which the whole run is (epsilon, delta)-private.

    Noise that is nearly continuous costs a little more than continuous noise (``docs/privacy/joint.md``). Where only its
    zCDP cost is known, the other draws are composed with it in both ways, as losses and in zCDP: both are bounds.
    """
    ways = [composition]
    if composition.rho > 0.0:
        ways.append(Composition(rho=_whole_rho(composition), failure=composition.failure))
    ways = [way.with_pure(statement.bounds_epsilon) for way in ways]

    def profile(epsilon: float) -> float:
        least = min(way.delta(epsilon - slack * statement.epsilon) for way in ways)
        return min(1.0, (1.0 + slack) * least + slack * statement.delta)

    return profile


def _whole_rho(composition: Composition) -> float:
    """Return the zCDP cost of all draws together."""
    selections = [bounded_range_rho(epsilon) for epsilon in composition.ranges]
    return composition.rho + math.fsum(selections) + math.fsum(epsilon * epsilon / 2.0 for epsilon in composition.pure)


def _rate(profile: Callable[[float], float], epsilon: float, delta: float, alpha: float) -> Rate:
    """Return the most true positives at `alpha` false positives.

    Whatever x is, they are at most ``exp(x) * alpha + profile(x)``; the best x is searched for.
    """

    def bound(x: float) -> float:
        return math.exp(x) * alpha + profile(x)

    reach = min(epsilon, _LARGEST_EXPONENT)
    promised = _power_of_promise(epsilon, delta, alpha)
    return Rate(alpha, min(1.0, promised, _least(bound, -reach, reach)), promised)


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the least value that a search meets on an interval, its ends and its middle included."""
    return min(
        function(low), function(high), function(0.5 * (low + high)), smallest_met(function, low, high, _SEARCH_STEPS)
    )


def _power_of_promise(epsilon: float, delta: float, alpha: float) -> float:
    """Return the most true positives at `alpha` false positives that (epsilon, delta) alone allows."""
    factor = math.exp(min(epsilon, _LARGEST_EXPONENT))
    return max(0.0, min(1.0, factor * alpha + delta, 1.0 - (1.0 - delta - alpha) / factor))


def _advantage_of_promise(epsilon: float, delta: float) -> float:
    """Return the largest advantage that (epsilon, delta) alone allows."""
    half = math.tanh(epsilon / 2.0)
    return half + delta * (1.0 - half)
