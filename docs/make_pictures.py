"""The pictures and numbers of how-it-works.md, from runs of the library.

    python docs/make_pictures.py              draws docs/images/how-*.png, half a minute
    python docs/make_pictures.py --numbers    prints every measured number of the page, some minutes

Data and noise have fixed seeds, so that a picture is the same every time: run r has the data seed r and the noise seed
1000 + r. Needs matplotlib; the numbers about Fashion need its embeddings (dpm fetch fashion_embs) and are left out without.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpmondrian import DPM, NotReleasableWarning, Schema, Tree
from dpmondrian.dpm import algorithm
from dpmondrian.dpm.draws import BRIDGE, COUNT
from dpmondrian.dpm.joining.bridges import BRIDGE_BINS, FLAT_SHARE, Bridges, measure_bridges
from dpmondrian.dpm.plan import make_plan
from dpmondrian.dpm.scores import STEPS
from dpmondrian.dpm.scores.valley import VALLEY_WEIGHT, ValleyScore, window_widths
from dpmondrian.dpm.settings import DEPTH
from dpmondrian.engines.grid import Grid
from dpmondrian.privacy.door import Door
from dpmondrian.quality import adjusted_rand
from dpmondrian.show.plots.drawing import drawing
from dpmondrian_lab.datasets import get, shapes
from dpmondrian_lab.exceptions import DatasetNotFoundError

FOLDER = Path(__file__).parent / "images"
RUNS = 20
N_ROWS = 50_000

GREY, DARK, NARROW, WIDE, GOOD = "#B5B5B5", "#333333", "#D55E00", "#0072B2", "#009E73"

Rows = NDArray[np.float64] | NDArray[np.int64]
Maker = Callable[[int], tuple[Any, Any]]
"""From a seed to rows and bounds."""


def fit(rows: Any, bounds: Any, run: int, epsilon: float = 1.0, **parameters: Any) -> DPM:
    """Return DPM fitted with the noise of a run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotReleasableWarning)
        return DPM(epsilon=epsilon, bounds=bounds, random_state=1000 + run, **parameters).fit(rows)


# Data that dpmondrian_lab.datasets.shapes does not have


def ages(seed: int = 0) -> Rows:
    """Return the invented ages of patients: 40 % around 28 years, 60 % around 70."""
    generator = np.random.default_rng(seed)
    young = generator.random(N_ROWS) < 0.4
    return np.where(young, generator.normal(28.0, 7.0, N_ROWS), generator.normal(70.0, 9.0, N_ROWS))[:, None]


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


def diagonal(seed: int) -> tuple[Rows, NDArray[np.int64]]:
    """Return two long clusters side by side along the diagonal, 8 of their widths apart; each column shows one hump."""
    generator = np.random.default_rng(seed)
    side = generator.integers(0, 2, N_ROWS)
    along, across = (
        generator.normal(0.0, 10.0, N_ROWS),
        generator.normal(0.0, 2.5, N_ROWS) + np.where(side, 10.0, -10.0),
    )
    return 50.0 + np.column_stack([along - across, along + across]) / np.sqrt(2.0), side


def diagonal_of_five(seed: int) -> Rows:
    """Return `diagonal` and three columns that hold one hump each."""
    others: Rows = np.random.default_rng(seed).normal(50.0, 10.0, (N_ROWS, 3))
    return np.concatenate([diagonal(seed)[0], others], axis=1).astype(np.float64)


def beside_large(share: float, n_rows: int, seed: int) -> Rows:
    """Return one small cluster of this share far from a large one."""
    generator = np.random.default_rng(seed)
    small = generator.random(n_rows) < share
    return np.where(small[:, None], 70.0, 30.0) + generator.normal(0.0, 3.0, (n_rows, 2))


