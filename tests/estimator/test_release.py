"""The release and the privacy statement: complete, readable by machines, and refused when damaged."""

from __future__ import annotations

import contextlib
import copy
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import DPM, NotReleasableWarning, Release, ReleaseFileError, __version__
from dpmondrian.release.release import digest_of
from dpmondrian.release.statement import unit_of

SETTINGS = [{}, {"delta": 0}, {"variant": "paper"}, {"n_clusters": 4}, {"max_depth": 0}, {"rows_per_person": 3}]


@pytest.fixture(scope="module")
def fitted(blobs) -> DPM:
    frame = pd.DataFrame(blobs, columns=["age", "bmi"])
    return DPM(epsilon=5.0, delta=1e-6, bounds={"age": (-100, 100), "bmi": (-90, 100, "int")}, random_state=1).fit(
        frame
    )


@pytest.fixture(scope="module")
def valid(fitted) -> dict:
    return json.loads(fitted.release_.to_json())


def read(values) -> Release:
    """Return the release of values, with their own digest where they have one: damage must be found without it."""
    with contextlib.suppress(ValueError, TypeError, AttributeError):
        values = values | {"digest": digest_of({key: value for key, value in values.items() if key != "digest"})}
    return Release.from_json(json.dumps(values))


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_a_release_survives_json(blobs, params):
    release = DPM(bounds=(-100, 100), random_state=0, **params).fit(blobs).release_
    again = Release.from_json(release.to_json())
    assert again.to_json() == release.to_json()
    assert again.schema == release.schema
    assert again.privacy == release.privacy
    assert str(again.tree) == str(release.tree)


@pytest.mark.slow
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_a_saved_model_predicts_the_same(tmp_path, blobs, named, params):
    bounds = [(-100, 100), (-90, 100, "int")]
    X = pd.DataFrame(blobs, columns=["age", "bmi"]) if named else blobs
    model = DPM(bounds=bounds, random_state=0, **params).fit(X)
    model.save(tmp_path / "release.json")
    loaded = DPM.load(str(tmp_path / "release.json"))
    assert loaded.release_.to_json() == model.release_.to_json()
    assert loaded.predict(X).tolist() == model.labels_.tolist()
    assert loaded.transform(X).tolist() == model.transform(X).tolist()
    assert not hasattr(loaded, "labels_")
    assert hasattr(loaded, "feature_names_in_") is named
    again = loaded.set_params(random_state=0).fit(X)
    assert again.release_.schema == model.release_.schema


def test_the_attributes_are_those_of_the_release(fitted):
    release = fitted.release_
    assert fitted.cluster_centers_.tolist() == release.centres.tolist()
    assert fitted.cluster_sizes_.tolist() == release.sizes.tolist() == sorted(release.sizes.tolist(), reverse=True)
    assert fitted.n_clusters_ == len(release.centres)
    assert fitted.certainty_ is release.certainty
    assert fitted.cells_ is release.cells
    assert fitted.hierarchy_ is release.hierarchy
    assert fitted.tree_ is release.tree
    assert fitted.privacy_ is release.privacy
    assert release.centre_errors.shape == release.centres.shape
    assert np.all(release.centre_errors > 0)
    assert np.all(release.size_errors > 0)


def test_json_says_what_it_is(valid):
    assert valid["format"] == "dpmondrian release"
    assert valid["format_version"] == 7
    assert valid["columns"][1] == {"name": "bmi", "lower": -90.0, "upper": 100.0, "whole": True}
    assert valid["privacy"]["version"] == __version__


# The privacy statement


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_the_statement_is_complete(blobs, params):
    privacy = DPM(epsilon=0.7, **({"delta": 1e-5} | params), bounds=(-100, 100)).fit(blobs).privacy_
    assert privacy.epsilon == 0.7
    assert privacy.delta == params.get("delta", 1e-5)
    zcdp = params.get("variant") != "paper" and privacy.delta > 0
    assert (privacy.rho is not None) is zcdp
    assert privacy.releasable is True
    for entry in privacy.entries:
        assert entry.name
        assert entry.mechanism in (
            "discrete Gaussian", "discrete Laplace", "exponential mechanism", "permute-and-flip"
        )  # fmt: skip
        assert entry.level is None or entry.level >= 0
        assert entry.sensitivity > 0
        assert entry.scale > 0
        assert entry.cost > 0 or entry.n_draws == 0
    keys = [(entry.name, entry.level) for entry in privacy.entries]
    assert len(set(keys)) == len(keys)
    total, budget = sum(entry.cost for entry in privacy.entries), privacy.rho if zcdp else 0.7
    assert total <= budget * (1 + 1e-12)
    if privacy.accountant == "pld" and any(entry.n_draws == 0 for entry in privacy.entries):
        assert total > 0.8 * budget, "what selections would have cost that were not made goes to nobody"
    else:
        assert total == pytest.approx(budget, rel=1e-6)


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_costs_follow_from_sensitivity_and_scale(blobs, params):
    privacy = DPM(bounds=(-100, 100), **params).fit(blobs).privacy_
    for entry in privacy.entries:
        if entry.cost == 0.0:  # it was not made, and what it would have cost went to others
            assert entry.n_draws == 0
            continue
        ratio = entry.sensitivity / entry.scale
        if privacy.currency == "rho":
            expected = ratio**2 / 2 if entry.mechanism == "discrete Gaussian" else ratio**2 / 8
        elif entry.mechanism == "discrete Gaussian":
            continue  # the paper's averages are priced by a conversion to epsilon
        else:
            expected = ratio
        assert entry.cost == pytest.approx(expected, rel=1e-6)


