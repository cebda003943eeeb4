"""Takes the pictures of the report and of the page: ``python docs/make_screenshots.py`` (needs Chromium, see ``make browser``)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.csv
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

from dpmondrian import DPM
from dpmondrian.samples.examples import EXAMPLES
from dpmondrian.show.report import render_report

IMAGES = Path(__file__).parent / "images"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")


def main() -> None:
    """Photograph the report of an example, and every step of the page on the way to another."""
    browser = started_browser()
    with tempfile.TemporaryDirectory() as folder:
        photograph_report(browser, Path(folder))
        photograph_page(browser, Path(folder) / "tables")
    browser.quit()


def started_browser() -> webdriver.Chrome:
    """Return a browser without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, "--window-size=1060,1120", "--hide-scrollbars"):
        options.add_argument(flag)
    return webdriver.Chrome(options, Service(shutil.which("chromedriver")))


def photograph_report(browser: webdriver.Chrome, folder: Path) -> None:
    """Fit the example of patients with secure noise and photograph two parts of its report."""
    example = EXAMPLES["patients"]
    release = DPM(bounds=example.table_schema.schema).fit(example.make()).release_
    page = folder / "report.html"
    page.write_text(render_report(release), encoding="utf-8")
    browser.get(page.as_uri())
    size = browser.get_window_size()
    browser.set_window_size(1060, 960)
    browser.save_screenshot(str(IMAGES / "report-overview.png"))
    browser.execute_script(
        "[...document.querySelectorAll('h2')].find(h => h.textContent == 'The clusters').scrollIntoView({behavior: 'instant'})"
    )
    browser.save_screenshot(str(IMAGES / "report-clusters.png"))
    browser.set_window_size(size["width"], size["height"])


def photograph_page(browser: webdriver.Chrome, folder: Path) -> None:
    """Go from a file of invented patients to the result, with `dpm web` in a process of its own."""
    folder.mkdir()
    pyarrow.csv.write_csv(EXAMPLES["patients"].make(), folder / "patients.csv")
    command = [sys.executable, "-m", "dpmondrian", "web", folder, "--no-browser", "--state", folder.parent / "state"]
    server = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)  # noqa: S603 - our own command
    assert server.stdout is not None
    browser.get(next(word for word in server.stdout.readline().split() if word.startswith("http")))
    for name, button in (
        ("file", "button.entry"),
        *((step, "button.go") for step in ("columns", "plan", "account", "run")),
    ):
        photograph(browser, f"web-{name}")
        browser.find_element("css selector", button).click()
    WebDriverWait(browser, 300).until(lambda page: page.current_url.endswith("/result"))
    photograph(browser, "web-result")
    server.terminate()


def photograph(browser: webdriver.Chrome, name: str) -> None:
    """Take the picture of a page, up to a height that a reader takes in."""
    height = min(browser.execute_script("return document.documentElement.scrollHeight"), 1120)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1060, "height": height, "deviceScaleFactor": 1, "mobile": False}
    )
    browser.save_screenshot(str(IMAGES / f"{name}.png"))
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


if __name__ == "__main__":
    main()
