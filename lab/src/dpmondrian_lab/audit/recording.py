"""Every passage through a door, written down: what was asked, what was exact, what noise was drawn, what came out.

`record` runs any function that makes a `Door`, wherever it does that, and stands at every such door. Given the recording of
an earlier run, it hands over what that one released instead of what was drawn: the two runs then differ in their
exact rows alone. A recording holds exact values and must not leave.
"""

from __future__ import annotations

import contextvars
import copy
import dataclasses
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common import checks
from dpmondrian.exceptions import BudgetError, ParameterError
from dpmondrian.privacy import GAUSSIAN, Door, Draw, Entry, Plan, PlannedDraw
from dpmondrian_lab.peers.lab_door import LabDoor
from dpmondrian_lab.peers.lab_plan import MAX_COVER, LabPlan

__all__ = ["Drawn", "Passed", "Query", "Recording", "fingerprint", "record"]

_ONE_AT_A_TIME = threading.RLock()
_RECORDER: contextvars.ContextVar[_Recorder | None] = contextvars.ContextVar("recorder of doors", default=None)
"""Set within the context of a recorded run only, so that other threads never see it."""


@dataclass(frozen=True)
class Drawn:
    """What a sampler was asked for, and what it drew."""

    mechanism: str
    scales: tuple[float, ...]
    drawn: Any = field(repr=False)


@dataclass(frozen=True)
class Query:
    """One passage through the door.

    Attributes
    ----------
    method, draw, level : str, Draw, int or None
        The door's method, and the planned draw.
    door : int
        Number of the door, where a run makes several.
    shapes : tuple
        Public: shapes of the exact values, one per group.
    per_row : tuple of float, or of tuples of float
        Public: what one row may change each group by, in the method's own norm; of box sums, each block of a group.
    asked : tuple
        Public: all other arguments.
    parts : int
        Public: into how many parts a unit was divided before noise was drawn.
    draws : tuple of Drawn
        Noise. Scales and mechanisms are public.
    exact : tuple of arrays
        One per group.
    released : Any
        What came out. With a script, what was handed over in the recorded run.
    handed_over : bool
        Whether that was the exact value with the noise that was drawn, before any script.
    """

    method: str
    draw: Draw
    level: int | None
    door: int
    shapes: tuple[tuple[int, ...], ...]
    per_row: tuple[Any, ...]
    asked: tuple[Any, ...]
    parts: int
    draws: tuple[Drawn, ...]
    exact: tuple[NDArray[Any], ...] = field(repr=False)
    released: Any = field(repr=False)
    handed_over: bool

    @property
    def name(self) -> str:
        """Name of the draw."""
        return self.draw.name

    @property
    def label(self) -> str:
        """Name and level in words."""
        return self.name if self.level is None else f"{self.name}, level {self.level}"

    @property
    def question(self) -> tuple[Any, ...]:
        """What is asked, and of how many values: must be the same before values can be handed over."""
        return self.method, self.name, self.level, self.door, self.shapes

    @property
    def public(self) -> dict[str, Any]:
        """All other public facts, by what they are."""
        noise = [(draw.mechanism, draw.scales) for draw in self.draws]
        return {"declared sensitivities": self.per_row, "arguments": self.asked, "parts": self.parts, "noise": noise}


@dataclass(frozen=True)
class Passed:
    """A door after a run: its plan, and its ledger, or why there is none."""

    plan: Plan
    rows_per_person: int
    ledger: tuple[Entry, ...] | str

    @property
    def defects(self) -> tuple[str, ...]:
        """Why the plan does not keep its promise: of published code."""
        return self.plan.defects if isinstance(self.plan, LabPlan) else ()


@dataclass(frozen=True)
class Recording:
    """A run: its queries, doors, warnings, and a fingerprint of what it returned.

    `failure` is the name of the error that ended the run. `diverged` says that the run asked other things than the script
    could answer; it was stopped there.
    """

    queries: tuple[Query, ...]
    doors: tuple[Passed, ...]
    warnings: tuple[str, ...]
    public_randomness: tuple[tuple[str | int, ...], ...]
    result: Any = field(repr=False)
    failure: str | None
    diverged: bool
    generator_states: tuple[Any, ...] = field(repr=False)
    person_keys: tuple[NDArray[np.uint64], ...] = field(repr=False)


