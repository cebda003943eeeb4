"""Common knowledge about columns from whole words of their names: the bounds of an age, the name of an identifier."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Quantity", "is_identifier", "known_quantity"]


@dataclass(frozen=True)
class Quantity:
    """A well-known quantity, and between which values it lies in the world.

    Attributes
    ----------
    words : str
        With which words its name ends, before the unit.
    lower, upper : float
    unit : str
        For reports.
    unit_words : str
        Which words may stand after the name as its unit.
    needs_unit : bool
        Whether the name says too little without its unit: a height may be in centimetres or inches.
    whole : bool
        Whether it is always a whole number.
    """

    words: str
    lower: float
    upper: float
    unit: str = ""
    unit_words: str = ""
    needs_unit: bool = False
    whole: bool = False


_YEARS, _CELSIUS, _PERCENT = "years year yrs yr y", "c celsius degc", "percent pct percentage"

QUANTITIES = (
    Quantity("age", 0, 120, "years", _YEARS),
    Quantity("age", 0, 1440, "months", "months", needs_unit=True),
    Quantity("gestational age", 20, 45, "weeks", "weeks wk"),
    Quantity("bmi", 10, 80, "kg/m2"),
    Quantity("body mass index", 10, 80, "kg/m2"),
    Quantity("weight", 0, 300, "kg", "kg", needs_unit=True),
    Quantity("birth weight", 300, 6500, "g", "g grams", needs_unit=True),
    Quantity("height", 30, 250, "cm", "cm", needs_unit=True),
    Quantity("height", 0.3, 2.5, "m", "m metres meters", needs_unit=True),
    Quantity("waist", 30, 200, "cm", "cm", needs_unit=True),
    Quantity("heart rate", 20, 250, "beats per minute", "bpm"),
    Quantity("pulse", 20, 250, "beats per minute", "bpm"),
    Quantity("respiratory rate", 4, 70, "per minute"),
    Quantity("systolic", 50, 260, "mmHg", "mmhg"),
    Quantity("systolic bp", 50, 260, "mmHg", "mmhg"),
    Quantity("systolic blood pressure", 50, 260, "mmHg", "mmhg"),
    Quantity("sbp", 50, 260, "mmHg", "mmhg"),
    Quantity("diastolic", 20, 160, "mmHg", "mmhg"),
    Quantity("diastolic bp", 20, 160, "mmHg", "mmhg"),
    Quantity("diastolic blood pressure", 20, 160, "mmHg", "mmhg"),
    Quantity("dbp", 20, 160, "mmHg", "mmhg"),
    Quantity("spo2", 50, 100, "%", _PERCENT),
    Quantity("oxygen saturation", 50, 100, "%", _PERCENT),
    Quantity("body temperature", 30, 45, "°C", _CELSIUS),
    Quantity("body temp", 30, 45, "°C", _CELSIUS),
    Quantity("temperature", -90, 60, "°C", _CELSIUS, needs_unit=True),
    Quantity("temp", -90, 60, "°C", _CELSIUS, needs_unit=True),
    Quantity("hba1c", 3, 20, "%", _PERCENT),
    Quantity("hb a1c", 3, 20, "%", _PERCENT),
    Quantity("sp o2", 50, 100, "%", _PERCENT),
    Quantity("apgar", 0, 10, whole=True),
    Quantity("gcs", 3, 15, whole=True),
    Quantity("children", 0, 20, whole=True),
    Quantity("siblings", 0, 20, whole=True),
    Quantity("percent", 0, 100, "%"),
    Quantity("percentage", 0, 100, "%"),
    Quantity("pct", 0, 100, "%"),
    Quantity("probability", 0, 1),
    Quantity("humidity", 0, 100, "%", _PERCENT),
    Quantity("ph", 0, 14),
    Quantity("latitude", -90, 90, "degrees", "deg degrees"),
    Quantity("lat", -90, 90, "degrees", "deg degrees"),
    Quantity("longitude", -180, 180, "degrees", "deg degrees"),
    Quantity("lon", -180, 180, "degrees", "deg degrees"),
    Quantity("lng", -180, 180, "degrees", "deg degrees"),
    Quantity("wind direction", 0, 360, "degrees", "deg degrees"),
    Quantity("hour", 0, 23, whole=True),
    Quantity("weekday", 0, 7, whole=True),
    Quantity("day of week", 0, 7, whole=True),
    Quantity("day of month", 1, 31, whole=True),
    Quantity("day of year", 1, 366, whole=True),
    Quantity("week of year", 1, 53, whole=True),
    Quantity("month", 1, 12, whole=True),
    Quantity("quarter", 1, 4, whole=True),
    Quantity("birth year", 1900, 2030, whole=True),
    Quantity("year of birth", 1900, 2030, whole=True),
    Quantity("hours per week", 0, 168, "hours"),
)
"""Wide enough for everybody, so that nobody's value is clipped; narrower bounds give better clusters."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MAKES_ANOTHER = _set(
    "change delta diff difference gap log ln ratio std sd var variance z zscore scaled normalised normalized "
    "count n num number no is has since until days per"
)
"""With one of these words a name means another quantity, such as the change of a heart rate."""

_ALONE = _set("id uuid guid ssn email mail iban passport phone telephone surname firstname lastname username nr")
_WITH_PERSON = _set("no num number key code name")
_PEOPLE = _set("person patient customer client user member employee student pupil participant respondent citizen")
_PERSON = _PEOPLE | _set(
    "people worker subject account household insurance card case first last family given middle full maiden nick social security"
)


def known_quantity(name: str) -> Quantity | None:
    """Return the well-known quantity that a column's name speaks of, or None."""
    words = _words(name)
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


def is_identifier(name: str) -> bool:
    """Return whether a column's name says that it tells who somebody is: customer_id, email, patient number."""
    words = _words(name)
    if not words:
        return False
    if words[-1] in _ALONE or words == ["name"] or (len(words) == 1 and words[0] in _PEOPLE):
        return True
    return words[-1] in _WITH_PERSON and bool(_PERSON.intersection(words[:-1]))


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case: ``heart_rate``, ``HeartRate`` and ``heart rate`` have the same two."""
    parts = re.split(r"[^\w]|_|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", name)
    return [part.casefold() for part in parts if part]
