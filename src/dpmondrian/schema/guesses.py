"""What a column holds, judging by its name and type alone: ids, codes, dates, bands, free text, counts, well-known quantities.

Of well-known quantities it is also known between which values they lie in the world. A guess is a proposal for a person who knows the
table. No value is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from dpmondrian.schema.notations import NO, YES
from dpmondrian.schema.toml import Plain


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


Held: TypeAlias = Literal[
    "person", "identifier", "free text", "code", "category", "date", "bands", "yes/no", "number", "unknown"
]


@dataclass(frozen=True)
class Guess:
    """What a column seems to hold.

    Attributes
    ----------
    holds : str
        "person" for a column that says whose row it is, "identifier" for other ids; "unknown" may be numbers or categories.
    facts : mapping
        What is known, by the keys of schema files.
    asked : tuple of str
        Keys that somebody who knows the table must fill in.
    source : {"name", "type"}
        Where the facts come from.
    """

    holds: Held
    facts: Mapping[str, Plain] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    source: str = "name"

    @property
    def left_out(self) -> bool:
        """Whether such a column is not clustered: it says who somebody is, or every row has its own text."""
        return self.holds in ("person", "identifier", "free text")


_PEOPLE = _set(
    "person patient pat customer cust client user member employee emp student pupil participant respondent citizen subject "
    "beneficiary donor resident worker passenger guest tenant people"
)
_OF_PERSON = _PEOPLE | _set("first last family given middle full maiden nick surname forename")
_NUMBERED = _PEOPLE | _set(
    "account household insurance card case social security encounter visit admission stay episode order invoice contract policy claim "
    "sample specimen record row event transaction ticket device serial licence license tax medical hospital study"
)
_ID_WORDS = _set("id ids identifier uuid guid pk")
_NUMBER_WORDS = _set("nr nbr no num number nummer key code")
_ALWAYS_IDS = _set("uuid guid nr nbr iban passport phone telephone mobile fax username barcode imei ip mac hash pk")
_PERSON_IDS = _set("ssn mrn nhs cpr pid email mail")
_PERSON_NAMES = _set("surname firstname lastname forename fullname")
_OF_KINDS = _set(
    "type kind disposition source status class category group level grade stage reason code method mode region state country "
    "department ward product plan payer specialty gender sex race diagnosis procedure area zone channel"
)
_CODES = _set("code codes diag diagnosis diagnoses dx icd icd9 icd10 cpt atc drg ndc loinc snomed procedure icpc opcs")
_CATEGORIES = _OF_KINDS | _set(
    "ethnicity religion marital education occupation profession nationality language city species brand colour color result "
    "outcome payment role job sector industry relationship workclass"
)
_FREE_TEXTS = _set(
    "comment comments note notes text description remark remarks narrative message address street title url link summary details "
    "feedback memo abstract"
)
_PLACES = _set("zip zipcode postcode postal plz")
_DATES = _set("date datum datetime timestamp dob birthdate birthday")
_DATE_ENDS = _set("at on")
_EVENTS = _set(
    "created updated admitted discharged born joined registered seen visited started ended died closed opened signed"
)
_BANDS = _set("band bands bracket brackets range bucket bin quartile quintile decile tertile group")
_TRUTH_STARTS = _set("is has had was were does did can ever")
_TRUTHS = _set("flag yn yesno indicator smoker deceased pregnant died alive retired insured")
_COUNT_STARTS = _set("n num number count nr")
_NUMBER_ENDS = _set("num number count score years")


def guess_column(name: str, kind: str) -> Guess:
    """Return what a column seems to hold, by its name and the kind of its type (see `OpenedFile.kinds`)."""
    words = words_of(name)
    if kind == "truth":
        return Guess("yes/no", {"lower": 0, "upper": 1, "whole": True}, source="type")
    identity = _identity(words)
    if kind != "date" and identity is not None:
        return identity
    quantity = known_quantity(name)
    if quantity is not None and kind in ("whole", "number", "unknown"):
        facts: dict[str, Plain] = {"lower": quantity.lower, "upper": quantity.upper}
        facts |= {"whole": True} if quantity.whole or kind == "whole" else {}
        return Guess("number", facts | ({"unit": quantity.unit} if quantity.unit else {}))
    return _by_words(words, kind, is_quantity=quantity is not None)


def guess_columns(columns: Mapping[str, str]) -> dict[str, Guess]:
    """Return a guess for every column. At most one of them is the column of persons."""
    found = {name: guess_column(name, kind) for name, kind in columns.items()}
    persons = [name for name, guess in found.items() if guess.holds == "person"]
    return found | {name: Guess("identifier") for name in sorted(persons, key=_certainty)[1:]}


def is_identifier(name: str) -> bool:
    """Return whether a column's name says that it tells who or which one somebody or something is: customer_id, email."""
    return _identity(words_of(name)) is not None


