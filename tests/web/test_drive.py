"""From the file to the report in a real browser, as a user goes; and the same again by command, script and notebook.

Kinds of files that the pages do not tell apart are taken through the same forms without a browser.
"""

import html
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest

from dpmondrian.accounts import Budget
from dpmondrian.accounts.locking import acquire_lock

pytestmark = pytest.mark.slow

SEED = "7"
STEPS = ["columns", "plan", "account", "run", "result"]


def write_csv(folder, people, _):
    people(folder / "people.csv")
    return "people.csv", ""


def write_parquet(folder, people, _):
    people(folder / "people.parquet")
    return "people.parquet", ""


def write_excel(folder, people, _):
    pandas, _ = (
        pytest.importorskip("pandas"),
        pytest.importorskip("openpyxl", reason="Needs openpyxl to write a workbook."),
    )
    people(folder / "rows.parquet")
    pandas.DataFrame(pyarrow.parquet.read_table(folder / "rows.parquet").to_pydict()).to_excel(
        folder / "people.xlsx", index=False
    )
    (folder / "rows.parquet").unlink()
    return "people.xlsx", ""


def write_postgres(folder, people, request):
    address, dbapi = request.getfixturevalue("postgres"), pytest.importorskip("adbc_driver_postgresql.dbapi")
    people(folder / "rows.parquet")
    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("visitors", pyarrow.parquet.read_table(folder / "rows.parquet"))
        connection.commit()
    (folder / "rows.parquet").unlink()
    return address, "SELECT age, visits FROM visitors"


@pytest.fixture
def page(browser):
    """Return the browser, whose messages of before are forgotten; it leaves the page, which would ask on and on."""
    browser.get("about:blank")
    browser.get_log("browser")
    yield browser
    browser.get("about:blank")


def one(page, selector):
    return page.find_element("css selector", selector)


def fill(page, name, text):
    field = one(page, f"[name='{name}']")
    field.clear()
    field.send_keys(text)


def choose(page, name, value):
    one(page, f"[name='{name}'] option[value='{value}']").click()


