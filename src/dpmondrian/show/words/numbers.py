"""Numbers and names as text for people.

Names, categories and units come from outside. They are escaped where they are written; here they are also made short and
harmless to the flow of the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from dpmondrian.common.digits import DIGITS, decimals_of
from dpmondrian.schema import Category, Column, Indicator, YesNo

LONGEST_NAME = 48
_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff")
"""Characters that turn the direction of the text around them, or break the line."""

_BLANK = "\N{OPEN BOX}"  # in place of a name that cannot be seen

MOST_DECIMALS = 9
_MINUS = "\N{MINUS SIGN}"

DASH = "\N{EN DASH}"  # where there is nothing to say


def clean(text: str, most: int = LONGEST_NAME) -> str:
    """Return a text on one line, without control characters and parts of characters, cut in the middle if it is long."""
    plain = "".join("\ufffd" if _is_odd(character) else character for character in text[: 4 * most])
    plain = " ".join(plain.split()) or _BLANK
    if len(plain) <= most and len(text) <= 4 * most:
        return plain
    head = 2 * most // 3
    tail = clean(text[-(most - head - 1) :], most)[-(most - head - 1) :] if len(text) > most else ""
    return f"{plain[:head]}…{tail}"


def _is_odd(character: str) -> bool:
    code = ord(character)
    is_control = (code < 0x20 and not character.isspace()) or 0x7F <= code < 0xA0
    is_half = 0xD800 <= code < 0xE000  # half of a character, which no file can hold
    return character in _TURNS or is_control or is_half


def short_names(names: Sequence[str], most: int = LONGEST_NAME) -> tuple[str, ...]:
    """Return clean, short names that are still different."""
    shorts = [clean(name, most) for name in names]
    seen: dict[str, int] = {}
    for short in shorts:
        seen[short] = seen.get(short, 0) + 1
    return tuple(f"{short} ({j})" if seen[short] > 1 else short for j, short in enumerate(shorts))


def count(value: float) -> str:
    """Return a number of rows with thousands separators; noise makes digits after the point idle, but for small ones."""
    return number(value, 0 if abs(value) >= 10 or value == round(value) else 1)


def size_text(size: float, error: float) -> str:
    """Return a size with its standard error, such as "1,240 ± 26"."""
    decimals = size_decimals(error)
    return f"{number(size, decimals)} ± {number(error, decimals)}"


def size_decimals(error: float) -> int:
    """Return the decimals of a size with this error: whole numbers, but for the smallest errors."""
    return min(decimals_of(error), 0 if error >= 1 else 1) if 0 < error < math.inf else 0


def number(value: float, decimals: int) -> str:
    """Return a number with so many decimals (below none: tens, hundreds) and thousands separators; very large ones as powers of ten."""
    if not math.isfinite(value):
        return "∞" if value > 0 else _MINUS + "∞" if value < 0 else DASH
    if abs(value) >= 1e15 or (value != 0 and decimals >= MOST_DECIMALS):
        return f"{value:.4g}".replace("-", _MINUS)
    text = f"{round(value, decimals) if decimals < 0 else value:,.{max(decimals, 0)}f}"
    return text.replace("-", _MINUS) if float(text.replace(",", "")) else text.lstrip("-")


def bounds_of(column: Column) -> tuple[str, str]:
    """Return the public bounds of a column, as its values are written."""
    texts = [(end, column.notation and column.notation.text(end)) for end in (column.lower, column.upper)]
    lower, upper = (clean(text) if text else bound_text(end) for end, text in texts)
    return lower, upper


def bound_text(value: float) -> str:
    """Return a public bound, with as many digits as it needs."""
    if value and not 1e-4 <= abs(value) < 1e9:
        return f"{value:g}".replace("-", _MINUS)
    decimals = 0 if value == math.floor(value) else max(0, min(6, 3 - math.floor(math.log10(abs(value)))))
    text = number(value, decimals)
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(share: float, decimals: int = 1) -> str:
    """Return a share as per cent; the space does not break."""
    return f"{number(100 * share, decimals)}\u00a0%"


def unbroken(text: str) -> str:
    """Return a text in which no line ends before a sign of per cent."""
    return text.replace(" %", "\u00a0%")


def is_share(column: Column | Category) -> bool:
    """Return whether means of a column are shares: of a category, or of those who say yes."""
    return isinstance(column, Indicator) or (isinstance(column, Column) and isinstance(column.notation, YesNo))


def written(column: Column, value: float, decimals: int) -> str:
    """Return a value as its column writes it: a date, a time, a band, or a number with so many decimals."""
    text = None if column.notation is None else column.notation.text(value)
    return number(value, decimals) if text is None else clean(text)


def share_text(share: float, error: float) -> str:
    """Return a share as per cent, such as "74.8 %", or "75 %" if its error is a per cent or more."""
    return percent(share, 1 if error < 0.01 else 0)


def decimals_for(errors: Iterable[float], values: Iterable[float], digits: int = DIGITS) -> int:
    """Return the decimals that show so many digits of a typical error; without errors, four digits of the largest value."""
    known = sorted(error for error in errors if 0 < error < math.inf)
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if known:
        typical = known[(len(known) - 1) // 2]
        return min(decimals_of(typical, digits), MOST_DECIMALS)
    return min(max(3 - math.floor(math.log10(largest)), 0), MOST_DECIMALS) if largest > 0 else 0


def line_decimals(column: Column, values: list[float], errors: list[float], digits: int = DIGITS) -> list[int]:
    """Return the decimals of values of a column side by side: the same for all, but on a log scale, where errors differ."""
    if column.log:
        return [decimals_for([error], [value], digits) for value, error in zip(values, errors, strict=True)]
    return [decimals_for(errors, values, digits)] * len(values)


def value_text(column: Column, value: float, error: float, decimals: int | None = None) -> str:
    """Return a centre with its standard error, such as "43.2 ± 0.4", "62 % ± 3 %" for a share, or "2019-05-04 ± 12 days"."""
    if is_share(column):
        return f"{share_text(value, error)} ± {share_text(error, error)}"
    if decimals is None or column.log:
        decimals = decimals_for([error], [value])
    written = None if column.notation is None else column.notation.text(value)
    if written is not None and column.unit:
        return f"{clean(written)} ± {number(error, decimals)} {clean(column.unit)}"
    if written is not None:  # a band, and where between bands the mean is
        return f"{clean(written)} ({number(value, decimals)} ± {number(error, decimals)})"
    return f"{number(value, decimals)} ± {number(error, decimals)}"


def threshold_text(value: float, width: float | None) -> str:
    """Return a threshold with digits down to about a thousandth of the column's range, or four of them."""
    decimals = None if width is None else 3 - math.floor(math.log10(width))
    if decimals is None or decimals > 12:
        return f"{value:.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    text = f"{value:.{max(decimals, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rough_size(size: float, digits: int = 3) -> str:
    """Return a size with so many significant digits and thousands separators; noise makes more digits idle, a forecast the third."""
    if not math.isfinite(size):
        return "-"
    size = max(size, 0.0)
    digits = digits - 1 - math.floor(math.log10(size)) if size >= 1 else 0
    return f"{round(size, min(digits, 0)):,.0f}"


def rounded(value: float) -> str:
    """Return a number >= 0 with two digits that count, or without decimals if it is large; a dash if it is infinite."""
    if not math.isfinite(value):
        return "-"
    if value >= 100.0:
        return f"{round(value):,}"
    if value == 0.0:
        return "0"
    decimals = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:.{decimals}f}" if decimals <= 6 else f"{value:.2g}"


def plain_number(value: float) -> str:
    """Return a parameter such as epsilon, delta or rho, with as many digits as it has, at most six."""
    return "∞" if math.isinf(value) else f"{value:.6g}".replace("e-0", "e-").replace("e+0", "e")


def right_of_hundred(advantage: float) -> str:
    """Return how often of 100 times a guess with this advantage is right, rounded up."""
    return of_hundred(0.5 + 0.5 * advantage)


def of_hundred(share: float) -> str:
    """Return a share as a number of 100, rounded up to three digits."""
    value = 100.0 * share
    if value <= 0.0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{min(100.0, math.ceil(value / unit * (1.0 - 1e-12)) * unit):.6g}"
