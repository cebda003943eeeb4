"""A release that contradicts itself is refused, however little was changed, and whoever sealed it again.

Every number, text and truth value of the privacy part of real releases is changed by a little and by a lot. The digest is made
anew after each change, so that only what the file says about itself can give it away.
"""

import copy
import hashlib
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dpmondrian import DPM, Budget, Category, Column, Release, ReleaseFileError, Schema
from dpmondrian.release.release import FORMAT_VERSION, digest_of
from dpmondrian.release.verification import verify

N_ROWS = 600
OLD = np.arange(N_ROWS) % 5 < 2
PEOPLE = pd.DataFrame(
    {
        "age": np.where(OLD, 70.0, 30.0) + np.arange(N_ROWS) % 7,
        "children": np.arange(N_ROWS) % 4,
        "plan": np.where(np.arange(N_ROWS) % 3, "basic", "premium"),
        "person": [f"P{number // 2}" for number in range(N_ROWS)],
    }
)
NUMBERS = PEOPLE[["age", "children"]].to_numpy()
SCHEMA = Schema(
    (Column("age", 0, 120), Column("children", 0, 12, whole=True), Category("plan", ("basic", "premium"), cut=True))
)
CASES = {
    "default": ({}, NUMBERS),
    "k": ({"n_clusters": 3}, NUMBERS),
    "pure": ({"delta": 0.0}, NUMBERS),
    "pld": ({"accountant": "pld"}, NUMBERS),
    "paper": ({"variant": "paper"}, NUMBERS),
    "categories": ({"bounds": SCHEMA}, PEOPLE[["age", "children", "plan"]]),
    "persons": ({"bounds": SCHEMA, "person_id": "person", "rows_per_person": 2}, PEOPLE),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Return what the files of real releases hold; all were charged to a budget."""
    found = {}
    for name, (parameters, rows) in CASES.items():
        budget = Budget.create(tmp_path_factory.mktemp("budget") / "budget.json", 50, 1e-3, "people")
        given = {"epsilon": 3.0, "bounds": (0, 120), "max_depth": 3} | parameters
        found[name] = json.loads(DPM(**given).fit(rows, budget=budget).release_.to_json())
    return found


def at(values, path):
    for key in path:
        values = values[key]
    return values


def sealed(values):
    """Return the JSON text of a release with the digest of what it holds."""
    values = {key: value for key, value in values.items() if key != "digest"}
    return json.dumps(values | {"digest": digest_of(values)})


def is_refused(values):
    try:
        Release.from_json(sealed(values))
    except ReleaseFileError:
        return True
    return False


def changed(values, path, new):
    """Return values with another one in one place; what lies beside the path is shared."""
    first, *others = path
    result = values.copy()
    result[first] = changed(values[first], others, new) if others else new
    return result


def leaves(values, path=()):
    """Yield the paths of all numbers, texts and truth values."""
    inside = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else None
    if inside is None:
        yield path
    for key, value in inside or ():
        yield from leaves(value, (*path, key))


def changes(value):
    """Return a value changed by a little and by a lot."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, 10 * value + 7]
    if isinstance(value, float):
        small = [value * (1 + 1e-6), value * (1 - 1e-6)] if value else [1e-6]
        return [*small, value * 0.1 if value else 0.1]
    if value is None:
        return [0.5, "x"]
    return [value + " ", "x"]


def privacy_paths(values):
    """Return all that is said about privacy; of the ledger the first, drawn or not, and the last draw of each name."""
    entries = values["privacy"]["entries"]
    named = {}
    for number, entry in enumerate(entries):
        named.setdefault((entry["name"], entry["n_draws"] == 0), number)
    numbers = {*named.values(), len(entries) - 1}
    for part in ("privacy", "parameters", "origin"):
        for path in leaves(values[part], (part,)):
            if path[:2] != ("privacy", "entries") or path[2] in numbers:
                yield path


WORD_OF_THE_PUBLISHER = {
    ("privacy", "version"),
    ("privacy", "earlier_fits"),
    ("origin", "date"),
    ("origin", "data_set"),
}
"""Accepted with any other value of the kind: nothing else in the file follows from it. `dpm verify` says so."""
COSTS_NOTHING = {("parameters", name) for name in ("windows", "min_cluster_size")}
"""Accepted with any other value that keeps the rules: no draw costs more or less by it."""
SHAPE_OF_SCORES = {("parameters", name) for name in ("t", "q", "alpha")}
"""Accepted as long as a selection pays for the same range of scores, in whole steps, which the ledger holds."""

ANY_NUMBER_OF_VALUES = {"coarse sums", "distances", "grid", "lines"}
"""Draws whose number of values follows from released values that the file does not hold, such as how fine a grid was."""


def is_harmless(values, path, old, new):
    """Return whether no promise of a release changes by a change, so that it may be accepted."""
    if path in WORD_OF_THE_PUBLISHER | COSTS_NOTHING:
        return True
    if path in SHAPE_OF_SCORES:  # in the paper's variant the range is known from below only
        return values["privacy"]["variant"] == "paper" or abs(new - old) <= 1e-5 * old
    if path == (
        "parameters",
        "max_depth",
    ):  # a limit on levels; composed losses and the paper's plan have its price in them
        return values["privacy"]["currency"] == "epsilon" and values["privacy"]["variant"] == "default" and new > old
    if path == ("privacy", "bounds_epsilon"):
        return new > old  # the file then promises less than was kept
    if path[:2] == ("privacy", "entries"):  # values of one draw are about different rows, and cost what one costs
        return path[3] == "n_draws" and new > 0 and at(values, path[:3])["name"] in ANY_NUMBER_OF_VALUES
    if path[:3] == ("origin", "account", "total"):
        return new >= at(values, ("origin", "account", "after", path[3]))
    return False


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_change_of_the_privacy_part_is_refused_or_harmless(releases, case):
    values, accepted = releases[case], []
    assert not is_refused(values)
    for path in privacy_paths(values):
        for new in changes(at(values, path)):
            if not is_refused(changed(values, path, new)) and not is_harmless(values, path, at(values, path), new):
                accepted.append((path, at(values, path), new))
    assert accepted == []


@pytest.mark.slow
def test_the_example_that_started_it(releases):
    """A file with nothing but a smaller epsilon was drawn as a report that promises it."""
    for sealing in (sealed, json.dumps):
        with pytest.raises(ReleaseFileError, match="contradicts itself"):
            Release.from_json(sealing(changed(releases["default"], ("privacy", "epsilon"), 0.1)))


@pytest.mark.parametrize("case", CASES)
def test_no_draw_may_be_missing_doubled_or_moved(releases, case):
    for edit in (
        lambda entries: entries[:-1],
        lambda entries: entries[1:],
        lambda entries: [*entries, entries[-1]],
        lambda entries: [entries[1], entries[0], *entries[2:]],
        lambda entries: [],
    ):
        values = copy.deepcopy(releases[case])
        values["privacy"]["entries"] = edit(values["privacy"]["entries"])
        assert is_refused(values)


def test_a_ledger_that_is_cheaper_and_adds_up_is_still_not_that_of_the_plan(releases):
    """Without its splits the run would be cheaper; rho is made to fit, and epsilon stays."""
    values = copy.deepcopy(releases["default"])
    privacy = values["privacy"]
    privacy["entries"] = [entry for entry in privacy["entries"] if entry["name"] != "split"]
    privacy["rho"] = math.fsum(entry["cost"] for entry in privacy["entries"])
    with pytest.raises(ReleaseFileError, match="does not count the two sides of every cut"):
        Release.from_json(sealed(values))


def test_one_row_per_person_is_not_said_of_noise_for_two(releases):
    """Neither with the old sensitivities nor with those of one row."""
    values = copy.deepcopy(releases["persons"])
    one = DPM(epsilon=3.0, bounds=SCHEMA, max_depth=3, person_id="person").fit(PEOPLE).privacy_.to_dict()
    values["privacy"] |= {name: one[name] for name in ("rows_per_person", "unit", "neighbours")}
    values["tree"]["counted"] = "people"
    assert is_refused(values)
    for entry in values["privacy"]["entries"]:
        entry["sensitivity"] /= 2
    assert is_refused(values)


@pytest.mark.parametrize(
    "version", ["", "x", "0.2.0 ", "0.2.0, checked by the data protection office: epsilon = 0.01", "1\n2", "1" * 100]
)
def test_a_version_is_no_place_for_words(releases, version):
    assert is_refused(changed(releases["default"], ("privacy", "version"), version))
    for real in ("0.2.0", "1.0", "2.1.0rc1", "0.3.0.dev4+g1a2b3c"):
        assert not is_refused(changed(releases["default"], ("privacy", "version"), real))


@pytest.mark.parametrize("case", CASES)
def test_steps_keep_their_numbers(releases, case):
    values = releases[case]
    for number, entry in enumerate(values["privacy"]["entries"]):
        for level in {None, 0, 1} - {entry["level"]}:
            assert is_refused(changed(values, ("privacy", "entries", number, "level"), level)), (number, level)


@pytest.mark.parametrize("case", CASES)
def test_the_errors_of_measured_silhouettes_are_those_of_the_ledger(releases, case):
    values = releases[case]
    if values["figures"] is None:
        pytest.skip("Nothing was measured.")
    for name in ("silhouette_error", "silhouettes_error", "many_silhouettes_error"):
        old = values["figures"][name] or 0.0
        for new in {0.0, 0.5 * old, 1.001 * old, 0.5} - {old}:
            assert is_refused(changed(values, ("figures", name), new)), name


SHAPES = {
    "sizes that do not add up": lambda v: v["tree"]["size"].__setitem__(0, v["tree"]["size"][0] + 1.0),
    "clusters of other sizes": lambda v: v["clusters"][0].__setitem__("size", 1e6),
    "clusters that are not sorted": lambda v: v["clusters"].reverse(),
    "a cut beyond the bounds": lambda v: v["tree"]["threshold"].__setitem__(0, 121.0),
    "people who are rows": lambda v: v["tree"].__setitem__("counted", "people"),
    "a cluster more": lambda v: v["clusters"].extend([dict(v["clusters"][-1], size=0.0)] * 9),
    "another k": lambda v: v["parameters"].__setitem__("n_clusters", 2),
    "a field more": lambda v: v.__setitem__("names", ["a"]),
    "a field more in an entry": lambda v: v["privacy"]["entries"][0].__setitem__("note", "x"),
    "a field more in a cluster": lambda v: v["clusters"][0].__setitem__("note", "x"),
    "columns of another name": lambda v: v["columns"][0].__setitem__("name", "y"),
    "an overdrawn account": lambda v: v["origin"]["account"]["total"].__setitem__("epsilon", 1.0),
}


@pytest.mark.parametrize("what", SHAPES)
def test_what_does_not_fit_together_is_refused(releases, what):
    values = copy.deepcopy(releases["default"])
    SHAPES[what](values)
    assert values != releases["default"]
    assert is_refused(values)


def test_the_digest_is_of_values_not_of_their_spelling(releases):
    """Other programs write 1.0 as 1, sort fields and break lines elsewhere."""
    values = releases["default"]
    assert Release.from_json(json.dumps(as_other_programs_write(values), sort_keys=True)).digest() == values["digest"]
    with pytest.raises(ReleaseFileError, match="digest"):
        Release.from_json(json.dumps(values | {"digest": "0" * 64}))


def as_other_programs_write(value):
    if isinstance(value, dict):
        return {key: as_other_programs_write(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_other_programs_write(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.mark.parametrize("case", CASES)
def test_every_check_holds_and_says_what_is_not_checked(releases, case):
    result = verify(*Release.parsed(json.dumps(releases[case])))
    states = {check.name: check.state for check in result.checks}
    assert result.failed == ()
    assert {name for name, state in states.items() if state == "not checkable"} == {
        "bounds",
        "errors",
        "noise",
        "origin",
    }
    assert {"digest", "statement", "ledger", "price", "tree", "sizes", "centres", "account"} < states.keys()
    assert "is consistent" in result.verdict
    assert json.loads(json.dumps(result.to_dict()))["digest"] == releases[case]["digest"]


def test_the_account_is_that_of_the_budget_file(tmp_path):
    budget = Budget.create(tmp_path / "budget.json", 5.0, 1e-5, "people")
    first = DPM(epsilon=1.0, bounds=(0, 120), max_depth=1).fit(NUMBERS, budget=budget).release_
    second = DPM(epsilon=2.0, bounds=(0, 120), max_depth=1).fit(NUMBERS, budget=budget).release_
    assert (second.origin.data_set, second.origin.account.before.epsilon) == ("people", 1.0)
    assert (second.origin.account.after.epsilon, second.origin.account.total.epsilon) == (3.0, 5.0)
    state = budget.read()
    for release in (first, second):
        assert verify(release, release.digest(), state).failed == ()
    unpaid = DPM(epsilon=2.0, bounds=(0, 120), max_depth=1).fit(NUMBERS).release_
    [check] = verify(unpaid, unpaid.digest(), state).failed
    assert "no charge for a release with this digest" in check.words
    other = replace(state, data_set="others")
    [check] = verify(second, second.digest(), other).failed
    assert "another name" in check.words
    earlier = replace(state, entries=state.entries[1:])
    [check] = verify(second, second.digest(), earlier).failed
    assert "does not match the budget file" in check.words


def test_plans_and_keys_belong_to_the_format_version():
    """If this fails, raise FORMAT_VERSION: releases of the old format would be refused as contradictions."""
    said = []
    for parameters, rows in CASES.values():
        given = {"epsilon": 1.0, "bounds": (0, 120), "random_state": 0} | parameters
        privacy = DPM(**given).fit(rows).privacy_
        draws = [(e.name, e.level, e.mechanism, f"{e.cost:.4g}", f"{e.delta:.4g}") for e in privacy.entries]
        keys = (privacy.unit.to_dict(), privacy.neighbours, privacy.randomness, privacy.not_protected)
        said.append((draws, keys))
    digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()
    assert (FORMAT_VERSION, digest[:16]) == (7, "9c299c91396a9049")


def test_shares_and_leaves_that_cannot_be_are_refused(releases):
    """Contradictions that no price shows, under a digest to match."""
    values = json.loads(json.dumps(releases["categories"]))
    assert not is_refused(values)
    columns = [column for column in values["columns"] if "categories" in column]
    first = next(j for j, column in enumerate(values["columns"]) if "categories" in column)
    shares = changed(values, ("clusters", 0, "centre", first), 1.0)
    shares = changed(shares, ("clusters", 0, "centre", first + 1), 1.0)
    assert columns
    assert is_refused(shares)
    leaf = values["tree"]["column"].index(-1)
    for field, new in (("column", -10), ("left", 0), ("cluster", -1)):
        assert is_refused(changed(values, ("tree", field, leaf), new))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_trees_whose_parts_contradict_each_other_are_refused(releases, case):
    values = releases[case]
    tree = values["tree"]
    leaves = [node for node, column in enumerate(tree["column"]) if column < 0]
    inner = [node for node, column in enumerate(tree["column"]) if column >= 0]
    faults = [(("tree", "threshold", node), 50.0) for node in leaves]
    faults += [(("tree", "cluster", node), new) for node in inner for new in (-2, 0)]
    if tree.get("leaf_centres") is not None:
        faults += [(("tree", name, node), 0.5) for node in leaves for name in ("strength", "strength_error")]
    for path, new in faults:
        assert is_refused(changed(values, path, new)), (path, new)


def with_clusters(values, of_leaves):
    """Return a release whose parts of the tree belong to other clusters."""
    numbers = iter(of_leaves)
    return changed(values, ("tree", "cluster"), [-1 if cut >= 0 else next(numbers) for cut in values["tree"]["column"]])


@pytest.mark.parametrize("k", [2, 4, 9])
def test_every_cluster_is_made_of_parts_of_the_tree(k):
    """In the paper's variant; in others a cluster may be made of a part of a part."""
    rows = np.repeat(np.linspace(5.0, 115.0, 4), 2000)[:, None]
    given = {"epsilon": 5.0, "bounds": (0, 120), "variant": "paper", "max_depth": 2}
    values = json.loads(DPM(n_clusters=k, **given).fit(rows).release_.to_json())
    n_leaves = values["tree"]["column"].count(-1)
    assert n_leaves > 1
    assert not is_refused(values)
    assert is_refused(with_clusters(values, [0] * n_leaves))
    if k > n_leaves:
        assert is_refused(with_clusters(values, [0, *range(n_leaves - 1)]))
