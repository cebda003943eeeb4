"""Errors are made from fields: their sentences in Python and on the command line, and their way through pickles and files."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpmondrian import exceptions
from dpmondrian.cli.wording import OPTIONS
from dpmondrian.exceptions import (
    BoundsError,
    DataError,
    DPMondrianError,
    FinishedRunError,
    OutputError,
    ParameterError,
    WayOut,
)

KINDS = [
    kind
    for _, kind in inspect.getmembers(exceptions, inspect.isclass)
    if issubclass(kind, DPMondrianError) and kind is not FinishedRunError
]


def test_a_parameter_its_rule_the_value_and_a_way_out():
    error = ParameterError(
        parameter="epsilon",
        of="DPM",
        rule="must be positive",
        value=-1,
        way_out="Common values are between 0.1 and 3.",
    )
    assert str(error) == (
        "The 'epsilon' parameter of DPM must be positive. Got -1 instead. Common values are between 0.1 and 3."
    )
    assert error.sentence(OPTIONS) == (
        "The '--epsilon' option must be positive. Got -1 instead. Common values are between 0.1 and 3."
    )


def test_a_parameter_without_an_option_keeps_its_name():
    error = ParameterError(parameter="windows", rule="must be even", value=3)
    assert error.sentence(OPTIONS) == str(error) == "The 'windows' parameter must be even. Got 3 instead."


def test_settings_that_make_something_an_error():
    error = DataError("Values are missing.", WayOut.HANDLE_MISSING, because={"on_missing": "error"})
    assert str(error).startswith("Values are missing, and on_missing='error'. Use on_missing='drop' to")
    assert error.sentence(OPTIONS).startswith(
        "Values are missing, and --on-missing is 'error'. Use --on-missing drop to"
    )


def test_what_a_file_holds_are_keys_in_both_words():
    error = ParameterError(parameter="person_id", rule="must be a text", value=5).within("the schema file 'a.toml'")
    assert (
        error.sentence(OPTIONS)
        == str(error)
        == error.args[0]
        == "In the schema file 'a.toml': The 'person_id' key must be a text. Got 5 instead."
    )


def test_a_fact_of_a_column():
    error = BoundsError(parameter="weight", column="plan", rule="must be at most 1", value=2)
    assert error.sentence(OPTIONS) == str(error) == "The 'weight' of column 'plan' must be at most 1. Got 2 instead."


@pytest.mark.parametrize("way_out", WayOut, ids=lambda way_out: way_out.name)
def test_every_way_out_has_words_on_the_command_line(way_out):
    words = DataError("It fails.", way_out).sentence(OPTIONS)
    assert words.startswith("It fails. ")
    assert "=" not in words.replace("age=", "").replace("plan=", "").replace("cut = true", "")
    assert "None" not in words


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_errors_travel(kind):
    error = kind("It fails.", WayOut.LET_DPM_CHOOSE, because={"delta": 0.0}, value={"a": 1}, hint="There are b.")
    error.add_note("noted")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is kind
        assert vars(other) == vars(error)
        assert other.args == error.args == (str(error),)
        assert str(other) == str(error)
        assert other.__notes__ == ["noted"]


def test_a_finished_run_travels_with_its_release():
    error = pickle.loads(pickle.dumps(FinishedRunError("It is finished.", WayOut.TAKE_RELEASE, release="the release")))
    assert error.release == "the release"
    assert str(error).startswith("It is finished. To start a new run")


def test_errors_of_files_are_errors_of_the_system_without_a_number():
    with pytest.raises(OSError, match=r"^It fails\. Make room\.$") as caught:
        raise OutputError("It fails.", "Make room.")
    assert caught.value.errno is None


TABLES = {
    "array": np.array([[12345.678]]),
    "vector": np.array([12345.678]),
    "frame": pd.DataFrame({"a": [12345.678]}),
    "series": pd.Series([12345.678]),
    "polars": pl.DataFrame({"a": [12345.678]}),
    "arrow": pa.table({"a": [12345.678]}),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_in_place_of_a_parameter_is_not_quoted(name):
    error = ParameterError(parameter="epsilon", rule="must be a number", value=TABLES[name])
    assert error.value == type(TABLES[name]).__name__
    assert b"12345" not in pickle.dumps(error)


def test_long_values_are_cut_off():
    assert len(str(ParameterError(parameter="k", rule="must be small", value="x" * 10_000))) < 300


def test_what_is_quoted_is_safe_to_print():
    error = ParameterError(parameter="k", rule="names columns that are not there: \x1b[2K", got="a\nb")
    assert str(error).isprintable()
    assert error.sentence(OPTIONS).isprintable()