def outside(seed: int) -> Rows:
    """Return one cluster, and 4 % of the rows beyond the bound 100 of the first column."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(50.0, 5.0, (N_ROWS, 2))
    far = generator.random(N_ROWS) < 0.04
    rows[far, 0] = generator.uniform(100.0, 200.0, int(far.sum()))
    return rows


def two_values(seed: int) -> Rows:
    """Return a column of zeros and ones, half and half, and one with a single hump."""
    generator = np.random.default_rng(seed)
    return np.column_stack([generator.integers(0, 2, N_ROWS), generator.normal(50.0, 10.0, N_ROWS)])


def wide(seed: int) -> Rows:
    """Return 5,000 rows in 300 columns, in 16 tight clusters: more columns than the noise of so few rows allows for."""
    rng = np.random.default_rng(seed)
    middles = rng.uniform(0.1, 0.9, (16, 300))
    return middles[rng.integers(0, 16, 5_000)] + rng.normal(0, 0.01, (5_000, 300))


def answers(seed: int) -> NDArray[np.int64]:
    """Return 20,000 answers to five questions, 0 to 4, all equally likely."""
    return np.random.default_rng(seed).integers(0, 5, (20_000, 5))


def of_shape(name: str, **parameters: Any) -> Maker:
    """Return a maker of one of the library's shapes."""

    def make(seed: int) -> tuple[Any, Any]:
        shape = getattr(shapes, name)(**parameters, seed=seed)
        return shape.rows, shape.bounds

    return make


def leaf_clusters(tree: Tree, rows: Rows) -> NDArray[np.int64]:
    """Return the cluster of the leaf whose rule each row fulfils."""
    node = np.zeros(len(rows), dtype=np.int64)
    while (inner := np.flatnonzero(tree.column[node] >= 0)).size:
        at = node[inner]
        below = rows[inner, tree.column[at]] <= tree.threshold[at]
        node[inner] = np.where(below, tree.left[at], tree.right[at])
    clusters: NDArray[np.int64] = tree.cluster[node]
    return clusters


def leaf_centres(tree: Tree) -> Rows:
    """Return the centres of the leaves of a tree with a hierarchy."""
    assert tree.leaf_centres is not None
    return tree.leaf_centres


# (a) valleys


