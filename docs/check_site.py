"""Checks the built site: every link inside it leads somewhere, and nothing is loaded from elsewhere. ``make docs`` calls it."""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
"""Elements that a browser loads by itself, and where from."""
NOT_LOADED = {"canonical", "index", "search", "next", "prev", "author", "copyright"}
"""Kinds of `link` that are only links."""


class Page(HTMLParser):
    """The ids, links and loaded files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = {""}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element has."""
        values = {name: value or "" for name, value in attrs}
        self.ids |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and LOADED[tag] in values and values.get("rel") not in NOT_LOADED:
            self.loaded.append(values[LOADED[tag]])


@cache
def page(path: Path) -> Page:
    """Return a page, read once."""
    return Page(path)


def is_elsewhere(address: str) -> bool:
    """Return whether an address is not within the site."""
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def is_broken(link: str, path: Path) -> bool:
    """Return whether a link on a page leads to no file, or to no place in it."""
    parts = urlsplit(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not target.is_file():
        return True
    return target.suffix == ".html" and unquote(parts.fragment) not in page(target).ids


def problems(site: Path) -> list[str]:
    """Return a line for each broken link and for each thing that is loaded from elsewhere."""
    found = []
    for path in sorted(path for path in site.rglob("*.html") if "_static" not in path.parts):
        name = path.relative_to(site)
        here = page(path.resolve())
        inside = [link for link in here.links + here.loaded if not is_elsewhere(link)]
        found += [f"{name}: broken link {link}" for link in inside if is_broken(link, path.resolve())]
        found += [
            f"{name}: loads {address}" for address in here.loaded if is_elsewhere(address) and "data:" not in address
        ]
    for path in sorted(site.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        found += [
            f"{path.relative_to(site)}: loads {address}" for address in re.findall(r"url\(['\"]?(https?:[^)]*)", text)
        ]
    return found


if __name__ == "__main__":
    lines = problems(Path(sys.argv[1]))
    print("\n".join(lines) or "All links lead somewhere, and nothing is loaded from elsewhere.")
    sys.exit(bool(lines))
