"""Neighbouring tables that try to break a promise, made from a schema; and a search for worse ones.

Two tables are neighbours if one has all rows of one person more. Every pair here was once the end of some published
algorithm's guarantee, or of somebody's first attempt at this one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dpmondrian.engines import Grid
from dpmondrian.schema import Category, Column, Schema

if TYPE_CHECKING:
    from dpmondrian_lab.audit.findings import Findings

__all__ = [
    "Pair",
    "WorstPair",
    "adversarial_pairs",
    "alternating_gaps",
    "invented_rows",
    "search_worst_pair",
    "table_of",
]

Row: TypeAlias = "tuple[Any, ...]"

_MIDDLES = (0.15, 0.5, 0.85)
"""Where the clusters of invented rows lie in every column, as parts of its range."""
_UNDECLARED = "?!"
_TORN = 8
"""So many times the rows of other tables it takes until few rows on one side are many beside one more."""
_LITTLE = 2.0**-40
"""Part of a range that puts a value on the other side of a cut, whatever is rounded on the way."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables: `neighbour` has the rows of one person more."""

    name: str
    table: Any = field(repr=False)
    neighbour: Any = field(repr=False)


@dataclass(frozen=True)
class WorstPair:
    """What `search_worst_pair` came across: the largest part of a price that was used, by which pair, and all findings."""

    query: str
    used: float
    pair: Pair
    findings: Findings


def adversarial_pairs(
    schema: Schema,
    *,
    n_rows: int = 60,
    rows_per_person: int = 1,
    person_id: str | None = None,
    missing: bool = False,
    windows: int = 128,
    seed: int = 0,
) -> list[Pair]:
    """Return neighbouring tables for the columns of a schema, as Arrow tables.

    Parameters
    ----------
    schema : Schema
    n_rows : int
        Rows of most tables.
    rows_per_person : int
        The person who is added has one row, or so many.
    person_id : str, optional
        Name of the column that tells to whom a row belongs. The person who is added may then have more rows.
    missing : bool
        Whether there are pairs with missing and infinite values, for estimators with ``on_missing="drop"`` or "middle".
    windows : int
        The parameter of `DPM`: rows are put on the edges of its windows.
    seed : int
        Of the invented rows.

    Examples
    --------
    >>> from dpmondrian import Column, Schema
    >>> pairs = adversarial_pairs(Schema((Column("age", 0, 120), Column("bmi", 10, 60))))
    >>> [pair.name for pair in pairs][:3]
    ['lower corner', 'upper corner', 'mixed corners']
    >>> pairs[0].neighbour.num_rows - pairs[0].table.num_rows
    1
    """
    people = _People(schema, person_id, rows_per_person)
    base = invented_rows(schema, n_rows, seed)
    added = dict(_single_rows(schema, base, windows))
    pairs = [people.pair(name, base, [row]) for name, row in added.items()]
    corners = [added["lower corner"], added["upper corner"], added["mixed corners"]]
    pairs += [people.pair(f"{n} rows", base[:n], [row]) for n in (0, 1, 2) for row in corners[:2]]
    pairs += [people.pair(name, rows, [row]) for name, rows, row in _whole_tables(schema, base, corners, windows)]
    if rows_per_person > 1 or person_id is not None:
        pairs += _several_rows(people, base, corners, rows_per_person)
        if len(_numeric(schema)) >= 2:
            rows, row = torn_columns(schema, _TORN * n_rows, windows)
            pairs.append(people.pair("several rows that tear columns apart", rows, [row] * rows_per_person))
    if missing:
        pairs += [people.pair(name, base, [row]) for name, row in _missing_rows(schema)]
        pairs.append(
            people.pair("missing value among many", [*base, *(row for _, row in _missing_rows(schema))], corners[:1])
        )
    if any(isinstance(column, Column) and column.whole for column in schema.columns):
        pairs += [people.pair(name, base, [row], whole=True) for name, row in _int64_extremes(schema)]
    return pairs


def table_of(schema: Schema, rows: Sequence[Row], persons: Sequence[Any] | None = None, **options: Any) -> Any:
    """Return rows as an Arrow table with the schema's columns.

    Parameters
    ----------
    schema : Schema
    rows : sequence of tuples
        Numbers, and texts or None in columns of categories.
    persons : sequence, optional
        To whom each row belongs.
    options
        ``person_id``: the name of that column. ``whole=True``: whole-number columns get a type of integers.
    """
    import pyarrow as pa

    columns: dict[str, Any] = {}
    for j, column in enumerate(schema.columns):
        values = [row[j] for row in rows]
        if isinstance(column, Category):
            columns[column.name] = pa.array(values, pa.string())
        elif options.get("whole") and column.whole:
            columns[column.name] = pa.array([int(value) for value in values], pa.int64())
        else:
            columns[column.name] = pa.array(np.array(values, dtype=np.float64))
    if persons is not None:
        columns[options["person_id"]] = pa.array(persons, pa.string())
    return pa.table(columns)


