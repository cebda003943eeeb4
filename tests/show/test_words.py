"""One catalogue holds all words: with another one, nothing of the first is shown, in no report, statement, forecast or picture."""

import ast
import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import dpmondrian
from dpmondrian.dpm.draws import ALL_DRAWS
from dpmondrian.planning import forecast
from dpmondrian.privacy.draws import EXPONENTIAL, GAUSSIAN, LAPLACE, PERMUTE_AND_FLIP
from dpmondrian.privacy.promise import promise_doubts
from dpmondrian.release.statement import PERSON, Account, Cost, Origin, Unit
from dpmondrian.release.verification import verify
from dpmondrian.schema.columns import Category, Column, Schema
from dpmondrian.show.doubts import doubt_text
from dpmondrian.show.notebooks import release_html, statement_html
from dpmondrian.show.report import render_report
from dpmondrian.show.report.render import PAPER
from dpmondrian.show.texts import (
    check_text,
    clusters_text,
    explanation_text,
    one_cluster_text,
    qualities_text,
    rule_texts,
    statement_text,
    tree_text,
    unit_text,
    verdict_text,
)
from dpmondrian.show.texts.forecast import forecast_text
from dpmondrian.show.words import ENGLISH, Words

# Words that belong to no language: names of columns, categories and parameters, values of parameters, commands, and the paper.
NAMES = {
    *("age", "cost", "visits", "plan", "basic", "premium", "other", "town", "years", "EUR", "who"),
    *("epsilon", "delta", "variant", "default", "rows_per_person", "on_missing", "error", "n_clusters", "person_id"),
    *(
        "budget_shares",
        "True",
        "splits",
        "counts",
        "cells",
        "clusters",
        "profiles",
        "drop",
        "middle",
        "e",
        *(f"t{i}" for i in range(50)),
    ),
}
COMMANDS = ("dpm verify release.json", "dpm report release.json", PAPER)


def marked_text(text):
    return f"⟦{text}⟧" if isinstance(text, str) else lambda n: f"⟦{text(n)}⟧"


MARKED = Words("xx", {key: marked_text(text) for key, text in ENGLISH.texts.items()})


def unmarked(text):
    """Return the words outside of marked texts, but for names."""
    depth, outside = 0, []
    for character in text:
        depth += (character == "⟦") - (character == "⟧")
        assert depth >= 0
        outside.append(character if depth == 0 and character != "⟧" else " ")
    assert depth == 0, "a text was cut off, and would hide what follows"
    return [word for word in re.findall(r"[^\W\d]\w*", "".join(outside)) if word not in NAMES and not is_number(word)]


def is_number(word):
    return re.fullmatch(r"e\d+|[0-9a-f]{8,}", word) is not None


class Texts(HTMLParser):
    """What a reader or a screen reader is told by a page: texts, and attributes in words."""

    def __init__(self, page):
        super().__init__()
        self.found, self.hidden = [], 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("script", "style")
        self.found += [value for name, value in attributes if name in ("aria-label", "title", "alt", "placeholder")]

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")

    def handle_data(self, data):
        if not self.hidden:
            self.found.append(data)


def assert_marked(text):
    assert "⟦" in text
    assert unmarked(text) == []


def assert_page_is_marked(page):
    """A marked text may span elements, so the page is read as a whole, and its attributes one by one."""
    text = " ".join(Texts(page).found)
    for command in COMMANDS:
        text = text.replace(command, "")
    assert_marked(text)
    script = page.split("<script>")[-1] if "<script>" in page else ""
    literals = re.findall(r'textContent = [^;]*"([A-Z][a-z ]+)"|`(and [^`]*)`', script)
    assert not literals


def variants(release):
    """Return a release with every kind of statement."""
    privacy = release.privacy
    account = Account(Cost(3.0, 1e-6), Cost(0.5, 1e-7), Cost(1.5, 2e-7))
    changes = [
        {},
        {"releasable": False, "randomness": "seeded"},
        {"delta": 0.0, "rho": None, "currency": "epsilon", "earlier_fits": 1},
        {"delta": 0.0, "rho": None, "currency": "epsilon", "releasable": False},
        {"bounds_epsilon": 0.5, "earlier_fits": 3, "accountant": "pld", "epsilon": 3.0},
        {"unit": Unit(PERSON, person_id="who"), "rows_per_person": 2, "epsilon": 8.0},
        {"unit": Unit(PERSON, person_id="who")},
        {"unit": Unit(PERSON, assumed_rows=3), "rows_per_person": 3},
    ]
    for change in changes:
        yield replace(release, privacy=replace(privacy, version="0", **change))
    yield replace(release, origin=Origin("2026-01-01", "who", account))


@pytest.fixture(scope="module")
def releases(mixed, patients, hand_made):
    columns = [Column("age", 0, 120), Category("town", tuple(f"t{i}" for i in range(50)))]
    many = hand_made(columns, 50, cut_columns=[0], counted="rows")
    plain = replace(mixed, origin=Origin("2026-01-01"))
    others = [replace(patients, privacy=replace(patients.privacy, version="0")), replace(many, origin=plain.origin)]
    one = hand_made(columns, 1, counted="rows")
    return [*variants(plain), *others, replace(one, origin=plain.origin, certainty=np.ones(1))]


def named(release):
    """Add the names of a fitted release to those that no catalogue holds."""
    return NAMES | set(release.schema.names) | set(release.parameters)


