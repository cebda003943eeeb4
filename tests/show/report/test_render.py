"""The report as text: what is in it, and what must never be."""

import base64
import hashlib
import html
import json
import math
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from dpmondrian import DPM
from dpmondrian.release.release import Release
from dpmondrian.release.statement import PERSON, Account, Cost, Origin, Unit
from dpmondrian.schema.columns import Category, Column
from dpmondrian.show.html import harmless_json
from dpmondrian.show.report import guarantee, render_report
from dpmondrian.show.report.histograms import HEIGHT, bars
from dpmondrian.show.report.palette import DARK, LIGHT, look_of
from dpmondrian.show.report.scales import axis_of_column, default_columns, leaf_boxes
from dpmondrian.show.texts.rules import condition_text
from dpmondrian.show.words import ENGLISH
from dpmondrian.show.words.numbers import clean, number, of_hundred, right_of_hundred, short_names
from dpmondrian_lab.peers.statements import no_privacy

SECTIONS = (
    "overview",
    "clusters",
    "segments",
    "map",
    "statement",
    "limits",
    "verify",
    "tree",
    "ledger",
    "inputs",
    "cite",
)
VOID = {"meta", "br", "input"}


class Page(HTMLParser):
    """A page taken apart: elements with their attributes, text by element, and whether every element ends."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.unbalanced, self.texts = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.unbalanced.append(tag)

    def handle_data(self, data):
        if self.open:
            self.texts.append((self.open[-1], data))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self):
        return " ".join(" ".join(data for tag, data in self.texts if tag not in ("style", "script")).split())


_RENDERED = {}


def rendered(release):
    """Return the report of a release that many tests look at, which is drawn once."""
    kept, text = _RENDERED.get(id(release), (None, None))
    if kept is not release:
        text = render_report(release)
        _RENDERED[id(release)] = release, text
    return text


def test_all_sections_are_there(patients):
    page = Page(rendered(patients))
    assert [attributes["id"] for attributes in page.all("section")] == list(SECTIONS)
    links = {attributes["href"] for attributes in page.all("a")}
    cards = {f"#cluster-{cluster}" for cluster in range(len(patients.sizes))}
    assert links == {"#main", *(f"#{name}" for name in SECTIONS), *cards}
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert not page.unbalanced
    assert not page.open


def test_rules_sizes_centres_and_ledger_are_there(patients):
    text = html.unescape(re.sub(r"<[^>]+>", "", rendered(patients)))
    for cluster in range(len(patients.sizes)):
        of_cluster = [rule for rule in patients.tree.pruned.leaf_rules() if rule.cluster == cluster]
        for rule in sorted(of_cluster, key=lambda rule: -rule.size)[:8]:
            assert condition_text(rule.conditions, at_most="≤") in text
    for size, error in zip(patients.sizes, patients.size_errors, strict=True):
        assert f"{size:,.0f} {ENGLISH('counted.rows')}" in text
        assert ENGLISH("report.card.error", error=f"{error:,.0f}") in text
    shown = re.findall(r"<td>(\d+\.\d+)</td><td>(\d+\.\d+)</td></tr>", rendered(patients))
    for centre, error in zip(patients.centres[:, :4].ravel(), patients.centre_errors[:, :4].ravel(), strict=True):
        assert any(abs(float(v) - centre) < 0.06 * error and abs(float(e) / error - 1) < 0.06 for v, e in shown)
    for entry in patients.privacy.entries:
        assert f"{entry.scale:,.4g}" in text
    for key in patients.privacy.not_protected:
        assert ENGLISH(f"not_protected.{key}") in text
    for words in ("arXiv:2307.02969", "Liebenow", "dpm report release.json", patients.privacy.version, "log scale"):
        assert words in text


@pytest.mark.slow
def test_the_same_release_gives_the_same_bytes(patients, mixed):
    for release in (patients, mixed):
        assert render_report(release) == render_report(release)
    assert render_report(Release.from_json(patients.to_json())) == render_report(patients)


@pytest.mark.parametrize("name", ["patients", "mixed", "hostile"])
def test_nothing_is_loaded_and_nothing_runs_but_the_one_script(name, request):
    text = rendered(request.getfixturevalue(name))
    page = Page(text)
    kinds = {tag for tag, _ in page.elements}
    assert not kinds & {
        "img",
        "link",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "image",
        "use",
        "video",
        "audio",
        "b",
    }
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "action", "style", "xlink:href"} & set(attributes), tag
        assert not [key for key in attributes if key.startswith("on")]
        assert attributes.get("href", "#").startswith("#")
    assert [attributes.get("type") for attributes in page.all("script")] == ["application/json", None]
    assert len(page.all("style")) == 1
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "@import" not in style
    assert "url(" not in style
    assert "http:" not in style + "".join(data for tag, data in page.texts if tag == "script").replace(
        "http://www.w3.org/2000/svg", ""
    )


@pytest.mark.slow
def test_the_policy_allows_this_style_and_script_only(patients):
    text = rendered(patients)
    [policy] = [a["content"] for a in Page(text).all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}';" in policy
    assert text.index("Content-Security-Policy") < text.index("<style>")


def test_hostile_texts_stay_texts(hostile):
    text = rendered(hostile)
    text.encode("utf-8")  # no half characters
    page = Page(text)
    assert not page.unbalanced
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    assert not set("<>&\u2028\u2029") & set(data)
    assert len(json.loads(data)["centres"]) == 4
    assert "</script><script>window.pwned" not in text
    assert "{{ 7 * 7 }}" in html.unescape(text)
    assert "\u202e" not in text
    assert "n" * 400 not in text
    assert len(text) < 500_000


def test_embedded_data_cannot_end_its_element():
    values = ["</script>", "a & b", "\u2028\u2029", "±"]
    text = harmless_json(values)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == values


def test_a_seeded_run_has_a_banner_and_a_secure_one_has_none(patients):
    seeded = rendered(patients)
    assert not patients.privacy.releasable
    assert '<div class="alarm"' in seeded
    assert "NOT RELEASABLE" in seeded
    assert "This run guarantees nothing" in seeded
    secure = render_report(replace(patients, privacy=replace(patients.privacy, releasable=True)))
    assert '<div class="alarm"' not in secure
    assert "NOT RELEASABLE" not in secure


def test_a_release_without_a_guarantee_says_so(patients):
    words = Page(render_report(replace(patients, privacy=no_privacy()))).words
    assert "NOT RELEASABLE No finite epsilon holds" in words
    assert "There is no guarantee" in words
    assert "almost no difference" not in words


def with_privacy(release, **changes):
    return replace(release, privacy=replace(release.privacy, **changes))


def test_epsilon_is_explained_with_numbers(mixed):
    page = Page(rendered(mixed))
    assert ("span", right_of_hundred(mixed.privacy.explain().advantage)) in page.texts
    assert "e 1 = 2.72" in page.words
    assert "1 in 10,000,000" in page.words
    assert "rho" in page.words.lower()


@pytest.mark.slow
def test_epsilons_of_bounds_add_up(mixed):
    words = Page(render_report(with_privacy(mixed, bounds_epsilon=0.5))).words
    assert "estimated privately from the same rows" in words
    assert "1 + 0.5 = 1.5" in words
    assert (
        f"right in at most {right_of_hundred(replace(mixed.privacy, bounds_epsilon=0.5).explain().advantage)} of"
        in words
    )
    assert "estimated privately" not in Page(rendered(mixed)).words


def test_pure_privacy_and_people_with_several_rows(mixed):
    words = Page(
        render_report(with_privacy(mixed, delta=0.0, rho=None, rows_per_person=3, unit=Unit(PERSON, assumed_rows=3)))
    ).words
    assert "0: the factor holds without exception" in words
    assert "one person with up to 3 rows" in words
    assert "Whether or not one person is in the table" in words
    assert "Rho" not in words


@pytest.mark.parametrize(("epsilon", "word"), [(0.5, "almost no"), (3.0, "moderate"), (8.0, "weak")])
def test_the_promise_is_not_praised_beyond_its_epsilon(mixed, epsilon, word):
    lead = guarantee.lead(replace(mixed.privacy, epsilon=epsilon))
    assert [each for each in ("almost no", "moderate", "weak") if each in lead] == [word]


@pytest.mark.slow
@pytest.mark.parametrize("accountant", ["zcdp", "pld"])
def test_the_report_says_what_explain_says(patients, accountant):
    """And not what epsilon alone would allow, which is more."""
    release = with_privacy(patients, accountant=accountant)
    explained, words = release.privacy.explain(), Page(render_report(release)).words
    right = right_of_hundred(explained.advantage)
    assert f"right in at most {right} of 100 cases" in words
    assert right in str(explained)
    assert float(right) < float(right_of_hundred(explained.advantage_by_epsilon_alone))
    for rate in explained.rates:
        assert of_hundred(rate.true_positives) in words


@pytest.mark.slow
def test_the_report_says_where_the_release_comes_from_and_how_to_verify_it(mixed):
    account = Account(Cost(3.0, 1e-6), Cost(0.5, 1e-7), Cost(1.5, 2e-7))
    release = with_privacy(replace(mixed, origin=Origin("2026-02-03", "patients <2026>", account)), earlier_fits=2)
    words = Page(render_report(release)).words
    for said in (
        "patients <2026>", "2026-02-03",
        "The total for this data set is epsilon = 3", "Spent before this release: epsilon = 0.5, delta = 1e-7",
        "epsilon = 1.5", "2 earlier fits", release.digest(), "dpm verify release.json",
    ):  # fmt: skip
        assert said in words
    assert "No budget was charged" in Page(rendered(mixed)).words
    assert "earlier fits" not in Page(rendered(mixed)).words


def test_shares_of_the_budget_add_up(patients):
    shares = [kind.share for kind in guarantee.kinds(patients.privacy)]
    assert math.isclose(sum(shares), 1.0)
    joint = replace(patients.privacy, currency="joint")
    assert {kind.share for kind in guarantee.kinds(joint)} == {None}
    assert "Ledger" in render_report(replace(patients, privacy=joint))


def test_categories_are_shown_as_shares_and_units_as_notes(mixed):
    words = Page(rendered(mixed)).words.replace("\u00a0", " ")
    assert re.search(r"basic \d+ % 62 % 10 % 50 % 25 %", words)
    assert "plan is not basic" in words
    assert "years" in words
    assert "cost (EUR, log scale)" in words
    assert "basic, premium, other" in words
    assert "10 to 1,000,000" in words
    assert "whole numbers" in words


def test_many_categories_are_folded(hand_made):
    release = hand_made([Column("age", 0, 120), Category("town", tuple(f"t{i}" for i in range(200)))], cut_columns=[0])
    words = Page(render_report(release)).words
    assert "195 others" in words
    assert "and 161 more" in words


def test_without_scripts_the_map_is_there(patients):
    text = rendered(patients)
    classes = [attributes.get("class", "").split() for _, attributes in Page(text).elements]
    assert sum("dot" in each for each in classes) == len(patients.sizes)
    assert sum("box" in each for each in classes) == patients.tree.pruned.n_leaves
    assert len(re.findall(r'<g transform="translate\(', text)) >= 6  # ticks


def test_boxes_fill_the_map_where_two_columns_are_all(towns):
    rectangles = [
        attributes for attributes in Page(rendered(towns)).all("rect") if "box" in attributes.get("class", "")
    ]
    assert len(rectangles) == towns.tree.pruned.n_leaves
    area = sum(float(each["width"]) * float(each["height"]) for each in rectangles)
    left, top = (min(float(each[key]) for each in rectangles) for key in "xy")
    right = max(float(each["x"]) + float(each["width"]) for each in rectangles)
    bottom = max(float(each["y"]) + float(each["height"]) for each in rectangles)
    assert math.isclose(area, (right - left) * (bottom - top), rel_tol=0.01)


def test_no_box_is_without_width(mixed):
    for _, box in leaf_boxes(mixed):
        assert all(high > low for low, high in box.values())
    assert {box[3] for _, box in leaf_boxes(mixed)} == {(0.0, 0.5), (0.5, 1.0)}


def test_boxes_of_continuous_columns_are_those_of_the_tree(towns):
    expected = [box for _, box in towns.tree.pruned.boxes(towns.schema.lower, towns.schema.upper)]
    found = [[box.get(j, (0.0, 100.0)) for j in range(2)] for _, box in leaf_boxes(towns)]
    assert found == expected


def test_default_columns_are_those_cut_most(hand_made, mixed):
    columns = [Column(name, 0, 1) for name in "abcde"]
    assert default_columns(hand_made(columns, 8, cut_columns=[4, 2])) == (2, 4)
    assert default_columns(hand_made(columns, 1)) == (0, 1)
    assert default_columns(hand_made(columns[:1], 3)) == (0, None)
    assert default_columns(mixed)[0] == 0


def test_a_log_axis_is_even_in_ratios(hand_made):
    axis = axis_of_column(hand_made([Column("cost", 10, 1e5, log=True)]), 0)
    places = {text: place for place, text in axis.ticks}
    assert {"10": 0.0, "100": 0.25, "1,000": 0.5, "10,000": 0.75, "100,000": 1.0}.items() <= places.items()


@pytest.mark.slow
@pytest.mark.parametrize(
    "column",
    [
        Column("a", 0, 1e-90),
        Column("a", -1e99, 1e99),
        Column("a", 1e15, 1e15 + 1),
        Column("a", 1e-90, 1e90, log=True),
        Column("a", 5, 5.1, log=True),
        Column("a", -7.25, -7.2),
        Column("a", 0, 1, whole=True),
    ],
)
def test_odd_bounds_are_drawn(hand_made, column):
    release = hand_made([column])
    text = render_report(release)
    assert "nan" not in text.split("<body>")[1].split("<script")[0]
    for place, _ in axis_of_column(release, 0).ticks:
        assert 0.0 <= place <= 1.0
    assert len(axis_of_column(release, 0).ticks) < 15


@pytest.mark.slow
@pytest.mark.parametrize(("n_clusters", "n_columns"), [(1, 1), (1, 300), (1000, 300), (64, 300)])
def test_one_to_a_thousand_clusters_of_one_to_three_hundred_columns(hand_made, n_clusters, n_columns):
    release = hand_made([Column(f"measurement_number_{j}", 0, 100) for j in range(n_columns)], n_clusters)
    text = render_report(release)
    assert len(text.encode()) < 5_000_000
    page = Page(text)
    assert not page.unbalanced
    assert f"{n_clusters} cluster" in page.words
    if (n_clusters, n_columns) == (1000, 300):
        assert "1,000 of 1,000 clusters and 10 of 300 columns" in page.words


@pytest.mark.slow
def test_more_than_a_thousand_clusters_are_cut_short_and_said_so(hand_made):
    page = Page(render_report(hand_made([Column("a", 0, 1), Column("b", 0, 1)], 1200)))
    assert "1,000 of 1,200 clusters" in page.words


@pytest.mark.slow
def test_a_very_deep_tree_ends_every_list(hand_made):
    page = Page(render_report(hand_made([Column("a", 0, 1), Column("b", 0, 1)], 300, chain=True)))
    assert not page.unbalanced
    assert not page.open
    [tree] = [i for i, (_, attributes) in enumerate(page.elements) if attributes.get("class") == "tree"]
    end = next(i for i, (_, attributes) in enumerate(page.elements) if attributes.get("id") == "ledger")
    assert sum(tag == "li" for tag, _ in page.elements[tree:end]) == 599


def test_the_size_of_one_cluster_has_one_error(hand_made):
    """It is the number of all rows: two errors of one number would contradict each other."""
    release = hand_made([Column("a", 0, 1)], 1)
    words = Page(render_report(replace(release, size_errors=np.array([77.0])))).words
    assert re.findall(r"noise error (\d+)", words[: words.index("Overview")]) == ["77"]


def test_a_cluster_without_a_leaf_is_said_to_have_none(hand_made):
    release = hand_made([Column("a", 0, 1)], 3)
    tree = replace(release.tree, cluster=np.where(release.tree.cluster == 2, 1, release.tree.cluster))
    assert (
        "No rule: it shares its parts of the tree with larger clusters."
        in Page(render_report(replace(release, tree=tree))).words
    )


# The overview, cards, segments, certainty, and a single cluster


@pytest.fixture(scope="module")
def answered():
    """Return a release with a column of yes and no, in which some did not answer."""
    rng = np.random.default_rng(0)
    ages = rng.permutation(np.repeat([30.0, 70.0], 3000)) + rng.normal(0, 4, 6000)
    smokers = np.where(rng.random(6000) < np.where(ages < 50, 0.6, 0.2), "yes", "no")
    table = pa.table({"age": ages, "smoker": pa.array(smokers, mask=rng.random(6000) < 0.1)})
    bounds = {"age": (0, 100), "smoker": {"yes": ["yes"], "no": ["no"]}}
    return DPM(epsilon=10, bounds=bounds, n_clusters=2, on_missing="middle", random_state=0).fit(table).release_


def cells_of(text, name):
    """Return the texts and classes of the cells of one line of the first table."""
    [line] = re.findall(rf"<tr><th scope=\"row\"[^>]*><bdi>{name}</bdi>.*?</th>(.*?)</tr>", text.split("</table>")[0])
    return [(shade, value, half) for shade, value, half in re.findall(CELL, line)]


CELL = r'<td(?: class="(\w+)")?>([^<]+)(?:<small>([^<]+)</small>)?</td>'


def test_the_overview_compares_every_cluster_with_all(mixed):
    cells = cells_of(rendered(mixed), "age")
    weight = mixed.sizes / mixed.sizes.sum()
    values = [float(value) for _, value, _ in cells]
    assert values == pytest.approx([weight @ mixed.centres[:, 0], *mixed.centres[:, 0]], abs=0.5)
    assert {half for _, _, half in cells} == {""}  # means have no middle half
    assert cells[0][0] == ""  # all people are never shaded
    for (shade, value, _), mean in zip(cells[1:], mixed.centres[:, 0], strict=True):
        assert shade[:1] in ("", "u" if mean > values[0] else "b"), value


def test_what_noise_could_have_made_is_not_shaded(mixed):
    clear = [shade for shade, *_ in cells_of(rendered(mixed), "age")]
    assert any(clear)
    noisy = replace(mixed, centre_errors=np.full_like(mixed.centre_errors, 1e6))
    assert not any(shade for shade, *_ in cells_of(render_report(noisy), "age"))


def test_profiles_are_medians_and_middle_halves(mixed, profiled):
    release = profiled(mixed)
    text = render_report(release)
    for (_, value, half), own in zip(cells_of(text, "age")[1:], release.profiles.clusters, strict=True):
        low, middle, high = (quartile.value for quartile in own["age"].quartiles)
        assert float(value) == pytest.approx(middle, abs=0.51)
        assert [float(end) for end in half.split(" to ")] == pytest.approx([low, high], abs=0.51)
    words = Page(text).words.replace("\u00a0", " ")
    assert "Variance explained 74.8 % 95 %: 74.0 % to 75.6 %" in words
    assert "Silhouette 0.41 95 %: 0.40 to 0.42" in words
    assert "±" not in words.split("What is guaranteed")[0]  # noise errors are called by their name


def test_cards_show_what_sets_clusters_apart(mixed, profiled):
    release = profiled(mixed)
    text = render_report(release)
    cards = [part.split("</article>")[0] for part in text.split("<article")[1:]]
    for cluster, card in enumerate(cards):
        found = release.profiles.differences(cluster)
        names = re.findall(r'<div class="feature">\n<p><strong><bdi>([^<]*)</bdi>', card)
        assert [name.split(" (")[0] for name in names] == [difference.name for difference in found]
        assert card.count('class="every"') + card.count('class="shares"') == len(found)
        assert card.count('<th scope="row"') == 6  # in all numbers: three columns, three categories


def test_overview_and_cards_state_the_same_shares(answered):
    text = rendered(answered)
    page = Page(text).words.replace("\u00a0", " ")
    overview = [cell[1] for cell in cells_of(text, "smoker")]
    shares = [own["smoker"].shares[-1].value for own in answered.profiles.clusters]
    assert [float(cell.rstrip("\u00a0%")) / 100 for cell in overview[1:]] == pytest.approx(shares, abs=0.006)
    for cluster, cell in enumerate(overview[1:]):
        card = text.split("<article")[1 + cluster].split("</article>")[0]
        assert f'<th scope="row"><bdi>smoker</bdi></th><td>\u2013</td><td>{cell}</td>' in card
    assert "A missing value counts as the middle of its column's bounds, as no where the answer is yes or no" in page


def test_only_what_was_done_with_missing_values_is_told(answered):
    for rule, told in (("drop", "Rows with a missing value were left out"), ("error", None)):
        page = Page(render_report(replace(answered, parameters={**answered.parameters, "on_missing": rule}))).words
        assert "A missing value counts" not in page
        assert told is None or told in page


def test_histograms_have_the_rows_of_the_cluster(mixed, profiled):
    release = profiled(mixed)
    for own in release.profiles.clusters:
        drawn = bars(own["age"], release.profiles.everyone["age"])
        tops = [HEIGHT - float(top) for top in re.findall(r"V([\d.]+)H", drawn.own)]
        low, high = float(drawn.low), float(drawn.high)
        middles = low + (high - low) * (np.arange(len(tops)) + 0.5) / len(tops)
        assert np.average(middles, weights=tops) == pytest.approx(own["age"].quartiles[1].value, abs=8)
        assert 0 < max(tops) <= HEIGHT


def test_a_strip_says_in_words_where_it_is_high(hand_made):
    release = hand_made([Column("age", 0, 120), Column("bmi", 10, 60)], 30)
    text = render_report(release)
    [strip] = re.findall(r'<bdi>age</bdi>.*?aria-label="([^"]*)">(.*?)</svg>', text.split("</table>")[0])
    assert strip[1].count("<rect") == strip[1].count("<title>") == 30
    highest = re.search(r"highest in ([\d, ]+)", strip[0])[1].split(", ")
    assert int(np.argmax(release.centres[:, 0])) in [
        c for c, (s, _) in enumerate(re.findall(RECT, strip[1])) if s == "u4"
    ]
    assert all(release.centres[int(c), 0] > 60 for c in highest)


RECT = r'<rect x="\d+" width="1" height="1"(?: class="(\w+)")?><title>([^<]+)</title>'


def test_a_table_says_how_good_more_segments_are_than_the_slider_shows(mixed):
    assert "How good 21" not in rendered(mixed)  # nothing was measured
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DPM(epsilon=20.0, bounds=(0, 1), n_clusters=2, random_state=0).fit(rng.random((4000, 2)))
    last = min(64, len(model.cells_))
    assert last > 20
    table = render_report(model.release_).split(f"How good 21 to {last} segments are")[1].split("</table>")[0]
    assert [f'<th scope="row">{k}</th>' in table for k in range(20, 66)] == [20 < k <= last for k in range(20, 66)]


def test_the_slider_goes_through_every_number_of_segments(mixed):
    text = rendered(mixed)
    parts = text.split('<section id="segments"')[1].split("</section>")[0].split('<div class="k')[1:]
    assert ["few" in part[:40] for part in parts] == [k in (2, 3, 5, 8) for k in range(1, 21)]  # without a script
    assert ["The release holds 12 cells" in part for part in parts] == [k > 12 for k in range(1, 21)]
    assert "4 segments explain" in next(part for part in parts if part.startswith(" chosen"))
    for k, part in enumerate(parts, start=1):
        assert part.count('<th scope="col"') == (2 + (0 if k == 1 else k) if k <= 8 else 3)
    [slider] = [each for each in Page(text).all("input") if each.get("type") == "range"]
    assert (slider["min"], slider["max"], slider["value"]) == ("1", "20", "4")


def test_the_certainty_of_clusters_is_in_words(mixed):
    words = Page(rendered(mixed)).words
    for said in ("almost certain (over 99.9 %)", "likely (80.0 %)", "possible (60.0 %)", "doubtful (40.0 %)"):
        assert f"Separate: {said}" in words
    assert "Separate:" not in Page(render_report(replace(mixed, certainty=None))).words


@pytest.mark.slow
def test_a_single_cluster_is_said_first_and_is_not_the_end(hand_made, profiled):
    release = hand_made([Column("a", 0, 1), Column("b", 0, 1)], 1)
    for found in (replace(release, certainty=np.ones(1)), profiled(replace(release, certainty=np.ones(1)))):
        page = Page(render_report(found))
        assert page.words.startswith("No separate clusters among about")
        first = page.words.split("Overview")[0]
        assert "That is a result, not a failure" in first
        assert "or more, with nothing between them and the others, could have been found" in first
        assert "divide the people into any number of segments" in first
        assert "Separate:" not in page.words
        assert not page.unbalanced
    assert "No separate clusters" not in Page(render_report(release)).words  # k was given


def test_without_cells_there_are_no_segments(mixed):
    page = Page(render_report(replace(mixed, cells=None)))
    assert "segments" not in [attributes["id"] for attributes in page.all("section")]
    assert not page.unbalanced


def luminance(colour):
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(first, second):
    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


def test_colours_stand_out(patients):
    style = re.search(r"<style>(.*?)</style>", rendered(patients), re.DOTALL)[1]
    looks = [
        dict(re.findall(r"--([\w-]+): (#\w{6})", block)) for block in re.findall(r"\{([^{}]*--paper: #[^{}]*)\}", style)
    ]
    assert len(looks) == 3  # light, dark by choice, dark by the system
    assert looks[1] == looks[2]
    for look, clusters in ((looks[0], LIGHT), (looks[1], DARK)):
        for ink in ("ink", "quiet", "accent"):
            assert contrast(look[ink], look["paper"]) >= 4.5
            assert contrast(look[ink], look["soft"]) >= 4.5
        assert contrast(look["alarm"], look["alarm-ground"]) >= 4.5
        assert contrast(look["focus"], look["paper"]) >= 3
        assert all(contrast(colour, look["paper"]) >= 3 for colour in clusters)


def test_clusters_look_different():
    assert len({look_of(cluster) for cluster in range(48)}) == 48


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [(1234.5, 0, "1,234"), (-0.04, 1, "0.0"), (-2.5, 1, "\N{MINUS SIGN}2.5"), (3e20, 2, "3e+20"), (math.inf, 1, "∞")],
)
def test_numbers(value, decimals, text):
    assert number(value, decimals) == text


def test_names_become_short_but_stay_different():
    names = ["n" * 500, "n" * 501, "", "\x07", "age", " two\nlines "]
    shorts = short_names(names)
    assert len(set(shorts)) == len(names)
    assert all(len(short) < 60 for short in shorts)
    assert shorts[4:] == ("age", "two lines")
    assert clean("ab" * 100, 20) == clean("ab" * 100, 20)
    assert len(clean("ab" * 100, 20)) <= 20
