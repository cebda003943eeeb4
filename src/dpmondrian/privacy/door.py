"""THE DOOR: the one place where values computed from rows become values that may be published.

Each method takes exact integers, writes the ledger, draws the noise, and hands the noisy value over.
Only this module imports `dpmondrian.privacy.mechanisms`; a test holds that. What passes here:

===================  ==================================================================================
`counts`             numbers of rows of disjoint nodes
`select`             the best candidate of each of several disjoint groups of rows
`box_sums`           sums of rows relative to the middle of their public box
`ball_sums`          sums of displacements that were clipped to a public radius
===================  ==================================================================================

Neighbouring tables differ by the rows of one person, at most `rows_per_person` of them, added or
removed. Proofs: ``docs/privacy/``.

With a journal a value is kept there before it is handed over, and a run that was killed takes it from there instead of
drawing it again (``docs/privacy/checkpoint.md``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common import interrupts
from dpmondrian.exceptions import BudgetError, ParameterError, WayOut
from dpmondrian.privacy.draws import GAUSSIAN, LAPLACE, Draw, Kind
from dpmondrian.privacy.ledger import Entry, Ledger
from dpmondrian.privacy.mechanisms.bits import SecureBits, SeededBits
from dpmondrian.privacy.mechanisms.sampler import Sampler
from dpmondrian.privacy.plan import Plan, PlannedDraw

__all__ = ["MOST_PARTS_OF_SUMS", "OBSERVER", "Door", "Journal", "Observer", "in_whole_units"]


class Journal(Protocol):
    """Keeps what was released, so that a run that was killed goes on without drawing it again."""

    def recall(self, name: str, level: int | None, shape: tuple[int, ...]) -> NDArray[np.int64] | None:
        """Return what this draw released in an earlier part of the run; None if it was not made yet."""
        ...

    def keep(self, name: str, level: int | None, released: NDArray[np.int64]) -> None:
        """Keep what a draw releases, so that it outlasts this process; if it raises, nobody gets to see the value."""
        ...


class Observer(Protocol):
    """Somebody who stands at the doors that are made in a context: an audit, whose runs are seeded and not for release."""

    seed: int

    def noting(self, sampler: Any) -> Any:
        """Return a sampler that draws like this one and notes what it is asked for."""
        ...

    def stand_at(self, door: Door) -> None:
        """Take note of a door that was made."""
        ...


OBSERVER: ContextVar[Observer | None] = ContextVar("observer of doors", default=None)
"""Set within an audit's own context only, so it is gone with that context, however a run ends, and other threads never see it."""

_DEVIATION = {GAUSSIAN: 1.0, LAPLACE: math.sqrt(2.0)}
"""Standard deviation of noise per unit of its scale."""

_LARGEST_SCALE = 2.0**45
"""Up to here the samplers are exact and 64-bit integers hold every noisy value (``docs/privacy/noise.md``)."""
MOST_PARTS_OF_ROWS, MOST_PARTS_OF_SUMS = 2**24, 2**12
"""Counts are below 2**32 and sums below 2**50: times these, with noise, they fit 64 bits."""