def record(run: Callable[[], Any], *, seed: int = 0, script: Recording | None = None) -> Recording:
    """Return the recording of a run.

    Parameters
    ----------
    run : callable
        Makes doors, asks them, and returns what it would publish. All its noise is drawn from `seed`, whatever it asks for.
    seed : int
    script : Recording, optional
        An earlier run. What it released is handed over, and its public randomness and its keys of persons are used again.

    Notes
    -----
    Doors that are made in other threads are not observed. Recordings of several threads wait for each other, because warnings are
    collected for the whole process.
    """
    recorder = _Recorder(seed, script)
    with _ONE_AT_A_TIME, _standing_at_doors():
        return contextvars.copy_context().run(_recorded, run, recorder)


@contextmanager
def _standing_at_doors() -> Iterator[None]:
    """Have the doors and seeds of recorded runs be those of their recorders; all others are made as always."""
    make, seed_of = Door.__init__, checks.seed_of

    def made(
        door: Door,
        plan: Plan,
        rows_per_person: int = 1,
        seed: int | None = None,
        before_draw: Callable[[str, int, int], None] | None = None,
        journal: Any = None,
    ) -> None:
        recorder = _RECORDER.get()
        if recorder is None:
            make(door, plan, rows_per_person, seed, before_draw, journal)
            return
        if journal is not None:
            raise ParameterError(
                parameter="checkpoint",
                rule="must be None in an audit, which observes the draws of complete runs",
                way_out="Omit it there.",
            )
        make(door, plan, rows_per_person, recorder.seed, before_draw)
        recorder.stand_at(door)

    def seeded(random_state: Any) -> int | None:
        given, recorder = seed_of(random_state), _RECORDER.get()
        return given if recorder is None else recorder.seed

    with patch.object(Door, "__init__", made), patch.object(checks, "seed_of", seeded):
        yield


def _recorded(run: Callable[[], Any], recorder: _Recorder) -> Recording:
    _RECORDER.set(recorder)
    result, failure, diverged = None, None, False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = fingerprint(run())
        except _Diverged:
            diverged = True
        except Exception as error:  # what it says may quote a value of a user's estimator
            failure = type(error).__name__
    return Recording(
        queries=tuple(recorder.queries),
        doors=tuple(Passed(door.plan, door.rows_per_person, _ledger(door)) for door in recorder.doors),
        warnings=tuple(f"{warning.category.__name__}: {warning.message}" for warning in caught),
        public_randomness=tuple(recorder.purposes),
        result=result,
        failure=failure,
        diverged=diverged,
        generator_states=tuple(recorder.generator_states),
        person_keys=tuple(recorder.person_keys),
    )


def fingerprint(value: Any) -> Any:
    """Return nested plain values that are equal if and only if the given ones are the same, to the last bit."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return "array", str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, np.ndarray):
        return "array", value.shape, [fingerprint(item) for item in value.ravel().tolist()]
    if isinstance(value, dict):
        return "mapping", [(fingerprint(key), fingerprint(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return "sequence", [fingerprint(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(part.name, fingerprint(getattr(value, part.name))) for part in dataclasses.fields(value)]
        return type(value).__name__, fields
    if getattr(type(value), "__repr__", None) is object.__repr__:  # it would tell where in memory the object is
        return type(value).__name__, fingerprint(getattr(value, "__dict__", {}))
    return type(value).__name__, repr(value)


def _ledger(door: Door) -> tuple[Entry, ...] | str:
    try:
        return door.close()
    except BudgetError as error:  # says which planned draw was not made
        return str(error)


class _Diverged(BaseException):
    """Ends a run that asks what the script does not answer; no `except Exception` of an estimator may stop it."""


class _Recorder:
    """Collects what passes the doors of one run, and holds the script."""

    def __init__(self, seed: int, script: Recording | None) -> None:
        self.seed = seed
        self._script = script
        self.doors: list[Door] = []
        self.queries: list[Query] = []
        self.draws: list[Drawn] = []
        self.purposes: list[tuple[str | int, ...]] = []
        self.generator_states: list[Any] = []
        self.person_keys: list[NDArray[np.uint64]] = []

    def stand_at(self, door: Any) -> None:
        """Record every passage through a door."""
        door._sampler = _NotingSampler(door._sampler, self)
        self.doors.append(door)
        watcher = _AtTheLabDoor if isinstance(door, LabDoor) else _AtTheDoor
        door.__class__ = type(f"Recorded{type(door).__name__}", (watcher, type(door)), {"_recorder": self})

    def take_draws(self) -> tuple[Drawn, ...]:
        """Return what was drawn since the last time."""
        draws, self.draws = tuple(self.draws), []
        return draws

    def answer(self, query: Query) -> Any:
        """Write a query down and return what is handed over."""
        self.queries.append(query)
        if self._script is None:
            return copy.deepcopy(query.released)
        number = len(self.queries) - 1
        if number >= len(self._script.queries) or self._script.queries[number].question != query.question:
            raise _Diverged
        return copy.deepcopy(self._script.queries[number].released)

    def generator(self, purpose: tuple[str | int, ...], drawn: np.random.Generator) -> np.random.Generator:
        """Return the generator of public randomness, in the state in which that of the recorded run began."""
        number = len(self.purposes)
        self.purposes.append(purpose)
        if self._script is not None:
            if self._script.public_randomness[number : number + 1] != (purpose,):
                raise _Diverged
            drawn.bit_generator.state = self._script.generator_states[number]
        self.generator_states.append(drawn.bit_generator.state)
        return drawn

    def person_key(self, drawn: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the key by which rows of persons are kept: that of the recorded run."""
        number = len(self.person_keys)
        if self._script is not None:
            if number >= len(self._script.person_keys):
                raise _Diverged
            drawn = self._script.person_keys[number]
        self.person_keys.append(drawn.copy())
        return drawn.copy()