def invented_rows(schema: Schema, n_rows: int, seed: int = 0) -> list[Row]:
    """Return rows of three clusters, some on the bounds, some beyond them, some repeated, of all categories."""
    generator = np.random.default_rng(seed)
    rows: list[Row] = []
    for number in range(n_rows):
        parts = generator.normal(_MIDDLES[number % 3], 0.03, len(schema.columns))
        row = [_at(column, float(part), number) for column, part in zip(schema.columns, parts, strict=True)]
        rows.append(rows[-7] if number % 11 == 10 else tuple(row))
    for number, part in ((3, 1.0), (5, 0.0), (8, 40.0), (9, -40.0)):
        if number < n_rows:
            rows[number] = tuple(_at(column, part, number) for column in schema.columns)
    return rows


def alternating_gaps(schema: Schema, n_rows: int) -> tuple[list[Row], Row]:
    """Return rows whose gaps are 0, g, 0, g, ... in one column and g, 0, g, 0, ... in another, and one at both far ends.

    Position by position the averages of the two columns' gaps are all alike. With the one row more, half of them are 0 and
    half are g: the averaged gaps of the DPM paper (algorithm 2) have no small sensitivity.
    """
    first, second = _numeric(schema)[:2]
    steps = np.tile([0.0, 1.0], n_rows)[: n_rows - 1]
    ranks = [np.concatenate([[1.0], 1.0 + np.cumsum(gaps)]) for gaps in (steps, 1.0 - steps)]
    last = max(rank[-1] for rank in ranks) + 1.0
    rows = []
    for number in range(n_rows + 1):
        row = [_at(column, 0.5, 0) for column in schema.columns]
        new = number == n_rows
        for j, rank, end in ((first, ranks[0], 0.0), (second, ranks[1], last)):
            row[j] = _at(schema.columns[j], float((end if new else rank[number]) / last), 0)
        rows.append(tuple(row))
    return rows[:-1], rows[-1]


def torn_columns(schema: Schema, n_rows: int, windows: int) -> tuple[list[Row], Row]:
    """Return rows, and one that makes cuts of one column better and a cut of another one worse, as far as one row can by variance.

    In the first column it is alone at the upper end. In the second it lies below the many rows at the upper end, so that the last cut
    has it on the same side as the few rows at the lower end.
    """
    first, second = _numeric(schema)[:2]
    few = n_rows // 10

    def row(one: float, other: float) -> Row:
        values = [_at(column, 0.5, 0) for column in schema.columns]
        values[first], values[second] = _at(schema.columns[first], one, 0), _at(schema.columns[second], other, 0)
        return tuple(values)

    return [row(0.0, 0.0)] * few + [row(0.0, 1.0)] * (n_rows - few), row(1.0, 1.0 - 1.5 / windows)


def search_worst_pair(
    query: str,
    make_estimator: Callable[[], Any],
    schema: Schema,
    *,
    most_rows: int = 12,
    rows_per_person: int = 1,
    n_examples: int = 60,
    seed: int = 0,
) -> WorstPair:
    """Return the pair of small tables that uses most of the price of a query, searched for with hypothesis.

    Parameters
    ----------
    query : str
        Name of a planned draw, such as "split", "count" or "clipped sums".
    make_estimator : callable
        As in `audit_replay`. A large epsilon and a small `min_cluster_size` let small tables be cut.
    schema : Schema
    most_rows : int
        Most rows of the smaller table.
    rows_per_person : int
        Most rows of the person who is added.
    n_examples : int
        Pairs that are tried.
    seed : int
    """
    try:
        from hypothesis import given, settings, strategies, target
    except ImportError:
        raise ImportError("The search for the worst pair needs hypothesis: pip install hypothesis") from None
    from dpmondrian_lab.audit.findings import Findings
    from dpmondrian_lab.audit.replay import audit_replay

    row = strategies.tuples(*(_values(column, strategies) for column in schema.columns))
    everything: list[Findings] = []
    best: list[tuple[float, Pair]] = []

    @settings(derandomize=True, deadline=None, database=None, max_examples=n_examples)
    @given(
        strategies.lists(row, max_size=most_rows),
        strategies.lists(row, min_size=1, max_size=rows_per_person),
        strategies.integers(0, most_rows),
        strategies.integers(seed, seed + 1000),
    )
    def try_pair(rows: list[Row], added: list[Row], place: int, noise_seed: int) -> None:
        larger = [*rows[:place], *added, *rows[place:]]
        pair = Pair("searched for", table_of(schema, rows), table_of(schema, larger))
        found = audit_replay(make_estimator, pair.table, pair.neighbour, seed=noise_seed).named(pair.name)
        used = found.used.get(query, 0.0)
        everything.append(found)
        if not best or used > best[0][0]:
            best[:] = [(used, pair)]
        target(min(used, 1e9))

    try_pair()
    return WorstPair(query, *best[0], Findings.together(everything))


