"""The report in a real browser: pictures that answer to mouse and keyboard, themes, print, small screens, no network."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from dpmondrian.schema.columns import Column
from dpmondrian.show.report import render_report
from dpmondrian.show.texts.rules import condition_text

pytestmark = [pytest.mark.usefixtures("browser"), pytest.mark.slow]
MOST_ELEMENTS = 100_000
"""Of a page with a thousand clusters: as many as a browser draws in a few seconds."""


def count(page, selector):
    return page.execute_script("return document.querySelectorAll(arguments[0]).length", selector)


def attributes(page, selector, name):
    script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.getAttribute(arguments[1]))"
    return page.execute_script(script, selector, name)


def text(page, selector):
    return page.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def style(page, selector, name):
    return page.execute_script(
        "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, name
    )


def choose(page, selector, words):
    from selenium.webdriver.support.ui import Select

    Select(page.find_element("css selector", selector)).select_by_visible_text(words)


def press(page, *keys):
    from selenium.webdriver.common.action_chains import ActionChains

    for key in keys:
        ActionChains(page).send_keys(key).perform()


def point_at(page, selector):
    from selenium.webdriver.common.action_chains import ActionChains

    element = page.find_element("css selector", selector)
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    ActionChains(page).move_to_element(element).perform()


def wait_until(page, script):
    """Wait until a script returns something true, for as long as a page may take to be loaded."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, 600, poll_frequency=0.02).until(lambda page: page.execute_script(script))


def requests(page):
    """Return the addresses that the page asked for."""
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


@pytest.mark.parametrize("name", ["patients", "towns", "mixed", "hostile"])
def test_it_opens_without_a_complaint_and_asks_for_nothing(name, request, opened):
    page = opened(request.getfixturevalue(name))
    assert page.execute_script("return document.documentElement.classList.contains('js')")
    assert page.get_log("browser") == []
    assert {address.split(":")[0] for address in requests(page)} == {"file"}
    assert len(requests(page)) <= 1
    assert page.execute_script("return window.pwned === undefined")


def test_the_policy_stops_whatever_is_added(patients, opened, tmp_path):
    path = tmp_path / "added.html"
    added = "<img src='https://example.org/x.png'><script>window.pwned = 1</script></main>"
    path.write_text(render_report(patients).replace("</main>", added), encoding="utf-8")
    page = opened.file(path)
    assert page.execute_script("return window.pwned === undefined")
    assert "Content Security Policy" in page.get_log("browser")[0]["message"]


def test_the_script_draws_what_the_file_holds(patients, opened):
    """Choosing other columns and then the first ones again gives the picture that was there without the script."""
    page = opened(patients)
    first = [attributes(page, ".box", name) for name in ("x", "y", "width", "height")] + [
        attributes(page, ".place", "transform")
    ]
    labels = page.execute_script("return [...document.querySelectorAll('.axis text')].map((e) => e.textContent)")
    names = text(page, "#x-name"), text(page, "#y-name")
    choose(page, "#map-x", "age")
    choose(page, "#map-y", "systolic")
    choose(page, "#map-x", names[0])
    choose(page, "#map-y", names[1])
    again = [attributes(page, ".box", name) for name in ("x", "y", "width", "height")] + [
        attributes(page, ".place", "transform")
    ]
    for old, new in zip(first[:4], again[:4], strict=True):
        assert [float(value) for value in new] == pytest.approx([float(value) for value in old], abs=0.21)
    assert (
        page.execute_script("return [...document.querySelectorAll('.axis text')].map((e) => e.textContent)") == labels
    )


def test_other_columns_move_boxes_and_name_the_axes(patients, opened):
    page = opened(patients)
    before = attributes(page, ".dot .place", "transform"), attributes(page, ".box", "width")
    names = text(page, "#x-name"), text(page, "#y-name")
    others = [n for n in ("age", "bmi", "cost (log scale)", "hba1c") if n not in names]
    choose(page, "#map-x", others[0])
    assert text(page, "#x-name") == others[0]
    assert text(page, "#y-name") == names[1]
    assert (attributes(page, ".dot .place", "transform"), attributes(page, ".box", "width")) != before
    choose(page, "#map-y", others[0])  # the same column twice: they are exchanged
    assert (text(page, "#x-name"), text(page, "#y-name")) == (names[1], others[0])
    choose(page, "#map-y", "number of rows")
    assert text(page, "#y-name") == "number of rows"
    assert page.get_log("browser") == []


def test_a_log_axis_has_powers_of_ten(patients, opened):
    page = opened(patients)
    choose(page, "#map-x", "age")
    choose(page, "#map-y", "cost (log scale)")
    labels = page.execute_script("return [...document.querySelectorAll('#y-axis text')].map((e) => e.textContent)")
    assert labels == ["10", "100", "1,000", "10,000", "100,000", "1,000,000"]


def test_a_single_column_stands_against_sizes(hand_made, opened):
    page = opened(hand_made([Column("age", 0, 120)], 3))
    assert (text(page, "#x-name"), text(page, "#y-name")) == ("age", "number of people")
    assert count(page, ".box") == 3
    assert page.get_log("browser") == []