def wait(page, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(page, 300, 0.1).until(condition)


def go_on(page, step):
    one(page, "button.go").click()
    wait(page, lambda page: page.current_url.endswith(f"/{step}"))


def no_row_is_shown(page):
    """No text of a page says how old anybody is; a port may contain these digits."""
    assert "No value from your rows is shown" in one(page, "footer").text
    assert not re.search(r"\b72\b", one(page, "main").text)


def shows_no_row(page):
    """The same of a page as the server sends it."""
    main, _, rest = page.partition("<main")[2].partition("</main>")
    assert "No value from your rows is shown" in rest
    assert not re.search(r"\b72\b", re.sub(r"<[^>]*>", " ", main))


def drive(page, server, table, query):
    """Go from the first page to the report."""
    describe(page, server, table, query)
    no_row_is_shown(page)
    slide(page, "epsilon", 4)
    slide(page, "epsilon", 9)
    wait(page, lambda page: "epsilon=2" in (one(page, "#outlook").get_attribute("data-shown") or ""))
    wait(page, lambda page: page.find_elements("css selector", "#outlook figure:not([data-again])"))
    assert "invented rows" in one(page, "#outlook figcaption").text
    go_on(page, "account")
    choose_new_account(page)
    go_on(page, "run")
    no_row_is_shown(page)
    fill(page, "out", "published")
    one(page, "button.go").click()
    wait(page, lambda page: page.current_url.endswith("/result"))


def describe(page, server, table, query=""):
    """Go from the first page to the plan."""
    page.get(server.first)
    if query:
        fill(page, "path", table)
        one(page, "details.more summary").click()
        fill(page, "query", query)
        one(page, "section form:last-of-type button:not(.entry)").click()
    else:
        one(page, f"button.entry[value='{table}']").click()
    wait(page, lambda page: page.current_url.endswith("/columns"))
    no_row_is_shown(page)
    choose(page, "kind-1", "whole")
    fill(page, "lower-1", "0")
    fill(page, "upper-1", "40")
    wait(page, lambda page: one(page, ".saved").text == "Saved")
    page.refresh()
    assert one(page, "[name='upper-1']").get_attribute("value") == "40"
    go_on(page, "plan")


def slide(page, name, stop):
    script = "const s = document.querySelector(`[data-for=${arguments[0]}]`); s.value = arguments[1]; s.dispatchEvent(new Event('input', {bubbles: true}))"
    page.execute_script(script, name, stop)


def choose_new_account(page):
    one(page, "[name=how][value=new]").click()
    fill(page, "new-path", "budget.json")
    fill(page, "data-set", "people of 2026")


def look_at_the_result(page):
    assert "cluster" in one(page, "h1").text
    fill(page, "name-0", "the young")
    wait(page, lambda page: one(page, "#found ~ form .saved").text == "Saved")
    page.switch_to.frame(one(page, "iframe.report"))
    assert "Report on a differentially private release" in one(page, "body").text
    page.execute_script(
        "const k = document.querySelector('[type=range]'); k.value = 4; k.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    wait(page, lambda page: "4 segments explain" in one(page, "body").text)
    page.switch_to.default_content()
    page.refresh()
    assert one(page, "[name=name-0]").get_attribute("value") == "the young"


def ways(user, work):
    """Yield the three ways to make a release again, as arguments of Python."""
    command = one_of(user.get(f"{work}/result")[2], '<pre tabindex="0"><code>dpm ', "</code>")
    yield ["-m", "dpmondrian", *shlex.split(html.unescape(command))]
    yield ["-c", user.get(f"{work}/get/cluster.py")[2]]
    cells = json.loads(user.get(f"{work}/get/cluster.ipynb")[2])["cells"]
    yield ["-c", "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")]


def one_of(text, before, after):
    return text.partition(before)[2].partition(after)[0]


@pytest.fixture
def again(tmp_path):
    """Return a function that runs arguments of Python in a copy of a folder with a new account, and returns the release."""

    def run(folder, arguments):
        copy = Path(shutil.copytree(folder, tmp_path / "copy", dirs_exist_ok=True))
        shutil.rmtree(copy / "published")
        for left in copy.glob("budget.json*"):
            left.unlink()
        Budget.create(copy / "budget.json", 3.0, 1e-6, "people of 2026")
        done = subprocess.run([sys.executable, *arguments], cwd=copy, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return (copy / "published" / "release.json").read_bytes()

    return run


def released(server):
    """Return the release of a run that was charged what was planned."""
    assert [entry.epsilon for entry in Budget(server.folder / "budget.json").read().entries] == [2.0]
    return (server.folder / "published" / "release.json").read_bytes()


@pytest.mark.parametrize("write", [write_csv, write_postgres], ids=lambda write: write.__name__)
def test_from_the_file_to_the_report_and_the_same_again(write, serve, people, page, request, again):
    server = serve("--seed", SEED)
    table, query = write(server.folder, people, request)
    drive(page, server, table, query)
    look_at_the_result(page)
    work = "/w/" + page.current_url.split("/w/")[1].split("/")[0]
    assert [entry for entry in page.get_log("browser") if "favicon" not in entry["message"]] == []
    release = released(server)
    for arguments in list(ways(server.user_of(page), work))[slice(None) if write is write_csv else slice(1, 2)]:
        assert again(server.folder, arguments) == release, arguments


@pytest.mark.parametrize("write", [write_parquet, write_excel], ids=lambda write: write.__name__)
def test_other_kinds_of_files_are_released_by_the_same_forms(write, serve, people, request, again):
    server = serve("--seed", SEED)
    table, _ = write(server.folder, people, request)
    user = server.user()
    assert f'value="{table}"' in user.get("/")[2]
    work = user.chosen(table)
    columns = {"kind-0": "number", "lower-0": "0", "upper-0": "120", "kind-1": "whole", "lower-1": "0", "upper-1": "40"}
    account = {"how": "new", "new-path": "budget.json", "epsilon": "3", "delta": "1e-6", "data-set": "people of 2026"}
    for step, form in (("columns", columns), ("plan", {"epsilon": "2"}), ("account", account)):
        shows_no_row(user.get(f"{work}/{step}")[2])
        assert user.post(f"{work}/{step}", form)[0] == 303
    shows_no_row(user.get(f"{work}/run")[2])
    user.post(f"{work}/run", {"out": "published"})
    assert user.until(work, "done", "stopped") == "done", user.get(f"{work}/run")[2]
    _, script, _ = ways(user, work)
    assert again(server.folder, script) == released(server)


def test_saved_is_said_of_the_last_thing_typed(serve, people, page):
    """Not of what was sent before it: who reads "Saved" and reloads must find all that was typed."""
    server = serve()
    people(server.folder / "people.csv")
    page.get(server.first)
    one(page, "button.entry[value='people.csv']").click()
    wait(page, lambda page: page.current_url.endswith("/columns"))
    choose(page, "kind-1", "whole")
    fill(page, "lower-1", "0")
    wait(page, lambda page: one(page, ".saved").text == "Saved")
    script = (
        "const field = document.querySelector('[name=upper-1]'); field.value = '40';"
        "field.dispatchEvent(new Event('input', {bubbles: true})); return document.querySelector('.saved').textContent"
    )
    assert page.execute_script(script) == "Saving"
    wait(page, lambda page: one(page, ".saved").text == "Saved")
    page.refresh()
    assert one(page, "[name='upper-1']").get_attribute("value") == "40"


SLOW_SERVER = """
const questions = [], timers = [];
window.fetch = (address) => new Promise((answer) => questions.push({
  address: String(address), answer: (text) => answer({ ok: true, text: async () => text }),
}));
window.setTimeout = (work) => timers.push(work);
const slider = document.querySelector("[data-for=epsilon]"), outlook = document.getElementById("outlook");
const slide = (stop) => { slider.value = stop; slider.dispatchEvent(new Event("input", { bubbles: true })); };
const turn = () => new Promise((go) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = go; port2.postMessage(0); });
const asked = () => questions.filter(({ address }) => address.includes("outlook"));
const ended = arguments[0];
(async () => {
  slide(4);
  asked().at(-1).answer("<p data-again>being drawn</p>");
  await turn();
  slide(9);
  timers.splice(0).forEach((work) => work());
  asked().at(-1).answer("<p>the last</p>");
  await turn();
  ended([outlook.textContent, outlook.dataset.shown, asked().map(({ address }) => address)]);
})();
"""
"""The first answer is unfinished; before it is asked for again the slider moves on, and the answer to that takes longer."""


def test_the_outlook_is_that_of_the_last_place_of_a_slider(serve, people, page):
    """However long answers take: what is asked for again is what the slider says."""
    server = serve()
    people(server.folder / "people.csv")
    page.get(server.first)
    describe(page, server, "people.csv")
    wait(page, lambda page: page.find_elements("css selector", "#outlook figure:not([data-again])"))
    text, shown, asked = page.execute_async_script(SLOW_SERVER)
    assert text == "the last"
    assert "epsilon=2" in shown
    assert len(asked) == 2
    assert shown == asked[-1]


def test_every_step_fits_and_is_accessible(serve, people, page, axe):
    """No page is wider than the window, and axe-core finds nothing serious: on small and large screens, light and dark."""
    server = serve()
    people(server.folder / "people.csv")
    (server.folder / "codes.csv").write_text("code,meaning\nA,first\nB,second\n")
    page.get(server.first)
    check(page, axe)
    one(page, "button.entry[value='people.csv']").click()
    choose(page, "kind-1", "category")
    fill(page, "codes-1", "codes.csv")
    one(page, "button[name=list][value='1']").click()
    wait(page, lambda page: one(page, "[name=categories-1]").get_attribute("value") == "A\nB")
    one(page, "details.help summary").click()
    fill(page, "all-missing", "?")
    one(page, "button.go").click()  # marks of missing values, and a missing value stops the run: an error
    wait(page, lambda page: page.find_elements("css selector", "#error"))
    check(page, axe)
    one(page, "#error a").click()
    assert page.switch_to.active_element.get_attribute("name") == "on_missing"
    choose(page, "on_missing", "drop")
    choose(page, "kind-1", "number")
    wait(page, lambda page: one(page, ".saved").text == "Saved")
    one(page, "#paid a").click()
    wait(page, lambda page: page.current_url.endswith("/bounds"))
    check(page, axe)
    page.back()
    for step in STEPS[1:-1]:
        if step == "run":
            choose_new_account(page)
        one(page, "button.go").click()
        wait(page, lambda page, step=step: page.current_url.endswith(f"/{step}"))
        check(page, axe)
    check_running(page, axe, server)
    wait(page, lambda page: page.current_url.endswith("/result"))
    check(page, axe)


def check_running(page, axe, server):
    """Look at the page of a run, which waits for an account that somebody else holds."""
    held = acquire_lock(server.folder / "budget.json", 10)
    try:
        one(page, "button.go").click()
        wait(page, lambda page: page.find_elements("css selector", "#progress"))
        check(page, axe)
    finally:
        held.release()


def check(page, axe):
    for width, scheme in ((420, "dark"), (1300, "light")):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
        page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert page.execute_script("return document.documentElement.scrollWidth") <= width, page.current_url
        assert axe(page) == [], (page.current_url, width, scheme)
