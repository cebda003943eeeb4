"""Bounds for columns of which nobody knows any: estimated from noisy histograms, at a stated cost.

Two rounds. The *magnitudes* of a column's values are counted in public bins from 1e-9 to 1e19 with sign. Then their *places* are
counted in even bins within what the first round left, which tightens bounds of values far from zero, such as years. Each
row counts once per column and round; only noisy counts leave, and bounds are computed from these. Statement and proof:
``docs/privacy/bounds.md``.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from dpmondrian.common import checks as check
from dpmondrian.common.checks import nearest_names
from dpmondrian.common.interrupts import undisturbed
from dpmondrian.common.printable import printable
from dpmondrian.exceptions import BoundsError, DataError, NotReleasableWarning, ParameterError
from dpmondrian.privacy import Door, check_noise_fits
from dpmondrian.release import PrivacyStatement, Unit, make_statement, unit_of
from dpmondrian.schema import Column, Estimate, Schema
from dpmondrian.suggest.draws import MAGNITUDES, PLACES, bounds_plan
from dpmondrian.tables import PersonLimit, Table, read_table

if TYPE_CHECKING:
    from dpmondrian.accounts import Budget

Suggestion: TypeAlias = "tuple[float, float] | tuple[float, float, str] | None"

SMALLEST_EXPONENT, LARGEST_EXPONENT = -9, 19
"""Values below 1e-9 are counted as zero, those beyond 1e19 (more than 64-bit integers hold) as 1e19."""
SMALLEST_WHOLE = 0.5  # where the bins of whole numbers begin: 0 is alone in its bin

FALSE_ALARM = 1e-4
"""Probability, per column and round, with which a range is found or widened by noise far from all rows; see `_occupied`."""
EMPTY_BIN = 4.0  # what a bin must hold, in noise scales, to be worth including in a run of bins
_RUN_EXPONENT = 0.99
"""The noise of a run of bins exceeds its penalties by t scales with a probability below ``exp(-0.99 * t)``: the positive x with
``1 / (1 - x * x) = exp(EMPTY_BIN * x)``, rounded down."""
LONELY = 0.005  # part of the rows that a bin must hold to count although it lies far from the others
RARE_MAGNITUDE, RARE_PLACE = 0.001, 0.05
"""What a bin must hold besides: of all rows, and in the second round of an average bin. So tails are cut off alike, however
little noise there is."""

ROWS_PER_BIN = 10.0
"""Rows, in noise scales, that an average bin of the second round should hold; it decides how many bins there are."""
FEWEST_BINS, MOST_BINS = 20, 200
MARGIN = 0.75
"""Part of the width that is added on both sides, within what the first round left: tails are thin and get lost in the noise."""
ROUNDING = 50  # bounds are multiples of 1, 2 or 5 times a power of ten, at least this part of their distance


@dataclass(frozen=True)
class SuggestedBounds:
    """Bounds estimated from the rows, and the cost of the estimate.

    Attributes
    ----------
    bounds : dict
        For each column ``(lower, upper)``, or ``(lower, upper, "int")`` for integers; None if no bounds were found. Pass the result
        of `schema` to `DPM` instead: it includes the cost of the bounds.
    privacy : PrivacyStatement
        The guarantee and the draws behind it. Its ``releasable`` is False for a run with a seed.
    """

    bounds: Mapping[str, Suggestion]
    privacy: PrivacyStatement
    estimate: Estimate

    def schema(self) -> Schema:
        """Return the bounds as a schema that includes their cost; raise `BoundsError` if a column has none."""
        missing = [name for name, pair in self.bounds.items() if pair is None]
        if missing:
            raise BoundsError(
                f"No bounds were found for {missing!r}.",
                "Set them by hand from what is known without the data, remove these columns, or spend more 'epsilon'.",
            )
        columns = [Column(name, pair[0], pair[1], len(pair) > 2) for name, pair in self.bounds.items() if pair]
        return Schema(tuple(columns), self.estimate)

    def to_dict(self) -> dict[str, Any]:
        """Return bounds and statement as plain JSON values."""
        pairs = {name: None if pair is None else list(pair) for name, pair in self.bounds.items()}
        return {"bounds": pairs, "privacy": self.privacy.to_dict()}

    def to_json(self) -> str:
        """Return bounds and statement as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def __str__(self) -> str:
        lines = [f"{printable(name)}: {_in_words(pair)}" for name, pair in self.bounds.items()]
        return "\n".join(["Suggested bounds:", *(f"  {line}" for line in lines), "", str(self.privacy)])