def test_pointing_shows_cluster_size_and_rule(towns, opened):
    page = opened(towns)
    assert style(page, "#tip", "display") == "none"
    point_at(page, ".dot[data-cluster='2'] .mark")
    tip = page.find_element("id", "tip")
    assert tip.is_displayed()
    assert "Cluster 2" in tip.text
    assert f"noise error {towns.size_errors[2]:.0f}" in tip.text
    largest = max((rule for rule in towns.tree.pruned.leaf_rules() if rule.cluster == 2), key=lambda rule: rule.size)
    assert condition_text(largest.conditions, at_most="≤") in tip.text.replace("\n", " ")
    assert "east_km: " in tip.text
    assert count(page, ".dot.active") == 1
    point_at(page, "h1")
    assert not tip.is_displayed()
    assert count(page, ".active") == 0


def test_pointing_at_a_box_shows_its_cluster(towns, opened):
    page = opened(towns)
    page.execute_script("document.querySelector('#map-plot').scrollIntoView({block: 'center', behavior: 'instant'})")
    script = """
      const box = document.querySelectorAll('.box')[1].getBoundingClientRect();
      document.querySelectorAll('.box')[1].dispatchEvent(
        new PointerEvent('pointermove', {bubbles: true, clientX: box.left + 3, clientY: box.top + 3}));
      return document.querySelectorAll('.box')[1].dataset.cluster"""
    cluster = page.execute_script(script)
    assert f"Cluster {cluster}" in page.find_element("id", "tip").text


def test_the_keyboard_reaches_every_mark(towns, opened):
    from selenium.webdriver.common.keys import Keys

    page = opened(towns)
    page.execute_script("document.querySelector('#map-y').focus()")
    press(page, Keys.TAB)
    focused = "return [document.activeElement.classList[0], document.activeElement.dataset.cluster]"
    tip = page.find_element("id", "tip")
    assert page.execute_script(focused) == ["dot", "0"]
    assert tip.is_displayed()
    press(page, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert page.execute_script(focused) == ["dot", "2"]
    assert "Cluster 2" in tip.text
    press(page, Keys.END)
    assert page.execute_script(focused) == ["dot", str(len(towns.sizes) - 1)]
    press(page, Keys.HOME, Keys.ESCAPE)
    assert not tip.is_displayed()
    assert attributes(page, ".dot", "tabindex").count("0") == 1


def test_focus_can_be_seen(towns, opened):
    from selenium.webdriver.common.keys import Keys

    page = opened(towns)
    press(page, Keys.TAB)
    assert page.execute_script("return document.activeElement.className") == "skip"
    assert page.execute_script("return document.activeElement.getBoundingClientRect().left") >= 0
    assert style(page, ".skip", "outlineStyle") == "solid"
    press(page, Keys.ENTER)
    assert page.execute_script("return document.activeElement.id") == "main"


def test_the_slider_and_the_curve_show_another_number_of_segments(mixed, opened):
    from selenium.webdriver.common.keys import Keys

    page = opened(mixed)
    shown = (
        "return [...document.querySelectorAll('.k')].filter((e) => e.getClientRects().length).map((e) => e.dataset.k)"
    )
    assert page.execute_script(shown) == ["4"]
    page.execute_script("document.querySelector('#segments-k').focus()")
    press(page, Keys.ARROW_RIGHT)
    assert page.execute_script(shown) == ["5"]
    assert text(page, "#segments-number") == "5"
    point_at(page, "#curve [data-k='9'] circle:not(.reach)")
    page.find_element("css selector", "#curve [data-k='9'] circle:not(.reach)").click()
    assert page.execute_script(shown) == ["9"]
    assert attributes(page, "#curve .chosen", "data-k") == ["9"]
    assert page.get_log("browser") == []


def test_the_tree_opens_and_closes(towns, opened):
    page = opened(towns)
    page.execute_script("document.querySelector('#tree-open').click()")
    assert count(page, ".tree details:not([open])") == 0
    page.execute_script("document.querySelector('#tree-close').click()")
    assert count(page, ".tree details[open]") == 0


@pytest.mark.parametrize(("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 26, 32)")])
def test_light_and_dark_follow_the_system_and_the_button(towns, opened, scheme, paper):
    page = opened(towns, scheme=scheme)
    assert style(page, ".page", "backgroundColor") == paper
    words, colour = text(page, "#theme"), style(page, ".c0", "--c")
    first = page.execute_script("return getComputedStyle(document.querySelector('.dot .mark')).stroke")
    page.find_element("id", "theme").click()
    assert style(page, ".page", "backgroundColor") != paper
    assert text(page, "#theme") != words
    assert page.execute_script("return getComputedStyle(document.querySelector('.dot .mark')).stroke") != first
    page.find_element("id", "theme").click()
    assert style(page, ".page", "backgroundColor") == paper
    assert style(page, ".c0", "--c") == colour