@pytest.mark.slow
def test_reports_hold_no_other_words(releases, monkeypatch):
    for release in releases:
        monkeypatch.setitem(globals(), "NAMES", named(release))
        page = render_report(release, words=MARKED)
        assert '<html lang="xx">' in page
        assert_page_is_marked(page)
        assert_page_is_marked(release_html(release, words=MARKED))
        assert_page_is_marked(statement_html(release.privacy, words=MARKED))


@pytest.mark.slow
def test_statements_explanations_and_rules_hold_no_other_words(releases, monkeypatch):
    for release in releases:
        monkeypatch.setitem(globals(), "NAMES", named(release))
        assert_marked(statement_text(release.privacy, MARKED))
        assert_marked(explanation_text(release.privacy.explain(), MARKED))
        assert_marked(unit_text(release.privacy.unit, MARKED))
        assert_marked(tree_text(release.tree, MARKED))
        assert_marked("\n".join(rule_texts(release.tree, MARKED)))
        assert_marked(one_cluster_text(release, words=MARKED))
        assert_marked(qualities_text(release.qualities(), MARKED))
        assert_marked(clusters_text(release.clusters(1), MARKED))
        assert_marked(clusters_text(release.clusters(4), MARKED))


PEOPLE = Schema(
    (Column("age", 0, 120, unit="years"), Column("cost", 100, 1e6, log=True), Category("plan", ("basic", "premium")))
)


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [300, 20_000, 10**7])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"epsilon": 20.0, "delta": 0.1}, {"max_depth": 0}, {"expected_clusters": 200}, {"person_id": "who"}],
    ids=str,
)
def test_forecasts_hold_no_other_words(n_rows, parameters):
    assert_marked(forecast_text(forecast(n_rows, PEOPLE, **parameters), MARKED))


def test_doubts_hold_no_other_words():
    for doubt in promise_doubts(50.0, 0.1) + promise_doubts(1.0, 0.1, 100):
        assert_marked(doubt_text(doubt, "people", MARKED))


@pytest.mark.slow
def test_pictures_hold_no_other_words(releases, hand_made):
    matplotlib = pytest.importorskip("matplotlib", reason="Plots need matplotlib, of the extra 'plots'.")
    matplotlib.use("agg")
    from dpmondrian.show.plots import drawing, plot_clusters, plot_forecast, plot_hierarchy, plot_qualities

    one_column = hand_made([Column("age", 0, 120, unit="years")], 2)
    with drawing():
        for release in (*releases[:2], one_column):
            assert_picture_is_marked(plot_clusters(release, words=MARKED))
            assert_picture_is_marked(plot_hierarchy(release.hierarchy, words=MARKED))
            assert_picture_is_marked(plot_qualities(release.qualities(), words=MARKED))
        assert_picture_is_marked(plot_forecast(forecast(20_000, PEOPLE), words=MARKED))


def assert_picture_is_marked(ax):
    from matplotlib.text import Text

    texts = [text.get_text() for text in ax.figure.findobj(Text)] + [handle.get_label() for handle in ax.collections]
    for text in filter(re.compile(r"[^\W\d]").search, (text for text in texts if not text.startswith("_"))):
        assert unmarked(re.sub(r"\$.*?\$", "", text)) == []


def test_a_text_of_html_escapes_what_is_filled_in():
    made = ENGLISH.html("report.origin.data_set", data_set="<b>", date="2026-01-01")
    assert str(made) == "Data set <bdi>&lt;b&gt;</bdi>, 2026-01-01"
    assert html.unescape(ENGLISH("unit.person_id", column="'<b>'")) == ENGLISH("unit.person_id", column="'<b>'")


def test_braces_in_names_are_not_filled_in():
    assert "'{n}'" in unit_text(Unit(PERSON, person_id="{n}"))


@pytest.mark.parametrize("draw", ALL_DRAWS, ids=lambda draw: draw.name)
def test_every_draw_of_dpm_has_words(draw):
    """Draws are defined beside the algorithm: a new one must have a name, and a sentence on what it is for."""
    assert ENGLISH.knows("draw", draw.name)
    assert ENGLISH.knows("use", draw.name)


@pytest.mark.parametrize("mechanism", [GAUSSIAN, LAPLACE, EXPONENTIAL, PERMUTE_AND_FLIP])
def test_every_mechanism_has_words(mechanism):
    assert ENGLISH.knows("mechanism", mechanism)


def test_no_words_are_for_a_draw_that_nobody_makes():
    names = {key.removeprefix("draw.") for key in ENGLISH.texts if key.startswith("draw.")}
    assert names == {draw.name for draw in ALL_DRAWS}


def fault_keys():
    """Return the keys of all faults that the package can find in a release."""
    sources = [path.read_text(encoding="utf-8") for path in Path(dpmondrian.__file__).parent.rglob("*.py")]
    calls = [node for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    made = [call.args[0] for call in calls if getattr(call.func, "id", "") == "Fault"]
    return {part.value for key in made for part in ast.walk(key) if isinstance(part, ast.Constant)}


@pytest.mark.slow
def test_every_fault_of_a_release_has_words():
    assert fault_keys() == {key.removeprefix("fault.") for key in ENGLISH.texts if key.startswith("fault.")}


def test_verifications_hold_no_other_words(patients):
    result = verify(patients, patients.digest())
    assert_marked(verdict_text(result, MARKED))
    for check in (*result.checks, *verify(replace(patients, sizes=patients.sizes[::-1]), "").failed):
        assert_marked(check_text(check, MARKED))
