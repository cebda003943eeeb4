"""Schema files: what is written is read back, what is wrong is named, and drafts come from names and types only."""

import re
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian.exceptions import BoundsError, OutputError, ParameterError
from dpmondrian.schema import bounds_from_options, draft_schema, guess_columns, is_identifier, known_quantity, left_out
from dpmondrian.schema.columns import LARGEST_BOUND, Category, Column, Estimate, Schema
from dpmondrian.schema.files import (
    TableSchema,
    read_schema,
    schema_text,
    write_schema,
)
from dpmondrian.schema.guesses import QUANTITIES
from dpmondrian.schema.texts import canonical_text
from dpmondrian.schema.toml import toml_key, toml_value

EXAMPLE = """
# comments
person_id = "customer"        # optional
rows_per_person = 5           # optional
bounds_epsilon = 0.1          # optional

[columns.age]
lower = 0
upper = 120
whole = true
unit = "years"
[columns.income]
lower = 1000
upper = 1e6
log = true
[columns.plan]
categories = ["basic", 1, true, 2.0, 2.5, false]
cut = true
["columns"."a b.c"]
categories = ["x"]
"""


@pytest.fixture
def reading(tmp_path):
    """Return a function that reads a text as a schema file."""

    def read(text):
        path = tmp_path / "schema.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_schema(path)

    return read


def test_the_documented_example(reading):
    assert reading(EXAMPLE) == TableSchema(
        Schema(
            (
                Column("age", 0, 120, whole=True, unit="years"),
                Column("income", 1000, 1e6, log=True),
                Category("plan", ("basic", "1", "true", "2", "2.5", "false"), cut=True),
                Category("a b.c", ("x",)),
            ),
            Estimate(0.1, 5, "customer"),
        ),
        person_id="customer",
        rows_per_person=5,
    )


def test_marks_and_line_ends_of_other_systems(reading):
    assert reading(b"\xef\xbb\xbf" + EXAMPLE.replace("\n", "\r\n").encode()) == reading(EXAMPLE)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.one_of(
    TEXTS,
    st.sampled_from(
        ["a.b", "", '"', "\\", "\n", "\x00", "\x7f", "\x85", "\u2028", "# no", "[x]", "'''", "é", "-", "1"]
    ),
)


@given(NAMES)
def test_keys_are_read_back(name):
    assert tomllib.loads(f"[columns.{toml_key(name)}]\nx = 1\n") == {"columns": {name: {"x": 1}}}


@pytest.mark.slow
@given(
    st.recursive(
        st.one_of(NAMES, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)), st.lists
    )
)
def test_values_are_read_back(value):
    text = toml_value(value)
    assert "\n" not in text
    assert tomllib.loads(f"x = {text}") == {"x": value}


@given(NAMES)
def test_texts_stay_on_one_line(name):
    """In any editor, so that a name can stand in a comment."""
    assert len(toml_value(name).splitlines()) == 1


def numbers():
    return st.floats(-LARGEST_BOUND, LARGEST_BOUND).map(lambda x: x + 0.0)


@st.composite
def numeric_columns(draw, name):
    lower = draw(numbers())
    upper = draw(numbers().filter(lambda upper: upper > lower + 1e-50))
    log = draw(st.booleans()) and lower > 0 and upper > 1.001 * lower
    return Column(name, lower, upper, whole=draw(st.booleans()) and not log, log=log, unit=draw(TEXTS))


@st.composite
def table_schemas(draw):
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    columns = []
    for place, name in enumerate(names):
        if draw(st.booleans()):
            columns.append(draw(numeric_columns(name)))
        else:
            texts = draw(st.lists(TEXTS.filter(bool), min_size=1, max_size=4, unique_by=canonical_text))
            weight = draw(st.one_of(st.none(), st.floats(0.1, 1.0)))
            columns.append(Category(f"{name}{place}", tuple(texts), draw(st.booleans()), weight))
    schema_columns = {column.name: column for column in columns}
    person = draw(
        st.one_of(st.none(), NAMES.filter(bool).filter(lambda name: name not in schema_columns and name != "age"))
    )
    rows_per_person = draw(st.integers(1, 10**9))
    entry = draw(st.one_of(st.none(), TEXTS.filter(bool)))
    estimate = draw(
        st.one_of(st.none(), st.floats(0, 10).map(lambda e: Estimate(e, rows_per_person, person, entry=entry)))
    )
    try:
        schema = Schema(tuple(schema_columns.values()), estimate)
    except BoundsError:  # "a=b" beside a column "a" with a category "b"
        schema = Schema((Column("age", 0, 120),), estimate)
    return TableSchema(schema, person, rows_per_person)


