"""Clusters in many columns: rows are counted along directions that released cells propose, and cut where there is a valley."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dpmondrian.dpm.cells import Cells
from dpmondrian.dpm.draws import LINES
from dpmondrian.dpm.finding.dispersion import dispersion_along
from dpmondrian.dpm.finding.heaps import evened
from dpmondrian.dpm.finding.proposals import (
    N_BINS,
    Candidates,
    PartCells,
    Proposal,
    candidates_of,
    is_one_hump,
    propose,
)
from dpmondrian.dpm.finding.valleys import Valley, doubt_of, threshold, valleys
from dpmondrian.dpm.partition import Cuts, Everything, Partition
from dpmondrian.engines import PARTS, STEPS, AllTogether, CutAlong, Engine, Grid, LineCounts
from dpmondrian.privacy import Door

__all__ = ["cut_along_lines", "round_costs"]

_ROWS_PER_ROUND = 60.0
"""Parts are worth halving as long as they hold so many deviations of a count that takes the whole budget."""
_MOST_ROUNDS = 12
_FRONT, _MOST_AT_ONCE = 0.25, 0.5
"""Least and largest part of what is left that a round takes: most parts are looked at in the first rounds, and none is the last for sure."""
_LOOKS = 3
"""How often a part is looked at without finding a valley."""
_LEAST_DEVIATIONS = 6.0
"""Parts of fewer rows, in deviations of a bin's noise, show nothing."""
_ROWS_FOR_TWO = 200.0
_MOST_LINES = 4
"""A part of this many deviations can pay for more directions at once: as many as the square of how many times that it has, up to four."""
_SMOOTH = (math.sqrt(2.0), 1.0)
"""Cells are taken to spread this many times as far as their rows do: a valley narrower than a cell is a gap between cells, most often. Parts
in which they then expect no valley are looked at with a sharper eye, but not the whole table: what was found once may be found again."""
_ALL_COLUMNS = 8.0
"""So much more than enough for all columns a part must hold before all of them are looked along."""
_INDEPENDENT = 20000.0
"""Tables are taken to hold at least this many independent rows: what is nearly empty is empty, however often rows repeat."""
_INDEPENDENT_IN_PART = 300.0
_CLEARLY = 4.0
"""Rows of a category that are fewer than this many standard errors may be none."""
_AT_BOUND = 0.02
"""Fewer than this share of all rows at a bound are rows that were clipped to it, not a cluster."""
_HEAP, _HEAPED = 5, 1.5
"""Bins between round numbers, and how many times as many rows those that hold one have where people round."""
_SCALE = 1024
_POINT = np.zeros(1, dtype=np.int64)
_MOST_STEPS = 4096


@dataclass
class _Part:
    """An open part of the space: its cells, how it was looked at, and the doubt in the cuts around it.

    `hints` are directions along which the part it was cut from has valleys: they may have been about this one. `candidates` are those of
    its cells, once it was looked at, which are smoothed as `sharpness` says. A part `is_whole` if nothing was looked for yet: the table, or
    a category of it.
    """

    number: int
    cells: PartCells
    doubt: float
    is_whole: bool = False
    tried: list[NDArray[np.float64]] = field(default_factory=list)
    n_looks: int = 0
    hints: list[NDArray[np.float64]] = field(default_factory=list)
    candidates: Candidates | None = None
    sharpness: int = 0


@dataclass(frozen=True)
class _Line:
    """A direction in whole numbers, and the bins along it: where they begin, how wide they are, and how a row is spread over them."""

    part: int
    proposal: Proposal
    direction: NDArray[np.int64]
    begin: int
    width: int
    shape: NDArray[np.int64]
    heap: int | None = None


