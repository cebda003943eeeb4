"""The pictures and numbers of how-it-works.md, from runs of the library.

    python docs/make_pictures.py              draws docs/images/how-*.png, a minute
    python docs/make_pictures.py --numbers    prints every measured number of the page, some minutes

Data and noise have fixed seeds, so that a picture is the same every time: run r has the data seed r and the noise seed
1000 + r. Needs matplotlib; the numbers about Fashion need its embeddings (dpm fetch fashion_embs) and are left out without.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpmondrian import DPM, Tree
from dpmondrian.dpm.finding import hills, lines
from dpmondrian.quality import adjusted_rand
from dpmondrian.show.plots.drawing import drawing
from dpmondrian_lab.datasets import get, shapes
from dpmondrian_lab.exceptions import DatasetNotFoundError
from dpmondrian_lab.experiments.measures import real_clusters

FOLDER = Path(__file__).parent / "images"
RUNS = 10
N_ROWS = 50_000

GREY, DARK, VALLEY, PEAK = "#B5B5B5", "#333333", "#D55E00", "#0072B2"

Rows = NDArray[np.float64] | NDArray[np.int64]
Maker = Callable[[int], tuple[Any, Any]]
"""From a seed to rows and bounds."""


def fit(rows: Any, bounds: Any, run: int, epsilon: float = 1.0, **parameters: Any) -> DPM:
    """Return DPM fitted with the noise of a run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # seeded, few rows, one cluster: all of that is wanted here
        return DPM(epsilon=epsilon, bounds=bounds, random_state=1000 + run, **parameters).fit(rows)


# Data that dpmondrian_lab.datasets.shapes does not have


ROADS = {"east_km": (0.0, 100.0), "north_km": (0.0, 100.0)}


def roads(seed: int = 0) -> tuple[Rows, NDArray[np.int64]]:
    """Return the homes of 30,000 invented patients in a town and four villages that stretch along roads around it.

    No cut along a column passes between two of the villages without crossing a third one.
    """
    generator = np.random.default_rng(seed)
    centres = np.array([[30.0, 20.0], [80.0, 30.0], [70.0, 80.0], [20.0, 70.0], [50.0, 50.0]])
    widths = np.array([[11.0, 3.5], [3.5, 11.0], [11.0, 3.5], [3.5, 11.0], [3.0, 3.0]])
    village = generator.choice(5, 30_000, p=[0.23, 0.23, 0.22, 0.20, 0.12])
    return centres[village] + widths[village] * generator.normal(size=(30_000, 2)), village


def ages(seed: int = 0) -> Rows:
    """Return the invented ages of patients: 40 % around 28 years, 60 % around 70."""
    generator = np.random.default_rng(seed)
    young = generator.random(N_ROWS) < 0.4
    return np.where(young, generator.normal(28.0, 7.0, N_ROWS), generator.normal(70.0, 9.0, N_ROWS))[:, None]


def side_by_side(seed: int) -> tuple[Rows, NDArray[np.int64]]:
    """Return two long clusters side by side along the diagonal, 8 of their widths apart; each column shows one hump."""
    generator = np.random.default_rng(seed)
    side = generator.integers(0, 2, N_ROWS)
    along, across = (
        generator.normal(0.0, 10.0, N_ROWS),
        generator.normal(0.0, 2.5, N_ROWS) + np.where(side, 10.0, -10.0),
    )
    return 50.0 + np.column_stack([along - across, along + across]) / np.sqrt(2.0), side


def side_by_side_of_five(seed: int) -> Rows:
    """Return `side_by_side` and three columns that hold one hump each."""
    others: Rows = np.random.default_rng(seed).normal(50.0, 10.0, (N_ROWS, 3))
    return np.concatenate([side_by_side(seed)[0], others], axis=1).astype(np.float64)


def beside_large(share: float, n_rows: int, seed: int) -> Rows:
    """Return one small cluster of this share far from a large one."""
    generator = np.random.default_rng(seed)
    small = generator.random(n_rows) < share
    return np.where(small[:, None], 70.0, 30.0) + generator.normal(0.0, 3.0, (n_rows, 2))


