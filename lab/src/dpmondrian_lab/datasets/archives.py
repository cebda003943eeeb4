"""From the zip files of the UCI repository to columns. Members are read, never extracted: their paths do not matter."""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from dpmondrian_lab.exceptions import DatasetError

__all__ = ["GAS_COLUMNS", "LETTER_COLUMNS", "gas_columns", "letter_columns"]

_MEMBER_LIMIT = 32 << 20
"""Most bytes of one unpacked member; the largest expected one has less than 1 MiB."""

LETTER_COLUMNS = (
    *("x_box", "y_box", "width", "high", "onpix", "x_bar", "y_bar", "x2bar"),
    *("y2bar", "xybar", "x2ybr", "xy2br", "x_ege", "xegvy", "y_ege", "yegvx"),
)

GAS_COLUMNS = ("AT", "AP", "AH", "AFDP", "GTEP", "TIT", "TAT", "TEY", "CDP", "CO", "NOX")

_YEARS = range(2011, 2016)


def letter_columns(archive: Path) -> dict[str, NDArray[np.uint8] | NDArray[np.str_]]:
    """Return the columns of letter.parquet from the zip file of UCI data set 59."""
    lines = _lines(archive, "letter-recognition.data")
    if any(len(line) != 1 + len(LETTER_COLUMNS) for line in lines):
        raise DatasetError(f"The archive {archive.name} has lines of another length than expected.")
    values = _numbers(archive, [line[1:] for line in lines]).astype(np.uint8)
    columns = dict(zip(LETTER_COLUMNS, values.T, strict=True))
    return {**columns, "letter": np.array([line[0] for line in lines])}


def gas_columns(archive: Path) -> dict[str, NDArray[np.float64] | NDArray[np.int16]]:
    """Return the columns of gas_turbine.parquet from the zip file of UCI data set 551: all years in order."""
    tables, years = [], []
    for year in _YEARS:
        header, *lines = _lines(archive, f"gt_{year}.csv")
        if tuple(header) != GAS_COLUMNS:
            raise DatasetError(f"The file of {year} in {archive.name} has other columns than expected.")
        tables.append(_numbers(archive, lines))
        years.append(np.full(len(lines), year, dtype=np.int16))
    columns = dict(zip(GAS_COLUMNS, np.concatenate(tables).T, strict=True))
    return {**columns, "year": np.concatenate(years)}


def _numbers(archive: Path, lines: list[list[str]]) -> NDArray[np.float64]:
    try:
        return np.array([[float(cell) for cell in line] for line in lines])
    except ValueError:
        raise DatasetError(f"The archive {archive.name} has values that are no numbers.") from None


def _lines(archive: Path, member: str) -> list[list[str]]:
    """Return the cells of the lines of a text file in a zip file, which is found by its last name in any folder."""
    try:
        with zipfile.ZipFile(archive) as opened:
            found = [entry for entry in opened.infolist() if PurePosixPath(entry.filename).name == member]
            if len(found) != 1:
                raise DatasetError(f"The archive {archive.name} must hold one file {member}, but holds {len(found)}.")
            with opened.open(found[0]) as file:
                raw = file.read(_MEMBER_LIMIT + 1)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise DatasetError(f"The archive {archive.name} is damaged.") from None
    if len(raw) > _MEMBER_LIMIT:
        raise DatasetError(f"The file {member} in {archive.name} is larger than {_MEMBER_LIMIT:,} bytes.")
    text = io.StringIO(raw.decode("utf-8-sig", errors="replace"), newline="")
    return [line for line in csv.reader(text) if line]
