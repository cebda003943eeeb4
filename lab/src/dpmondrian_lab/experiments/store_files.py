"""Writing files so that a kill leaves the old file, the new file, or a last line that can be recognised as torn."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["append_line", "write_whole"]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears under its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def append_line(path: Path, line: str) -> None:
    """Append a line and wait until it is on the disk. A torn line before it is ended first, so it stays alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
