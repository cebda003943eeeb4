"""Everything that comes out of a fitted model is searched for marks of the rows."""

import copy
import json
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from dpmondrian import DPM, Category, Column, Schema, fitting, suggest_bounds
from dpmondrian.show.report import render_report
from dpmondrian.tables.frames import read_table
from dpmondrian_lab.peers import EMMC, DPLloyd, FastLloyd, LSHSplits, PEMeans

from .conftest import marks_in_object

NUMBERS = {"spend": (0, 20_000), "visits": (0, 100)}
CATEGORIES = {**NUMBERS, "plan": ["basic", "premium"]}
CUT_CATEGORIES = Schema(
    (Column("spend", 1, 20_000, log=True), Column("visits", 0, 100), Category("plan", ("basic",), cut=True))
)

SETTINGS = {
    "default": {"bounds": NUMBERS},
    "pure": {"bounds": NUMBERS, "delta": 0.0},
    "paper": {"bounds": NUMBERS, "variant": "paper"},
    "k": {"bounds": NUMBERS, "n_clusters": 3},
    "k, pure": {"bounds": NUMBERS, "n_clusters": 3, "delta": 0.0},
    "no cuts": {"bounds": NUMBERS, "max_depth": 0},
    "categories": {"bounds": CATEGORIES},
    "cut categories": {"bounds": CUT_CATEGORIES},
    "persons": {"bounds": CATEGORIES, "person_id": "person", "rows_per_person": 2},
    "missing left out": {"bounds": NUMBERS, "on_missing": "drop"},
    "missing in the middle": {"bounds": CATEGORIES, "on_missing": "middle"},
}
PEERS = {
    "DP-Lloyd": DPLloyd(2, bounds=NUMBERS),
    "FastLloyd": FastLloyd(2, bounds=NUMBERS),
    "LSH-Splits": LSHSplits(2, bounds=NUMBERS),
    "EM-MC": EMMC(2, bounds=NUMBERS),
    "PE-means": PEMeans(2, 5.0, bounds=NUMBERS, expected_rows=300),  # slow, and the slower the more rows are expected
}


def wanted_columns(rows, parameters):
    bounds = parameters["bounds"]
    names = list(bounds.names if isinstance(bounds, Schema) else bounds)
    frame = rows[[*names, *([parameters["person_id"]] if "person_id" in parameters else [])]].copy()
    if "on_missing" in parameters:
        frame.loc[:56, "visits"] = np.nan
    return frame


def fitted(kind, rows, parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(epsilon=0.3, random_state=1).set_params(**parameters).fit(wanted_columns(rows, parameters))


@pytest.fixture(scope="module", params=SETTINGS)
def model(request, rows):
    """Return a model whose noisy counts are not exact by chance, as some are now and then; a leak is there whatever the noise."""
    for seed in range(1, 6):
        model = fitted(DPM, rows, {**SETTINGS[request.param], "random_state": seed})
        if not marks_in_object(model.release_):
            break
    return model


def without_labels(model):
    return {name: value for name, value in vars(model).items() if name != "_labels"}


def texts_of(model):
    """Return every text that a model, and what is released with it, can show."""
    release, tree = model.release_, model.tree_
    shown = [
        model,
        release,
        tree,
        model.privacy_,
        release.schema,
        model.get_params(),
        model.privacy_.entries,
        vars(tree),
    ]
    texts = [write(thing) for thing in shown for write in (str, repr)]
    texts += [release.to_json(), release.to_csv(), release.digest(), *tree.rules(), model.privacy_.to_json()]
    texts += [model._repr_html_(), str(model._repr_mimebundle_()), make_pipeline(model)._repr_html_()]
    texts += [model.privacy_._repr_html_(), render_report(release), str(dir(model)), repr(clone(model))]
    texts += map(str, model.get_feature_names_out())
    if release.cells is not None:
        texts += [write(release.clusters(k)) for k in {1, len(release.cells)} for write in (str, repr)]
        texts += [write(release.qualities()) for write in (str, repr)]
    return texts


@pytest.mark.slow
def test_attributes(model, marks):
    assert marks.object(without_labels(model)) == set()
    assert marks.object(model.__getstate__()) == set()
    listed = [getattr(model, name) for name in dir(model) if name != "__dict__"]
    assert marks.object([value for value in listed if not callable(value)]) == set()


def test_labels_are_in_one_place_only(model, marks):
    assert marks.object(model._labels)
    assert "_labels" not in model.__getstate__()
    assert not {"labels_", "_labels"} & set(dir(model))


@pytest.mark.slow
def test_texts(model, marks):
    for text in texts_of(model):
        assert marks.text(text) == set(), text[:300]


@pytest.mark.slow
def test_pickles_and_copies(model, marks, joblib_bytes):
    pickles = [pickle.dumps(model, protocol) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for content in (*pickles, joblib_bytes(model), pickle.dumps(model.release_), pickle.dumps(clone(model))):
        assert marks.bytes(content) == set()
        assert b"labels_" not in content
    assert (
        len(pickles[-1]) < len(pickle.dumps(model.release_)) + 10_000
    )  # not a byte for each of 31,337 rows beside the release
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickles[-1]), clone(model)):
        assert marks.object(twin) == set()
        assert not hasattr(twin, "_labels")


