"""Which files the page may touch: those in the folder that it was started in, and nothing else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dpmondrian.exceptions import DataError, ParameterError

_MOST_ENTRIES = 500  # of a folder that are listed
_NO_TABLES = (".lock", ".toml", ".html", ".py", ".ipynb", ".md", ".pdf", ".png", ".jpg", ".docx", ".zip")


@dataclass(frozen=True)
class Entry:
    """A folder or file that can be chosen."""

    name: str
    place: str  # its path below the root, with slashes
    is_folder: bool


class Root:
    """The folder that the page was started in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def inside(self, text: str, *, what: str = "file") -> Path:
        """Return the path that was typed or clicked, absolute or below the root, with links followed; refuse what is not inside."""
        if not text.strip() or "\0" in text:
            raise ParameterError(f"No {what} was chosen.", "Choose one from the list, or type its path.")
        path = Path(os.path.realpath(self.folder / Path(text.strip()).expanduser()))
        if not path.is_relative_to(self.folder):
            raise DataError(
                f"{text.strip()!r} is outside the folder {str(self.folder)!r}, in which this page was started.",
                "Start 'dpm web FOLDER' in a folder that contains it.",
            )
        return path

    def below(self, path: Path) -> str:
        """Return a path inside as text, relative to the root."""
        return path.relative_to(self.folder).as_posix()

    def files(self, endings: tuple[str, ...]) -> list[str]:
        """Return the files of the root with one of several endings."""
        return [entry.place for entry in self.entries("", endings) if not entry.is_folder]

    def entries(self, place: str, endings: tuple[str, ...] = ("",)) -> list[Entry]:
        """Return the folders and the files with an ending in a folder, but for hidden ones, links that lead out, and what is no table."""
        folder = self.inside(place or ".", what="folder")
        try:
            with os.scandir(folder) as found:
                paths = [folder / entry.name for entry in found if not entry.name.startswith(".")]
        except OSError as error:
            raise DataError(
                f"The folder {place!r} cannot be read ({type(error).__name__}).", "Choose another."
            ) from None
        entries = [Entry(path.name, self.below(path), path.is_dir()) for path in paths if self._is_shown(path, endings)]
        return sorted(entries, key=lambda entry: (entry.is_folder, entry.name.casefold()))[:_MOST_ENTRIES]

    def _is_shown(self, path: Path, endings: tuple[str, ...]) -> bool:
        if not path.resolve().is_relative_to(self.folder):
            return False
        name = path.name.lower()
        return path.is_dir() or (path.is_file() and name.endswith(endings) and not name.endswith(_NO_TABLES))

    def free_name(self, stem: str, ending: str = "") -> str:
        """Return a name in the root that nothing has: the stem, or with a number."""
        names = (f"{stem}{number}{ending}" for number in ("", *(f"-{n}" for n in range(2, 10_000))))
        return next(name for name in names if not os.path.lexists(self.folder / name))