class Door:
    """Draws noise, records it, hands over noisy values.

    Parameters
    ----------
    plan : Plan
        Verified before anything is drawn.
    rows_per_person : int
        Every sensitivity is multiplied by this.
    seed : int or None
        None draws secure noise. An int makes a reproducible run that may not be released.
    before_draw : callable, optional
        Called before each draw with its name, how many draws of the plan are behind, and how many are planned. If it
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
        observer = OBSERVER.get()
        if observer is not None and journal is not None:
            raise ParameterError(
                parameter="checkpoint",
                rule="must be None in an audit, which observes the draws of complete runs",
                way_out="Omit it there.",
            )
        seed = seed if observer is None else observer.seed
        self.plan = plan
        self.rows_per_person = rows_per_person
        self.secure = seed is None
        sampler = self._sampler_type(SecureBits() if seed is None else SeededBits(seed))
        self._sampler = sampler if observer is None else observer.noting(sampler)
        self._ledger = self._ledger_type(plan, rows_per_person)
        self._before_draw = before_draw
        self._journal = journal
        if observer is not None:
            observer.stand_at(self)

    def public_randomness(self, *purpose: str | int) -> np.random.Generator:
        """Return a generator for choices that do not depend on the data and protect nothing, such as a start."""
        return np.random.default_rng(self._sampler.public_seed(*purpose))

    def person_key(self) -> NDArray[np.uint64]:
        """Return a key of 128 bits, by which to choose the rows of a person that are kept: secret."""
        return self._sampler.person_key()

    def check_noise_fits(self, largest_sensitivity: float, n_columns: int = 1) -> None:
        """Refuse, before anything is drawn, a run whose noise 64-bit integers could not hold.

        Nor could they hold noise in steps that are fine enough for a composed privacy loss, if one row changes sums of
        `n_columns` values and these have hardly any noise (``docs/privacy/pld.md``).
        """
        if self.plan.accountant == "pld" and not all(
            self.plan.is_fine(draw, self._scale(draw) * MOST_PARTS_OF_SUMS, n_columns * self.rows_per_person)
            for draw in self.plan.draws
        ):
            raise BudgetError(
                "The noise of this run would be too coarse for the accountant of privacy losses; nothing was drawn.",
                WayOut.FINER_NOISE,
            )
        multiplier = max(planned.multiplier for planned in self.plan.draws if planned.draw.kind is Kind.NOISE)
        if multiplier * self.rows_per_person * largest_sensitivity > _LARGEST_SCALE:
            raise BudgetError(
                "The noise of this run would be too large to represent; nothing was drawn.", WayOut.LESS_NOISE
            )

    def deviation(self, draw: Draw, level: int | None = None) -> float:
        """Return the standard deviation of a draw's noise, per unit of what one row can change (public)."""
        planned = self.plan.find(draw, level)
        return self._scale(planned) * _DEVIATION[planned.mechanism]

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
        scale, sensitivity = self._scale(planned), self.rows_per_person
        parts = self._parts(planned, scale, 1, MOST_PARTS_OF_ROWS)
        self._write(planned, sensitivity, scale, scale * parts, sensitivity / scale, exact.size)
        scales = np.full(exact.size, scale * parts)

        def drawn() -> NDArray[np.int64]:
            return exact * parts + self._sampler.noise(planned.mechanism, scales, draw.name, level or 0)

        return self._once(planned, exact.shape, drawn), parts

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
        block_sizes: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return noisy sums of disjoint groups and the noise's standard deviations, both (n_groups, n_columns).

        Columns come in blocks of `block_sizes` (None: each by itself), such as the indicators of one column of categories.

        Privacy
        -------
        Released: sums of rows, each relative to the middle of its group's public box, plus discrete noise.
        One row changes block b of its group by a vector of L1 and L2 length at most ``half_widths[group, b]``. The noise is
        spread over the blocks so that its total variance is least at the planned cost: with blocks of one column
        scale ``z * sqrt(h_j * sum(h))`` for Gaussian noise, ``z * h_j**(1/3) * sum(h**(2/3))`` for Laplace noise. Argument:
        ``docs/privacy/sums.md``; tests that try to break it: ``tests/privacy/test_neighbours.py``.
        """
        planned = self.plan.find(draw, level)
        widths, is_gaussian = half_widths.astype(np.float64), planned.mechanism == GAUSSIAN
        sizes = np.ones(widths.shape[1], dtype=np.int64) if block_sizes is None else block_sizes
        if is_gaussian:
            shape = np.sqrt(widths / np.sqrt(sizes) * (widths * np.sqrt(sizes)).sum(axis=1, keepdims=True))
        else:
            shape = np.cbrt(widths / sizes) * np.cbrt(widths * widths * sizes).sum(axis=1, keepdims=True)
        block_scales = self._scale(planned) * shape
        ratio = self.rows_per_person * widths / block_scales
        inverse = np.sqrt((ratio**2).sum(axis=1)) if is_gaussian else ratio.sum(axis=1)
        return self._sums(planned, exact_sums, np.repeat(block_scales, sizes, axis=1), float(inverse.max()))

    def ball_sums(
        self, draw: Draw, level: int | None, exact_sums: NDArray[np.int64], radius: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return noisy sums of disjoint groups and the noise's standard deviations, both (n_groups, n_columns).

        Privacy
        -------
        Released: sums of integer displacements whose length (L2 for Gaussian, L1 for Laplace noise) is at
        most ``radius[group]``, plus discrete noise of scale ``z * radius``. Argument: ``docs/privacy/sums.md``;
        tests that try to break it: ``tests/privacy/test_neighbours.py``.
        """
        planned = self.plan.find(draw, level)
        column = self._scale(planned) * radius[:, None].astype(np.float64)
        scales = np.repeat(column, exact_sums.shape[1], axis=1)
        inverse = float((self.rows_per_person * radius / scales[:, 0]).max())
        return self._sums(planned, exact_sums, scales, inverse)

    def _sums(
        self, planned: PlannedDraw, exact_sums: NDArray[np.int64], scales: NDArray[np.float64], inverse: float
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return sums with noise of these scales, of which `inverse` is the largest sensitivity per scale."""
        parts = self._parts(planned, float(scales.min()), exact_sums.shape[1], MOST_PARTS_OF_SUMS)
        largest = float(scales.max()) * parts
        self._write(planned, self.rows_per_person, self._scale(planned), largest, inverse, exact_sums.size)

        def drawn() -> NDArray[np.int64]:
            noise = self._sampler.noise(planned.mechanism, scales * parts, planned.name, planned.level or 0)
            return in_whole_units(exact_sums * parts + noise.reshape(exact_sums.shape), parts)

        return self._once(planned, exact_sums.shape, drawn), scales * _DEVIATION[planned.mechanism]

    def _once(
        self, draw: PlannedDraw, shape: tuple[int, ...], drawn: Callable[[], NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """Return what a draw releases: what it released before if the journal knows, else drawn now and kept first."""
        if self._journal is None:
            return drawn()
        released = self._journal.recall(draw.name, draw.level, shape)
        if released is None:
            released = drawn()
            with interrupts.lasting():
                self._journal.keep(draw.name, draw.level, released)
        return released

    def _parts(self, draw: PlannedDraw, scale: float, n_changed: int, most: int) -> int:
        """Return into how many parts a unit is divided before noise is drawn: a power of two, public.

        More than one only for composed privacy losses, whose Gaussian noise must be near to continuous noise. `scale` is the
        draw's least scale, `n_changed` the number of values that one row changes (``docs/privacy/joint.md``).
        """
        parts = 1
        while not self.plan.is_fine(draw, scale * parts, n_changed * self.rows_per_person):
            parts *= 2
            if parts > most:
                raise BudgetError(
                    f"The noise of {draw.name!r} would be too coarse for its accounting; it was not drawn. Decrease 'epsilon'."
                )
        return parts

    def _write(
        self,
        draw: PlannedDraw,
        sensitivity: float,
        scale: float,
        largest: float,
        inverse: float,
        n_draws: int,
    ) -> None:
        """Write the ledger before a draw; refuse noise that 64-bit integers could not hold, and draws of a run that was stopped.

        `largest` is the largest scale of added noise (0 for a selection), `inverse` its largest sensitivity per scale.
        """
        if largest > _LARGEST_SCALE:
            raise BudgetError(f"The noise of {draw.name!r} would be too large to represent; it was not drawn.")
        cost = self.plan.cost_of(draw.mechanism, 1.0 / inverse, draw.delta)
        interrupts.check()
        if self._before_draw is not None:
            self._before_draw(draw.name, self._ledger.n_written, len(self.plan.draws))
        self._ledger.write(draw, sensitivity=sensitivity, scale=scale, cost=cost, n_draws=n_draws)

    def close(self) -> tuple[Entry, ...]:
        """Return the ledger: one entry per planned draw, in the order of the plan."""
        return self._ledger.close()


def in_whole_units(noisy: NDArray[np.int64], parts: int) -> NDArray[np.int64]:
    """Return noisy values, given in parts of a unit, rounded to whole units: post-processing."""
    return (noisy + parts // 2) // parts