@pytest.mark.slow
def test_saved_files(model, marks, tmp_path):
    model.save(tmp_path / "release.json")
    content = (tmp_path / "release.json").read_bytes()
    assert marks.bytes(content) | marks.text(content.decode()) | marks.object(json.loads(content)) == set()
    assert marks.object(DPM.load(tmp_path / "release.json")) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_fits_say_nothing(name, rows, marks, told):
    """Logs of all levels, prints, warnings, and what a progress bar is told."""
    progress = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parameters = {"epsilon": 0.3, "random_state": 2, **SETTINGS[name]}
        table = wanted_columns(rows, parameters)
        model = DPM(**parameters).fit(table, progress=lambda *what: progress.append(what))
        model.predict(table[:50])
    assert progress
    assert caught
    assert marks.object([str(warning.message) for warning in caught] + progress) == set()
    assert marks.text(told()) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["default", "persons", "missing left out"])
def test_what_works_inside_does_not_show_rows(name, rows, marks, monkeypatch):
    """A repr in a debugger, a log or a traceback of the engine, the table or the door tells nothing."""
    inside, real = [], fitting.cluster

    def watched(*arguments, **keywords):
        inside.extend([*arguments, *keywords.values()])
        return real(*arguments, **keywords)

    monkeypatch.setattr(fitting, "cluster", watched)
    fitted(DPM, rows, SETTINGS[name])
    inside.append(read_table(rows[["spend", "visits"]]))
    assert len(inside) >= 3
    for thing in inside:
        assert marks.text(repr(thing) + str(thing)) == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", PEERS)
def test_peers(name, rows, marks, told, joblib_bytes):
    peer = clone(PEERS[name])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        peer.set_params(random_state=1).fit(rows[["spend", "visits"]][: 4400 if name == "PE-means" else None])
    assert marks.object(peer) | marks.object(peer.__getstate__()) == set()
    assert marks.bytes(pickle.dumps(peer)) | marks.bytes(joblib_bytes(peer)) == set()
    for text in (repr(peer), str(peer), repr(vars(peer)), str(peer.privacy_), peer._repr_html_(), told()):
        assert marks.text(text) == set()
    assert marks.object([str(warning.message) for warning in caught]) == set()


def test_suggested_bounds(rows, marks, told):
    suggested = suggest_bounds(rows, 1.0, columns=["spend", "visits"], person_id="person", random_state=0)
    assert marks.object(suggested) == set()
    assert marks.text(str(suggested) + repr(suggested) + suggested.to_json() + told()) == set()
    assert marks.bytes(pickle.dumps(suggested)) == set()


# The search itself


class KeepsRows(DPM):
    def fit(self, X, y=None):
        super().fit(X)
        self.rows_ = X
        return self


class KeepsACount(DPM):
    def fit(self, X, y=None):
        super().fit(X)
        self.kept_ = {"deep": [("inside", np.array([len(X)]))]}
        return self


class KeepsAMean(DPM):
    def fit(self, X, y=None):
        super().fit(X)
        mean = float(X["spend"].mean())
        self.kept_ = lambda: mean
        return self


class KeepsAShape(DPM):
    def fit(self, X, y=None):
        super().fit(X)
        self.kept_ = np.zeros(len(X), dtype=np.int8)
        return self


class KeepsLabels(DPM):
    def __getstate__(self):
        return vars(self)


class ReleasesTheCount(DPM):
    def fit(self, X, y=None):
        super().fit(X)
        self.release_.parameters["note"] = f"{len(X):,} rows"
        return self


@pytest.mark.slow
@pytest.mark.parametrize("leaky", [KeepsRows, KeepsACount, KeepsAMean, KeepsAShape, ReleasesTheCount])
def test_a_model_that_keeps_something_is_caught(leaky, rows, marks):
    assert marks.object(without_labels(fitted(leaky, rows, SETTINGS["default"])))


@pytest.mark.slow
@pytest.mark.parametrize("leaky", [KeepsRows, KeepsACount, ReleasesTheCount])
def test_its_pickles_are_caught(leaky, rows, marks):
    model = fitted(leaky, rows, SETTINGS["default"])
    assert marks.bytes(pickle.dumps(vars(model))) or any(map(marks.text, texts_of(model)))


def test_labels_in_a_pickle_are_caught(rows, marks):
    model = fitted(KeepsLabels, rows, SETTINGS["default"])
    assert marks.object(model.__getstate__())
    assert marks.object(copy.deepcopy(vars(model)))


def test_marks_are_found_wherever_they_are(marks, rows):
    mean = float(rows["spend"].mean())
    for text in ("ZXCANARY-9", "12345.6789", "31337 rows", "31,337 rows", "n=4242.", f"mean {mean:.9f}"):
        assert marks.text(text), text
    for text in ("131337", "31337.25", "42421", "4242.5", "0.4242", "about 31,300"):
        assert not marks.text(text), text
    for content in (
        b"..ZXCANARY",
        np.array([mean]).tobytes(),
        np.array([31337]).tobytes(),
        np.array([12345.678901], ">f4").tobytes(),
    ):
        assert marks.bytes(b"before" + content + b"after")
    error = ValueError("fine")
    error.add_note("ZXCANARY")
    assert marks.error(error)
    error = ValueError("fine")
    error.__cause__ = KeyError(4242)
    assert marks.error(error)