def outside(share: float, seed: int) -> Rows:
    """Return one cluster, and some of the rows beyond the bound 100 of the first column."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(50.0, 5.0, (N_ROWS, 2))
    far = generator.random(N_ROWS) < share
    rows[far, 0] = generator.uniform(100.0, 200.0, int(far.sum()))
    return rows


def ring(seed: int) -> Rows:
    """Return a ring around a disc."""
    generator = np.random.default_rng(seed)
    angle = generator.uniform(0.0, 2.0 * np.pi, N_ROWS)
    radius = np.where(generator.random(N_ROWS) < 0.5, 35.0, 0.0) + generator.normal(0.0, 4.0, N_ROWS)
    return 50.0 + np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def wide(seed: int) -> Rows:
    """Return 5,000 rows in 300 columns, in 16 tight clusters: more columns than the noise of so few rows allows for."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(0.1, 0.9, (16, 300))
    return middles[rng.integers(0, 16, 5_000)] + rng.normal(0, 0.01, (5_000, 300))


def of_shape(name: str, **parameters: Any) -> Maker:
    """Return a maker of one of the library's shapes."""

    def make(seed: int) -> tuple[Any, Any]:
        shape = getattr(shapes, name)(**parameters, seed=seed)
        return shape.rows, shape.bounds

    return make


# One run in two columns: cells, every k, hills

ROADS_RUN = 6


@cache
def roads_model() -> tuple[DPM, list[NDArray[np.float64]]]:
    """Return the fit of `roads`, and the noisy rows in the bins of its grids, coarse to fine."""
    noted: list[NDArray[np.float64]] = []

    def note(levels: Any, *arguments: Any) -> Any:
        noted.extend(level.rows for level in levels)
        return find(levels, *arguments)

    find = hills._hills
    with mock.patch.object(hills, "_hills", note):
        model = fit(roads(ROADS_RUN)[0], list(ROADS.values()), ROADS_RUN)
    return model, noted


def draw_rows(ax: Any, rows: Rows, colour: Any = GREY, most: int = 4_000) -> None:
    """Draw some of the rows; only made data may be shown like this."""
    colours = colour[:most] if isinstance(colour, np.ndarray) else colour
    ax.scatter(*rows[:most].T, s=1.5, c=colours, lw=0, alpha=0.8, rasterized=True)


def draw_boxes(ax: Any, tree: Tree) -> None:
    """Draw the boxes of the leaves."""
    from matplotlib.patches import Rectangle

    for _, ((x0, x1), (y0, y1)) in tree.boxes(np.zeros(2), np.full(2, 100.0)):
        ax.add_patch(Rectangle((x0, y0), x1 - x0, y1 - y0, fill=False, edgecolor="#444444", lw=0.9))


def on_map(axes: Iterable[Any]) -> None:
    """Give axes the scale of a map of `ROADS`."""
    for ax in axes:
        ax.set(xlim=(0, 100), ylim=(0, 100), aspect="equal", xticks=[0, 50, 100], yticks=[0, 50, 100])


def draw_cells(plt: Any) -> Any:
    """Draw the leaves of the tree, and the cells that come of them."""
    rows, _ = roads(ROADS_RUN)
    model, _ = roads_model()
    cells = model.release_.cells
    assert cells is not None
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.6), layout="constrained", sharey=True)
    draw_rows(left, rows)
    draw_boxes(left, model.tree_)
    left.set_title(f"{model.tree_.n_leaves} leaves: boxes between private cuts")
    draw_rows(right, rows)
    right.scatter(*cells.centres.T, s=cells.sizes / 4, color=PEAK, alpha=0.6, lw=0)
    right.set_title(f"{len(cells)} cells: a noisy centre and size each, ± {cells.size_error:.0f} rows")
    on_map((left, right))
    return figure


def draw_every_k(plt: Any) -> Any:
    """Draw what the same cells give for three other numbers of clusters, and the quality of each number."""
    model, _ = roads_model()
    cells = model.release_.cells
    assert cells is not None
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.1), layout="constrained", width_ratios=[1, 1, 1, 1.15])
    for ax, k in zip(axes, (2, 5, 12), strict=False):
        segments = model.clusters(k)
        colours = plt.get_cmap("tab20" if k > 10 else "tab10")(segments.cluster_of_cell)
        ax.scatter(*cells.centres.T, s=cells.sizes / 8, color=colours, lw=0)
        ax.plot(*segments.centres.T, "X", color="black", mec="white", ms=8)
        ax.set_title(f"clusters({k}): {segments.quality:.0%} of the variance")
    on_map(axes[:3])
    model.qualities().plot(axes[3])
    return figure


