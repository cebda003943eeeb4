"""Sheets of Excel and OpenDocument workbooks, through python-calamine: names from the first row, every cell with its own type.

A cell that shows 7 holds the float 7.0, so whole numbers are taken as integers: ids are then the same as in other formats. Formulas
are what they last gave. A workbook is decoded as a whole; for large tables there are better formats.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from itertools import islice
from typing import Any

from dpmondrian.tables.conversion import Kind, ready_values
from dpmondrian.tables.failures import failure
from dpmondrian.tables.source import (
    BATCH_ROWS,
    Head,
    Piece,
    Source,
    check_start,
    names_without_header,
    start_of,
)

_LARGEST_EXACT = 2.0**53


def head(source: Source) -> Head:
    """Return the names in the first row; cells have types, columns have none."""
    with closing(_rows(source)) as rows:
        first, has_more = next(rows, []), next(rows, None) is not None
    if source.header:
        names = [cell.strip() if isinstance(cell, str) else "" for cell in first]
        if not any(names):
            raise failure(
                source,
                "has a sheet without column names in its first row",
                "Add them, choose another sheet, or say that there is no header.",
            )
        return Head.without_types(names, has_more)
    return Head.without_types(names_without_header(len(first)), bool(first))


def pieces(source: Source, head: Head, target: Any, kinds: Mapping[str, Kind]) -> Iterator[Piece]:
    """Yield the rows of these columns, with the rows read so far."""
    rows, done = _rows(source), 0
    if source.header:
        next(rows, None)
    while batch := list(islice(rows, BATCH_ROWS)):
        places = {name: head.names.index(name) for name in kinds}
        values = {name: [_value(row[place]) for row in batch] for name, place in places.items()}
        done += len(batch)
        yield ready_values(source, values, kinds, done, None)


def _rows(source: Source) -> Generator[list[Any], None, None]:
    """Yield the rows of the sheet, of equal length; rows without a single value are none."""
    try:
        import python_calamine
    except ImportError:
        raise failure(source, "requires python-calamine", "Install it with: pip install 'dpmondrian[excel]'.") from None
    check_start(source, start_of(source))
    with closing(python_calamine.CalamineWorkbook.from_path(source.path)) as workbook:
        if source.sheet is not None and source.sheet not in workbook.sheet_names:
            raise failure(source, f"has no sheet {source.sheet!r}", f"Its sheets: {', '.join(workbook.sheet_names)}.")
        sheet = workbook.get_sheet_by_name(source.sheet or workbook.sheet_names[0])
        for row in sheet.iter_rows():
            if any(cell != "" for cell in row):
                yield row


def _value(cell: Any) -> Any:
    """Return the value of a cell, None for an empty one: a whole number is an integer, a length of time a number of days."""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < _LARGEST_EXACT:
        return int(cell)
    if isinstance(cell, timedelta):
        return cell / timedelta(days=1)
    return None if cell == "" else cell