def test_the_statement_is_json_and_survives_it(fitted):
    values = json.loads(fitted.privacy_.to_json())
    assert values["epsilon"] == 5.0
    assert values["delta"] == 1e-6
    assert values["rho"] == fitted.privacy_.rho
    assert values["releasable"] is False
    assert {"name", "level", "mechanism", "sensitivity", "scale", "cost"} <= set(values["entries"][0])
    assert type(fitted.privacy_).from_dict(values) == fitted.privacy_


def test_the_statement_reads_like_a_statement(fitted):
    text = str(fitted.privacy_)
    for word in (
        "NOT RELEASABLE", "epsilon = 5", "delta = 1e-6", "Unit of privacy: one row", "adding or removing one row",
        f"rho = {fitted.privacy_.rho:.6g}", "age [-100, 100]", "bmi [-90, 100]", "Variant: default", __version__,
        "Not protected:", "labels of rows", "discrete Gaussian", "exponential mechanism", "sensitivity", "scale",
    ):  # fmt: skip
        assert word in text


@pytest.mark.parametrize("rows_per_person", [2, 7])
def test_the_statement_names_the_person_as_unit(blobs, rows_per_person):
    privacy = DPM(bounds=(-100, 100), rows_per_person=rows_per_person).fit(blobs).privacy_
    text = str(privacy)
    assert privacy.unit == unit_of(rows_per_person, None)
    assert f"one person with up to {rows_per_person} rows" in text
    assert f"every sensitivity below is multiplied by {rows_per_person}" in text
    assert privacy.rows_per_person == rows_per_person


def test_pure_and_paper_say_what_they_are(blobs):
    pure = DPM(bounds=(-100, 100), delta=0).fit(blobs).privacy_
    assert "(pure)" in str(pure)
    assert "rho" not in str(pure).replace("rho-", "")
    paper = DPM(bounds=(-100, 100), variant="paper").fit(blobs).privacy_
    assert "Variant: paper" in str(paper)


# Seeds


@pytest.mark.parametrize(
    "seed",
    [0, 5, np.int32(5), np.random.RandomState(0), np.random.default_rng(0)],
    ids=lambda seed: type(seed).__name__,
)
def test_a_seeded_run_warns_and_is_marked(few_rows, seed):
    with pytest.warns(NotReleasableWarning, match="must not be released") as caught:
        model = DPM(bounds=(-100, 100), random_state=seed).fit(few_rows)
    assert len(caught) == 1
    assert model.privacy_.releasable is False
    assert json.loads(model.release_.to_json())["privacy"]["releasable"] is False
    assert str(model.privacy_).startswith("NOT RELEASABLE")