def suggest_bounds(
    table: Any,
    epsilon: float,
    *,
    columns: Sequence[str] | None = None,
    person_id: str | None = None,
    rows_per_person: int = 1,
    budget: Budget | str | Path | None = None,
    random_state: Any = None,
) -> SuggestedBounds:
    """Estimate bounds of numeric columns from the rows, with differential privacy.

    Use this only if nobody knows the bounds; known bounds are better and cost nothing. Extreme rows are excluded on purpose:
    about one in a hundred rows may lie outside the bounds, and more if there are few rows. As a rule of thumb, useful bounds need
    2,000 rows per column at ``epsilon=1``, and 20,000 at 0.1.

    Parameters
    ----------
    table : array or data frame
        NumPy array, or pandas, polars or Arrow table.
    epsilon : float
        Epsilon to spend, divided evenly among the columns. It adds to the epsilon of every release of the same rows.
    columns : sequence of str, optional
        Columns to use; for an array, "x0", "x1", ... If None, all numeric columns. Boolean columns get (0, 1) at no cost.
    person_id : str, optional
        Column that identifies the person a row belongs to. At most `rows_per_person` rows per person are kept, at random.
    rows_per_person : int, default=1
        Maximum number of rows per person. All noise is multiplied by it.
    budget : Budget or path of its file, optional
        The budget of this data set. It is charged before the first draw, and refuses charges that would exceed its total.
    random_state : int, RandomState, Generator or None, default=None
        None draws secure noise. Any other value makes the run reproducible, for research only: its result must not be released.

    Returns
    -------
    SuggestedBounds

    Notes
    -----
    Missing and infinite values are ignored in their column. Column names and types are public.

    Privacy
    -------
    Released: two histograms per column, with discrete Laplace noise, and the bounds computed from them. One person's rows
    change a histogram by at most `rows_per_person` in L1 norm. Cost: `epsilon`, pure; each histogram has the same part.
    Argument: ``docs/privacy/bounds.md``; tests that try to break it: ``tests/privacy/test_bounds.py``.

    Complexity
    ----------
    Two passes over the rows, block by block; each value is looked up among at most about 200 edges.

    Examples
    --------
    >>> import numpy as np
    >>> from dpmondrian import suggest_bounds
    >>> years = np.random.default_rng(0).integers(1950, 2020, (50_000, 1))
    >>> suggested = suggest_bounds(years, epsilon=1.0)
    >>> lower, upper, kind = suggested.bounds["x0"]
    >>> 1800 < lower <= 1950 and 2020 <= upper < 2200
    True
    """
    epsilon = check.check_epsilon(epsilon)
    rows_per_person = check.check_integer(
        "rows_per_person", rows_per_person, 1, 10**6, "Pass the maximum number of rows per person."
    )
    seed = check.seed_of(random_state)
    if seed is not None:
        warnings.warn(
            "random_state is set: the noise of this run can be reproduced, so its result protects nobody and must not be "
            "released. Use random_state=None for results that you want to use.",
            NotReleasableWarning,
            stacklevel=2,
        )
    return undisturbed(partial(_suggested, table, epsilon, columns, person_id, rows_per_person, budget, seed))


def _suggested(
    table: Any,
    epsilon: float,
    columns: Sequence[str] | None,
    person_id: str | None,
    rows_per_person: int,
    budget: Budget | str | Path | None,
    seed: int | None,
) -> SuggestedBounds:
    """Return the bounds; all parameters were checked."""
    wanted = _wanted(table, columns, person_id)
    charge = _Charge(budget, epsilon, len(wanted.drawn), unit_of(rows_per_person, person_id))
    door = Door(bounds_plan(epsilon, len(wanted.drawn)), rows_per_person, seed, charge.before_draw)
    check_noise_fits(door.plan, rows_per_person, 1.0)
    rows = wanted.table
    if person_id is not None:
        rows = rows.limited(PersonLimit(rows_per_person, door.person_key()), "drop")
    found = _estimate(rows, wanted, door)
    public = Schema(tuple(Column(name, *_WIDEST, wanted.whole[name]) for name in wanted.drawn))
    privacy = make_statement(
        door.plan, door.close(), public, rows_per_person, "suggested bounds", door.secure, person_id
    )
    entry = charge.finish()
    estimate = Estimate(epsilon, rows_per_person, person_id, door.secure, entry)
    bounds = {name: found.get(name, (0.0, 1.0, "int") if name in wanted.truth else None) for name in wanted.names}
    return SuggestedBounds(bounds, privacy, estimate)