class _NotingSampler:
    """Draws like the door's own sampler, and notes what it was asked for."""

    def __init__(self, sampler: Any, recorder: _Recorder) -> None:
        self._drawn_by = sampler
        self._recorder = recorder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._drawn_by, name)

    def noise(self, mechanism: str, scales: NDArray[np.float64], *purpose: str | int) -> NDArray[np.int64]:
        drawn: NDArray[np.int64] = self._drawn_by.noise(mechanism, scales, *purpose)
        self._recorder.draws.append(Drawn(mechanism, tuple(np.ravel(scales).tolist()), drawn.copy()))
        return drawn

    def select(self, mechanism: str, scores: NDArray[np.int64], scale: float, *purpose: str | int) -> int:
        drawn: int = self._drawn_by.select(mechanism, scores, scale, *purpose)
        self._recorder.draws.append(Drawn(mechanism, (float(scale),), drawn))
        return drawn

    def cover(
        self, points: Any, scales: Any, picks: int, exponent: float, *purpose: str | int, published: bool = False
    ) -> Any:
        drawn = self._drawn_by.cover(points, scales, picks, exponent, *purpose, published=published)
        self._recorder.draws.append(Drawn(MAX_COVER, (1.0 / exponent,), copy.deepcopy(drawn)))
        return drawn