def cut_along_lines(
    engine: Engine, door: Door, grid: Grid, cells: Cells, noisy_total: float, reserve: float, least_rows: float
) -> tuple[Partition, NDArray[np.float64]]:
    """Return the parts that are apart, and how sure each of them is; what is not needed stays in `Door.left`.

    Privacy
    -------
    Released, in every round: histograms of the rows of open parts along directions. Parts hold disjoint rows; a row of a part adds at
    most one row in all to each of its histograms. Argument: ``docs/privacy/finding.md``; tests that try to break it:
    ``tests/privacy/test_neighbours.py``, ``tests/privacy/test_passages.py``.
    """
    search = _Search(engine, door, grid, cells, noisy_total, least_rows)
    for number in range(_MOST_ROUNDS):
        left = door.left - reserve
        if left <= 0.0 or not search.round(number, left * search.part_of_round()):
            break
    return search.result()


def round_costs(door: Door, noisy_total: float, cost: float) -> list[float]:
    """Return what each round costs, of a cost for all of them, if each halves all parts and cells are many; so that a forecast can ask."""
    signal = noisy_total / door.deviation_at(door.plan.total)
    costs: list[float] = []
    for number in range(_MOST_ROUNDS):
        costs.append((cost - math.fsum(costs)) * _part_of_round(signal / _ROWS_PER_ROUND / 2.0**number))
    return costs


def _part_of_round(most_parts: float) -> float:
    """Return the part of what is left that a round takes, if the largest part may consist of so many: as many rounds as it can be halved."""
    return min(max(_FRONT, 1.0 / max(round(math.log2(max(most_parts, 1.0))), 1)), _MOST_AT_ONCE)