_WIDEST = (-(10.0**LARGEST_EXPONENT), 10.0**LARGEST_EXPONENT)


class _Charge:
    """Charges the budget of the data set right before the first draw."""

    def __init__(self, budget: Budget | str | Path | None, epsilon: float, n_columns: int, unit: Unit) -> None:
        if isinstance(budget, str | Path):
            from dpmondrian.accounts import Budget

            budget = Budget(budget)
        self._budget = budget
        self._epsilon = epsilon
        self._unit = unit
        self._purpose = (
            "suggested bounds of one column" if n_columns == 1 else f"suggested bounds of {n_columns} columns"
        )
        self._entry: str | None = None

    def before_draw(self, _name: str, n_done: int, _n_planned: int) -> None:
        if n_done == 0 and self._budget is not None:
            self._entry = self._budget.charge(self._epsilon, 0.0, self._purpose, self._unit)

    def finish(self) -> str | None:
        """Note that the bounds are out, and return the id of the charge."""
        if self._budget is not None and self._entry is not None:
            self._budget.finish(self._entry, None)
        return self._entry


@dataclass(frozen=True)
class _Wanted:
    """The columns to look at: all names in order, those whose type says everything, and a table that holds the others."""

    table: Table
    names: tuple[str, ...]
    truth: tuple[str, ...]

    @property
    def drawn(self) -> tuple[str, ...]:
        """Columns for which histograms are drawn."""
        return tuple(name for name in self.names if name not in self.truth)

    @property
    def whole(self) -> dict[str, bool]:
        """Whether each column of the table has an integer type."""
        return dict(zip(self.table.names, self.table.whole, strict=True))


def _wanted(X: Any, columns: Sequence[str] | None, person_id: str | None) -> _Wanted:
    """Return what is wanted of a table, by names and types only."""
    types = _types_of(X)
    if types is None:
        table = read_table(X, person_id=person_id)
        names = _checked_names(columns, table.names, table.names)
        truth = names if getattr(getattr(X, "dtype", None), "kind", "") == "b" else ()
    else:
        known = [name for name in types if name != person_id]
        numeric = [name for name in known if types[name].is_numeric() or types[name] == nw.Boolean]
        names = _checked_names(columns, known, numeric)
        truth = tuple(name for name in names if types[name] == nw.Boolean)
        kept = [*names, *([person_id] if person_id in types else [])]
        frame = nw.from_native(X, eager_only=True)
        table = read_table(frame[:, [list(types).index(name) for name in kept]].to_native(), person_id=person_id)
    if len(names) == len(truth):
        raise DataError(
            "The table has no numeric column whose bounds could be estimated; boolean columns are between 0 and 1 anyway. Nothing was drawn.",
            "Check 'columns', and convert strings to numbers or declare their categories.",
        )
    return _Wanted(table, names, truth)


def _types_of(X: Any) -> dict[str, Any] | None:
    """Return the types of a data frame's columns by name as text; None for an array and for what `read_table` refuses."""
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        return None
    return {str(name): dtype for name, dtype in frame.schema.items()} if isinstance(frame, nw.DataFrame) else None


