"""THE DOOR: the one place where values computed from rows become values that may be published.

Each method takes exact integers, writes the ledger, draws the noise, and hands the noisy value over.
Only this module imports `dpmondrian.privacy.mechanisms`; a test holds that. What passes here:

===================  ==================================================================================
`counts`             numbers of rows of disjoint nodes
`histograms`         several histograms of the same rows at once
`select`             the best candidate of each of several disjoint groups of rows
`box_sums`           sums of rows relative to the middle of their public box
`ball_sums`          sums of displacements that were clipped to a public radius
===================  ==================================================================================

Neighbouring tables differ by the rows of one person, at most `rows_per_person` of them, added or
removed. Proofs: ``docs/privacy/``.

What is drawn is planned first, all at once or in stages: `extend` plans further draws, within the cost that is `left`
(``docs/privacy/filter.md``).

With a journal a value is kept there before it is handed over, and a run that was killed takes it from there instead of
drawing it again (``docs/privacy/checkpoint.md``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common import interrupts
from dpmondrian.exceptions import BudgetError
from dpmondrian.privacy.draws import GAUSSIAN, LAPLACE, Draw
from dpmondrian.privacy.integers import (
    LARGEST_SCALE,
    MOST_PARTS_OF_ROWS,
    MOST_PARTS_OF_SUMS,
    PLACES,
    in_whole_units,
    parts_of_unit,
)
from dpmondrian.privacy.ledger import Entry, Journal, Ledger
from dpmondrian.privacy.mechanisms.bits import SecureBits, SeededBits
from dpmondrian.privacy.mechanisms.sampler import Sampler
from dpmondrian.privacy.plan import Plan, PlannedDraw

_DEVIATION = {GAUSSIAN: 1.0, LAPLACE: math.sqrt(2.0)}
"""Standard deviation of noise per unit of its scale."""


class Door:
    """Draws noise, records it, hands over noisy values.

    Parameters
    ----------
    plan : Plan
        Verified before anything is drawn, and again whenever it is extended.
    rows_per_person : int
        Every sensitivity is multiplied by this.
    seed : int or None
        None draws secure noise. An int makes a reproducible run that may not be released.
    before_draw : callable, optional
        Called before each draw with its name, how many draws of the plan are behind, and how many are planned so far. If it
        raises, nothing is drawn.
    journal : Journal, optional
        Where released values are kept before they are handed over, and found again by a run that continues.
    """

    _sampler_type: ClassVar[type[Sampler]] = Sampler
    _ledger_type: ClassVar[type[Ledger]] = Ledger

    def __init__(
        self,
        plan: Plan,
        rows_per_person: int = 1,
        seed: int | None = None,
        before_draw: Callable[[str, int, int], None] | None = None,
        journal: Journal | None = None,
    ) -> None:
        plan.verify()
        self.plan = plan
        self.rows_per_person = rows_per_person
        self.secure = seed is None
        self._sampler = self._sampler_type(SecureBits() if seed is None else SeededBits(seed))
        self._ledger = self._ledger_type(plan, rows_per_person)
        self._before_draw = before_draw
        self._journal = journal

    def person_key(self) -> NDArray[np.uint64]:
        """Return a key of 128 bits, by which to choose the rows of a person that are kept: secret."""
        return self._sampler.person_key()

    @property
    def left(self) -> float:
        """Cost that no planned draw has been given yet: rho, or epsilon in plans without delta."""
        return self.plan.left

    def plan_draw(self, draw: Draw, level: int | None, cost: float) -> PlannedDraw:
        """Return a draw to extend the plan with: the plan's mechanism for its kind, with the noise that costs `cost`."""
        return self.plan.plan_draw(draw, level, cost)

    def extend(self, draws: Sequence[PlannedDraw]) -> None:
        """Plan further draws, decided from public and released values alone; refuse them if they exceed the budget.

        Privacy
        -------
        Costs may depend on what was released, since their sum does not: it stays within `Plan.total` on every path.
        Argument: ``docs/privacy/filter.md``; tests that try to break it: ``tests/privacy/test_filter.py``.
        """
        self.plan = self._ledger.plan = self.plan.extended(draws)

    def waive(self, draw: Draw, level: int | None = None) -> None:
        """Give up a planned draw, for reasons that are public or released. Its cost is left again, if the accountant allows it."""
        if not self._ledger.is_open(self.plan.find(draw, level)):
            raise BudgetError(f"The draw {draw.name!r} at level {level} was made; it cannot be waived.")
        self.plan = self._ledger.plan = self.plan.without(draw, level)

    def deviation(self, draw: Draw, level: int | None = None) -> float:
        """Return the standard deviation of a draw's noise, per unit of what one row can change (public)."""
        planned = self.plan.find(draw, level)
        return self._scale(planned) * _DEVIATION[planned.mechanism]

    def deviation_at(self, cost: float) -> float:
        """Return the standard deviation of a count that is drawn at a cost (public)."""
        noise = self.plan.noise_at(cost)
        return self._scale(noise) * _DEVIATION[noise.mechanism]

    def _scale(self, draw: PlannedDraw) -> float:
        """Return the noise scale per unit of what one row can change."""
        return draw.multiplier * self.rows_per_person

    def counts(
        self, draw: Draw, level: int | None, exact_counts: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return noisy numbers of rows of disjoint groups, such as the nodes of one level.

        Privacy
        -------
        Released: the counts plus discrete noise. One person's rows change them by at most
        `rows_per_person` in L1 and L2 norm. Cost: that of the planned multiplier. Argument:
        ``docs/privacy/counts.md``; tests that try to break it: ``tests/privacy/test_neighbours.py``.
        """
        return in_whole_units(*self._counts(draw, level, np.asarray(exact_counts, dtype=np.int64)))

    def _counts(self, draw: Draw, level: int | None, exact: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
        """Return noisy numbers of rows, in parts of a row, and how many parts a row has."""
        planned = self.plan.find(draw, level)
        scale = self._scale(planned)
        inverse = self.rows_per_person / scale
        return self._noisy(planned, exact, np.full(exact.shape, scale), inverse, 1, MOST_PARTS_OF_ROWS)

    def histograms(
        self,
        draw: Draw,
        level: int | None,
        exact_groups: Sequence[NDArray[np.int64]],
        n_histograms: Sequence[int] | NDArray[np.int64],
        parts_per_row: int = 1,
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
        """Return noisy histograms of disjoint groups of rows, and the noise's standard deviation in each group.

        `exact_groups` has one array per group, of any shape, with all bins of its `n_histograms` histograms. Values and deviations
        are in parts of a row, of which a row has `parts_per_row`.

        Privacy
        -------
        Released: the bins plus discrete noise. One row adds, to each of at most m = ``n_histograms[group]`` histograms of its
        group, whole parts of a row that are not negative and sum to at most one row: L2 length at most ``sqrt(m)`` rows, L1
        length at most m. Noise has that length times z as its scale. Argument: ``docs/privacy/counts.md``; tests that try to
        break it: ``tests/privacy/test_passages.py``.
        """
        planned = self.plan.find(draw, level)
        numbers = np.asarray(n_histograms, dtype=np.float64)
        changes = parts_per_row * (np.sqrt(numbers) if planned.mechanism == GAUSSIAN else numbers)
        scales, sizes = self._scale(planned) * changes, [group.size for group in exact_groups]
        n_changed = int(np.minimum(sizes, numbers * parts_per_row).max(initial=1))
        inverse = float((self.rows_per_person * changes / scales).max(initial=0.0))
        exact, most = np.concatenate([np.ravel(group) for group in exact_groups]), MOST_PARTS_OF_ROWS // parts_per_row
        noisy = in_whole_units(*self._noisy(planned, exact, np.repeat(scales, sizes), inverse, n_changed, most))
        bins = np.split(noisy, np.cumsum(sizes)[:-1])
        noisy_groups = [values.reshape(group.shape) for values, group in zip(bins, exact_groups, strict=True)]
        return noisy_groups, scales * _DEVIATION[planned.mechanism]

    def select(
        self, draw: Draw, level: int | None, exact_scores: Sequence[NDArray[np.int64]], score_ranges: Sequence[int]
    ) -> list[int]:
        """Return the index of the candidate chosen in each of several groups of disjoint rows.

        Privacy
        -------
        Released: one index per group. Adding one row to a group moves its scores by amounts within one
        interval whose width is at most the group's `score_ranges`. Cost: that of the planned multiplier. Argument:
        ``docs/privacy/selection.md``; tests that try to break it: ``tests/privacy/test_selection_law.py``.
        """
        planned = self.plan.find(draw, level)
        sensitivities = [width * self.rows_per_person for width in score_ranges]
        scales = [planned.multiplier * sensitivity for sensitivity in sensitivities]
        inverse = max(sensitivity / scale for sensitivity, scale in zip(sensitivities, scales, strict=True))
        self._write(planned, max(sensitivities), max(scales), 0.0, inverse, len(exact_scores))

        def drawn() -> NDArray[np.int64]:
            stream = draw.name, -1 if level is None else level
            chosen = [
                self._sampler.select(planned.mechanism, scores, scale, *stream, group)
                for group, (scores, scale) in enumerate(zip(exact_scores, scales, strict=True))
            ]
            return np.array(chosen, dtype=np.int64)

        indices: list[int] = self._once(planned, (len(exact_scores),), drawn).tolist()
        return indices

    def box_sums(
        self,
        draw: Draw,
        level: int | None,
        exact_sums: NDArray[np.int64],
        half_widths: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return noisy sums of disjoint groups and the noise's standard deviations, both (n_groups, n_columns).

        Privacy
        -------
        Released: sums of rows, each relative to the middle of its group's public box, plus discrete noise.
        One row changes column j of its group by at most ``half_widths[group, j]``. The noise is spread over the columns so that
        its total variance is least at the planned cost: scale ``z * sqrt(h_j * sum(h))`` for Gaussian noise,
        ``z * h_j**(1/3) * sum(h**(2/3))`` for Laplace noise. Argument:
        ``docs/privacy/sums.md``; tests that try to break it: ``tests/privacy/test_neighbours.py``.
        """
        planned = self.plan.find(draw, level)
        widths, is_gaussian = half_widths.astype(np.float64), planned.mechanism == GAUSSIAN
        if is_gaussian:
            shape = np.sqrt(widths * widths.sum(axis=1, keepdims=True))
        else:
            shape = np.cbrt(widths) * np.cbrt(widths * widths).sum(axis=1, keepdims=True)
        scales = self._scale(planned) * shape
        ratio = self.rows_per_person * widths / scales
        inverse = np.sqrt((ratio**2).sum(axis=1)) if is_gaussian else ratio.sum(axis=1)
        return self._sums(planned, exact_sums, scales, float(inverse.max()), int(half_widths.max()))

    def ball_sums(
        self,
        draw: Draw,
        level: int | None,
        exact_sums: NDArray[np.int64],
        radius: NDArray[np.int64],
        weights: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return noisy sums of disjoint groups and the noise's standard deviations, both (n_groups, n_columns).

        Privacy
        -------
        Released: sums of integer displacements x, plus discrete noise of scale ``z * radius / w_j`` in column j. The length (L2 for
        Gaussian, L1 for Laplace noise) of a row's weighted displacement ``w_j * x_j`` is at most ``radius[group]``; `weights`
        are public and at least 1 (None: all of them 1). Argument: ``docs/privacy/sums.md``; tests that try to break it:
        ``tests/privacy/test_neighbours.py``, ``tests/privacy/test_passages.py``.
        """
        planned = self.plan.find(draw, level)
        weights = np.ones(exact_sums.shape[1], dtype=np.int64) if weights is None else weights
        scales = self._scale(planned) * radius[:, None].astype(np.float64) / weights
        inverse = float((self.rows_per_person * radius[:, None] / (weights * scales)).max())
        return self._sums(planned, exact_sums, scales, inverse, int(radius.max()))

    def _sums(
        self, planned: PlannedDraw, exact: NDArray[np.int64], scales: NDArray[np.float64], inverse: float, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return noisy sums and the noise's standard deviations; a row may change every column, by `most` at most."""
        noisy = self._noisy(planned, exact, scales, inverse, exact.shape[1], MOST_PARTS_OF_SUMS // min(most, PLACES))
        return in_whole_units(*noisy), scales * _DEVIATION[planned.mechanism]

    def _noisy(
        self,
        planned: PlannedDraw,
        exact: NDArray[np.int64],
        scales: NDArray[np.float64],
        inverse: float,
        n_changed: int,
        most_parts: int,
    ) -> tuple[NDArray[np.int64], int]:
        """Return values with noise, in parts of a unit, and how many parts a unit has. One row changes `n_changed` values."""
        least = float(scales.min(initial=math.inf))
        if not least > 0.0:
            raise BudgetError(f"The values of {planned.name!r} would have no noise; they were not drawn.")
        parts = self._parts(planned, least, n_changed, most_parts)
        largest = float(scales.max(initial=0.0)) * parts
        self._write(planned, self.rows_per_person, self._scale(planned), largest, inverse, exact.size)

        def drawn() -> NDArray[np.int64]:
            noise = self._sampler.noise(planned.mechanism, scales * parts, planned.name, planned.level or 0)
            return exact * parts + noise.reshape(exact.shape)

        return self._once(planned, exact.shape, drawn), parts

    def _once(
        self, draw: PlannedDraw, shape: tuple[int, ...], drawn: Callable[[], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Return what a draw releases: what it released before if the journal knows, else drawn now and kept first."""
        if self._journal is None:
            return drawn()
        released = self._journal.recall(draw.name, draw.level, draw.cost, shape)
        if released is None:
            released = drawn()
            with interrupts.lasting():
                self._journal.keep(draw.name, draw.level, draw.cost, released)
        return released

    def _parts(self, draw: PlannedDraw, scale: float, n_changed: int, most: int) -> int:
        """Return into how many parts a unit is divided before noise is drawn; one row changes `n_changed` values."""
        return parts_of_unit(self.plan, draw, scale, n_changed * self.rows_per_person, most)

    def _write(
        self, draw: PlannedDraw, sensitivity: float, scale: float, largest: float, inverse: float, n_draws: int
    ) -> None:
        """Write the ledger before a draw; refuse noise that 64-bit integers could not hold, and draws of a run that was stopped.

        `largest` is the largest scale of added noise (0 for a selection), `inverse` its largest sensitivity per scale.
        """
        if largest > LARGEST_SCALE:
            raise BudgetError(f"The noise of {draw.name!r} would be too large to represent; it was not drawn.")
        cost = self.plan.cost_of(draw.mechanism, 1.0 / inverse, draw.delta)
        interrupts.check()
        if self._before_draw is not None:
            self._before_draw(draw.name, self._ledger.n_written, self.plan.n_planned)
        self._ledger.write(draw, sensitivity=sensitivity, scale=scale, cost=cost, n_draws=n_draws)

    def close(self) -> tuple[Entry, ...]:
        """Return the ledger: one entry per planned draw, in the order of the plan."""
        return self._ledger.close()
