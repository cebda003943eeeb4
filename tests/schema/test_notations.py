"""How the numbers of a column are written: every value by itself, the same from texts, types and Python values, and never quoted."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from dpmondrian.exceptions import BoundsError
from dpmondrian.schema import (
    Bands,
    Category,
    Column,
    Dates,
    Numbers,
    Schema,
    TableSchema,
    Times,
    UnreadableError,
    YesNo,
    read_schema,
    write_schema,
)

NAN = float("nan")
DECADES = ("[0-10)", "[10-20)", "[20-30)")
CASES = [
    (Numbers(missing=("?", "-9")), ["1", "?", "-9", "-9.0", " 4 ", "true", "NA", None], [1, NAN, NAN, NAN, 4, 1, NAN, NAN]),
    (Numbers(missing=("-9",)), [1, -9, None], [1, NAN, NAN]),
    (Numbers(decimal=",", thousands="."), ["1.000", "1.234.567,5", "3,5", "12"], [1000, 1234567.5, 3.5, 12]),
    (Numbers(thousands=","), ["1,00,000", "-1,000.5"], [100000, -1000.5]),
    (Numbers(thousands=" "), ["1 000", "1\u00a0000", "1\u202f234"], [1000, 1000, 1234]),
    (Bands(bands=DECADES), ["[0-10)", " [20-30)", None, "NA"], [0, 2, NAN, NAN]),
    (Bands(bands=(1, 2, 3)), [1, 3, 2], [0, 2, 1]),
    (YesNo(), ["Yes", "no", "TRUE", "1", "0.0", None], [1, 0, 1, 1, 0, NAN]),
    (YesNo(), [True, False], [1, 0]),
    (YesNo(yes="ja", no="nein", missing=("9",)), ["Ja", "NEIN", "9"], [1, 0, NAN]),
    (Dates(), ["1970-01-02", "1970-01-02 12:00", "1970-01-02T12:00:00+01:00"], [1, 1.5, 1 + 11 / 24]),
    (Dates(missing=("0000-00-00",)), ["0000-00-00", "1970-01-03"], [NAN, 2]),
    (Dates(format="%d.%m.%Y"), ["2.1.1970", "31.12.1969", "1970-01-03"], [1, -1, 2]),
    (Dates(date="hours"), [dt.datetime(1970, 1, 1, 5)], [5]),
    (Dates(), [dt.date(1970, 1, 3), None], [2, NAN]),
    (Times(), ["12:30", "7:15", "23:59:30"], [12.5, 7.25, 23 + 59.5 / 60]),
    (Times(time="minutes", format="%I:%M %p"), ["07:15 PM"], [1155]),
    (Times(), [dt.time(6)], [6]),
]  # fmt: skip


@pytest.mark.parametrize(("notation", "values", "expected"), CASES)
def test_values_become_numbers_one_by_one(notation, values, expected):
    np.testing.assert_array_equal(notation.of_arrow(pa.array(values)), expected)
    np.testing.assert_array_equal(notation.of_values(values), expected)
    each = [notation.of_values([value])[0] for value in values]
    np.testing.assert_array_equal(each, expected)


ODD_NEIGHBOURS = [
    (Dates(format="%Y-%d-%m"), "2020-05-06", "2020-30-03"),  # no date of ISO 8601, whose form it has
    (Dates(format="%Y-%d-%m"), "2020-05-06 10:00", "2020-30-03"),
    (Times(time="minutes", format="%M:%S"), "10:20", "30:10"),
    (Times(time="minutes", format="%M:%S"), "10:20:30", "30:10"),
]


@pytest.mark.parametrize(("notation", "text", "odd"), ODD_NEIGHBOURS)
def test_how_a_text_is_read_does_not_depend_on_other_rows(notation, text, odd):
    [alone] = notation.of_arrow(pa.array([text]))
    for values in ([text, odd], [odd, text], [text, odd, None, "NA"]):
        place = values.index(text)
        assert notation.of_arrow(pa.array(values))[place] == alone
        assert notation.of_values(values)[place] == alone


def test_the_format_of_a_table_comes_first_and_types_keep_their_meaning():
    notation, day = Dates(format="%Y-%d-%m"), dt.date(1970, 2, 1)
    assert notation.of_values(["1970-02-01", day]).tolist() == [1.0, 31.0]
    assert notation.of_arrow(pa.array([day])).tolist() == [31.0]
    assert notation.of_arrow(pa.array([day]).dictionary_encode()).tolist() == [31.0]
    assert notation.of_arrow(pa.array(["1970-02-01", "1970-02-01 12:00"])).tolist() == [1.0, 31.5]
    column = Column("admitted", "1970-02-01", "1970-31-12", notation=notation)
    assert (column.lower, column.upper) == (31.0, 364.0), "bounds are as in ISO 8601 where they can be"


WRONG = [
    (Numbers(), "secret"),
    (Numbers(decimal=","), "1.5"),
    (Numbers(decimal=",", thousands="."), "1.5"),
    (Numbers(thousands=","), "1,5"),
    (Bands(bands=DECADES), "[90-100)"),
    (YesNo(), "maybe"),
    (Dates(), "2020-02-30"),
    (Dates(), "1.2.2020"),
    (Dates(format="%d.%m.%Y"), "30.2.2020"),
    (Dates(format="%d.%m.%Y"), "2020-02-30"),
    (Times(), "25:00"),
]


@pytest.mark.parametrize(("notation", "text"), WRONG)
def test_what_cannot_be_read_is_refused_and_not_quoted(notation, text):
    with pytest.raises(UnreadableError) as caught:
        notation.of_arrow(pa.array([text]))
    assert text not in f"{caught.value} {caught.value.way_out}"
    with pytest.raises(UnreadableError):
        notation.of_values([text])


def test_numbers_with_a_type_are_not_read_in_a_notation():
    mixed = [1.25, "1,25", True, Decimal("1.250"), "1.250", 10**400]
    expected = [1.25, 1.25, 1.0, 1.25, 1250.0, np.inf]
    np.testing.assert_array_equal(Numbers(decimal=",", thousands=".").of_values(mixed), expected)


@pytest.mark.parametrize("typed", [pa.timestamp("ns"), pa.timestamp("us", "Europe/Berlin"), pa.timestamp("ms")])
def test_dates_of_every_type_are_the_same(typed):
    assert Dates(date="hours").of_arrow(pa.array([dt.datetime(1970, 1, 2, 5)], typed)).tolist() == [29.0]


def test_numbers_are_shown_as_they_are_written():
    assert Dates().text(18000.4) == "2019-04-14"
    assert Dates(date="hours").text(1.5) == "1970-01-01 01:30"
    assert Times().text(13.5) == "13:30"
    assert Bands(bands=DECADES).text(1.6) == "[20-30)"
    assert Numbers(decimal=",").text(3.0) is None


MIXED = """\
missing = ["?"]
decimal = ","