def draw_hills(plt: Any) -> Any:
    """Draw the noisy grids, and the hills on them that are surely apart."""
    rows, _ = roads(ROADS_RUN)
    model, grids = roads_model()
    figure, axes = plt.subplots(1, 1 + len(grids), figsize=(4.0 * (1 + len(grids)), 4.2), layout="constrained")
    for ax, counts in zip(axes, grids, strict=False):
        ax.imshow(counts.T, origin="lower", extent=(0, 100, 0, 100), cmap="Greys", vmin=0.0, vmax=0.8 * counts.max())
        ax.set_title(f"{counts.shape[0]} by {counts.shape[1]} bins, rows with noise")
    colours = plt.get_cmap("tab10")
    draw_rows(axes[-1], rows, colours(model.labels_ % 10))
    for cluster, (centre, size) in enumerate(zip(model.cluster_centers_, model.cluster_sizes_, strict=True)):
        axes[-1].scatter(*centre, s=520, color=colours(cluster), ec="white", zorder=3)
        axes[-1].annotate(f"{size:,.0f}", centre, ha="center", va="center", fontsize=7.5, zorder=4)
    sure = f"over {100.0 * min(model.certainty_.min(), 0.999):.1f} %"
    axes[-1].set_title(f"{model.n_clusters_} hills, each {sure} sure")
    on_map(axes)
    return figure


# Along lines, in many columns


@cache
def diagonal_lines() -> tuple[DPM, list[tuple[Any, NDArray[np.float64], float]]]:
    """Return a fit of two clusters on the diagonal of 8 columns, and the lines that it looked along: counts and noise of each."""
    noted: list[tuple[Any, NDArray[np.float64], float]] = []

    def note(search: Any, number: int, looked_along: Any, looked: Any, cost: float) -> Any:
        counts, deviations = count(search, number, looked_along, looked, cost)
        noise = [float(deviations[looked.index(line.part)]) for line in looked_along]
        noted.extend(zip(looked_along, counts, noise, strict=True))
        return counts, deviations

    count = lines._Search._count
    shape = shapes.diagonal(6.0, 8, 20_000)
    with mock.patch.object(lines._Search, "_count", note):
        model = fit(shape.rows, shape.bounds, 0)
    return model, noted


def draw_lines(plt: Any) -> Any:
    """Draw single columns, which show nothing, and the line that shows the gap."""
    shape = shapes.diagonal(6.0, 8, 20_000)
    _, noted = diagonal_lines()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    for column in shape.rows.T:
        heights, edges = np.histogram(column, 48, (15.0, 85.0))
        left.stairs(heights, edges, color=GREY)
    left.set(title="each of 8 columns: one hump (exact, not released)", xlabel="value", ylabel="rows")
    _, counts, noise = max(noted, key=lambda one: clearest_z(one[1], one[2]))
    right.stairs(counts, np.arange(len(counts) + 1), color=PEAK, fill=True, alpha=0.5)
    right.errorbar(np.arange(len(counts)) + 0.5, counts, noise, fmt="none", ecolor=DARK, lw=0.8)
    for place in [valley.place for valley in found_valleys(counts, noise)]:
        right.axvline(place, color=VALLEY, lw=2)
    right.set(
        title=f"a direction that the cells propose: cut at {clearest_z(counts, noise):.0f} deviations", xlabel="bin"
    )
    return figure


def clearest_z(counts: NDArray[np.float64], noise: float) -> float:
    """Return how deep the clearest valley along a line is, in deviations."""
    return max((valley.z for valley in found_valleys(counts, noise)), default=0.0)


def found_valleys(counts: NDArray[np.float64], noise: float) -> list[Any]:
    """Return the valleys along one line of independent rows."""
    return lines.valleys(counts, noise, lines.threshold(1), 1.0, 1.0, 0.0)


# When it works and when it does not