@pytest.mark.slow
@settings(deadline=None)
@given(table_schemas())
def test_what_is_written_is_read_back(tmp_path_factory, schema):
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    write_schema(schema, path)
    assert read_schema(path) == schema


def test_columns_of_numpy_values_are_written(tmp_path):
    schema = TableSchema(Schema((Column("a", np.float64(0), np.int64(5), whole=np.True_, log=np.False_),)))
    write_schema(schema, tmp_path / "a.toml")
    assert read_schema(tmp_path / "a.toml") == schema


def test_written_files_are_short():
    text = schema_text(TableSchema(Schema((Column("age", 0, 120), Category("plan", ("a", "b"))))))
    assert [line for line in text.splitlines() if line and not line.startswith("#")] == [
        "[columns.age]",
        "lower = 0",
        "upper = 120",
        "[columns.plan]",
        'categories = ["a", "b"]',
    ]


def test_schemas_are_not_overwritten_unless_told(tmp_path):
    schema = TableSchema(Schema((Column("age", 0, 120),)))
    write_schema(schema, tmp_path / "a.toml")
    with pytest.raises(OutputError, match="already exists"):
        write_schema(schema, tmp_path / "a.toml")
    write_schema(TableSchema(schema.schema, "id"), tmp_path / "a.toml", overwrite=True)
    assert read_schema(tmp_path / "a.toml").person_id == "id"