def test_print_is_light_and_without_controls(patients, opened):
    page = opened(patients, scheme="dark", width=700)
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": dark})
    for control in ("#theme", ".chooser", ".contents", "#tree", "#ledger", ".numbers", ".slider"):
        assert page.execute_script("return document.querySelector(arguments[0]).getClientRects().length", control) == 0
    assert style(page, "body", "color") == "rgb(27, 37, 48)"
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_without_the_script_everything_but_the_slider_is_there(patients, opened, tmp_path):
    path = tmp_path / "quiet.html"
    path.write_text(render_report(patients).replace("<script>", "<script type='text/plain'>"), encoding="utf-8")
    page = opened.file(path)
    assert style(page, "#theme", "display") == "none"
    assert style(page, ".chooser", "display") == "none"
    assert count(page, ".box") == patients.tree.pruned.n_leaves
    shown = (
        "return [...document.querySelectorAll('.k')].filter((e) => e.getClientRects().length).map((e) => e.dataset.k)"
    )
    assert page.execute_script(shown) == ["2", "3", "5", "8"]
    page.execute_script("document.querySelector('.numbers summary').click()")
    assert page.execute_script("return document.querySelector('.numbers table').getClientRects().length") == 1


def n_pages(page):
    """Return how many pages a report has on paper."""
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert pdf.startswith(b"%PDF-")
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


@pytest.mark.parametrize(("n_clusters", "n_columns"), [(1, 60), (2, 60), (5, 2), (5, 60), (64, 14)])
def test_it_prints_on_few_pages_with_nothing_cut_off(hand_made, profiled, opened, n_clusters, n_columns):
    columns = [Column(f"a_rather_long_name_{j}", 0, 1, unit="mmol/l") for j in range(n_columns)]
    release = hand_made(columns, n_clusters)
    release = replace(release, centre_errors=release.centre_errors / 100)  # numbers have three decimals
    one = {"certainty": np.ones(1)} if n_clusters == 1 else {}
    page = opened(profiled(replace(release, **one)), width=710)
    assert n_pages(page) <= 2 + n_clusters / 3
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    cut_off = """
      return [...document.querySelectorAll('td, th, svg')].filter((e) => {
        const box = e.getBoundingClientRect();
        return box.width > 0 && !e.closest('.hidden') && box.right > innerWidth + 1;
      }).length"""
    assert page.execute_script(cut_off) == 0


@pytest.mark.parametrize(("n_clusters", "n_columns"), [(5, 3), (5, 60), (64, 14)])
def test_every_width_shows_the_whole_overview(hand_made, profiled, opened, tmp_path, n_clusters, n_columns):
    columns = [Column(f"measurement_{j}", 0, 1000, unit="mmol/l") for j in range(n_columns)]
    path = tmp_path / "report.html"
    path.write_text(render_report(profiled(hand_made(columns, n_clusters))), encoding="utf-8")
    for width in (420, 1300, 2000):
        shows_the_whole_overview(opened.file(path, width=width), width)


def shows_the_whole_overview(page, width):
    """Fail if anything of overview, clusters or segments is wider than its place, or a number is broken over many lines."""
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    too_wide = """
      return [...document.querySelectorAll('#overview *, #clusters *, #segments *')].filter((e) => {
        const box = e.getBoundingClientRect();
        return box.width > 0 && !e.closest('.hidden, summary') && (box.right > innerWidth + 1 || e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0);
      }).map((e) => e.outerHTML.slice(0, 100))"""
    assert page.execute_script(too_wide) == []
    numbers = (
        "return [...document.querySelectorAll('#overview td')].every((e) => e.getBoundingClientRect().height < 60)"
    )
    assert page.execute_script(numbers)


@pytest.mark.parametrize("name", ["patients", "mixed", "hostile"])
def test_a_small_screen_does_not_scroll_sideways(name, request, opened):
    page = opened(request.getfixturevalue(name), width=360)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 360
    # drawn anew for the width, so that its letters stay readable
    wait_until(page, "return document.querySelector('#map-plot').viewBox.baseVal.width < 400")
    assert page.get_log("browser") == []


def test_tables_and_pictures_have_names(patients, opened):
    page = opened(patients)
    unnamed = """
      return [...document.querySelectorAll('table, svg[role], [role=region], [role=img], section, button, select, input')].filter(
        (e) => !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.querySelector('caption') ||
                 e.textContent.trim() || e.labels?.length)).length"""
    assert page.execute_script(unnamed) == 0
    assert page.execute_script("return [...document.querySelectorAll('th')].every((e) => e.getAttribute('scope'))")
    assert page.execute_script("return document.querySelectorAll('main').length") == 1


def test_a_thousand_clusters_make_no_page_that_a_browser_cannot_draw(hand_made, opened):
    page = opened(hand_made([Column(f"x{j}", 0, 1) for j in range(30)], 1000))
    assert count(page, "*") < MOST_ELEMENTS
    choose(page, "#map-x", "x3")
    assert text(page, "#x-name") == "x3"
    assert page.get_log("browser") == []