def draw_limits(plt: Any) -> Any:
    """Draw eight data sets, each with what was found: rows by cluster, and the centres."""
    colours = plt.get_cmap("tab10")
    moons, gap25, gap35 = shapes.two_moons(), shapes.touching(2.5), shapes.touching(3.5)
    flat, tails = shapes.one_uniform(2), shapes.one_student(2)
    panels: list[tuple[str, Rows, Any]] = [
        ("flat", flat.rows, flat.bounds),
        ("heavy tails", tails.rows, tails.bounds),
        ("2.5 deviations apart", gap25.rows, gap25.bounds),
        ("3.5 deviations apart", gap35.rows, gap35.bounds),
        ("side by side", side_by_side(0)[0], (0, 100)),
        ("half-moons", moons.rows, moons.bounds),
        ("a ring around a disc", ring(0), (0, 100)),
        ("1 % of the rows far away", beside_large(0.01, N_ROWS, 0), (0, 100)),
    ]
    figure, axes = plt.subplots(2, 4, figsize=(12, 6.2), layout="constrained")
    for ax, (title, rows, bounds) in zip(axes.flat, panels, strict=True):
        model = fit(rows, bounds, 0)
        draw_rows(ax, np.clip(rows, *bounds).astype(np.float64), colours(model.labels_ % 10), 6_000)
        ax.plot(*model.cluster_centers_.T, "X", color="black", mec="white", ms=9)
        margin = 0.03 * (bounds[1] - bounds[0])
        ax.set(xlim=(bounds[0] - margin, bounds[1] + margin), ylim=(bounds[0] - margin, bounds[1] + margin))
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.set_title(f"{title}\n{model.n_clusters_} cluster{'s' if model.n_clusters_ > 1 else ''}")
        ax.spines[["top", "right"]].set_visible(True)
    return figure


SIZES_POINTS = ((50_000, 1.0), (20_000, 1.0), (10_000, 1.0), (5_000, 1.0), (2_000, 1.0), (50_000, 0.3), (50_000, 0.1))
SHARES = ("50 %", "20 %", "10 %", "8 %", "5 %", "3 %", "2 %", "1 %", "1 %")


def found_clusters(shape: shapes.Shape, model: DPM) -> NDArray[np.bool_]:
    """Return which true clusters were found: most of its rows are in one cluster that holds mostly them."""
    found: NDArray[np.bool_] = np.isin(np.arange(shape.n_clusters), real_clusters(model.labels_, shape.truth))
    return found


def draw_losses(plt: Any) -> Any:
    """Draw what is lost first: how often each of nine clusters of unequal sizes is found, over rows and epsilon."""
    found = np.zeros((len(SIZES_POINTS), len(SHARES)))
    for line, (n_rows, epsilon) in enumerate(SIZES_POINTS):
        for run in range(RUNS):
            shape = shapes.unequal_sizes(5, n_rows, seed=run)
            found[line] += found_clusters(shape, fit(shape.rows, shape.bounds, run, epsilon))
    figure, ax = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    ax.imshow(found, cmap="Blues", vmin=0.0, vmax=1.3 * RUNS, aspect="auto")
    for (line, column), n_found in np.ndenumerate(found):
        colour = "white" if n_found > 0.6 * RUNS else DARK
        ax.text(column, line, f"{n_found:.0f}", ha="center", va="center", fontsize=8, color=colour)
    ax.set_xticks(range(len(SHARES)), SHARES)
    names = [f"{n_rows:,} rows, epsilon = {epsilon:g}" for n_rows, epsilon in SIZES_POINTS]
    ax.set_yticks(range(len(names)), names)
    ax.axhline(4.5, color="white", lw=3)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("true cluster, by its share of the rows")
    ax.set_title(f"in how many of {RUNS} runs a cluster was found")
    return figure


PICTURES = {
    "how-cells": draw_cells,
    "how-every-k": draw_every_k,
    "how-hills": draw_hills,
    "how-lines": draw_lines,
    "how-limits": draw_limits,
    "how-losses": draw_losses,
}


# Numbers


def times(counter: Iterable[int]) -> str:
    """Return how often each number of clusters was found."""
    return ", ".join(f"{k}: {n}x" for k, n in sorted(Counter(counter).items()))


def n_found(make: Maker, **parameters: Any) -> str:
    """Return how often each number of clusters was found in all runs."""
    return times(fit(*make(run), run, **parameters).n_clusters_ for run in range(RUNS))


def within(make: Callable[[int], Rows], bounds: Any = (0, 100)) -> Maker:
    """Return a maker with public bounds of rows that have none of their own."""
    return lambda run: (make(run), bounds)