def test_a_secure_run_is_releasable_and_silent(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = DPM(bounds=(-100, 100)).fit(np.tile(blobs, (5, 1)))
    assert model.privacy_.releasable is True
    assert "NOT RELEASABLE" not in str(model.privacy_)


@pytest.mark.slow
@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_secure_runs_differ(blobs, params):
    texts = {DPM(bounds=(-100, 100), **params).fit(blobs).release_.to_json() for _ in range(3)}
    assert len(texts) == 3


def test_a_loaded_seeded_release_stays_marked(tmp_path, fitted):
    fitted.save(tmp_path / "release.json")
    assert DPM.load(tmp_path / "release.json").privacy_.releasable is False


# Files that are not what they should be


@pytest.mark.parametrize("version", [0, 1, 6, 99, "3", None, -1, 1.5, [3], True])
def test_other_versions_are_refused_with_a_way_out(valid, version):
    told = f"format version {version}" if type(version) is int else "no valid format version"
    way_out = (
        f"The release has {told}, this version of dpmondrian reads 7. Use the version of dpmondrian that wrote it."
    )
    with pytest.raises(ReleaseFileError, match=re.escape(way_out)):
        read(valid | {"format_version": version})


@pytest.mark.parametrize("values", [None, 5, "text", [], [1, 2], {}, {"format": "other"}, {"format": None}], ids=repr)
def test_json_that_is_no_release_is_refused(values):
    with pytest.raises(ReleaseFileError, match="not a saved release"):
        read(values)


@pytest.mark.parametrize(
    "text", ["", "{", "nul", "[" * 100_000, "1" * 10_000, '{"format": 1' + "0" * 6000 + "}", "\x00"]
)
def test_text_that_is_no_json_is_refused(text):
    with pytest.raises(ReleaseFileError):
        Release.from_json(text)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\x80abc", b"PK\x03\x04", b""])
def test_files_that_are_no_text_are_refused(tmp_path, content):
    (tmp_path / "release.json").write_bytes(content)
    with pytest.raises(ReleaseFileError):
        DPM.load(tmp_path / "release.json")


def test_a_file_that_is_not_there_is_said_to_be_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        DPM.load(tmp_path / "nowhere.json")


def test_every_truncation_is_refused(fitted):
    text = fitted.release_.to_json()
    for end in range(0, len(text) - 1, 37):
        with pytest.raises(ReleaseFileError):
            Release.from_json(text[:end])


def paths(values, path=()) -> list[tuple]:
    """Return the way to every value inside nested lists and mappings; of long lists the first and last item."""
    found = [path] if path else []
    if isinstance(values, dict):
        for key, value in values.items():
            found += paths(value, (*path, key))
    elif isinstance(values, list):
        for i in sorted({0, len(values) - 1} & set(range(len(values)))):
            found += paths(values[i], (*path, i))
    return found


def at(values, path):
    for key in path:
        values = values[key]
    return values


def changed(values, path, new):
    """Return values with another one in one place; what lies beside the path is shared."""
    first, *others = path
    result = values.copy()
    result[first] = changed(values[first], others, new) if others else new
    return result


def without(values, path):
    """Return values without one; what lies beside the path is shared."""
    kept = copy.copy(at(values, path[:-1]))
    del kept[path[-1]]
    return changed(values, path[:-1], kept) if path[:-1] else kept


def outcome(values, rows) -> str | None:
    """Return what goes wrong with a release: nothing if it is refused, or if it is accepted and can be used."""
    try:
        release = read(values)
    except ReleaseFileError:
        return None
    except Exception as error:
        return f"reading raises {type(error).__name__}"
    try:
        release.to_json()
        str(release.tree)
        str(release.privacy)
        model = DPM()
        model._take(release)
        labels = model.predict(rows)
        model.transform(rows)
    except Exception as error:
        return f"accepted, but using it raises {type(error).__name__}"
    return None if set(labels.tolist()) <= set(range(len(values["clusters"]))) else "accepted, but labels are wrong"


WRONG = [None, True, -1, 3, 10**30, -1e308, 0.5, float("nan"), "text", [], {"a": 1}]


@pytest.mark.slow
@pytest.mark.parametrize("new", WRONG, ids=repr)
def test_a_wrong_value_anywhere_is_refused_or_harmless(valid, few_rows, new):
    problems = {}
    for path in paths(valid):
        problem = outcome(changed(valid, path, new), few_rows)
        if problem is not None:
            problems["/".join(map(str, path))] = problem
    assert problems == {}


@pytest.mark.slow
def test_a_missing_value_anywhere_is_refused_or_harmless(valid, few_rows):
    problems = {}
    for path in paths(valid):
        problem = outcome(without(valid, path), few_rows)
        if problem is not None:
            problems["/".join(map(str, path))] = problem
    assert problems == {}


@pytest.mark.parametrize(
    ("path", "new"),
    [
        (("clusters", 0, "centre"), [1.0]),
        (("clusters", 0, "centre"), [[1.0, 2.0]]),
        (("clusters", 0, "centre"), [1.0, float("nan")]),
        (("clusters", 0, "centre"), ["a", "b"]),
        (("clusters", 0, "centre"), None),
        (("clusters", 0, "size"), float("nan")),
        (("clusters", 0, "size"), [1.0]),
        (("clusters", 0, "size_error"), float("inf")),
        (("clusters",), []),
        (("clusters",), {}),
        (("columns",), []),
        (("columns", 0, "upper"), -1000),
        (("columns", 0, "lower"), float("nan")),
        (("columns", 0, "name"), "bmi"),
        (("tree", "left"), [0, -1, -1]),
        (("tree", "left"), []),
        (("tree", "column"), []),
        (("tree", "threshold", 0), None),
        (("tree", "threshold", 0), float("inf")),
        (("tree", "size", 0), float("nan")),
        (("tree", "cluster", -1), 99),
        (("tree", "cluster", -1), 10**30),
        (("tree", "column", 0), 2),
        (("privacy",), {}),
        (("privacy", "entries"), [{}]),
        (("privacy", "entries"), None),
        (("privacy", "epsilon"), None),
        (("privacy", "epsilon"), "one"),
        (("privacy", "epsilon"), -1.0),
        (("privacy", "releasable"), "yes"),
        (("privacy", "unknown"), 1),
    ],
    ids=str,
)
def test_damage_that_matters_is_refused(valid, path, new):
    with pytest.raises(ReleaseFileError):
        read(changed(valid, path, new))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_random_damage_is_refused_or_harmless(valid, few_rows, data):
    values = valid
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(paths(values) or [("format",)]))
        values = changed(values, path, data.draw(JSON))
    assert outcome(values, few_rows) is None


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_random_edits_of_the_text_are_refused_or_harmless(valid, data):
    text = json.dumps(valid)
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 40)))
    edited = text[:start] + data.draw(st.text(max_size=4)) + text[stop:]
    with contextlib.suppress(ReleaseFileError):
        Release.from_json(edited).to_json()
