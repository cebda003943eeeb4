"""What kind of file somebody passed, by its first bytes: for a message that names it. Nothing else of the file is told."""

from __future__ import annotations

from pathlib import Path

_START_BYTES = 4096
_MAGIC = {
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"SQLite format 3": "a SQLite database",
    b"PK\x03\x04": "an Excel workbook or another zip archive",
    b"\x1f\x8b": "a compressed file",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF document",
}
_OWN = {
    '"dpmondrian release"': "a release",
    '"dpmondrian budget"': "a budget file",
    '"dpmondrian checkpoint"': "a checkpoint file",
}
_DELIMITERS = ",;\t|"


def kind_of_file(path: str | Path) -> str:
    """Return what a file is, with its article, such as "a CSV file"; an empty text if that is not plain."""
    try:
        with Path(path).open("rb") as file:
            return _kind_of_bytes(file.read(_START_BYTES))
    except OSError:
        return ""


def _kind_of_bytes(start: bytes) -> str:
    known = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    return _kind_of_text(start.decode("utf-8-sig", errors="replace").lstrip()) if known is None else known


def _kind_of_text(text: str) -> str:
    own = next((kind for mark, kind in _OWN.items() if mark in text[:400]), None)
    if text.startswith("{"):
        return own or ""
    if text[:15].lower().startswith(("<!doctype html", "<html")):
        return "an HTML page"
    if "[columns." in text:
        return "a schema file"
    lines = text.splitlines()[:3]
    is_table = any(len({line.count(sign) for line in lines}) == 1 and sign in lines[0] for sign in _DELIMITERS if lines)
    return "a CSV file" if is_table and "=" not in lines[0] else ""