class _AtTheDoor(Door):
    """A door at which somebody stands. Mixed into the class of every door that is made."""

    _recorder: _Recorder
    _used_parts = 1

    def person_key(self) -> NDArray[np.uint64]:
        return self._recorder.person_key(super().person_key())

    def _parts(self, draw: PlannedDraw, scale: float, n_changed: int, most: int) -> int:
        self._used_parts = super()._parts(draw, scale, n_changed, most)
        return self._used_parts

    def _note(
        self,
        method: str,
        draw: Draw,
        level: int | None,
        exact: Iterable[NDArray[Any]],
        per_row: Sequence[Any],
        asked: Sequence[Any],
        released: Any,
    ) -> Any:
        exact = tuple(np.array(group) for group in exact)
        draws = self._recorder.take_draws()
        if method == "bounded_sums":
            draws = draws[:1]  # drawn again until within the bounds: how often is no public fact
        columns_only = method == "cover"  # its number of rows is exact
        query = Query(
            method=method,
            draw=draw,
            level=level,
            door=next(number for number, door in enumerate(self._recorder.doors) if door is self),
            shapes=tuple(np.shape(group)[columns_only:] for group in exact),
            per_row=tuple(per_row),
            asked=tuple(asked),
            parts=self._used_parts,
            draws=draws,
            exact=exact,
            released=copy.deepcopy(released),
            handed_over=method == "bounded_sums" or _is_handed_over(method, exact, draws, self._used_parts, released),
        )
        self._used_parts = 1
        return self._recorder.answer(query)

    def counts(
        self, draw: Draw, level: int | None, exact_counts: Sequence[int] | NDArray[np.int64]
    ) -> NDArray[np.int64]:
        released = super().counts(draw, level, exact_counts)
        exact = np.array(exact_counts, dtype=np.int64).reshape(-1, 1)
        noted: NDArray[np.int64] = self._note("counts", draw, level, exact, [1] * len(exact), (), released)
        return noted

    def select(
        self, draw: Draw, level: int | None, exact_scores: Sequence[NDArray[np.int64]], score_ranges: Sequence[int]
    ) -> list[int]:
        released = super().select(draw, level, exact_scores, score_ranges)
        noted: list[int] = self._note("select", draw, level, exact_scores, score_ranges, (), released)
        return noted

    def box_sums(
        self,
        draw: Draw,
        level: int | None,
        exact_sums: NDArray[np.int64],
        half_widths: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        noisy, deviations = super().box_sums(draw, level, exact_sums, half_widths)
        asked, widths = (fingerprint(deviations),), map(tuple, half_widths.tolist())
        released = (noisy, deviations)
        noted: tuple[NDArray[np.int64], NDArray[np.float64]] = self._note(
            "box_sums", draw, level, exact_sums, list(widths), asked, released
        )
        return noted

    def ball_sums(
        self,
        draw: Draw,
        level: int | None,
        exact_sums: NDArray[np.int64],
        radius: NDArray[np.int64],
        weights: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        noisy, deviations = super().ball_sums(draw, level, exact_sums, radius, weights)
        asked = (None if weights is None else tuple(weights.tolist()), fingerprint(deviations))
        noted: tuple[NDArray[np.int64], NDArray[np.float64]] = self._note(
            "ball_sums", draw, level, exact_sums, radius.tolist(), asked, (noisy, deviations)
        )
        return noted

    def histograms(
        self,
        draw: Draw,
        level: int | None,
        exact_groups: Sequence[NDArray[np.int64]],
        n_histograms: Sequence[int] | NDArray[np.int64],
        parts_per_row: int = 1,
    ) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
        noisy, deviations = super().histograms(draw, level, exact_groups, n_histograms, parts_per_row)
        numbers = np.asarray(n_histograms, dtype=np.float64)
        in_l2 = self.plan.find(draw, level).mechanism == GAUSSIAN
        lengths = (parts_per_row * (np.sqrt(numbers) if in_l2 else numbers)).tolist()
        noted: tuple[list[NDArray[np.int64]], NDArray[np.float64]] = self._note(
            "histograms",
            draw,
            level,
            exact_groups,
            lengths,
            (parts_per_row, fingerprint(deviations)),
            (noisy, deviations),
        )
        return noted


class _AtTheLabDoor(_AtTheDoor, LabDoor):
    """A door of the laboratory at which somebody stands."""

    def public_randomness(self, *purpose: str | int) -> np.random.Generator:
        return self._recorder.generator(purpose, super().public_randomness(*purpose))

    def fine_counts(self, draw: Draw, level: int, exact_counts: NDArray[np.int64]) -> NDArray[np.float64]:
        released = super().fine_counts(draw, level, exact_counts)
        exact = np.array(exact_counts, dtype=np.int64).reshape(-1, 1)
        noted: NDArray[np.float64] = self._note("fine_counts", draw, level, exact, [1] * len(exact), (), released)
        return noted

    def cover(
        self, draw: Draw, exact_points: NDArray[np.float64], steps: Sequence[float], limit: float, picks_per_scale: int
    ) -> list[NDArray[np.int64]]:
        released = super().cover(draw, exact_points, steps, limit, picks_per_scale)
        asked = (tuple(steps), limit, picks_per_scale)
        noted: list[NDArray[np.int64]] = self._note("cover", draw, None, [exact_points], [1], asked, released)
        return noted

    def means(
        self,
        draw: Draw,
        exact_means: NDArray[np.int64],
        reach: NDArray[np.int64],
        published_scales: NDArray[np.float64] | None = None,
    ) -> NDArray[np.int64]:
        released = super().means(draw, exact_means, reach, published_scales)
        noted: NDArray[np.int64] = self._note("means", draw, None, exact_means, reach.tolist(), (), released)
        return noted

    def bounded_sums(
        self,
        draw: Draw,
        step: int,
        exact_sums: NDArray[np.int64],
        bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
        scales: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        released = super().bounded_sums(draw, step, exact_sums, bounds, scales)
        limits = fingerprint([np.asarray(bound) for bound in bounds])
        noted: NDArray[np.int64] = self._note("bounded_sums", draw, step, exact_sums, (), (limits,), released)
        return noted


def _is_handed_over(
    method: str, exact: Sequence[NDArray[Any]], draws: Sequence[Drawn], parts: int, released: Any
) -> bool:
    """Return whether the value that came out is the exact one with the noise that was drawn."""
    if method == "select":
        return [draw.drawn for draw in draws] == list(released)
    if len(draws) != 1:
        return False
    if method == "cover":
        return bool(fingerprint(draws[0].drawn) == fingerprint(released))
    noise = np.ravel(draws[0].drawn)
    values = np.concatenate([np.empty(0, dtype=np.int64), *(np.ravel(group) for group in exact)])
    if noise.size != values.size:
        return False
    noisy = values * parts + noise
    expected = noisy / parts if method == "fine_counts" else (noisy + parts // 2) // parts
    handed = released[0] if method in ("box_sums", "ball_sums", "histograms") else released
    return bool(np.array_equal(expected, np.concatenate([np.empty(0), *(np.ravel(group) for group in handed)])))