def _certainty(name: str) -> bool:
    """Return False for a name that speaks of a person, which sorts before names such as "email"."""
    return not _PEOPLE.intersection(words_of(name))


def _identity(words: list[str]) -> Guess | None:
    """Return the guess for a column of ids or names of people."""
    if not words:
        return None
    *others, last = words
    if (
        last in _PERSON_IDS
        or (not others and last in _PEOPLE)
        or (last in _ID_WORDS | _NUMBER_WORDS and _PEOPLE & {*others})
    ):
        return Guess("identifier" if _OF_KINDS & {*others} else "person")
    if last in _ID_WORDS and _OF_KINDS & {*others[-1:]}:
        return None  # admission_type_id is the number of a type
    is_name = words == ["name"] or last in _PERSON_NAMES or (last == "name" and bool(_OF_PERSON & {*others}))
    is_numbered = last in _NUMBER_WORDS and bool(_NUMBERED & {*others}) and last != "code"
    return (
        Guess("identifier") if is_name or is_numbered or last in _ID_WORDS | _ALWAYS_IDS or _PLACES & {*words} else None
    )


def _by_words(words: list[str], kind: str, is_quantity: bool) -> Guess:
    """Return the guess for a column that holds no ids and no well-known numbers."""
    first, last = (words[0], words[-1]) if words else ("", "")
    is_text = kind in ("text", "unknown")
    if kind == "date" or (is_text and (_DATES & {*words} or (last in _DATE_ENDS and _EVENTS & {*words}))):
        born = bool({"birth", "dob", "birthdate", "birthday", "born"} & {*words})
        if born:
            return Guess("date", {"date": "days", "lower": "1900-01-01", "upper": "2030-12-31"})
        return Guess("date", {"date": "days"}, ("lower", "upper"), "type" if kind == "date" else "name")
    if is_text and _FREE_TEXTS & {*words}:
        return Guess("free text")
    if is_text and (is_quantity or (_BANDS & {*words} and len(words) > 1 and known_quantity(" ".join(words[:-1])))):
        return Guess("bands", asked=("bands",))
    if first in _TRUTH_STARTS or last in _TRUTHS:
        return Guess("yes/no", {"yes": YES, "no": NO})
    if first in _COUNT_STARTS and len(words) > 1 and kind != "text":
        return Guess("number", {"lower": 0} | ({} if kind == "number" else {"whole": True}), ("upper",))
    if last in _NUMBER_ENDS and len(words) > 1 and kind != "text":
        return Guess("number", {} if kind == "number" else {"whole": True}, ("lower", "upper"))
    if _is_code(words):
        return Guess("code", asked=("categories",))
    return _by_type(kind, is_category=bool(_CATEGORIES & {*words}))


def _is_code(words: list[str]) -> bool:
    stems = {word.rstrip("0123456789") for word in words} | {*words}
    return bool(_CODES & stems) or (len(words) > 1 and words[-1] in _ID_WORDS)


def _by_type(kind: str, is_category: bool) -> Guess:
    if kind == "text" or (kind == "unknown" and is_category):
        return Guess("category", asked=("categories",))
    if kind == "whole":
        return Guess("number", {"whole": True}, ("lower", "upper"), "type")
    return Guess("number" if kind == "number" else "unknown", asked=("lower", "upper"))
