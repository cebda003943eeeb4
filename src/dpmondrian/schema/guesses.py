"""What a column holds, judging by its name and type alone: ids, codes, dates, bands, free text, counts, well-known quantities.

A guess is a proposal for a person who knows the table. No value is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dpmondrian.schema.notations import NO, YES
from dpmondrian.schema.quantities import known_quantity, words_of
from dpmondrian.schema.toml import Plain

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


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


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
