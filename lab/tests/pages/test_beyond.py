"""The page beyond the paper: ratios, wins and checks from made-up rows, the text and its figures."""

from __future__ import annotations

import re

import pytest

from dpmondrian_lab.experiments.catalogue import BEYOND
from dpmondrian_lab.experiments.rows import Row, write_rows
from dpmondrian_lab.experiments.spec import Run
from dpmondrian_lab.experiments.store import Store
from dpmondrian_lab.pages.beyond import fallen_sets, null_shares, ratios, wins
from dpmondrian_lab.pages.beyond_checks import check_beyond
from dpmondrian_lab.pages.real_page import real_page_text, write_real_page
from dpmondrian_lab.pages.targets import GROUPS, TARGETS

TABLES, SETS = ("adult", "earthquakes", "cardio"), ("s1", "ring", "unbalance", "birch2")
RATIOS = {"dpm_k": 1.004, "dpm_release": 1.02, "noisy_grid": 1.1, "mst": 1.3, "aim": 1.2, "lsh_splits": 1.5}


def inertias(ratio: dict[str, float] = RATIOS, epsilons=(0.2, 1.0)) -> list[Row]:
    rows = []
    for table in TABLES:
        for key in (f"real-{table}-k3", f"real-{table}", f"real-{table}-k20"):
            rows.append(Row(Run("real_k", key, "kmeans_10", 0, None), {"inertia": 50.0}))
            for algorithm, times in ratio.items():
                rows += [
                    Row(Run("real_k", key, algorithm, i, e), {"inertia": 50.0 * times + i - 0.5})
                    for e in epsilons
                    for i in (0, 1)
                ]
    return rows


def found() -> list[Row]:
    metrics = {"n_centres": 4.0, "between_runs": 0.9, "adjusted_rand": 0.7}
    return [Row(Run("real_found", f"real-{table}", "dpm", i), metrics) for table in TABLES for i in range(3)]


def suite(**index: float) -> list[Row]:
    rows = []
    for name in SETS:
        for key in (f"suite-{name}", f"suite-{name}-n50000"):
            rows.append(Row(Run("suite", key, "kmeans_10", 0, None), {"adjusted_rand": 0.6}))
            rows += [
                Row(Run("suite", key, algorithm, 0, e), {"adjusted_rand": index.get(f"{name}_{e:g}", 0.99)})
                for algorithm in ("dpm", "dpm_k")
                for e in (1.0, 4.0, 100.0)
            ]
    return rows


def shapes(n_centres: float = 1.0) -> list[Row]:
    cells = [
        (f"one_{law}-{n}x{d}-s{s}", n_centres)
        for law in ("uniform", "flat")
        for n in (500, 5000)
        for d in (1, 2)
        for s in (0, 1)
    ]
    cells += [
        (f"{shape}-s0", 2.0)
        for shape in ("touching-20000x2-3.5", "touching-20000x2-4", "touching-20000x10-5", "diagonal-20000x8-6")
    ]
    certain = {"adjusted_rand": 1.0, "n_certain": 2.0, "n_real": 2.0}
    return [Row(Run("nulls", key, "dpm", 0), {"n_centres": k, **certain}) for key, k in cells]


def times() -> list[Row]:
    return [Row(Run("real_times", "real-adult", key, 0, base_seed=None), {"seconds": 0.5}) for key in ("dpm", "mst")]


@pytest.fixture
def rows() -> dict[str, list[Row]]:
    return {"real_k": inertias(), "real_found": found(), "real_times": times(), "suite": suite(), "nulls": shapes()}


def test_a_cell_is_the_mean_of_its_runs_over_kmeans():
    cells = ratios(inertias())
    assert len(cells) == 9 * 2
    assert cells["real-adult-k3", 0.2] == pytest.approx(RATIOS)


def test_a_rival_wins_by_more_than_a_hundredth():
    assert wins(ratios(inertias({"dpm_k": 1.05, "noisy_grid": 1.045, "dpm_release": 0.9}))) == []
    won = wins(ratios(inertias({"dpm_k": 1.05, "noisy_grid": 1.0, "dp_lloyd_published": 0.9})))
    assert {win.rival for win in won} == {"noisy_grid"}
    assert len(won) == 18


