"""Well-known quantities, by the names of columns, and between which values they lie in the world."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quantity:
    """A well-known quantity, and between which values it lies in the world."""

    words: str  # with which words its name ends, before the unit
    lower: float
    upper: float
    unit: str = ""  # for reports
    unit_words: str = ""  # which words may stand after the name as its unit
    needs_unit: bool = False  # whether the name says too little without it: a height may be in centimetres or inches
    whole: bool = False


_YEARS, _CELSIUS, _PERCENT = "years year yrs yr y", "c celsius degc", "percent pct percentage"


def _each(names: str, *facts: Any, **more: Any) -> list[Quantity]:
    """Return a quantity that has several names."""
    return [Quantity(name, *facts, **more) for name in names.split(", ")]


# Wide enough for everybody, so that nobody's value is clipped; narrower bounds give better clusters.
QUANTITIES = (
    Quantity("age", 0, 120, "years", _YEARS),
    Quantity("age", 0, 1440, "months", "months", needs_unit=True),
    Quantity("gestational age", 20, 45, "weeks", "weeks wk"),
    *_each("bmi, body mass index", 10, 80, "kg/m2"),
    Quantity("weight", 0, 300, "kg", "kg", needs_unit=True),
    Quantity("birth weight", 300, 6500, "g", "g grams", needs_unit=True),
    Quantity("height", 30, 250, "cm", "cm", needs_unit=True),
    Quantity("height", 0.3, 2.5, "m", "m metres meters", needs_unit=True),
    Quantity("waist", 30, 200, "cm", "cm", needs_unit=True),
    *_each("heart rate, pulse", 20, 250, "beats per minute", "bpm"),
    Quantity("respiratory rate", 4, 70, "per minute"),
    *_each("systolic, systolic bp, systolic blood pressure, sbp", 50, 260, "mmHg", "mmhg"),
    *_each("diastolic, diastolic bp, diastolic blood pressure, dbp", 20, 160, "mmHg", "mmhg"),
    *_each("spo2, sp o2, oxygen saturation", 50, 100, "%", _PERCENT),
    *_each("body temperature, body temp", 30, 45, "°C", _CELSIUS),
    *_each("temperature, temp", -90, 60, "°C", _CELSIUS, needs_unit=True),
    *_each("hba1c, hb a1c", 3, 20, "%", _PERCENT),
    Quantity("apgar", 0, 10, whole=True),
    Quantity("gcs", 3, 15, whole=True),
    *_each("children, siblings", 0, 20, whole=True),
    *_each("percent, percentage, pct", 0, 100, "%"),
    Quantity("probability", 0, 1),
    Quantity("humidity", 0, 100, "%", _PERCENT),
    Quantity("ph", 0, 14),
    *_each("latitude, lat", -90, 90, "degrees", "deg degrees"),
    *_each("longitude, lon, lng", -180, 180, "degrees", "deg degrees"),
    Quantity("wind direction", 0, 360, "degrees", "deg degrees"),
    Quantity("hour", 0, 23, whole=True),
    *_each("weekday, day of week", 0, 7, whole=True),
    Quantity("day of month", 1, 31, whole=True),
    Quantity("day of year", 1, 366, whole=True),
    Quantity("week of year", 1, 53, whole=True),
    Quantity("month", 1, 12, whole=True),
    Quantity("quarter", 1, 4, whole=True),
    *_each("birth year, year of birth", 1900, 2030, whole=True),
    Quantity("hours per week", 0, 168, "hours"),
    *_each("time hospital, length of stay, los", 0, 365, "days", "days", whole=True),
    *_each("glucose, blood glucose", 20, 1000, "mg/dl", "mgdl mg", needs_unit=True),
    *_each("creatinine", 0, 30, "mg/dl", "mgdl mg", needs_unit=True),
    *_each("cholesterol, total cholesterol", 50, 700, "mg/dl", "mgdl mg", needs_unit=True),
    Quantity("pain score", 0, 10, whole=True),
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MAKES_ANOTHER = _set(
    "change delta diff difference gap log ln ratio std sd var variance z zscore scaled normalised normalized "
    "count n num number no is has since until days per"
)
"""With one of these words a name means another quantity, such as the change of a heart rate."""


def known_quantity(name: str) -> Quantity | None:
    """Return the well-known quantity that a column's name speaks of, or None."""
    words = words_of(name)
    words = words[: words.index("at")] if "at" in words else words  # age at diagnosis
    words = [word for word in words if word != "in"]  # age in years
    fitting = [quantity for quantity in QUANTITIES if _fits(quantity, words)]
    return max(fitting, key=lambda quantity: len(quantity.words.split()), default=None)


def _fits(quantity: Quantity, words: list[str]) -> bool:
    own, units = quantity.words.split(), set(quantity.unit_words.split())
    has_unit = len(words) > len(own) and words[-1] in units
    if quantity.needs_unit and not has_unit:
        return False
    core = words[:-1] if has_unit else words
    return core[-len(own) :] == own and not _MAKES_ANOTHER.intersection(core[: -len(own)])


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case: ``heart_rate``, ``HeartRate`` and ``heart rate`` have the same two."""
    parts = re.split(r"[^\w]|_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", name)
    return [part.casefold() for part in parts if part]
