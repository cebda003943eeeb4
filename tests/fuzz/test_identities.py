"""Whatever ids of persons are: those that are equal are one person, the others are not, or the table is refused."""

import json
import tempfile
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from dpmondrian import DataError
from dpmondrian.tables.frames import read_table
from dpmondrian.tables.identities import NOBODY, identities

from ..privacy.kept_rows import kept_per_value  # noqa: TID252

LONGEST = 30
MOST = 2


def variants(text):
    """Return texts that somebody might take for this one."""
    return st.sampled_from(
        [text, " " + text, text + "\t", "0" + text, "+" + text, text + ".0", text.upper(), f'"{text}"']
    )


TEXTS = st.one_of(
    st.sampled_from(["7", "ann", "true", "1e3", "-0", "é", "a,b", "a\nb", *NOBODY]).flatmap(variants),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6),
)
OBJECTS = st.one_of(
    TEXTS, st.integers(-9, 9), st.integers(-(2**70), 2**70), st.floats(), st.floats(width=32).map(np.float32), st.booleans(),
    st.integers(-9, 9).map(float), st.decimals(places=2, min_value=-9, max_value=9), st.integers(-9, 9).map(Decimal),
    st.dates(), st.datetimes(), st.datetimes(timezones=st.timezones()), st.times(), st.binary(max_size=3),
    st.sampled_from([None, pd.NA, pd.NaT, np.nan, Fraction(7, 2), (1,), np.int8(7), np.uint64(7), np.True_, Decimal("NaN")]),
)  # fmt: skip


def people_of(ids):
    """Return the persons in a list of texts, by their bytes, with the number of their rows."""
    known = [text for text in ids if text.strip(" \t\n\v\f\r") not in NOBODY]
    return Counter(text.encode() for text in known)


def values_of(ids):
    """Return a number for every row, the same for all rows of a person."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(ids))}
    return [numbers[text] for text in ids]


def csv_file(ids, folder):
    quoted = ('"' + text.replace('"', '""') + '"' for text in ids)
    rows = (f"{text},{value}\n" for text, value in zip(quoted, values_of(ids), strict=True))
    (folder / "t.csv").write_text("who,x\n" + "".join(rows), encoding="utf-8", newline="")
    return folder / "t.csv"


def json_file(ids, folder):
    rows = (json.dumps({"who": text, "x": value}) for text, value in zip(ids, values_of(ids), strict=True))
    (folder / "t.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return folder / "t.jsonl"


def frame(ids, folder):
    return pd.DataFrame({"who": pd.Series(ids, dtype=object), "x": np.array(values_of(ids), dtype=float)})


@settings(settings.get_profile("fuzz"))
@given(st.lists(TEXTS, min_size=1, max_size=LONGEST), st.sampled_from([csv_file, json_file, frame]))
def test_texts_are_one_person_if_their_bytes_are(ids, write):
    with tempfile.TemporaryDirectory() as folder:
        found = kept_per_value(write(ids, Path(folder)), MOST)
    expected = people_of(ids)
    number_of = dict(zip(ids, values_of(ids), strict=True))
    assert found == Counter({number_of[text.decode()]: min(MOST, n) for text, n in expected.items()})


@settings(settings.get_profile("fuzz"))
@given(
    st.lists(TEXTS, min_size=1, max_size=LONGEST),
    TEXTS,
    st.integers(1, 5),
    st.sampled_from([csv_file, json_file, frame]),
)
def test_one_person_more_changes_no_row_of_others(ids, added, n_rows, write):
    ids = [text for text in ids if text != added] or ["somebody else"]
    with tempfile.TemporaryDirectory() as folder:
        before = kept_per_value(write(ids, Path(folder)), MOST)
        after = kept_per_value(write([*ids, *[added] * n_rows], Path(folder)), MOST)
    theirs = len(set(ids))
    assert Counter({value: n for value, n in after.items() if value != theirs}) == before
    assert after[theirs] == (min(MOST, n_rows) if people_of([added]) else 0)


def is_missing(value):
    return value is None or value is pd.NA or value is pd.NaT or value != value


@settings(settings.get_profile("fuzz quick things"))
@given(
    st.one_of(OBJECTS, st.just(None)).flatmap(
        lambda first: st.lists(OBJECTS | st.just(first), max_size=5).map(lambda more: [first, *more])
    )
)
def test_objects_are_one_person_if_they_are_equal(values):
    """Python itself says which numbers, dates and texts are equal."""
    table = read_table(pd.DataFrame({"who": pd.Series(values, dtype=object), "x": 1.0}), person_id="who")
    try:
        ids = identities(table._person).ids.to_pylist()
    except DataError:
        return
    for value, own in zip(values, ids, strict=True):
        assert (own is None) == (
            is_missing(value) or value == b"" or (isinstance(value, str) and not people_of([value]))
        )
    known = [(value, own) for value, own in zip(values, ids, strict=True) if own is not None]
    assert all((a == b) == (own_a == own_b) for a, own_a in known for b, own_b in known)


NUMBERS = [pa.int8(), pa.int64(), pa.uint16(), pa.float16(), pa.float32(), pa.float64(), pa.decimal128(21, 2)]
OTHERS = [
    *(pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.binary(), pa.bool_(), pa.date32()),
    *(pa.timestamp(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "UTC", "Asia/Tokyo")),
    *(pa.time32("ms"), pa.time64("us"), pa.duration("us")),
]


def family(type_):
    """Return what types must have in common for ids of them to be compared."""
    is_text = pa.types.is_dictionary(type_) or "string" in str(type_)
    return "number" if type_ in NUMBERS else "text" if is_text else str(type_)


def column_of(numbers, type_):
    """Return numbers as ids of a type."""
    whole = pa.array(numbers, pa.int64())
    if pa.types.is_temporal(type_) and type_.bit_width == 32:
        whole = whole.cast(pa.int32())
    if pa.types.is_dictionary(type_) or pa.types.is_binary(type_):
        whole = whole.cast(pa.string())
    if pa.types.is_float16(type_):
        return pa.array(np.array(numbers, dtype=np.float16))
    return whole.dictionary_encode() if pa.types.is_dictionary(type_) else whole.cast(type_)


@settings(settings.get_profile("fuzz slow things"))
@given(
    st.lists(st.sampled_from(NUMBERS + OTHERS), min_size=2, max_size=3),
    st.lists(st.integers(0, 3), min_size=1, max_size=9),
)
def test_files_with_ids_of_any_types(types, numbers):
    """Nobody keeps more rows than allowed, and no two become one, in files of several types; or they are refused."""
    with tempfile.TemporaryDirectory() as folder:
        for number, type_ in enumerate(types):
            table = pa.table({"who": column_of(numbers, type_), "x": pa.array(numbers, pa.float64())})
            pq.write_table(table, Path(folder, f"{number}.parquet"))
        try:
            found = kept_per_value(folder, MOST)
        except DataError:
            assert len(set(map(family, types))) > 1
            return
    assert len(set(map(family, types))) == 1
    if pa.bool_() not in types:
        assert found == Counter({value: min(MOST, n * len(types)) for value, n in Counter(numbers).items()})