@dataclass(frozen=True)
class _People:
    """Makes pairs, with a column of persons where there is one."""

    schema: Schema
    person_id: str | None
    rows_per_person: int

    def pair(self, name: str, rows: Sequence[Row], added: Sequence[Row], whole: bool = False) -> Pair:
        place = len(rows) // 2  # the order of rows must not matter
        larger = [*rows[:place], *added, *rows[place:]]
        persons, more = None, None
        if self.person_id is not None:  # every second row belongs to the person of the row before
            persons = [f"{number // 2}" for number in range(len(rows))]
            # Who is added looks like the first of them, and is somebody else.
            more = [*persons[:place], *["00"] * len(added), *persons[place:]]
        options = {"person_id": self.person_id, "whole": whole}
        table = table_of(self.schema, self._fit(rows, whole), persons, **options)
        return Pair(name, table, table_of(self.schema, self._fit(larger, whole), more, **options))

    def _fit(self, rows: Sequence[Row], whole: bool) -> Sequence[Row]:
        """Return rows whose whole numbers are some that 64 bits can hold."""
        if not whole:
            return rows
        kept = [isinstance(column, Column) and column.whole for column in self.schema.columns]
        return [tuple(_to_int64(v) if k else v for v, k in zip(row, kept, strict=True)) for row in rows]


def _to_int64(value: float) -> int:
    if isinstance(value, int):
        return value
    return int(max(-(2.0**62), min(2.0**62, value)))


def _numeric(schema: Schema) -> list[int]:
    return [j for j, column in enumerate(schema.columns) if isinstance(column, Column)]


def _at(column: Column | Category, part: float, number: int) -> Any:
    """Return the value of a column at a part of its range, 0 to 1 or beyond; of categories, one after the other."""
    if isinstance(column, Category):
        names = [*column.levels, _UNDECLARED]
        return names[number % len(names)]
    if column.log and 0.0 <= part <= 1.0:
        return min(column.upper, column.lower * math.exp(part * column.range))
    value = column.lower + part * (column.upper - column.lower)
    return float(round(value)) if column.whole and 0.0 < part < 1.0 else value


def _with(schema: Schema, numbers: Callable[[int, Column], float], number: int = 0) -> Row:
    """Return a row with a number for every numeric column, and the category of that number in the others."""
    return tuple(
        _at(column, 0.0, number) if isinstance(column, Category) else numbers(j, column)
        for j, column in enumerate(schema.columns)
    )


def _single_rows(schema: Schema, base: Sequence[Row], windows: int) -> Iterator[tuple[str, Row]]:
    """Return rows that try to move an exact value by more than one row may."""
    yield "lower corner", _with(schema, lambda j, column: column.lower)
    yield "upper corner", _with(schema, lambda j, column: column.upper, 1)
    yield "mixed corners", _with(schema, lambda j, column: column.upper if j % 2 else column.lower, 2)
    yield "far above the bounds", _with(schema, lambda j, column: 1e300)
    yield "far below the bounds", _with(schema, lambda j, column: -1e300, 1)
    yield "far beyond opposite bounds", _with(schema, lambda j, column: 1e9 if j % 2 else -1e9, 2)
    yield "just within the bounds", _with(schema, lambda j, column: math.nextafter(column.upper, -math.inf))
    yield "just beyond the bounds", _with(schema, lambda j, column: math.nextafter(column.upper, math.inf))
    yield "denormal", _with(schema, lambda j, column: 5e-324)
    yield "minus zero", _with(schema, lambda j, column: -0.0)
    yield "largest float", _with(schema, lambda j, column: 1.7976931348623157e308)
    widths = [0.0 if isinstance(column, Category) else column.upper - column.lower for column in schema.columns]
    for name, place in (("first", 0.0), ("middle", 0.5), ("last", 1.0)):
        edges = [_edge(column, windows, place) for column in schema.columns]
        yield f"on the {name} cut", _with(schema, lambda j, _, edges=edges: edges[j])  # type: ignore[misc]
        beside = [edge + _LITTLE * width for edge, width in zip(edges, widths, strict=True)]
        yield f"beside the {name} cut", _with(schema, lambda j, _, beside=beside: beside[j])  # type: ignore[misc]
    yield "middle", _with(schema, lambda j, column: (column.lower + column.upper) / 2)
    if base:
        yield "duplicate", base[0]
    for j, column in enumerate(schema.columns):
        if isinstance(column, Category):
            for level in (*column.levels[:3], _UNDECLARED, ""):
                row = [_at(other, 0.5, 0) for other in schema.columns]
                row[j] = level
                yield f"{column.name} is {level!r}", tuple(row)


