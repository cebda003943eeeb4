"""Clusters as a table for spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpmondrian.common.digits import rounded_to
from dpmondrian.common.printable import printable

_FORMULA = re.compile("(^|[;,|\t])(?=[ ]*[=+\\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a formula begins: at the start of a name, and after what a spreadsheet may take for the end of a cell."""
_WRITTEN_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?", re.ASCII)
"""A number as a text, such as one with a decimal comma: it computes nothing, whatever its sign."""


def csv_text(
    names: Sequence[str],
    sizes: NDArray[np.float64],
    size_errors: NDArray[np.float64],
    centres: NDArray[np.float64],
    centre_errors: NDArray[np.float64],
) -> str:
    """Return sizes and centres with their standard errors as CSV text, a line per cluster, with the digits that the errors leave.

    A name that a spreadsheet would take for a formula has an apostrophe before it, and what cannot be seen is written as an
    escape.
    """
    head = ["cluster", "size", "size_error", *(part for name in names for part in (name, f"{name} error"))]
    values, errors = np.column_stack([sizes, centres]).tolist(), np.column_stack([size_errors, centre_errors]).tolist()
    rows = (
        [cluster, *(rounded_to(each, error) for value, error in pairs for each in (value, error))]
        for cluster, pairs in enumerate(map(zip, values, errors))
    )
    return cells_text(head, rows)


def table_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows, all with the same names, as CSV text; texts are written so that no spreadsheet computes them."""
    return cells_text(rows[0] if rows else [], (row.values() for row in rows))


def cells_text(names: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return rows of cells below their names as CSV text; texts are written so that no spreadsheet computes them."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(map(_no_formula, names))
    writer.writerows(map(_cell, row) for row in rows)
    return table.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return "" if value is None else value
    return value if _WRITTEN_NUMBER.fullmatch(value) else _no_formula(value)


def _no_formula(name: str) -> str:
    """Return a name that no spreadsheet computes or hands to another program (OWASP, "CSV injection")."""
    return _FORMULA.sub(r"\1'", printable(name))
