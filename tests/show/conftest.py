"""Releases to draw: fitted ones and such as are made by hand; and the report in a browser."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dpmondrian import DPM
from dpmondrian.privacy.ledger import Entry
from dpmondrian.release import Histogram, Measured, Profiles, Quality
from dpmondrian.release.coreset import Coreset
from dpmondrian.release.release import Release
from dpmondrian.release.statement import ADD_OR_REMOVE, PERSON, SECURE, Origin, PrivacyStatement, Unit
from dpmondrian.release.tree import Tree
from dpmondrian.samples.examples import HOME_BOUNDS, homes
from dpmondrian.schema.columns import Category, Column, Schema
from dpmondrian.schema.coordinates import Coordinates
from dpmondrian.show.report import render_report

HOSTILE = (
    "</script><script>window.pwned = 1</script>",
    '"><img src=x onerror="window.pwned = 1">',
    "{{ 7 * 7 }} ' \" & <b> \u2028 \u202e \x00 \ud800",
    "]]> --> <!-- </style> </svg> $x^2$ and : about",
    "n" * 20_000,
)

PARAMETERS = {
    "on_missing": "error",
    "max_depth": 10,
    "windows": 128,
    "t": 0.3,
    "q": 1 / 12,
    "alpha": 3.0,
    "min_cluster_size": None,
    "n_clusters": None,
    "person_id": None,
    "budget_shares": None,
}
"""Of a release made by hand."""


@pytest.fixture(scope="session")
def patients():
    """Return the release of a seeded fit on six columns, one of them on a log scale and one of whole numbers."""
    generator = np.random.default_rng(3)
    centres = np.array([[25, 21, 110, 5, 1, 5.7], [48, 27, 128, 7, 4, 7.8], [63, 31, 150, 12, 9, 9.8]])
    rows = centres[generator.integers(0, 3, 4000)] + generator.normal(size=(4000, 6)) * [4, 1, 4, 0.6, 0.8, 0.25]
    rows[:, 4], rows[:, 5] = np.maximum(np.rint(rows[:, 4]), 0), np.exp(rows[:, 5])
    bounds = [(0, 120), (10, 60), (60, 240), (3, 20), (0, 40, "int"), (10, 1e6, "log")]
    names = ("age", "bmi", "systolic", "hba1c", "visits", "cost")
    return fitted(rows, dict(zip(names, bounds, strict=True)), epsilon=2.0)


@pytest.fixture(scope="session")
def towns():
    """Return the release of a seeded fit on two columns."""
    return fitted(homes(5000)[0], HOME_BOUNDS)


def fitted(rows, bounds, **parameters):
    import pyarrow as pa

    table = pa.table(dict(zip(bounds, rows.T, strict=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DPM(bounds=bounds, random_state=1, **parameters).fit(table).release_


@pytest.fixture(scope="session")
def hand_made():
    """Return a function that makes a release of given columns without any rows."""
    return made_release


def made_release(columns, n_clusters=4, chain=False, cut_columns=None, counted="people"):
    """Return a release whose tree cuts the columns one after the other, in halves; a chain cuts off leaf after leaf."""
    schema = Schema(tuple(columns))
    lower, upper = schema.lower, schema.upper
    generator = np.random.default_rng(7)
    centres = lower + (upper - lower) * generator.uniform(0.1, 0.9, (n_clusters, len(lower)))
    sizes = np.sort(generator.uniform(100, 4000, n_clusters))[::-1].copy()
    tree = made_tree(schema, n_clusters, chain, cut_columns or range(len(lower)), counted)
    return Release(
        schema=schema,
        named=True,
        centres=centres,
        centre_errors=np.tile((upper - lower) / 100, (n_clusters, 1)),
        sizes=sizes,
        size_errors=np.full(n_clusters, 12.0),
        certainty=None if n_clusters == 1 else np.linspace(1.0, 0.4, n_clusters),
        partition=None,
        cells=made_cells(schema),
        tree=tree,
        privacy=made_statement(schema),
        parameters=PARAMETERS,
        origin=Origin("2026-01-01", "invented people"),
    )


@pytest.fixture(scope="session")
def profiled():
    """Return a function that adds profiles and quality to a release made by hand."""
    return with_profiles


def with_profiles(release):
    """Return a release with histograms of rows that lie around the centres, within a tenth of the range, and noise."""
    generator, columns = np.random.default_rng(9), release.schema.columns
    histograms = tuple(
        tuple(_histogram(release, cluster, column, generator) for column in columns)
        for cluster in range(len(release.sizes))
    )
    total = float(release.sizes.sum())
    made = replace(release, profiles=Profiles(columns, histograms, 5.0, total, 10.0))
    made.__dict__["quality"] = Quality(Measured(0.412, 0.4, 0.424), Measured(0.748, 0.74, 0.756))  # in place of figures
    return made


def _histogram(release, cluster, column, generator):
    size, names = release.sizes[cluster], release.schema.centre_names
    if isinstance(column, Category):
        shares = [release.centres[cluster, names.index(f"{column.name}={level}")] for level in column.levels]
        return Histogram(np.rint(size * np.array(shares) + generator.normal(0, 5, len(shares))).astype(np.int64))
    scale, back = (np.log, np.exp) if column.log else (np.asarray, np.asarray)
    edges = np.linspace(scale(column.lower), scale(column.upper), 41)
    if column.whole:
        edges = np.arange(np.ceil(column.lower) - 1, np.floor(column.upper) + 1)
    middle = scale(release.centres[cluster, names.index(column.name)])
    far = ((edges[1:] + edges[:-1]) / 2 - middle) / (0.1 * column.range)
    shares = np.exp(-(far**2) / 2)
    counts = np.rint(size * shares / shares.sum() + generator.normal(0, 5, len(shares))).astype(np.int64)
    return Histogram(counts, np.array(back(edges)))


def made_cells(schema, n_cells=12):
    lower, upper = schema.lower, schema.upper
    centres = lower + (upper - lower) * np.random.default_rng(8).uniform(0.1, 0.9, (n_cells, len(lower)))
    errors = np.tile((upper - lower) / 200, (n_cells, 1))
    return Coreset(centres, errors, np.linspace(1200.0, 300.0, n_cells), 15.0, 0.03)


def made_tree(schema, n_leaves, chain, cut_columns, counted):
    lower, upper, cut_columns = schema.lower, schema.upper, list(cut_columns)
    nodes = [{"low": lower, "high": upper, "depth": 0}]
    leaves = [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(-1 if chain else 0)
        low, high, depth = (nodes[node][key] for key in ("low", "high", "depth"))
        column = cut_columns[depth % len(cut_columns)]
        middle = (low[column] + high[column]) / 2
        below, above = high.copy(), low.copy()
        below[column] = above[column] = middle
        nodes[node] |= {"column": column, "threshold": middle, "left": len(nodes), "right": len(nodes) + 1}
        leaves += [len(nodes), len(nodes) + 1]
        nodes.append({"low": low, "high": below, "depth": depth + 1})
        nodes.append({"low": above, "high": high, "depth": depth + 1})
    number = {leaf: i for i, leaf in enumerate(sorted(leaves))}
    coordinates = Coordinates(schema)
    tree = Tree(
        names=schema.centre_names,
        column=np.array([node.get("column", -1) for node in nodes]),
        threshold=np.array([node.get("threshold", np.nan) for node in nodes]),
        left=np.array([node.get("left", -1) for node in nodes]),
        right=np.array([node.get("right", -1) for node in nodes]),
        size=np.linspace(9000, 100, len(nodes)),
        size_error=np.full(len(nodes), 10.0),
        cluster=np.array([number.get(node, -1) for node in range(len(nodes))]),
        counted=counted,
        ranges=coordinates.rule_ranges,
    )
    loaded = Tree.from_dict(tree.names, tree.to_dict(), tree.ranges)
    return replace(loaded, counted=counted)


def made_statement(schema):
    return PrivacyStatement(
        epsilon=1.0,
        delta=1e-7,
        rho=0.02,
        releasable=True,
        unit=Unit(),
        neighbours=ADD_OR_REMOVE,
        rows_per_person=1,
        variant="default",
        currency="rho",
        entries=(
            Entry("count", 0, "discrete Gaussian", "rows", 1.0, 20.0, 0.005, 3),
            Entry("split", 0, "exponential mechanism", "score steps", 5.0, 100.0, 0.015, 1),
        ),
        bounds=tuple(schema.to_dict()),
        randomness=SECURE,
        version="0.1.0",
    )


@pytest.fixture(scope="session")
def mixed():
    """Return a release with units, a log scale, whole numbers and categories, one column of which is cut."""
    columns = (
        Column("age", 0, 120, unit="years"),
        Column("cost", 10, 1e6, log=True, unit="EUR"),
        Column("visits", 0, 40, whole=True),
        Category("plan", ("basic", "premium"), cut=True),
    )
    release = made_release(columns, n_clusters=4, cut_columns=(0, 3))
    release.centres[:, 3:] = [[0.62, 0.3, 0.08], [0.1, 0.9, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]]
    release.centre_errors[:, 3:] = 0.03
    categories = {3: ("plan", "basic"), 4: ("plan", "premium"), 5: ("plan", "other")}
    threshold = np.where(release.tree.column == 3, 0.0, release.tree.threshold)
    return replace(release, tree=replace(release.tree, categories=categories, threshold=threshold))


@pytest.fixture(scope="session")
def hostile():
    """Return a release all texts of which try to break out."""
    columns = [Column(name, 0, 1, unit=name[:3000]) for name in HOSTILE]
    columns.append(Category(HOSTILE[0] + "c", (*HOSTILE, "a")))
    release = made_release(columns, cut_columns=range(6))
    privacy = replace(
        release.privacy,
        unit=Unit(PERSON, person_id=HOSTILE[0]),
        version=HOSTILE[3],
        variant=HOSTILE[0],
        currency="epsilon",
        rho=None,
        entries=tuple(Entry(name, None, name, name, 1.0, 1.0, 0.1, 1) for name in HOSTILE),
    )
    return replace(release, privacy=privacy, parameters={name: name for name in HOSTILE} | {"windows": 128})


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that opens the report of a release, 1,200 pixels wide, with light colours of the system."""

    def show(path, width=1200, scheme="light"):
        browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False},
        )
        browser.get(path.as_uri())
        return browser

    def open_report(release, **keywords):
        path = tmp_path / "report.html"
        path.write_text(render_report(release), encoding="utf-8")
        return show(path, **keywords)

    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    open_report.file = partial(show)
    yield open_report
    browser.get("about:blank")  # an open report takes memory, and a share of the processor