def column_scores(values: Rows) -> tuple[NDArray[np.int64], dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]]]:
    """Return the histogram of a column in [0, 100] and, by width, the cuts and their exact scores in rows."""
    grid = Grid.with_windows(Schema.from_bounds((0, 100), ("x",), (False,)), 128)
    n_codes = int(grid.n_codes[0])
    codes = np.clip(values[:, 0] / 100.0 * n_codes, 0, n_codes - 1).astype(np.int64)
    histogram = np.bincount(codes, minlength=n_codes)
    ends = np.zeros((1, 1), dtype=np.int64), np.full((1, 1), n_codes)
    [cuts] = ValleyScore(0.3, 1 / 12).of_nodes(
        histogram[None, None], np.array([len(values)]), *ends, n_codes=grid.n_codes
    )
    by_width, start = {}, 0
    for width in window_widths(n_codes):
        n_cuts = -(-n_codes // (width // 2)) - 1
        by_width[width] = (np.arange(1, n_cuts + 1) * (width // 2), cuts.exact_scores[start : start + n_cuts] / STEPS)
        start += n_cuts
    return histogram, by_width


def mark_windows(ax: Any, histogram: NDArray[np.int64], cut: int, width: int, level: float, colour: str) -> None:
    """Draw the window of a cut and the fullest ones beside it, with their numbers of rows."""
    half, per_code = width // 2, 100.0 / len(histogram)
    starts = np.arange(0, len(histogram) - width + 1, half)
    rows = np.array([histogram[start : start + width].sum() for start in starts])
    left, right = starts + width <= cut - half, starts >= cut + half
    for name, start in (
        ("V", cut - half),
        ("P", starts[left][rows[left].argmax()]),
        ("P", starts[right][rows[right].argmax()]),
    ):
        low, high = start * per_code, (start + width) * per_code
        ax.axvspan(low, high, color=colour, alpha=0.25, lw=0)
        count = histogram[start : start + width].sum()
        ax.text((low + high) / 2, level, f"{name} = {count:,}", ha="center", va="bottom", fontsize=8, color=colour)


def draw_valleys(plt: Any) -> Any:
    """Draw four columns: two humps, a bell, flat data and a heavy tail, and what their cuts score at two widths."""
    columns = {
        "two humps": ages(),
        "one bell": shapes.one_gaussian(1).rows,
        "flat": shapes.one_uniform(1).rows,
        "heavy tails": shapes.one_student(1).rows,
    }
    figure, panels = plt.subplots(
        2, 4, figsize=(12, 4.8), layout="constrained", sharex=True, width_ratios=[1.9, 1, 1, 1], height_ratios=[1, 1.1]
    )
    for (title, values), (above, below) in zip(columns.items(), panels.T, strict=True):
        histogram, by_width = column_scores(values)
        centres = (np.arange(len(histogram)) + 0.5) * 100.0 / len(histogram)
        above.fill_between(centres, histogram, step="mid", color=GREY, lw=0)
        above.set(title=title, xlim=(0, 100), ylim=(0, 1.4 * histogram.max()), yticks=[])
        above.spines["left"].set_visible(False)
        below.set(ylim=(-0.2, 0.18), xlabel="age" if title == "two humps" else "value")
        share = np.cumsum(histogram) / histogram.sum()
        for low, high in ((0.0, centres[share >= 1 / 192][0]), (centres[share > 1 - 1 / 192][0], 100.0)):
            below.axvspan(low, high, color="#EEEEEE", lw=0)
        for width, colour in ((max(by_width), WIDE), (min(by_width), NARROW)):
            cuts, scores = by_width[width]
            label = f"windows of 1/{len(histogram) // width} of the range"
            below.plot(cuts * 100.0 / len(histogram), scores / len(values), color=colour, lw=1.2, label=label)
        below.axhline(0.0, color=DARK, lw=0.7)
    histogram, by_width = column_scores(columns["two humps"])
    for width, colour, level in ((max(by_width), WIDE, 1.1), (min(by_width), NARROW, 1.25)):
        cuts, scores = by_width[width]
        mark_windows(panels[0, 0], histogram, int(cuts[scores.argmax()]), width, level * histogram.max(), colour)
    panels[0, 0].set_ylabel("people")
    for ax in panels[1, 1:]:
        ax.tick_params(labelleft=False)
    panels[1, 0].set_ylabel(f"score P - {VALLEY_WEIGHT:g} V, share of all")
    panels[1, 2].text(50, 0.03, "no cut scores above 0", ha="center", va="bottom", fontsize=8, color=DARK)
    panels[1, 1].text(3, 0.03, "too few people\nbeyond a cut here", va="bottom", fontsize=7.5, color=DARK)
    handles, labels = panels[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure


# (b), (c), (d): one run in two columns

ROADS_RUN = 6


def roads_model(run: int) -> tuple[DPM, Bridges]:
    """Return the fit of `roads`, and the noisy bridges between its leaves that it drew on the way."""
    noted: list[tuple[Bridges, NDArray[np.bool_]]] = []

    def note(*arguments: Any) -> tuple[Bridges, NDArray[np.bool_]]:
        noted.append(measure_bridges(*arguments))
        return noted[-1]

    with mock.patch.object(algorithm, "measure_bridges", note):
        model = fit(roads(run)[0], list(ROADS.values()), run)
    return model, noted[0][0]


def draw_boxes(plt: Any, ax: Any, tree: Tree, lower: float = 0.0, upper: float = 100.0, filled: bool = True) -> None:
    """Draw the boxes of the leaves, in the colours of their clusters."""
    from matplotlib.patches import Rectangle

    colours = plt.get_cmap("tab10")
    for cluster, ((x0, x1), (y0, y1)) in tree.boxes(np.full(2, lower), np.full(2, upper)):
        place = (x0, y0), x1 - x0, y1 - y0
        if filled:
            ax.add_patch(Rectangle(*place, facecolor=colours(cluster % 10), alpha=0.15, lw=0))
        ax.add_patch(Rectangle(*place, fill=False, edgecolor="#444444", lw=0.9))


def draw_rows(ax: Any, rows: Rows, colour: Any = GREY, most: int = 4_000) -> None:
    """Draw some of the rows; only made data may be shown like this."""
    colours = colour[:most] if isinstance(colour, np.ndarray) else colour
    ax.scatter(*rows[:most].T, s=1.5, c=colours, lw=0, alpha=0.8, rasterized=True)


def draw_cuts(plt: Any) -> Any:
    """Draw one run: cuts, leaves and their centres; then leaves of one cluster in one colour, with its centre."""
    rows, _ = roads(ROADS_RUN)
    model, _ = roads_model(ROADS_RUN)
    tree = model.tree_
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 4.6), layout="constrained", sharey=True)
    draw_rows(left, rows)
    draw_boxes(plt, left, tree, filled=False)
    left.plot(*leaf_centres(tree).T, "+", color="black", ms=9, mew=1.6)
    left.set_title(f"{tree.n_leaves} leaves: boxes between private cuts, and their centres")
    draw_rows(right, rows)
    draw_boxes(plt, right, tree)
    for cluster, (centre, size) in enumerate(zip(model.cluster_centers_, model.cluster_sizes_, strict=True)):
        right.scatter(*centre, s=420, color=plt.get_cmap("tab10")(cluster), alpha=0.85, zorder=3)
        right.annotate(f"{size:,.0f}", centre, ha="center", va="center", fontsize=7.5, zorder=4)
    right.set_title(f"{model.n_clusters_} clusters: leaves joined, centres improved")
    for ax in (left, right):
        ax.set(xlim=(0, 100), ylim=(0, 100), xlabel="east_km", aspect="equal")
    left.set_ylabel("north_km")
    return figure


def bridge_pairs(tree: Tree, bridges: Bridges) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the pair of leaves of one cluster with the most rows midway, and the fullest pair of two clusters."""
    leaf_cluster = tree.cluster[tree.column < 0]
    rows = np.triu(bridges.profile.sum(axis=2) * bridges.measured, 1)
    same = leaf_cluster[:, None] == leaf_cluster
    pairs = [np.unravel_index(int(np.where(which, rows, -1.0).argmax()), rows.shape) for which in (same, ~same)]
    return (int(pairs[0][0]), int(pairs[0][1])), (int(pairs[1][0]), int(pairs[1][1]))


def draw_bridges(plt: Any) -> Any:
    """Draw the way between two pieces of one cluster and that between two clusters: the rows that count, their numbers."""
    rows, _ = roads(ROADS_RUN)
    model, bridges = roads_model(ROADS_RUN)
    tree = model.tree_
    centres, sizes = leaf_centres(tree), tree.size[tree.column < 0]
    distance = np.linalg.norm(rows[:, None] - centres, axis=2)
    nearest = np.argsort(distance, axis=1)[:, :2]
    figure, panels = plt.subplots(
        2, 2, figsize=(9.0, 6.0), layout="constrained", gridspec_kw={"height_ratios": [1.6, 1]}
    )
    titles = ("two pieces of one cluster", "two clusters")
    for (map_ax, bars), pair, title in zip(panels.T, bridge_pairs(tree, bridges), titles, strict=True):
        a, b = pair
        way = centres[b] - centres[a]
        along = (rows - centres[a]) @ way / (way @ way)
        counted = np.all(np.sort(nearest, axis=1) == sorted(pair), axis=1) & (along >= 0) & (along < 1)
        draw_rows(map_ax, rows)
        draw_boxes(plt, map_ax, tree)
        midway = counted & (np.floor(along * BRIDGE_BINS) == BRIDGE_BINS // 2)
        draw_rows(map_ax, rows[counted & ~midway], WIDE, 10**9)
        draw_rows(map_ax, rows[midway], NARROW, 10**9)
        map_ax.plot(*centres[[a, b]].T, "o-", color="black", lw=1.0, ms=5)
        map_ax.set(xlim=(0, 100), ylim=(0, 100), aspect="equal", title=title)
        profile = bridges.profile[a, b]
        colours = [NARROW if i == BRIDGE_BINS // 2 else WIDE for i in range(BRIDGE_BINS)]
        bars.bar(range(BRIDGE_BINS), profile, 0.9, color=colours, alpha=0.75)
        bars.errorbar(range(BRIDGE_BINS), profile, bridges.deviation, fmt="none", ecolor=DARK, lw=1, capsize=2)
        flat = FLAT_SHARE * min(sizes[a] * bridges.facing[a, b], sizes[b] * bridges.facing[b, a])
        bars.axhline(flat, color=DARK, lw=0.8, ls="--")
        label = f"flat data: {FLAT_SHARE:g}\nof those that\nface the other"
        bars.annotate(
            label,
            (1.0, flat),
            (3, 0),
            ("axes fraction", "data"),
            "offset points",
            va="center",
            fontsize=7.5,
            color=DARK,
        )
        bars.set(xticks=range(BRIDGE_BINS), xticklabels=["one\ncentre", "", "midway", "", "other\ncentre"])
        bars.set_ylabel("people, with noise")
    return figure


def draw_hierarchy(_: Any) -> Any:
    """Draw the hierarchy of the same run."""
    model, _bridges = roads_model(ROADS_RUN)
    return model.tree_.plot_hierarchy().figure


# (e) when it works and when it does not


def draw_limits(plt: Any) -> Any:
    """Draw eight data sets, each with what was found: rows by nearest centre (or by leaf), and the centres."""
    colours = plt.get_cmap("tab10")
    moons = shapes.two_moons()
    slanted = diagonal(0)[0]
    gap3, gap4 = shapes.touching(3.0), shapes.touching(4.0)
    panels: list[tuple[str, Rows, DPM, bool]] = [
        ("3 deviations apart", gap3.rows, fit(gap3.rows, gap3.bounds, 0), False),
        ("4 deviations apart", gap4.rows, fit(gap4.rows, gap4.bounds, 0), False),
        ("diagonal", slanted, fit(slanted, (0, 100), 0), False),
        ("the same, directions=2", slanted, fit(slanted, (0, 100), 0, directions=2), False),
        ("half-moons: predict", moons.rows, fit(moons.rows, moons.bounds, 0), False),
        ("half-moons: rules of tree_.cut(2)", moons.rows, fit(moons.rows, moons.bounds, 0), True),
        ("1 % of the rows far away", small := beside_large(0.01, N_ROWS, 0), fit(small, (0, 100), 0), False),
        ("4 % beyond a bound", far := outside(0), fit(far, (0, 100), 0), False),
    ]
    figure, axes = plt.subplots(2, 4, figsize=(12, 6.2), layout="constrained")
    for ax, (title, rows, model, by_leaf) in zip(axes.flat, panels, strict=True):
        low, high = model.release_.schema.lower[0], model.release_.schema.upper[0]
        labels = leaf_clusters(model.tree_.cut(2).tree, rows) if by_leaf else model.labels_
        draw_rows(ax, np.clip(rows, low, high).astype(np.float64), colours(labels % 10), 6_000)
        n_clusters = len(np.unique(labels))
        if by_leaf:
            draw_boxes(plt, ax, model.tree_.cut(2).tree, low, high)
        else:
            ax.plot(*model.cluster_centers_.T, "X", color="black", mec="white", ms=9)
        margin = 0.03 * (high - low)
        ax.set(xlim=(low - margin, high + margin), ylim=(low - margin, high + margin))
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.set_title(f"{title}\n{n_clusters} cluster{'s' if n_clusters > 1 else ''}")
        ax.spines[["top", "right"]].set_visible(True)
    return figure


SIZES_POINTS = ((50_000, 1.0), (20_000, 1.0), (10_000, 1.0), (5_000, 1.0), (2_000, 1.0), (50_000, 0.3), (50_000, 0.1))


def found_clusters(truth: NDArray[np.int64], labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.bool_]:
    """Return which true clusters were found: most of its rows are in one cluster that holds mostly them."""
    table = np.zeros((n_clusters, int(labels.max()) + 1))
    np.add.at(table, (truth, labels), 1)
    best = table.argmax(axis=1)
    most = table[np.arange(n_clusters), best]
    found: NDArray[np.bool_] = (most > table.sum(axis=1) / 2) & (most > table.sum(axis=0)[best] / 2)
    return found


def draw_losses(plt: Any) -> Any:
    """Draw what is lost first: how often each of nine clusters of unequal sizes is found, over rows and epsilon."""
    shares = ["50 %", "20 %", "10 %", "8 %", "5 %", "3 %", "2 %", "1 %", "1 %"]
    found = np.zeros((len(SIZES_POINTS), len(shares)))
    for line, (n_rows, epsilon) in enumerate(SIZES_POINTS):
        for run in range(RUNS):
            shape = shapes.unequal_sizes(n_rows, seed=run)
            model = fit(shape.rows, shape.bounds, run, epsilon)
            found[line] += found_clusters(shape.truth, model.labels_, shape.n_clusters) / RUNS
    figure, ax = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    ax.imshow(found, cmap="Blues", vmin=0.0, vmax=1.3, aspect="auto")
    for (line, column), value in np.ndenumerate(found):
        ax.text(
            column,
            line,
            f"{RUNS * value:.0f}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if value > 0.6 else DARK,
        )
    ax.set_xticks(range(len(shares)), shares)
    ax.set_yticks(
        range(len(SIZES_POINTS)), [f"{n_rows:,} rows, epsilon = {epsilon:g}" for n_rows, epsilon in SIZES_POINTS]
    )
    ax.axhline(4.5, color="white", lw=3)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_xlabel("true cluster, by its share of the rows")
    ax.set_title(f"in how many of {RUNS} runs a cluster was found")
    return figure


PICTURES = {
    "how-valleys": draw_valleys,
    "how-cuts": draw_cuts,
    "how-bridges": draw_bridges,
    "how-hierarchy": draw_hierarchy,
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


def print_numbers() -> None:
    """Print every measured number of the page."""
    print(f"{RUNS} runs each, {N_ROWS:,} rows and epsilon = 1 unless said; 'k: n x' is k clusters in n runs\n")
    print("ages:", n_found(lambda run: (ages(run), (0, 100))))
    for n_columns in (1, 2, 5):
        for name in ("one_gaussian", "one_uniform", "one_student"):
            print(f"{name}, columns {n_columns}:", n_found(of_shape(name, n_columns=n_columns)))
    models = [fit(roads(run)[0], list(ROADS.values()), run) for run in range(RUNS)]
    print("roads:", times(model.n_clusters_ for model in models), "; leaves", times(m.tree_.n_leaves for m in models))
    print_roads()
    for gap in (2.5, 3.0, 3.5, 4.0, 5.0, 6.0):
        print(f"touching, gap {gap:g}:", n_found(of_shape("touching", gap=gap)))
    print("diagonal:", n_found(lambda run: (diagonal(run)[0], (0, 100))))
    for directions in (1, 2, 8):
        found = n_found(lambda run: (diagonal(run)[0], (0, 100)), directions=directions)
        print(f"diagonal, directions={directions}:", found)
    for directions in (0, 8, 64):
        found = n_found(lambda run: (diagonal_of_five(run), (0, 100)), directions=directions)
        print(f"diagonal in two of five columns, directions={directions}:", found)
    print_moons()
    for n_rows, parts in ((N_ROWS, (50, 100, 150, 200, 250)), (5_000, (20, 50, 100))):
        for part in parts:
            found = n_found(lambda run, p=part, n=n_rows: (beside_large(1 / p, n, run), (0, 100)))  # type: ignore[misc]
            print(f"1/{part} of {n_rows:,} rows beside a large cluster:", found)
    for kind in ("int", "float"):
        print(f"two values, {kind}:", n_found(lambda run, k=kind: (two_values(run), [(0, 1, k), (0, 100)])))  # type: ignore[misc]
    print("4 % beyond a bound:", n_found(lambda run: (outside(run), (0, 100))))
    print("16 clusters in 300 columns, 5,000 rows:", n_found(lambda run: (wide(run), (0, 1))))
    print("survey answers, 20,000 rows:", n_found(lambda run: (answers(run), (0, 4))))
    print("broad (20 clusters):", n_found(of_shape("broad")))
    few = of_shape("separated", n_clusters=10, n_columns=5, n_rows=2_000)
    print("10 clusters of 200 rows:", n_found(few))
    bell = [fit(*of_shape("one_gaussian", n_columns=2)(run), run, n_clusters=5).tree_.n_leaves for run in range(RUNS)]
    print("leaves of one_gaussian with n_clusters=5:", f"{min(bell)} to {max(bell)}")
    print_fashion()
    print_noise()


def print_roads() -> None:
    """Print strengths, bridges and other cuts of the run that is drawn."""
    model, bridges = roads_model(ROADS_RUN)
    tree = model.tree_
    assert tree.joins is not None
    print(
        f"  run {ROADS_RUN}: {tree.n_leaves} leaves, {model.n_clusters_} clusters, rows {model.cluster_sizes_.round()}"
    )
    print("  strengths", tree.joins.strength.round(2), "errors", tree.joins.strength_error.round(2))
    for a, b in bridge_pairs(tree, bridges):
        sizes = tree.size[tree.column < 0][[a, b]]
        strength, error, _ = bridges.strength_between(np.array([a]), np.array([b]))
        facing = (sizes * bridges.facing[[a, b], [b, a]]).round()
        print("  way", bridges.profile[a, b], "between leaves of", sizes.round(), "facing", facing, end=" ")
        print(f"strength {strength:.2f} ± {error:.2f}")
    for name, cut in (("k=3", tree.cut(3)), ("strength=0.8", tree.cut(strength=0.8))):
        print(f"  cut({name}):", cut.sizes.round())


def print_moons() -> None:
    """Print what is found of half-moons, by nearest centre and by leaf."""
    by_centre, by_leaf, n_clusters, n_cut = [], [], [], []
    for run in range(RUNS):
        shape = shapes.two_moons(seed=run)
        model = fit(shape.rows, shape.bounds, run)
        cut = model.tree_.cut(strength=0.5)
        n_clusters.append(model.n_clusters_)
        n_cut.append(cut.n_clusters)
        by_centre.append(adjusted_rand(shape.truth, model.labels_.astype(np.int64)))
        by_leaf.append(adjusted_rand(shape.truth, leaf_clusters(cut.tree, shape.rows)))
    print("moons:", times(n_clusters), "; tree_.cut(strength=0.5):", times(n_cut))
    print(f"  adjusted Rand index: {np.median(by_centre):.2f} by centre, {np.median(by_leaf):.2f} by leaf (medians)")


def print_fashion() -> None:
    """Print how many clusters the embeddings of Fashion have, and where its classes go."""
    data = get("fashion_embs")
    try:
        rows, truth = data.load()
    except DatasetNotFoundError as error:
        print("Left out:", error)
        return
    names = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
    n_clusters = []
    for run in range(10):
        model = fit(rows, data.bounds, run, delta=data.delta)
        n_clusters.append(model.n_clusters_)
        if run == 0:
            for label, name in enumerate(names):
                parts = np.bincount(model.labels_[truth == label]) / np.sum(truth == label)
                print(
                    f"  fashion, run 0, {name}:", ", ".join(f"{p:.0%} in {c}" for c, p in enumerate(parts) if p >= 0.1)
                )
    print("fashion embeddings, 10 runs:", times(n_clusters))


def print_noise() -> None:
    """Print the standard deviations of the noise on counts and bridges, which follow from public parameters alone."""
    for epsilon in (1.0, 0.3, 0.1):
        plan = make_plan(DPM(epsilon=epsilon, bounds=(0, 1))._settings())
        door = Door(plan, 1, 0)
        counts = [door.deviation(COUNT, level) for level in (1, DEPTH)]
        bridge = door.deviation(BRIDGE)
        print(f"noise at epsilon = {epsilon:g}: counts {counts[0]:.0f} to {counts[1]:.0f}, bridges {bridge:.0f}")


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