def test_a_cell_without_kmeans_or_ours_is_not_judged():
    alone = [
        Row(Run("real_k", "real-adult", "mst", 0), {"inertia": 1.0}),
        Row(Run("real_k", "x", "mst", 0), error="no"),
    ]
    assert ratios(alone) == {}
    assert wins({("real-adult", 1.0): {"mst": 0.5}}) == []


def test_everything_holds_on_good_rows(rows):
    checks = check_beyond(rows)
    assert [check.statement for check in checks if check.holds is not True] == []


def test_nothing_is_said_without_rows():
    assert {check.holds for check in check_beyond({name: [] for name in BEYOND})} == {None}


@pytest.mark.parametrize(
    ("name", "bad", "part"),
    [
        ("real_k", inertias({"dpm_k": 1.3}), "k given, epsilon 1:"),
        ("real_k", inertias(RATIOS | {"aim": 0.9}), "a rival is better"),
        ("real_k", inertias(RATIOS | {"dpm_release": 1.2}), "one release"),
        ("suite", suite(ring_100=0.5), "more epsilon makes worse"),
        ("suite", suite(birch2_1=0.5), "birch2"),
        ("nulls", shapes(2.0), "one cluster where there is one"),
    ],
)
def test_what_does_not_hold_is_told(rows, name, bad, part):
    answers = {check.statement: check for check in check_beyond(rows | {name: bad})}
    wrong = [check for statement, check in answers.items() if part in statement]
    assert wrong
    assert all(check.holds is False for check in wrong)


def test_sets_that_fall_with_epsilon_are_named():
    assert fallen_sets(suite(ring_4=0.8)) == (["suite-ring"], 4)
    assert fallen_sets(suite(ring_4=0.95)) == ([], 4)


def test_shares_of_one_cluster_are_by_shape_and_epsilon():
    shares = null_shares([*shapes(), Row(Run("nulls", "one_flat-500x1-s9", "dpm", 0), {"n_centres": 3.0})])
    assert shares["one_flat-500x1", 1.0] == pytest.approx(2 / 3)
    assert len(shares) == 8


def test_the_page_of_everything_has_no_gaps(rows):
    text = real_page_text(rows)
    assert "${" not in text
    assert "<!--" not in text
    assert "nan" not in text
    assert "No rival wins a cell." in text
    assert "Without runs: DP-Lloyd, FastLloyd, EM-MC, PE-means." in text
    assert set(re.findall(r"\(figures/(\w+)\.png\)", text)) == {"real_k", "suite", "nulls"}


def test_the_page_says_where_each_rival_wins(rows):
    rows["real_k"] = inertias(RATIOS | {"noisy_grid": 0.95})
    text = real_page_text(rows)
    assert "Cells that some rival wins: 18 of 18 (100.0 %)" in text
    assert "- **Noisy grid** (18): adult, k = 3, epsilon 0.2 (0.95, DPM 1.00)" in text
    assert "and 6 more" in text


def test_parts_without_rows_are_left_out_and_failures_listed():
    failed = Row(Run("suite", "suite-s1", "dpm", 0), error="MemoryError: too much")
    text = real_page_text({name: [] for name in BEYOND} | {"suite": [failed]})
    assert "## k given" not in text
    assert "- suite, DPM: 1 failed. suite-s1: MemoryError: too much" in text


@pytest.mark.slow
def test_figures_are_written_with_the_same_bytes(tmp_path, rows):
    store = Store(tmp_path)
    for name, group in rows.items():
        write_rows(group, store.rows_path(name))
    written = [path for name in GROUPS["real"] for path in TARGETS[name].write(store)]
    assert sorted({path.stem for path in written}) == ["nulls", "real_k", "suite"]
    before = [path.read_bytes() for path in written]
    assert all(path.stat().st_size > 5_000 for path in written)
    for name in GROUPS["real"]:
        TARGETS[name].write(store)
    assert [path.read_bytes() for path in written] == before
    assert write_real_page(store).read_text().startswith("# What a practitioner would do instead")


def test_every_experiment_beyond_has_its_target():
    assert {TARGETS[name].experiment for name in GROUPS["real"]} == set(BEYOND)