def _edge(column: Column | Category, windows: int, place: float) -> float:
    """Return a value on the edge of a window: the first cut, one in the middle, or the last one; of categories nothing."""
    if isinstance(column, Category):
        return math.nan
    ends = (math.log(column.lower), math.log(column.upper)) if column.log else (column.lower, column.upper)
    grid = Grid.with_windows(Schema((Column(column.name, *ends, whole=column.whole),)), windows)
    cut = 1 + round(place * max(0, int(grid.n_codes[0]) - 2))
    value = grid.cut_value(0, cut)
    return math.exp(value) if column.log else value


def _whole_tables(
    schema: Schema, base: Sequence[Row], corners: Sequence[Row], windows: int
) -> Iterator[tuple[str, list[Row], Row]]:
    """Return tables that are adversarial as a whole, with the row that is added."""
    lower, upper, mixed = corners
    n_rows = max(2, len(base))
    if len(_numeric(schema)) >= 2:
        rows, row = alternating_gaps(schema, n_rows + 1 - n_rows % 2)
        yield "alternating gaps", rows, row
        yield "columns torn apart", *torn_columns(schema, _TORN * n_rows, windows)
    yield "empty leaf", [lower] * n_rows, upper
    yield "empty leaf between two", [lower] * (n_rows // 2) + [upper] * (n_rows // 2), mixed
    yield "all rows alike", [mixed] * n_rows, mixed
    yield "alone on the other side", [upper] * n_rows, lower


def _several_rows(people: _People, base: Sequence[Row], corners: Sequence[Row], most: int) -> Iterator[Pair]:
    """Return pairs in which the person who is added has several rows; with a column of persons, also more than are kept."""
    mixed = [corners[number % 3] for number in range(most)]
    yield people.pair("several rows of one person in a corner", base, [corners[0]] * most)
    yield people.pair("several rows of one person in opposite corners", base, mixed)
    yield people.pair("several rows of one person, alone", [], mixed)
    yield people.pair(
        "several rows of one person in an empty leaf", [corners[0]] * max(2, len(base)), [corners[1]] * most
    )
    if people.person_id is not None:
        yield people.pair("more rows than are kept", base, [*mixed, *[corners[1]] * 5])
        yield people.pair("all the rows that two others share", base, list(base[:4]))
        # Were the two ids one person's, the rows in one corner would go, and others come in the opposite one.
        yield people.pair("an id that looks like another", [corners[0]] * 2, [corners[1]] * (200 * most))


def _missing_rows(schema: Schema) -> Iterator[tuple[str, Row]]:
    """Return rows with missing and infinite values: in all columns, in one, of both signs."""
    nothing = tuple(None if isinstance(column, Category) else math.nan for column in schema.columns)
    yield "all values missing", nothing
    yield "infinite values", _with(schema, lambda j, column: math.inf if j % 2 else -math.inf)
    middle = [_at(column, 0.5, 0) for column in schema.columns]
    for j in range(min(len(middle), 3)):
        yield f"{schema.columns[j].name} missing", (*middle[:j], nothing[j], *middle[j + 1 :])


def _int64_extremes(schema: Schema) -> Iterator[tuple[str, Row]]:
    """Return rows with the largest and smallest integers, for columns of integers."""
    for name, value in (("largest", 2**63 - 1), ("smallest", -(2**63)), ("first beyond floats", 2**53 + 1)):
        numbers = [value if isinstance(column, Column) and column.whole else 1e9 for column in schema.columns]
        yield f"{name} int64", _with(schema, lambda j, _, numbers=numbers: numbers[j])  # type: ignore[misc]


def _values(column: Column | Category, strategies: Any) -> Any:
    """Return hypothesis' values of a column: corners and beyond, and everything between."""
    if isinstance(column, Category):
        return strategies.sampled_from([*column.levels, _UNDECLARED])
    width = column.upper - column.lower
    ends = [column.lower, column.upper, _at(column, 0.5, 0), column.upper + 1e9 * width, column.lower - 1e9 * width]
    return strategies.sampled_from(ends) | strategies.floats(column.lower - width / 10, column.upper + width / 10)
