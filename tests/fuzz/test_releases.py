"""Damaged releases: refused in one sentence, or sound enough that everything can be done with them."""

import contextlib
import copy
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import DPM, BudgetError, Release, ReleaseFileError
from dpmondrian.release.release import digest_of
from dpmondrian.show.notebooks import release_html, statement_html
from dpmondrian.show.report import render_report

NAMES = ("numbers", "everything", "k", "paper", "pure", "one cluster")

NUMBERS = st.sampled_from(
    [
        *(
            0,
            1,
            -1,
            2,
            0.5,
            -0.5,
            13,
            1e-320,
            1e99,
            -1e99,
            1e100,
            1.1e100,
            1e121,
            1e308,
            -1e308,
            2**31,
            2**53 + 1,
            2**63,
        ),
        *(-(2**63), 2**64, 10**30, 10**400, float("nan"), float("inf")),
    ]
)
TEXTS = st.sampled_from(
    ["", "x", "1", "nan", "true", "people", "rows", "zcdp", "pld", "\x00", "\ud800", "</script>", "a" * 5000]
)
PLAIN = st.none() | st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2), max_leaves=5
)


def nodes(values, path=()):
    """Yield the path of everything inside nested lists and objects."""
    inside = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in inside:
        yield (*path, key)
        yield from nodes(value, (*path, key))


def at(values, path):
    for key in path:
        values = values[key]
    return values


def sealed(values):
    """Return the JSON text of damaged values with the digest of what they hold, where they have one."""
    with contextlib.suppress(ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        values = values | {"digest": digest_of({key: value for key, value in values.items() if key != "digest"})}
    return json.dumps(values)


@st.composite
def damages(draw):
    """Return a function that damages one place of a release."""
    kind = draw(st.sampled_from(["set", "set", "number", "remove", "repeat", "move", "wrap", "add", "cut off", "turn"]))
    new, number, place, other = draw(VALUES), draw(NUMBERS), draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6))

    def damage(values):
        paths = list(nodes(values)) or [()]
        path, from_path = paths[place % len(paths)], paths[other % len(paths)]
        if not path:
            return
        parent, key = at(values, path[:-1]), path[-1]
        old = parent[key]
        if kind == "set":
            parent[key] = new
        elif kind == "number":
            is_number = isinstance(old, int | float) and not isinstance(old, bool)
            parent[key] = -old if is_number and other % 2 else number
        elif kind == "remove":
            del parent[key]
        elif kind == "repeat" and isinstance(old, list):
            parent[key] = (old * 40)[:400]
        elif kind == "move":
            parent[key] = copy.deepcopy(at(values, from_path))
        elif kind == "wrap":
            parent[key] = [old] if other % 2 else {"a": old}
        elif kind == "add" and isinstance(old, dict):
            old[draw_text(number)] = new
        elif kind == "cut off" and isinstance(old, list):
            del old[other % (len(old) + 1) :]
        elif kind == "turn" and isinstance(old, list):
            old.reverse()

    return damage


def draw_text(number):
    return f"more {number}"[:20]


def rows_for(release):
    """Return rows that a model with this release should take, two of them beyond all bounds."""
    columns = release.schema.columns
    values = {
        c.name: [c.lower, c.upper, -1e30, 1e30] if hasattr(c, "lower") else ["basic", "x", "other", ""] for c in columns
    }
    frame = pd.DataFrame(values)
    return frame if release.named else frame.to_numpy(dtype=float)