def _checked_names(columns: Sequence[str] | None, known: Sequence[str], numeric: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the wanted columns, which must be known, or of all numeric ones."""
    if columns is None:
        return tuple(numeric)
    names = list(columns) if isinstance(columns, Sequence) and not isinstance(columns, str) else []
    if not names or len({str(name) for name in names}) != len(names):
        raise ParameterError.broken(
            "columns", "must be a list of unique column names, or None for all numeric columns", columns
        )
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ParameterError(
            parameter="columns",
            rule="must name columns of the table other than the person column",
            value=unknown,
            hint=f"{nearest_names(unknown, known)} Available columns: {list(known)!r}.",
        )
    return tuple(names)


def _estimate(rows: Table, wanted: _Wanted, door: Door) -> dict[str, Suggestion]:
    """Return the bounds of all columns that have none by their type: both rounds are drawn for each, whatever comes out."""
    names, whole = wanted.drawn, wanted.whole
    places = [rows.names.index(name) for name in names]
    edges = [_magnitude_edges(whole[name]) for name in names]
    scales = [door.deviation(MAGNITUDES, column) / math.sqrt(2.0) for column in range(len(names))]
    exact = _histograms(rows, places, edges)
    rough = [
        _rough_range(door.counts(MAGNITUDES, column, exact[column]), edges[column], scales[column])
        for column in range(len(names))
    ]
    edges = [_even_edges(found, whole[name], scale) for name, found, scale in zip(names, rough, scales, strict=True)]
    exact = [counts[1:-1] for counts in _histograms(rows, places, edges)]  # without what lies beyond the edges
    noisy = [door.counts(PLACES, column, exact[column]) for column in range(len(names))]
    return {
        name: _bounds(rough[column], noisy[column], edges[column], scales[column], whole[name])
        for column, name in enumerate(names)
    }


def _histograms(rows: Table, places: Sequence[int], edges: Sequence[NDArray[np.float64]]) -> list[NDArray[np.int64]]:
    """Return, per column, how many values lie below, between and beyond its edges; a bin holds its lower edge.

    Exact: stays inside. The bin of a value depends on this value alone; missing and infinite ones have none.
    """
    counts = [np.zeros(len(own) + 1, dtype=np.int64) for own in edges]
    with np.errstate(all="ignore"):  # a warning about a value would tell that it is there
        for block in rows.blocks():
            for place, own, count in zip(places, edges, counts, strict=True):
                values = block[:, place]
                bins = np.searchsorted(own, values[np.isfinite(values)], side="right")
                count += np.bincount(bins, minlength=len(count))
    return counts


def _magnitude_edges(whole: bool) -> NDArray[np.float64]:
    """Return the public edges of the first round: 1, 2 and 5 times powers of ten, and the same below zero."""
    first = 0 if whole else SMALLEST_EXPONENT
    sizes = [float(f"{digit}e{k}") for k in range(first, LARGEST_EXPONENT) for digit in (1, 2, 5)]
    sizes = [*([SMALLEST_WHOLE] if whole else []), *sizes, 10.0**LARGEST_EXPONENT]
    return np.array([*(-size for size in reversed(sizes)), *sizes])


@dataclass(frozen=True)
class _Rough:
    """What the first round says: a range, and about how many rows lie in it."""

    low: float
    high: float
    noisy_rows: float


def _rough_range(noisy: NDArray[np.int64], edges: NDArray[np.float64], scale: float) -> _Rough | None:
    """Return the range of the bins that hold rows, by their noisy counts; None if there are no such bins."""
    zero = len(edges) // 2
    total = max(0.0, float(noisy.sum()))
    found = []
    # Many empty bins lie between small numbers above and below zero; they must not keep the two sides apart.
    for start, stop in ((0, zero), (zero, zero + 1), (zero + 1, len(noisy))):
        part = _occupied(noisy[start:stop], scale, RARE_MAGNITUDE * total, total, len(noisy))
        found += [] if part is None else [start + part[0], start + part[1]]
    if not found:
        return None
    first, last = min(found), max(found)
    walls = np.concatenate([edges[:1], edges, edges[-1:]])
    low = 0.0 if first == zero else float(walls[first])
    high = 0.0 if last == zero + 1 else float(walls[last])
    if low == high == 0.0:
        low, high = float(walls[zero]), float(walls[zero + 1])
    if low == high:  # all rows lie beyond the outermost edge
        return None
    return _Rough(low, high, float(noisy[first:last].sum()))


def _even_edges(rough: _Rough | None, whole: bool, scale: float) -> NDArray[np.float64]:
    """Return the edges of the second round, from released values: multiples of a round step that cover the rough range."""
    found = rough or _Rough(0.0, 1.0, 0.0)  # drawn all the same; what comes out is not used
    n_bins = min(max(found.noisy_rows / (ROWS_PER_BIN * scale), FEWEST_BINS), MOST_BINS)
    step = _Step.at_least((found.high - found.low) / n_bins, whole)
    return np.array([step.times(k) for k in range(step.below(found.low), step.above(found.high) + 1)])


def _bounds(
    rough: _Rough | None, noisy: NDArray[np.int64], edges: NDArray[np.float64], scale: float, whole: bool
) -> Suggestion:
    """Return rounded bounds from the noisy counts of both rounds."""
    if rough is None:
        return None
    total = max(0.0, float(noisy.sum()))
    part = _occupied(noisy, scale, RARE_PLACE * total / len(noisy), total, len(noisy))
    low, high = rough.low, rough.high
    if part is not None:
        first, last = float(edges[part[0]]), float(edges[part[1]]) - whole
        margin = MARGIN * (last - first)
        low, high = max(first - margin, min(low, first)), min(last + margin, max(high, last))
    step = _Step.at_least(max(high - low, 0.0) / ROUNDING, whole)
    lower, upper = step.times(step.below(low)), step.times(step.above(high))
    upper = upper if upper > lower else step.times(step.above(high) + 1)
    return (lower, upper, "int") if whole else (lower, upper)


def _occupied(noisy: NDArray[np.int64], scale: float, rare: float, total: float, n_bins: int) -> tuple[int, int] | None:
    """Return the first bin that holds rows and the one after the last, by noisy counts; None if noise explains them all.

    These are the bins whose own count is too large for noise, and the run of bins whose counts exceed `EMPTY_BIN` noise scales
    (or `rare` rows) each by the most in total, if that is too much for noise. Noise alone exceeds the thresholds in one of
    `n_bins` bins with a probability of at most `FALSE_ALARM` each (``docs/privacy/bounds.md``).
    """
    threshold = scale * math.log(n_bins / FALSE_ALARM)
    start, stop, excess = _best_run(noisy - np.float64(max(EMPTY_BIN * scale, rare)))
    ends = [start, stop] if excess > threshold / _RUN_EXPONENT else []
    heavy = np.flatnonzero(noisy > max(threshold, LONELY * total))
    ends += [int(heavy[0]), int(heavy[-1]) + 1] if heavy.size else []
    return (min(ends), max(ends)) if ends else None


def _best_run(values: NDArray[np.float64]) -> tuple[int, int, float]:
    """Return start, end (exclusive) and sum of the run of neighbouring values with the largest sum."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    stop = int(np.argmax(sums - np.minimum.accumulate(sums)))
    start = int(np.argmin(sums[: stop + 1]))
    return start, stop, float(sums[stop] - sums[start])


@dataclass(frozen=True)
class _Step:
    """A round number, 1, 2 or 5 times a power of ten, and its multiples."""

    digit: int
    exponent: int

    @classmethod
    def at_least(cls, size: float, whole: bool) -> _Step:
        """Return the smallest step of at least `size`, for whole numbers of at least 1."""
        size = max(size, 1.0) if whole else size
        exponent = math.floor(math.log10(size))
        steps = [cls(digit, exponent + shift) for shift in (-1, 0, 1) for digit in (1, 2, 5)]
        return next(step for step in steps if step._exact >= Fraction(repr(size)))

    @property
    def _exact(self) -> Fraction:
        return self.digit * Fraction(10) ** self.exponent

    def times(self, k: int) -> float:
        """Return the float nearest to k steps."""
        return float(f"{k * self.digit}e{self.exponent}")

    def below(self, value: float) -> int:
        """Return the number of steps to the last multiple that is not above a value (as it is written)."""
        return math.floor(Fraction(repr(value)) / self._exact)

    def above(self, value: float) -> int:
        """Return the number of steps to the first multiple that is not below a value (as it is written)."""
        return math.ceil(Fraction(repr(value)) / self._exact)


def _in_words(pair: Suggestion) -> str:
    if pair is None:
        return "no bounds found: too few rows for this epsilon, or all values beyond 1e19"
    return f"{pair[0]:.6g} to {pair[1]:.6g}" + (", whole numbers" if len(pair) > 2 else "")
