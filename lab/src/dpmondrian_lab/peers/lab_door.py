"""The laboratory's door: the passages of `Door`, and those that only peers need.

===================  ==================================================================================
`fine_counts`        numbers of rows, in parts of a row where the noise was drawn in parts of a row
`cover`              lattice vectors near many rows, in a series of draws that charges a row once
`means`              means of disjoint groups, which one row moves by little
`bounded_sums`       sums with noise conditioned on a public interval (published DP-Lloyd only)
===================  ==================================================================================

Only this module and `dpmondrian_lab.peers.cover` import the core's mechanisms; a test holds that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpmondrian.exceptions import BudgetError, DataError
from dpmondrian.privacy import LAPLACE, Door, Draw, Ledger, in_whole_units
from dpmondrian.privacy.mechanisms import Sampler
from dpmondrian_lab.peers.cover.max_cover import LARGEST_LOGARITHM, CoverScale, max_cover
from dpmondrian_lab.peers.cover.published_cover import published_cover
from dpmondrian_lab.peers.lab_plan import LabLedger, LabPlan

__all__ = ["LabDoor", "LabSampler"]

MOST_PARTS_OF_MEANS = 2**12
"""Means are below 2**50: times this, with noise, they fit 64 bits."""


class LabSampler(Sampler):
    """Draws covers too."""

    def cover(
        self,
        points: NDArray[np.float64],
        scales: Sequence[CoverScale],
        picks_per_scale: int,
        exponent: float,
        *purpose: str | int,
        published: bool = False,
    ) -> list[NDArray[np.int64]]:
        """Return the lattice vectors that a series of max covers draws for a named purpose."""
        draw = published_cover if published else max_cover
        return draw(points, scales, picks_per_scale, exponent, self._bits.child(*purpose))

    def public_seed(self, *purpose: str | int) -> list[int]:
        """Return a seed for a generator whose numbers protect nothing."""
        return [int(word) for word in self._bits.child("public", *purpose).words(4)]


class LabDoor(Door):
    """A door for peers. Its plan may have defects, which are then part of the statement."""

    _sampler_type: ClassVar[type[Sampler]] = LabSampler
    _ledger_type: ClassVar[type[Ledger]] = LabLedger
    _sampler: LabSampler
    plan: LabPlan

    def public_randomness(self, *purpose: str | int) -> np.random.Generator:
        """Return a generator for choices that do not depend on the data and protect nothing, such as a start."""
        return np.random.default_rng(self._sampler.public_seed(*purpose))

    def fine_counts(self, draw: Draw, level: int, exact_counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return noisy numbers of rows as `counts` does, in parts of a row where the noise was drawn in parts of a row.

        Privacy
        -------
        As `counts`; `counts` rounds to whole rows what this returns. Argument: ``docs/privacy/joint.md``; tests that
        try to break it: ``lab/tests/peers/test_joint.py``, ``lab/tests/peers/test_peer_neighbours.py``.
        """
        noisy, parts = self._counts(draw, level, exact_counts)
        return noisy / parts

    def cover(
        self, draw: Draw, exact_points: NDArray[np.float64], steps: Sequence[float], limit: float, picks_per_scale: int
    ) -> list[NDArray[np.int64]]:
        """Return `picks_per_scale` integer vectors for each of several lattices, near many of the points.

        `exact_points` has one row of length at most 1 per row of the table. `steps` are the lattices' steps; a point
        covers a vector if its squared distance from the nearest vector of the point is at most `limit`, in steps.

        Privacy
        -------
        Released: all vectors of all lattices. A row has an effect until a vector drawn covers it, and then no more, so the
        whole series costs what the planned multiplier, one over the weight of a covered row, says: `max_cover_epsilon`. For
        one row per person. A plan with defects draws as published code does. Argument: ``docs/privacy/max_cover.md``;
        tests that try to break it: ``lab/tests/peers/test_max_cover.py``.
        """
        planned = self.plan.find(draw)
        if self.rows_per_person != 1:
            raise BudgetError("Max cover is accounted for with one row per person; nothing was drawn.")
        n_draws = len(steps) * picks_per_scale
        if len(exact_points) > LARGEST_LOGARITHM * planned.multiplier:
            raise DataError(
                "The table has too many rows for the max cover at this epsilon; nothing was drawn. Lower 'epsilon'."
            )
        self._write(planned, 1.0, planned.multiplier, 0.0, 1.0 / planned.multiplier, n_draws)
        scales = [CoverScale(step, limit) for step in steps]
        exponent = 1.0 / planned.multiplier
        if self.plan.defects:
            # As many vectors as the published code happens to find; not for release, so nothing is kept.
            return self._sampler.cover(exact_points, scales, picks_per_scale, exponent, draw.name, published=True)

        def drawn() -> NDArray[np.int64]:
            return np.stack(self._sampler.cover(exact_points, scales, picks_per_scale, exponent, draw.name))

        return list(self._once(planned, (len(steps), picks_per_scale, exact_points.shape[1]), drawn))

    def means(
        self,
        draw: Draw,
        exact_means: NDArray[np.int64],
        reach: NDArray[np.int64],
        published_scales: NDArray[np.float64] | None = None,
    ) -> NDArray[np.int64]:
        """Return noisy means of disjoint groups, shape (n_groups, n_columns), in the fixed point of `exact_means`.

        Privacy
        -------
        Released: means plus discrete noise of scale ``z * reach``. One row moves the mean of its group by at most
        ``reach[group]`` in L2 norm, whatever the plan sets aside a delta for excepted. Plans with defects may give
        other scales, and the ledger then says what they cost. Argument: ``docs/privacy/max_cover.md``; tests that try
        to break it: ``lab/tests/peers/test_em_mc.py``.
        """
        planned = self.plan.find(draw)
        scale = self._scale(planned)
        scales = np.repeat(scale * reach[:, None].astype(np.float64), exact_means.shape[1], axis=1)
        if published_scales is not None:
            if not self.plan.defects:
                raise BudgetError(
                    "Scales of noise are planned but in variants that repeat published code; nothing was drawn."
                )
            scales = published_scales
            scale = float((scales.min(axis=1) / reach).min())
        inverse = float((self.rows_per_person * reach / scales.min(axis=1)).max())
        parts = self._parts(planned, float(scales.min()), exact_means.shape[1], MOST_PARTS_OF_MEANS)
        largest = float(scales.max()) * parts
        self._write(planned, self.rows_per_person, scale, largest, inverse, exact_means.size)

        def drawn() -> NDArray[np.int64]:
            noise = self._sampler.noise(planned.mechanism, scales * parts, draw.name).reshape(exact_means.shape)
            return in_whole_units(exact_means * parts + noise, parts)

        return self._once(planned, exact_means.shape, drawn)

    def bounded_sums(
        self,
        draw: Draw,
        step: int,
        exact_sums: NDArray[np.int64],
        bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
        scales: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Return sums with Laplace noise drawn again until they lie within the bounds, all (n_groups, n_columns).

        Privacy
        -------
        Bounded-domain Laplace noise (Holohan et al. 2020) costs the epsilon it was calibrated for only through its
        enlarged `scales`; the caller's plan states it. Only variants with defects may use it.
        """
        planned = self.plan.find(draw, step)
        if not self.plan.defects:
            raise BudgetError("Bounded-domain noise is for variants that repeat published code; nothing was drawn.")
        largest = float(scales.max(initial=0.0))
        self._write(planned, 1.0, planned.multiplier, largest, 1.0 / planned.multiplier, exact_sums.size)
        low, high = np.ceil(bounds[0]), np.floor(bounds[1])
        clipped = np.clip(exact_sums, low, high).astype(np.int64)

        def drawn() -> NDArray[np.int64]:
            noisy, missing, tries = np.empty_like(clipped), np.ones(clipped.shape, dtype=bool), 0
            while missing.any():
                noise = self._sampler.noise(LAPLACE, scales[missing], draw.name, step, tries)
                noisy[missing] = clipped[missing] + noise
                missing = (noisy < low) | (noisy > high)
                tries += 1
            return noisy

        return self._once(planned, clipped.shape, drawn)