[columns.age]
bands = ["[0-10)", "[10-20)"]

[columns.cost]
lower = 0
upper = 100
missing = [-9]

[columns.admitted]
date = "days"
lower = 2010-01-01
upper = 2020-12-31
format = "%d.%m.%Y"

[columns.at]
time = "hours"
lower = 00:00:00
upper = 23:00:00

[columns.smoker]
yes = "ja"
no = "nein"

[columns.diagnosis]
categories_file = "codes.csv"
categories_column = "code"

[columns.comment]
ignore = true
"""


def test_schema_files_hold_all_of_it(tmp_path):
    (tmp_path / "codes.csv").write_text("chapter,code\n1,A00\n2,B01\n2,B01\n")
    (tmp_path / "schema.toml").write_text(MIXED)
    found = read_schema(tmp_path / "schema.toml")
    assert found.ignored == ("comment",)
    marked = {"missing": ("?",)}
    assert found.schema == Schema(
        (
            Column("age", notation=Bands(bands=("[0-10)", "[10-20)"), **marked)),
            Column("cost", 0, 100, notation=Numbers(missing=("-9", "?"), decimal=",")),
            Column("admitted", "2010-01-01", "2020-12-31", notation=Dates(format="%d.%m.%Y", **marked)),
            Column("at", 0, 23, notation=Times(**marked)),
            Column("smoker", notation=YesNo(yes=("ja",), no=("nein",), **marked)),
            Category("diagnosis", ("A00", "B01"), **marked),
        )
    )
    assert (found.schema.columns[2].lower, found.schema.columns[2].unit) == (14610.0, "days")
    write_schema(found, tmp_path / "again.toml")
    assert read_schema(tmp_path / "again.toml") == found
    assert Schema.from_dict(found.schema.to_dict()) == found.schema
    assert read_schema(tmp_path / "schema.toml", ["age"]) == TableSchema(Schema(found.schema.columns[:1]))


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('bands = ["a"]', "2 or more"),
        ('bands = ["a", "A"]', "different"),
        ('bands = ["a", "b"]\nlower = 0\nupper = 5', "follow from"),
        ('bands = ["a", "b"]\ndate = "days"\nlower = 1\nupper = 2', "one way"),
        ('bands = ["a", "b"]\ndecimal = ","', "do not belong together"),
        ('date = "years"\nlower = 2010-01-01\nupper = 2011-01-01', "one of"),
        ('date = "days"\nlower = 2010-01-01', "Missing"),
        ('date = "days"\nlower = "soon"\nupper = 2010-01-01', "two dates such as 2020-01-01"),
        ('lower = 0\nupper = 1\nthousands = "."', "decimal"),
        ('yes = ["y"]\nno = ["Y"]', "in common"),
        ('categories = ["a"]\ndecimal = ","', "not both"),
        ('categories_file = "nowhere.txt"', "nowhere.txt"),
        ("lower = 0\nupper = 1\nmissing = [[1]]", "list of strings"),
    ],
)
def test_sections_that_make_no_sense_are_explained(tmp_path, lines, words):
    (tmp_path / "schema.toml").write_text(f"[columns.x]\n{lines}\n")
    with pytest.raises(BoundsError, match=words):
        read_schema(tmp_path / "schema.toml")