def use(release, tmp_path):
    """Do everything that can be done with a release."""
    texts = [str(release), repr(release), str(release.tree), str(release.privacy), release.to_csv(), release.digest()]
    texts += [release_html(release), statement_html(release.privacy), render_report(release), *release.tree.rules()]
    assert all(isinstance(text, str) for text in texts)
    assert Release.from_json(release.to_json()).to_json() == release.to_json()
    release.tree.boxes(release.schema.lower, release.schema.upper)
    if release.cells is not None:
        for k in {1, len(release.cells)}:
            assert np.all(np.isfinite(release.clusters(k).centres))
        assert np.all(np.isfinite(release.qualities().quality))
        assert np.all(np.isfinite(release.hierarchy.height))
    path = tmp_path / "release.json"
    release.save(path)
    try:
        model = DPM.load(path)
    except ReleaseFileError:  # its parameters are not those of a model
        return
    rows = rows_for(release)
    assert set(model.predict(rows).tolist()) <= {-1, *range(len(release.sizes))}
    assert np.all(np.isfinite(model.transform(rows)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("releases")


@pytest.mark.parametrize("name", NAMES)
def test_whole_releases_are_of_use(releases, name, folder):
    release = Release.from_json(releases[name])
    use(release, folder)
    assert DPM.load(folder / "release.json").predict(rows_for(release)).shape == (4,)


@settings(settings.get_profile("fuzz"))
@given(name=st.sampled_from(NAMES), changes=st.lists(damages(), min_size=1, max_size=3))
def test_damaged_values(releases, folder, name, changes):
    values = json.loads(releases[name])
    for change in changes:
        change(values)
    try:
        release = Release.from_json(sealed(values))
    except ReleaseFileError:
        return
    use(release, folder)


@settings(settings.get_profile("fuzz slow things"))
@given(name=st.sampled_from(NAMES), change=damages())
def test_damaged_statements_are_explained_or_refused(releases, name, change):
    values = json.loads(releases[name])
    change(values["privacy"])
    try:
        assert str(Release.from_json(sealed(values)).privacy.explain())
    except (ReleaseFileError, BudgetError):
        return


@settings(settings.get_profile("fuzz"))
@given(name=st.sampled_from(NAMES), data=st.data())
def test_damaged_bytes(releases, folder, name, data):
    content = bytearray(releases[name].encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content) - 1))
        stop = start + data.draw(st.sampled_from([0, 1, 1, 2, 30, 5000]))
        content[start:stop] = data.draw(
            st.binary(max_size=3) | st.sampled_from([b"-", b"9", b"e99", b'"', b",", b"]", b"}"])
        )
    path = folder / "bytes.json"
    path.write_bytes(content)
    try:
        release = Release.load(path)
    except ReleaseFileError:
        return
    use(release, folder)


SMALL = {
    "a negative size": ("clusters", 0, "size", -1.0),
    "a negative error of a size": ("clusters", 0, "size_error", -1.0),
    "a negative error of a centre": ("clusters", 0, "centre_error", [-1.0, 1.0]),
    "a centre beyond the bounds": ("clusters", 0, "centre", [121.0, 1.0]),
    "a centre in texts": ("clusters", 0, "centre", ["1", "1"]),
    "a centre of truth values": ("clusters", 0, "centre", [True, False]),
    "a field of older trees": ("tree", "counted", "people"),
    "elephants for a unit": ("privacy", "unit", "of", "elephant"),
    "a unit in words": ("privacy", "unit", "one row"),
    "a row of somebody": ("privacy", "unit", "assumed_rows", 3),
    "other neighbours": ("privacy", "neighbours", "replace_one"),
    "randomness in words": ("privacy", "randomness", "operating system"),
    "less that is not protected": ("privacy", "not_protected", ["groups"]),
    "a cell beyond the bounds": ("cells", "centres", 0, [-1.0, 1.0]),
    "a cell without a size": ("cells", "sizes", 0, 0.0),
    "a negative spread": ("cells", "spread", -1.0),
    "a certainty above one": ("clusters", 0, "certainty", 1.5),
    "a rule of no kind": ("partition", {"kind": "magic"}),
    "a negative error in the tree": ("tree", "size_error", 0, -1.0),
    "a number that no float holds": ("privacy", "entries", 0, "scale", 10**400),
    "a negative cost": ("privacy", "entries", 0, "cost", -1.0),
    "a list among what is not protected": ("privacy", "not_protected", [[]]),
    "a parameter that is a list": ("parameters", "windows", [128]),
}


@pytest.mark.parametrize("case", SMALL)
def test_small_damage_is_refused(releases, case):
    *path, last, new = SMALL[case]
    values = json.loads(releases["numbers"])
    at(values, path)[last] = new
    with pytest.raises(ReleaseFileError):
        Release.from_json(sealed(values))


def test_a_field_that_is_there_twice_is_refused(releases):
    text = releases["numbers"].replace('"named"', '"named": true, "named"', 1)
    with pytest.raises(ReleaseFileError, match="JSON"):
        Release.from_json(text)


@pytest.mark.parametrize("bounds", [(1e-300, 1e100, "log"), (-1e100, 1e100), (0, 1e-99), (1e-308, 2e-308, "log")])
@pytest.mark.parametrize("epsilon", [1e-5, 0.01, 0.1, 100.0])
@pytest.mark.parametrize("more", [{}, {"delta": 0.0}, {"n_clusters": 3}], ids=str)
def test_what_is_saved_is_loaded(bounds, epsilon, more, folder):
    """Also where bounds are as wide or as narrow as they may be, and errors of centres accordingly."""
    rows = np.vstack([np.geomspace(1e-300, 1e100, 20).reshape(-1, 2), np.full((10, 2), 1e100)])
    try:
        model = DPM(epsilon=epsilon, bounds=bounds, random_state=0).set_params(**more).fit(rows)
    except ValueError as error:
        assert "must" in str(error)  # noqa: PT017
        return
    model.save(folder / "extreme.json")
    assert DPM.load(folder / "extreme.json").release_.to_json() == model.release_.to_json()
    render_report(model.release_)
