"""Takes the pictures of the report that README shows: ``python docs/make_screenshots.py`` (needs Chromium, see ``make browser``)."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from dpmondrian import DPM
from dpmondrian.samples.examples import EXAMPLES
from dpmondrian.show.report import render_report

IMAGES = Path(__file__).parent / "images"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage")


def main() -> None:
    """Fit the example of locations with secure noise and photograph two parts of its report."""
    example = EXAMPLES["locations"]
    release = DPM(bounds=example.table_schema.schema).fit(example.make()).release_
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in (*FLAGS, "--window-size=1060,1120", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        page.write_text(render_report(release), encoding="utf-8")
        browser.get(page.as_uri())
        browser.save_screenshot(str(IMAGES / "report-promise.png"))
        browser.execute_script(
            "[...document.querySelectorAll('h2')].find(h => h.textContent == 'Map of cuts').scrollIntoView({behavior: 'instant'})"
        )
        browser.save_screenshot(str(IMAGES / "report-map.png"))
        browser.quit()


if __name__ == "__main__":
    main()
