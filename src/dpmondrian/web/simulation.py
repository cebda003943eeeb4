"""What to expect, redrawn while somebody moves a slider: the forecast, and a release of invented rows with the same schema.

No row of the table is read. A table of any size is imitated by as many invented rows: noise is the same share of a cluster if epsilon is as
many times larger as there are fewer rows. Pictures are kept, and drawn before somebody asks for them.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpmondrian.estimator import DPM
from dpmondrian.planning import Forecast, forecast
from dpmondrian.samples import Invented, invented
from dpmondrian.schema import Category, Column, Schema, TableSchema
from dpmondrian.show.report import places as places_of
from dpmondrian.web.planned import Planned

if TYPE_CHECKING:
    from dpmondrian.release import Release

_N_ROWS = 5000  # invented rows that are clustered
_LEAST_LEVEL, _MOST_LEVEL = -14, 6
_MOST_SCENES, _MOST_WISHES = 20, 200
_PATIENCE = 0.1  # seconds that an answer waits for the first picture
_MOST_DOTS = 700
_FEW = 20  # whole numbers between the bounds of a column
WIDTH, HEIGHT, _EDGE = 640, 400, 12  # of the picture


@dataclass(frozen=True)
class Dot:
    """A cluster that the simulated release found, as a mark in the picture."""

    x: float
    y: float
    dx: float  # half of the 95 % interval
    dy: float
    radius: float


@dataclass(frozen=True)
class Simulation:
    """A release of invented rows, as a picture: its axes, the rows, the middles of the invented groups, and what was found."""

    columns: tuple[Column, ...]  # one or two
    rows: str  # a path of points
    middles: tuple[tuple[float, float], ...]
    found: tuple[Dot, ...]
    n_groups: int


@lru_cache(maxsize=500)
def expected(declared: TableSchema, planned: Planned) -> Forecast:
    """Return the forecast of a plan."""
    return forecast(
        planned.rows,
        declared.schema,
        planned.epsilon,
        planned.delta,
        n_clusters=planned.k,
        rows_per_person=declared.rows_per_person,
        expected_clusters=planned.groups,
        person_id=declared.person_id,
    )


class Studio:
    """Draws pictures in a thread of its own, what was asked for last first, and keeps them.

    Whoever asks gets an answer at once: the picture, or until it is drawn the nearest one with the same groups.
    """

    def __init__(self) -> None:
        self._kept: dict[_Scene, dict[int, Simulation | None]] = {}
        self._wanted: list[tuple[_Scene, int]] = []
        self._change = threading.Condition()
        self._at_work = False

    def picture(self, declared: TableSchema, planned: Planned) -> tuple[Simulation | None, bool]:
        """Return a picture of a simulated release, None if there is no numeric column, and whether it is the one that was asked for."""
        scene, level = _Scene(declared, planned.groups, planned.k, planned.delta), _level(planned)
        with self._change:
            self._want(scene, sorted(range(_LEAST_LEVEL, _MOST_LEVEL + 1), key=lambda other: -abs(other - level)))
            self._change.wait_for(lambda: scene in self._kept, _PATIENCE)
            kept = self._kept.get(scene)
            if not kept:
                return None, False
            nearest = min(kept, key=lambda other: abs(other - level))
            return kept[nearest], nearest == level

    def _want(self, scene: _Scene, levels: list[int]) -> None:
        """Put what is not drawn yet on the top of the pile, the last one uppermost."""
        kept = self._kept.get(scene, {})
        new = [(scene, level) for level in levels if level not in kept]
        self._wanted = [*(wish for wish in self._wanted if wish not in new), *new][-_MOST_WISHES:]
        if self._wanted and not self._at_work:
            self._at_work = True
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._change:
                if not self._wanted:
                    self._at_work = False
                    return
                scene, level = self._wanted.pop()
            drawn = _drawn(scene, level)
            with self._change:
                self._kept.setdefault(scene, {})[level] = drawn
                while len(self._kept) > _MOST_SCENES:
                    del self._kept[next(iter(self._kept))]
                self._change.notify_all()


@dataclass(frozen=True)
class _Scene:
    """What pictures have in common that differ in noise only."""

    declared: TableSchema
    groups: int
    k: int | None
    delta: float


def _level(planned: Planned) -> int:
    """Return how weak the noise is beside the rows, in eighths of a power of ten; from where it cannot be seen, there is one level."""
    level = round(8 * math.log10(planned.epsilon * planned.rows / _N_ROWS))
    return min(max(level, _LEAST_LEVEL), _MOST_LEVEL)


def _drawn(scene: _Scene, level: int) -> Simulation | None:
    """Cluster invented rows, and return the picture; None if they are refused, which the forecast tells better."""
    declared, groups = scene.declared, scene.groups
    numeric = [column for column in declared.schema.columns if isinstance(column, Column)]
    axes = tuple(sorted(numeric, key=_is_coarse)[:2])
    if not axes:
        return None
    rows = invented(declared.schema, _N_ROWS, groups)
    try:
        release = _released(scene, level, rows)
    except Exception:  # whatever it is, people can plan without a picture
        return None
    places = [places_of(column, rows.table[column.name].to_numpy().astype(np.float64)) for column in axes]
    middles = np.array([[np.mean(place[rows.group == g]) for place in places] for g in np.unique(rows.group)])
    return Simulation(
        axes,
        _path(np.column_stack([_across(places[0]), _down(places, rows.group)])[:_MOST_DOTS]),
        tuple(zip(_across(middles[:, 0]).tolist(), _heights(middles).tolist(), strict=True)),
        tuple(_dots(release, axes)),
        groups,
    )


def _is_coarse(column: Column) -> bool:
    """Return whether a column has so few values that dots would lie on lines; the order of others is kept."""
    return column.whole and column.upper - column.lower < _FEW


def _plain(column: Column | Category) -> Column | Category:
    """Return a column without how its values are written: invented ones are numbers or categories, and none is missing."""
    return replace(column, notation=None) if isinstance(column, Column) else replace(column, missing=())


def _released(scene: _Scene, level: int, rows: Invented) -> Release:
    model = DPM(
        epsilon=10 ** (level / 8),
        delta=scene.delta,
        n_clusters=scene.k,
        bounds=Schema(tuple(map(_plain, scene.declared.schema.columns))),
        rows_per_person=scene.declared.rows_per_person,
        random_state=1,  # or the picture would flicker
    )
    return model.fit(rows.table).release_


def _across(places: NDArray[np.float64]) -> NDArray[np.float64]:
    return _EDGE + places * (WIDTH - 2 * _EDGE)


def _upright(places: NDArray[np.float64]) -> NDArray[np.float64]:
    return HEIGHT - _EDGE - places * (HEIGHT - 2 * _EDGE)


def _down(places: list[NDArray[np.float64]], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the heights of rows; with a single column they are strewn, so that rows can be told apart."""
    if len(places) > 1:
        return _upright(places[1])
    return _upright(0.2 + 0.6 * np.random.default_rng(0).random(len(group)))


def _heights(middles: NDArray[np.float64]) -> NDArray[np.float64]:
    return _upright(middles[:, 1] if middles.shape[1] > 1 else np.full(len(middles), 0.5))


def _path(points: NDArray[np.float64]) -> str:
    return "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points.tolist())


def _dots(release: Release, axes: tuple[Column, ...]) -> list[Dot]:
    names = list(release.schema.centre_names)
    found = []
    for size, _, centre, error, *_ in release.by_cluster():
        ends = []
        for column in axes:
            j = names.index(column.name)
            interval = np.array([centre[j], centre[j] - 2 * error[j], centre[j] + 2 * error[j]])
            ends.append(places_of(column, interval))
        across, up = ends[0], ends[1] if len(ends) > 1 else np.full(3, 0.5)
        wide, high = (across[2] - across[1]) / 2 * (WIDTH - 2 * _EDGE), (up[2] - up[1]) / 2 * (HEIGHT - 2 * _EDGE)
        radius = 6.0 + 22.0 * math.sqrt(max(size, 0.0) / _N_ROWS)
        found.append(Dot(float(_across(across[:1])[0]), float(_upright(up[:1])[0]), float(wide), float(high), radius))
    return found


STUDIO = Studio()
