"""Files that grow line by line, and survive a kill in the middle of one."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["append_line"]


def append_line(path: Path, line: str) -> None:
    """Add a line to a file, and wait until it is on the disk; file and folder are made if there are none.

    A kill may leave a last line that is torn. The next line does not continue it, so that it stays alone and can be recognised.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.seek(0, os.SEEK_END) > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