class _Search:
    """Looks for valleys, round after round; knows the parts so far and the cuts between them."""

    def __init__(
        self, engine: Engine, door: Door, grid: Grid, cells: Cells, noisy_total: float, least_rows: float
    ) -> None:
        self._engine, self._door, self._grid, self._cells, self._total = (
            engine,
            door,
            grid,
            cells,
            max(noisy_total, 1.0),
        )
        self._value_widths = np.where(grid.on_value, grid.rest_step, 0.0).astype(np.int64)
        self._value_spreads = self._value_widths / math.sqrt(12.0)
        self._least_rows = least_rows
        self._open = [_Part(0, PartCells(cells.places, cells.errors, cells.sizes), 0.0, is_whole=True)]
        self._doubts = {0: 0.0}
        self._n_parts = 1
        self._cuts: list[tuple[int, int, NDArray[np.int64], NDArray[np.int64]]] = []
        engine.route(AllTogether())
        for column in np.flatnonzero(grid.one_hot & (grid.n_codes > 1)).tolist():
            self._divide_by_category(column)

    def part_of_round(self) -> float:
        """Return the part of what is left that the next round takes: more rounds follow where parts have many cells and rows for them."""
        worth = _ROWS_PER_ROUND * self._door.deviation_at(self._door.plan.total)
        return _part_of_round(max(min(len(part.cells.sizes), part.cells.rows / worth) for part in self._open))

    def round(self, number: int, cost: float) -> bool:
        """Look at all open parts at a cost; return whether any is still open."""
        deviation = self._door.deviation_at(cost)
        lines = [line for part in self._open for line in self._lines(part, deviation)]
        looked = sorted({line.part for line in lines})
        self._open = [part for part in self._open if part.number in looked]
        if not lines:
            return False
        counts, deviations = self._count(number, lines, looked, cost)
        still_open: list[_Part] = []
        move = CutAlong([], [], [], [])
        for part in self._open:
            part.n_looks += 1
            own = [i for i, line in enumerate(lines) if line.part == part.number]
            part.tried += [lines[i].proposal.direction for i in own]
            noise = float(deviations[looked.index(part.number)])
            found = self._best([lines[i] for i in own], counts[own], noise, part)
            still_open += [part] if found is None else self._divide(part, *found, len(own), move)
        if move.nodes:
            self._engine.route(move)
        self._open = still_open
        return bool(still_open)

    def _lines(self, part: _Part, deviation: float) -> list[_Line]:
        """Return the lines along which to look at a part; none if it cannot show anything any more."""
        if len(part.cells.sizes) < 2 or part.cells.rows < _LEAST_DEVIATIONS * deviation or part.n_looks >= _LOOKS:
            return []
        proposals = self._proposals(part, deviation)
        while not proposals and not part.is_whole and part.sharpness + 1 < len(_SMOOTH):
            part.sharpness, part.candidates = part.sharpness + 1, None
            proposals = self._proposals(part, deviation)
        return [self._line(part.number, proposal) for proposal in proposals]

    def _proposals(self, part: _Part, deviation: float) -> list[Proposal]:
        """Return the directions that the cells of a part propose."""
        cells, spread = part.cells, _SMOOTH[part.sharpness] * self._cells.spread
        can_pay = (cells.rows / (_ROWS_FOR_TWO * deviation)) ** 2
        every_column = can_pay >= _ALL_COLUMNS * (self._grid.n_columns + 2)
        if part.candidates is None and not part.is_whole and not every_column and is_one_hump(cells, spread):
            part.candidates = Candidates.none(self._grid.n_columns)
        if part.candidates is None:
            part.candidates = Candidates.along(candidates_of(cells, spread), cells, spread, self._value_spreads)
        return propose(
            cells,
            spread,
            part.candidates,
            self._value_spreads,
            deviation,
            part.tried,
            part.hints,
            int(np.clip(can_pay, 1, _MOST_LINES)),
            is_root=part.is_whole,
            every_column=every_column,
        )

    def _line(self, part: int, proposal: Proposal) -> _Line:
        """Return a proposal in whole numbers, with bins along it."""
        direction = proposal.direction
        column = int(np.abs(direction).argmax())
        if abs(direction[column]) <= 0.999:
            whole = np.rint(_SCALE * direction / np.abs(direction).max()).astype(np.int64)
            scale = float(np.sqrt((whole.astype(np.float64) ** 2).sum()))
            return self._slanted(part, proposal, whole, scale * proposal.low, scale * proposal.high)
        whole = np.zeros(len(direction), dtype=np.int64)
        whole[column] = 1
        low, high = sorted((proposal.low * direction[column], proposal.high * direction[column]))
        unit = int(self._value_widths[column])
        if not unit:
            return self._slanted(part, proposal, whole, low, high)
        origin = float(self._grid.origin[column])
        first, width, heap = _round_bins(origin + low / unit, origin + high / unit)
        return _Line(part, proposal, whole, int((first - origin) * unit), int(width * unit), _POINT, heap)

    def _slanted(self, part: int, proposal: Proposal, whole: NDArray[np.int64], low: float, high: float) -> _Line:
        """Return a line on which a row stands for all values that round to its whole numbers, so that these make no waves."""
        width = STEPS * max(1, math.ceil((high - low) / (N_BINS * STEPS)))
        lengths = np.abs(whole) * self._value_widths
        return _Line(part, proposal, whole, math.floor(low), width, _spread_shape(lengths[lengths > 0], width))

    def _count(
        self, number: int, lines: list[_Line], looked: list[int], cost: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return noisy rows of every line and bin, and the deviation of the noise of a bin in each part."""
        exact_counts = self._engine.line_counts(
            LineCounts(
                looked,
                np.array([looked.index(line.part) for line in lines]),
                np.array([line.direction for line in lines]),
                np.array([line.begin for line in lines]),
                np.array([line.width for line in lines]),
                [line.shape for line in lines],
                N_BINS,
            )
        )
        own = [[i for i, line in enumerate(lines) if line.part == part] for part in looked]
        self._door.extend([self._door.plan_draw(LINES, number, cost)])
        groups, deviations = self._door.histograms(
            LINES, number, [exact_counts[of_part] for of_part in own], [len(of_part) for of_part in own], PARTS
        )
        counts = np.empty(exact_counts.shape)
        for of_part, noisy in zip(own, groups, strict=True):
            counts[of_part] = noisy / PARTS
        return counts, deviations / PARTS

    def _best(
        self, lines: list[_Line], counts: NDArray[np.float64], deviation: float, part: _Part
    ) -> tuple[_Line, list[Valley]] | None:
        """Return the line with the clearest valley and all its valleys; None if no line shows one."""
        part.hints = []
        best: tuple[_Line, list[Valley]] | None = None
        for line, noisy in zip(lines, counts, strict=True):
            seen, rows_seen, noise = _gathered(line, self._without_clipped(line, noisy), deviation)
            if not self._value_widths[np.flatnonzero(line.direction)].all():
                rows_seen = evened(rows_seen, noise)
            dispersion, empty = self._dispersions(rows_seen, noise, part.cells.rows)
            found = valleys(
                rows_seen,
                noise,
                threshold(len(lines)),
                dispersion,
                empty,
                self._least_rows,
            )
            if found:
                part.hints.append(line.proposal.direction)
            if found and (best is None or max(v.z for v in found) > max(v.z for v in best[1])):
                best = seen, found
        return best

    def _dispersions(self, counts: NDArray[np.float64], deviation: float, rows: float) -> tuple[float, float]:
        """Return how much more counts vary than those of independent rows, and how much more they may where a valley is nearly empty."""
        found, is_comb = dispersion_along(counts, deviation)
        if is_comb:
            return found, found
        return min(found, max(1.0, rows / _INDEPENDENT_IN_PART)), max(1.0, self._total / _INDEPENDENT)

    def _without_clipped(self, line: _Line, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return counts in which the few rows at a bound are no hill of their own."""
        [columns] = np.nonzero(line.direction)
        if len(columns) != 1:
            return counts
        counts = counts.copy()
        last = int(self._grid.last_place[columns[0]])
        for bound, beside in ((0, 1), (last, -1)):
            b = (bound - line.begin) // line.width
            if 0 <= b < N_BINS and 0 <= b + beside < N_BINS and counts[b] < _AT_BOUND * self._total:
                counts[b] = min(counts[b], max(counts[b + beside], 0.0))
        return counts

    def _divide_by_category(self, column: int) -> None:
        """Cut all parts between the rows of a category and the others, where both are clearly many.

        There is nothing between two categories, so whoever lets them separate clusters asks for this: nothing is tested. Post-processing.
        """
        grid, last = self._grid, int(self._grid.last_place[column])
        direction = np.zeros(grid.n_columns, dtype=np.int64)
        direction[column] = 1
        move, parts = CutAlong([], [], [], []), self._open
        self._open = []
        for part in parts:
            sizes, share, error = (
                part.cells.sizes,
                part.cells.places[:, column] / last,
                part.cells.errors[:, column] / last,
            )
            least = max(self._least_rows, _CLEARLY * math.hypot(*(sizes * error), *(self._cells.size_error * share)))
            if min(sizes @ share, sizes @ (1.0 - share)) < least:
                self._open.append(part)
            else:
                sides = self._cut(part, direction, np.array([(last + 1) // 2]), [0.0], move)
                self._open += [replace(side, is_whole=True) for side in sides]
        if move.nodes:
            self._engine.route(move)

    def _divide(self, part: _Part, line: _Line, found: list[Valley], n_lines: int, move: CutAlong) -> list[_Part]:
        """Cut a part at valleys and return the new ones."""
        thresholds = np.array([line.begin + round(valley.place * line.width) for valley in found], dtype=np.int64)
        return self._cut(part, line.direction, thresholds, [doubt_of(valley.z, n_lines) for valley in found], move)

    def _cut(
        self,
        part: _Part,
        direction: NDArray[np.int64],
        thresholds: NDArray[np.int64],
        doubts: list[float],
        move: CutAlong,
    ) -> list[_Part]:
        """Cut a part along a direction, each time with a doubt, and return the new ones."""
        first, self._n_parts = self._n_parts, self._n_parts + len(thresholds) + 1
        self._cuts.append((part.number, first, direction, thresholds))
        move.add(part.number, direction, thresholds, first)
        places = np.rint(part.cells.places).astype(np.int64)
        side = np.searchsorted(thresholds, places @ direction, side="right")
        new = []
        del self._doubts[part.number]
        for i in range(len(thresholds) + 1):
            doubt = part.doubt + max(doubts[max(i - 1, 0) : i + 1])
            self._doubts[first + i] = doubt
            new.append(_Part(first + i, part.cells.of(side == i), doubt, hints=part.hints))
        return new

    def result(self) -> tuple[Partition, NDArray[np.float64]]:
        """Return the partition and the certainty of its clusters."""
        if not self._cuts:
            return Everything(), np.ones(1)
        clusters = sorted(self._doubts)
        cluster_of_part = np.full(self._n_parts, -1, dtype=np.int64)
        cluster_of_part[clusters] = np.arange(len(clusters))
        parts, first, directions, thresholds = zip(*self._cuts, strict=True)
        certainty = 1.0 - np.minimum(1.0, [self._doubts[part] for part in clusters])
        return Cuts(parts, first, directions, thresholds, cluster_of_part), certainty


def _spread_shape(lengths: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return the parts of a row below each step of the sum of uniform numbers on intervals of these lengths, centred.

    It is a log-concave shape, so it leaves a density log-concave. Intervals much shorter than a bin make no difference.
    """
    if not len(lengths):
        return _POINT
    step = width // STEPS
    n_steps = np.minimum(np.rint(lengths / step).astype(np.int64), _MOST_STEPS)
    density = np.ones(1)
    for n in n_steps[n_steps > 1].tolist():
        density = np.convolve(density, np.full(n, 1.0 / n))
    if len(density) == 1:
        return _POINT
    below = np.concatenate([[0.0], np.cumsum(density)])
    parts: NDArray[np.int64] = np.floor(PARTS * below / below[-1] + 1e-9).astype(np.int64)
    return parts


def _round_bins(low: float, high: float) -> tuple[float, float, int | None]:
    """Return where bins of whole numbers begin, how wide they are, and how many bins before the first one a heap may lie.

    People round. Bins are a fifth of a round number wide and lie around its multiples; few values have one bin each.
    """
    values = high - low
    if values < 30:
        return math.floor(low) - 0.5, 1.0, None
    heap = max(5.0, 10.0 ** math.floor(math.log10(values / 6.0)))
    if values / heap > N_BINS - 2:
        heap *= 2.0
    width = heap / _HEAP if values / heap < (N_BINS - 2) / _HEAP else heap
    first = math.floor(low / width)
    return (first - 0.5) * width, width, None if width == heap else first % _HEAP


def _gathered(line: _Line, counts: NDArray[np.float64], deviation: float) -> tuple[_Line, NDArray[np.float64], float]:
    """Return a line of whole numbers with one bin for every round number, if rows heap on these; else as it is."""
    if line.heap is None:
        return line, counts, deviation
    from_heap = (np.arange(len(counts)) + line.heap) % _HEAP
    if counts[from_heap == 0].mean() <= _HEAPED * max(counts[from_heap != 0].mean(), 0.0):
        return line, counts, deviation
    group = (np.arange(len(counts)) + line.heap + _HEAP // 2) // _HEAP
    begin = line.begin + (_HEAP * int(group[0]) - line.heap - _HEAP // 2) * line.width
    wider = replace(line, begin=begin, width=_HEAP * line.width, heap=None)
    gathered: NDArray[np.float64] = np.bincount(group - group[0], counts).astype(np.float64)
    return wider, gathered, deviation * math.sqrt(_HEAP)
