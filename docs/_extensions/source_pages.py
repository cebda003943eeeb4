"""Links to files and folders of the repository lead to pages that show them."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, guess_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

SHOWN = {".py", ".toml", ".json", ".csv", ".jsonl", ""}


def page_of(path: str) -> str:
    """Return the name of the page that shows a file or folder."""
    return posixpath.join("source", path)


class ShowFiles(SphinxPostTransform):
    """Turn what would be a download, or no link at all, into a link to a page."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        """Replace the links of one page."""
        for node in list(self.document.findall(lambda node: isinstance(node, download_reference | pending_xref))):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(self.env.docname), node["reftarget"]))
            if self._is_shown(node, Path(self.env.srcdir) / path):
                shown(self.env).add(path)
                uri = self.app.builder.get_relative_uri(self.env.docname, page_of(path))
                node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=uri))

    @staticmethod
    def _is_shown(node: nodes.Element, path: Path) -> bool:
        if isinstance(node, download_reference):
            return path.suffix in SHOWN and path.is_file()
        return node["reftype"] == "myst" and path.is_dir()


def shown(env: Any) -> set[str]:
    """Return the files and folders that have a page."""
    if not hasattr(env, "shown_files"):
        env.shown_files = set()
    files: set[str] = env.shown_files
    return files


def body_of(path: Path) -> str:
    """Return a file with its colours, or what is in a folder."""
    if path.is_dir():
        return f"<ul>{''.join(f'<li>{name}</li>' for name in sorted(os.listdir(path)))}</ul>"
    text = path.read_text(encoding="utf-8")
    try:
        lexer = guess_lexer_for_filename(path.name, text)
    except ClassNotFound:
        lexer = TextLexer()
    return str(highlight(text, lexer, HtmlFormatter(linenos="inline", lineanchors="line")))


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield the pages that show files and folders."""
    for path in sorted(shown(app.env)):
        body = f"<h1>{path}</h1>{body_of(Path(app.srcdir) / path)}"
        yield page_of(path), {"title": path, "body": body}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register both."""
    app.add_post_transform(ShowFiles)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": False, "parallel_write_safe": False}