WRONG = {
    "no columns": ("", BoundsError, r"at least one section \[columns.NAME\]"),
    "empty columns": ("[columns]", BoundsError, "at least one section"),
    "columns as a list": ("columns = [1]", BoundsError, "at least one section"),
    "a column as a number": ("[columns]\nage = 5", BoundsError, r"'age' must be a section \[columns.age\]"),
    "a column as a list": ("[[columns.age]]\nlower = 0", BoundsError, "'age' must be a section"),
    "unknown key": ("[columns.age]\nlowr = 0\nupper = 5", ParameterError, r"\['lowr'\]. Did you mean 'lower'"),
    "unknown key of the file": ("person = 'x'\n[columns.age]\nlower = 0\nupper = 5", ParameterError, "'person_id' instead of 'person'"),
    "point in a name": ("[columns.a.b]\nlower = 0\nupper = 5", ParameterError, r'contains a dot, write \[columns."a.b"\]'),
    "no upper": ("[columns.age]\nlower = 0", BoundsError, r"Missing: \['age'\]"),
    "several to fill in": ("[columns.a]\n[columns.b]\nlower=0\nupper=1\n[columns.c]\nwhole=true", BoundsError, r"Missing: \['a', 'c'\]"),
    "both": ("[columns.a]\nlower = 0\nupper = 5\ncategories = ['x']", BoundsError, "bounds or categories, not both"),
    "categories and whole": ("[columns.a]\nwhole = true\ncategories = ['x']", BoundsError, "not both"),
    "cut and bounds": ("[columns.a]\nlower = 0\nupper = 1\ncut = true", BoundsError, "not both"),
    "reversed": ("[columns.a]\nlower = 5\nupper = 0", BoundsError, r"'a' must satisfy lower < upper. Got \(5, 0\)"),
    "text as bound": ("[columns.a]\nlower = '0'\nupper = 5", BoundsError, "'a' must be two finite numbers"),
    "date as bound": ("[columns.a]\nlower = 2020-01-01\nupper = 2021-01-01", BoundsError, "two finite numbers"),
    "infinite": ("[columns.a]\nlower = -inf\nupper = 5", BoundsError, "finite"),
    "nan": ("[columns.a]\nlower = nan\nupper = 5", BoundsError, "finite"),
    "truth as bound": ("[columns.a]\nlower = false\nupper = true", BoundsError, "finite"),
    "huge": (f"[columns.a]\nlower = 0\nupper = 1{'0' * 400}", BoundsError, "finite"),
    "thousands of digits": (f"[columns.a]\nlower = 0\nupper = 1{'0' * 5000}", ParameterError, "not valid TOML"),
    "whole as a text": ("[columns.a]\nlower = 0\nupper = 5\nwhole = 'yes'", BoundsError, "true or false for 'whole'"),
    "unit as a number": ("[columns.a]\nlower = 0\nupper = 5\nunit = 5", BoundsError, "string for 'unit'"),
    "log of zero": ("[columns.a]\nlower = 0\nupper = 5\nlog = true", BoundsError, "positive on a log scale"),
    "whole and log": ("[columns.a]\nlower = 1\nupper = 5\nlog = true\nwhole = true", BoundsError, "not both"),
    "no categories": ("[columns.a]\ncategories = []", BoundsError, "at least one"),
    "categories as a text": ("[columns.a]\ncategories = 'x'", BoundsError, "must be a list"),
    "nested categories": ("[columns.a]\ncategories = [['x']]", BoundsError, "must be a list of strings"),
    "same categories": ("[columns.a]\ncategories = [1, '1']", BoundsError, "must be different"),
    "cut as a text": ("[columns.a]\ncategories = ['x']\ncut = 'yes'", BoundsError, "'cut' of column 'a'"),
    "weight as a text": ("[columns.a]\ncategories = ['x']\nweight = 'much'", BoundsError, "'weight' of column 'a'"),
    "weight of a number": ("[columns.a]\nlower = 0\nupper = 1\nweight = 0.5", BoundsError, "not both"),
    "column twice": ("[columns.a]\nlower = 0\n[columns.a]\nupper = 5", ParameterError, "not valid TOML.*line 3"),
    "key twice": ("[columns.a]\nlower = 0\nlower = 1", ParameterError, "not valid TOML"),
    "open text": ("[columns.a]\nunit = 'x", ParameterError, "not valid TOML"),
    "CSV": ("age,income\n1,2\n", ParameterError, "is a CSV file, expected a schema file"),
    "latin": (b"# \xf6", ParameterError, "not UTF-8"),
    "deep": ("x = " + "[" * 100_000, ParameterError, "not valid TOML"),
    "number of a person": ("person_id = 5\n[columns.a]\nlower = 0\nupper = 5", ParameterError, "'person_id' key must be the name"),
    "no person": ("person_id = ''\n[columns.a]\nlower = 0\nupper = 5", ParameterError, "'person_id' key must be the name"),
    "person as a column": ("person_id = 'a'\n[columns.a]\nlower = 0\nupper = 5", ParameterError, "not used for clustering. Got 'a'"),
    "no rows": ("rows_per_person = 0\n[columns.a]\nlower = 0\nupper = 5", ParameterError, ">= 1. Got 0"),
    "half rows": ("rows_per_person = 1.5\n[columns.a]\nlower = 0\nupper = 5", ParameterError, "must be an integer"),
    "true rows": ("rows_per_person = true\n[columns.a]\nlower = 0\nupper = 5", ParameterError, "must be an integer"),
    "negative epsilon": ("bounds_epsilon = -1\n[columns.a]\nlower = 0\nupper = 5", BoundsError, "'bounds_epsilon'"),
    "text epsilon": ("bounds_epsilon = '1'\n[columns.a]\nlower = 0\nupper = 5", BoundsError, "'bounds_epsilon'"),
    "same indicators": ("[columns.a]\ncategories = ['b']\n[columns.'a=b']\nlower = 0\nupper = 1", BoundsError, "more than once"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(reading, case):
    text, kind, words = WRONG[case]
    with pytest.raises(kind, match=words) as caught:
        reading(text)
    assert type(caught.value) is kind
    assert "schema.toml" in str(caught.value)


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="does not exist"):
        read_schema(tmp_path / "none.toml")
    with pytest.raises(ParameterError, match="is a folder"):
        read_schema(tmp_path)
    with pytest.raises(ParameterError, match="cannot be read"):
        read_schema(tmp_path / ("x" * 300))
    monkeypatch.setattr("dpmondrian.schema.files.LARGEST_FILE", 100)
    (tmp_path / "large.toml").write_text("#" * 101)
    with pytest.raises(ParameterError, match="the table itself"):
        read_schema(tmp_path / "large.toml")


# --- drafts

KINDS = ("whole", "number", "truth", "text", "date", "unknown")


def test_a_draft_with_gaps_names_the_columns_to_fill_in(reading):
    columns = {
        "customer_id": "text",
        "age": "whole",
        "income": "number",
        "plan": "text",
        "joined": "date",
        "smoker": "truth",
        "x": "unknown",
    }
    draft = draft_schema(columns)
    with pytest.raises(BoundsError, match=re.escape("Missing: ['income', 'plan', 'joined', 'x']")):
        reading(draft)
    assert tomllib.loads(draft)["person_id"] == "customer_id"
    assert "[columns.customer_id]" not in draft
    assert '[columns.joined]\ndate = "days"  # from the type\n# lower = 2010-01-01  fill in' in draft


def test_a_draft_does_not_ask_for_people_that_are_known():
    columns = {"customer_id": "text", "age": "number"}
    asked, known = draft_schema(columns), draft_schema(columns, people_known=True)
    assert "person_id" in asked
    assert "rows_per_person" in asked
    assert "person" not in known
    assert tomllib.loads(known)["columns"]["customer_id"] == {"ignore": True}
    assert tomllib.loads(known)["columns"]["age"] == tomllib.loads(asked)["columns"]["age"]


def test_a_draft_that_is_filled_in_is_a_schema(reading):
    draft = draft_schema(
        {"email": "text", "age": "whole", "income": "number", "plan": "text", "code": "whole", "x": "unknown"}
    )
    draft = draft.replace("# rows_per_person = 1", "rows_per_person = 3")
    sections = draft.split("\n\n")
    filled = []
    for section in sections:
        if section.startswith(("[columns.income]", "[columns.x]")):
            section = section.replace("# lower = ...  fill in", "lower = 0").replace(
                "# upper = ...  fill in", "upper = 9"
            )
            section = section.replace("# whole = true", "whole = true")
        if section.startswith("[columns.plan]"):
            section = section.replace('# categories = ["...", "..."]  fill in', 'categories = ["a", "b"]')
        if section.startswith("[columns.code]"):
            section = section.replace('# categories = ["...", "..."]  fill in', "categories = [1, 2]")
        filled.append(section)
    assert reading("\n\n".join(filled)) == TableSchema(
        Schema(
            (
                Column("age", 0, 120, whole=True, unit="years"),
                Column("income", 0, 9),
                Category("plan", ("a", "b")),
                Category("code", ("1", "2")),
                Column("x", 0, 9, whole=True),
            )
        ),
        "email",
        3,
    )


def test_a_draft_of_known_quantities_needs_a_check_only(reading):
    draft = draft_schema({"Age": "number", "latitude": "number", "month": "unknown", "smoker": "truth"})
    assert reading(draft).schema == Schema(
        (
            Column("Age", 0, 120, unit="years"),
            Column("latitude", -90, 90, unit="degrees"),
            Column("month", 1, 12, whole=True),
            Column("smoker", 0, 1, whole=True),
        )
    )
    assert draft.count("# from the name; check it") == 9


def test_the_weight_of_categories(reading):
    text = "[columns.plan]\ncategories = ['a', 'b']\nweight = 0.5\n"
    assert reading(text).schema.columns == (Category("plan", ("a", "b"), weight=0.5),)
    assert "weight" not in schema_text(reading(text.replace("weight = 0.5\n", "")))


@given(st.dictionaries(NAMES, st.sampled_from(KINDS), max_size=6))
def test_drafts_are_toml_with_the_given_columns(columns):
    values = tomllib.loads(draft_schema(columns))
    person = values.get("person_id")
    assert set(values) <= {"person_id", "columns"}
    assert list(values.get("columns", {})) == [name for name in columns if name != person]
    ignored = {name for name, section in values.get("columns", {}).items() if section.get("ignore")}
    assert ignored | {person} - {None} == {*left_out(columns)}


HOSPITAL = {
    "person": "patient_nbr",
    "identifier": "encounter_id zip_code",
    "code": "admission_type_id discharge_disposition_id admission_source_id payer_code diag_1 diag_2 icd10",
    "category": "race gender medical_specialty marital_status",
    "number": "age time_in_hospital num_lab_procedures number_inpatient number_diagnoses",
    "date": "date_of_birth admission_date created_at",
    "yes/no": "is_smoker has_insurance",
    "free text": "discharge_notes comment",
    "bands": "age_group",
    "unknown": "max_glu_serum A1Cresult metformin readmitted weight",
}
"""What columns of a public hospital table (diabetes in 130 US hospitals) and of others like it hold, by their names alone."""


def test_columns_of_a_hospital():
    expected = {name: holds for holds, names in HOSPITAL.items() for name in names.split()}
    guesses = guess_columns(dict.fromkeys(expected, "unknown"))
    assert {name: guess.holds for name, guess in guesses.items()} == expected
    assert guess_columns({"age": "text"})["age"].holds == "bands"
    assert {*left_out(dict.fromkeys(expected, "unknown"))} == {
        *("patient_nbr", "encounter_id", "zip_code", "discharge_notes", "comment"),
    }


def test_of_several_ids_of_people_one_is_proposed():
    guesses = guess_columns({"email": "text", "customer_id": "text", "user_name": "text"})
    assert [guess.holds for guess in guesses.values()] == ["identifier", "person", "identifier"]


@pytest.mark.parametrize(
    ("name", "bounds"),
    [
        ("age", (0, 120)), ("AGE", (0, 120)), ("patient_age", (0, 120)), ("ageYears", (0, 120)), ("age in years", (0, 120)),
        ("age_at_diagnosis", (0, 120)), ("age_months", (0, 1440)), ("gestational_age_weeks", (20, 45)), ("bmi", (10, 80)),
        ("HeartRate", (20, 250)), ("heart rate (bpm)", (20, 250)), ("resting_pulse", (20, 250)), ("systolic", (50, 260)),
        ("diastolic_bp", (20, 160)), ("SpO2", (50, 100)), ("HbA1c", (3, 20)), ("temperature_c", (-90, 60)),
        ("body_temperature", (30, 45)), ("weight_kg", (0, 300)), ("birth_weight_g", (300, 6500)), ("height_cm", (30, 250)),
        ("height_m", (0.3, 2.5)), ("body_fat_percent", (0, 100)), ("lat", (-90, 90)), ("home.longitude", (-180, 180)),
        ("lng", (-180, 180)), ("hour", (0, 23)), ("weekday", (0, 7)), ("day_of_week", (0, 7)), ("month", (1, 12)),
        ("hours_per_week", (0, 168)), ("birth_year", (1900, 2030)), ("n_children", None), ("children", (0, 20)),
    ],
)  # fmt: skip
def test_known_quantities(name, bounds):
    quantity = known_quantity(name)
    assert (quantity and (quantity.lower, quantity.upper)) == bounds


@pytest.mark.parametrize(
    "name",
    [
        "", "_", "x", "income", "wage", "average", "language", "age_group", "age_band", "age_days", "log_age", "age_diff",
        "delta_age", "weight", "height", "height_in", "weight_lb", "temperature", "temperature_f", "temp_k", "month_income",
        "months", "hours", "per_hour", "kwh_per_hour", "platform", "flat", "alphabet", "std_heart_rate", "percent_change",
        "is_weekday", "days_since_month",
    ],
)  # fmt: skip
def test_other_quantities_are_not_known(name):
    assert known_quantity(name) is None


def test_every_quantity_is_a_column_and_found_by_its_own_name():
    for quantity in QUANTITIES:
        Column("x", quantity.lower, quantity.upper, whole=quantity.whole, unit=quantity.unit)
        name = quantity.words if not quantity.needs_unit else f"{quantity.words} {quantity.unit_words.split()[0]}"
        assert known_quantity(name) == quantity


@pytest.mark.parametrize(
    "name",
    ["id", "ID", "customer_id", "customerId", "patient_nr", "email", "E-Mail", "ssn", "name", "first_name", "lastName", "uuid",
     "patient number", "person", "Customer", "user name", "social_security_number", "phone"],
)  # fmt: skip
def test_identifiers(name):
    assert is_identifier(name)


@pytest.mark.parametrize(
    "name", ["", "paid", "idle", "grid", "number", "plan_name", "product_code", "n_customers", "identity", "age"]
)
def test_other_names_are_no_identifiers(name):
    assert not is_identifier(name)


# --- the command line


def test_bounds_from_options():
    texts = [
        "age=0:120",
        "t=-40:-5.5",
        "children=0:12:int",
        "income=100:1e6:log",
        "x=0:1:float",
        "plan=basic|premium",
        "a=b:c= 0 : 1 ",
    ]
    bounds = bounds_from_options([*texts, "hour=08:00|09:00", "e=-1e-3:+1E3"])
    assert bounds == {
        "age": (0.0, 120.0),
        "t": (-40.0, -5.5),
        "children": (0.0, 12.0, "int"),
        "income": (100.0, 1e6, "log"),
        "x": (0.0, 1.0, "float"),
        "plan": ("basic", "premium"),
        "a=b:c": (0.0, 1.0),
        "hour": ("08:00", "09:00"),
        "e": (-0.001, 1000.0),
    }
    schema = Schema.from_bounds(bounds, list(bounds), [False] * len(bounds))
    assert schema.columns[2] == Column("children", 0, 12, whole=True)
    assert schema.columns[5] == Category("plan", ("basic", "premium"))
    assert bounds_from_options([]) == {}


@pytest.mark.parametrize("words", ["yes/no", "no/yes", "1/0", "0/1", "True/False", "n / y"])
def test_any_usual_words_for_yes_and_no_are_understood(words):
    bounds = bounds_from_options([f"age=0:120,smoker={words},bmi=10:60"])
    assert bounds["smoker"] == bounds_from_options(["smoker=yes/no"])["smoker"]
    assert list(bounds) == ["age", "smoker", "bmi"]


@pytest.mark.parametrize("wrong", ["smoker=ja/nein", "smoker=1-0", "smoker=yes", "smoker="])
def test_one_wrong_column_of_several_is_told_by_its_own_name(wrong):
    with pytest.raises(BoundsError, match="of column 'smoker' must be"):
        bounds_from_options([f"age=0:120,{wrong},bmi=10:60"])


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["age"], "must name a column. Got 'age' instead. Write NAME=LOW:HIGH"),
        (["=0:1"], "must name a column"),
        (["age="], "must be LOW:HIGH. Got ''"),
        (["age=5"], r"must be LOW:HIGH. Got '5'.*age=5\|other"),
        (["age=0:120:int:log"], "LOW:HIGH"),
        (["age=0:x"], "must be numbers. Got 'x'"),
        (["age=0,5:1"], "decimal point"),
        (["age=:5"], "must be numbers. Got ''"),
        (["age=0:5:"], r"third part .* one of \['int', 'float', 'log'\]. Got ''"),
        (["age=0:5:integer"], "third part"),
        (["age=5:0"], r"lower < upper. Got \(5, 0\)"),
        (["age=nan:5"], "finite"),
        (["age=0:inf"], "finite"),
        (["age=0:5:log"], "positive on a log scale"),
        (["plan=a|"], "must not be empty"),
        (["plan=a||b"], "must not be empty"),
        (["plan=a|a"], "different"),
        (["age=0:1", "age=0:2"], "once per column. Got 'age' twice"),
    ],
)
def test_wrong_options_are_named(texts, words):
    with pytest.raises(BoundsError, match=words):
        bounds_from_options(texts)


def test_drafts_ask_for_whole_numbers_where_no_type_says_it():
    remark = "# whole = true  # if it contains only whole numbers"
    assert remark in draft_schema({"age": "unknown"})
    assert remark not in draft_schema({"age": "number"})
    assert remark not in draft_schema({"children": "unknown"})  # the name says so