def print_numbers() -> None:
    """Print every measured number of the page."""
    print(f"{RUNS} runs each, {N_ROWS:,} rows and epsilon = 1 unless said; 'k: n x' is k clusters in n runs\n")
    cases: dict[str, Maker] = {
        "ages": within(ages),
        "roads": lambda run: (roads(run)[0], list(ROADS.values())),
        **{f"touching, gap {gap:g}": of_shape("touching", gap=gap) for gap in (2.5, 3.0, 3.5, 4.0, 5.0)},
        **{f"diagonal of {d} columns, 20,000 rows": of_shape("diagonal", n_columns=d, n_rows=20_000) for d in (8, 32)},
        "side by side": within(lambda run: side_by_side(run)[0]),
        "side by side in two of five columns": within(side_by_side_of_five),
        "half-moons": of_shape("two_moons"),
        "ring": within(ring),
        **{f"1/{part} far away": within(partial(beside_large, 1 / part, N_ROWS)) for part in (100, 150, 200, 250)},
        **{f"1/{part} far away, 5,000 rows": within(partial(beside_large, 1 / part, 5_000)) for part in (20, 50, 100)},
        **{f"{share:.0%} beyond a bound": within(partial(outside, share)) for share in (0.01, 0.04)},
        "broad (20 clusters)": of_shape("broad"),
        "10 clusters of 200 rows": of_shape("separated", n_clusters=10, n_columns=5, n_rows=2_000),
        **{f"{k} clusters, 10 columns": of_shape("separated", n_clusters=k, n_columns=10) for k in (10, 100)},
        "16 clusters in 300 columns, 5,000 rows": within(wide, (0, 1)),
    }
    for name, make in cases.items():
        print(f"{name}:", n_found(make), flush=True)
    print_roads()
    print_moons()
    print_fashion()


def print_roads() -> None:
    """Print the run that is drawn."""
    model, grids = roads_model()
    assert model.release_.cells is not None
    print(f"run {ROADS_RUN} of roads: {model.tree_.n_leaves} leaves, {len(model.release_.cells)} cells")
    print("  grids", [counts.shape for counts in grids], "certainty", model.certainty_)
    print("  sizes", model.cluster_sizes_.round(), "true", np.bincount(roads(ROADS_RUN)[1]))
    print("  quality", {k: round(model.clusters(k).quality, 3) for k in (2, 5, 12)})
    _, noted = diagonal_lines()
    print(
        "diagonal of 8 columns:", [(round(clearest_z(counts, noise), 1), round(noise, 1)) for _, counts, noise in noted]
    )


def print_moons() -> None:
    """Print how well half-moons are followed."""
    indices = []
    for run in range(RUNS):
        shape = shapes.two_moons(seed=run)
        indices.append(adjusted_rand(shape.truth, fit(shape.rows, shape.bounds, run).labels_.astype(np.int64)))
    print(f"half-moons: adjusted Rand index {np.median(indices):.3f} (median)")


def print_fashion() -> None:
    """Print how many clusters the embeddings of Fashion have, and where its classes go."""
    data = get("fashion_embs")
    try:
        rows, truth = data.load()
    except DatasetNotFoundError as error:
        print("Left out:", error)
        return
    names = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
    models = [fit(rows, data.bounds, run, delta=data.delta) for run in range(RUNS // 2)]
    for label, name in enumerate(names):
        parts = np.bincount(models[0].labels_[truth == label]) / np.sum(truth == label)
        print(f"  fashion, run 0, {name}:", ", ".join(f"{p:.0%} in {c}" for c, p in enumerate(parts) if p >= 0.1))
    print("fashion embeddings, half of the runs:", times(model.n_clusters_ for model in models))


def main() -> None:
    """Draw the pictures or print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numbers", action="store_true", help="print the numbers instead of drawing")
    parser.add_argument("--only", nargs="+", choices=PICTURES, default=list(PICTURES), help="draw these pictures only")
    wanted = parser.parse_args()
    if wanted.numbers:
        print_numbers()
        return
    with drawing() as plt:
        for name in wanted.only:
            PICTURES[name](plt).savefig(FOLDER / f"{name}.png", bbox_inches="tight", metadata={"Software": None})
            print(FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
