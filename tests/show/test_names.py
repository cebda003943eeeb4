"""Names of clusters and what is said of them: no more than the shares and ranges show."""

import numpy as np
import pytest

from dpmondrian.release import ColumnProfile, Difference
from dpmondrian.release.histograms import Part
from dpmondrian.schema import Category, Column, Dates, YesNo
from dpmondrian.show.texts.profiles import _sign, difference_text, middle_half
from dpmondrian.show.words import ENGLISH

PLAN, SMOKES, COST = (
    Category("plan", ("basic", "premium")),
    Column("smokes", 0, 1, True, notation=YesNo()),
    Column("cost", 1, 1e6, log=True),
)


def of_two(column, second):
    """Return the profile of a cluster with this share of the second category, or of yes."""
    counts = [1.0 - second, second] if isinstance(column, Column) else [1.0 - second, second, 0.0]
    return ColumnProfile(column, (Part(np.arange(len(counts) + 1.0) - 1.0, 1000.0 * np.array(counts), 1.0, 1.0),))


@pytest.mark.parametrize(
    ("column", "kind", "share", "name"),
    [
        (PLAN, "more", 0.8, "plan premium"),
        (PLAN, "more", 0.4, "plan more often premium"),
        (PLAN, "fewer", 0.6, "plan less often premium"),
        (PLAN, "fewer", 0.01, "plan not premium"),
        (SMOKES, "higher", 0.9, "smokes yes"),
        (SMOKES, "higher", 0.3, "smokes more often yes"),
        (SMOKES, "lower", 0.3, "smokes less often yes"),
        (SMOKES, "lower", 0.01, "smokes no"),
    ],
)
def test_names_say_no_more_than_the_shares(column, kind, share, name):
    category = "premium" if column is PLAN else None
    difference = Difference(kind, 0.1, 1.0, of_two(column, share), of_two(column, 0.5), category)
    assert _sign(difference, ENGLISH, with_range=False) == name


@pytest.mark.parametrize(("kind", "name", "text"), [("higher", "late", "later"), ("lower", "early", "earlier")])
def test_dates_are_early_or_late(kind, name, text):
    admitted = Column("admitted", 0, 730, notation=Dates("days"))
    early, late = (
        ColumnProfile(admitted, (Part(np.array([0.0, end, 730.0]), np.array([1e6, 0.0]), 1.0, 1.0),))
        for end in (90, 500)
    )
    difference = Difference(kind, 0.3, 1.0, *((late, early) if kind == "higher" else (early, late)))
    assert _sign(difference, ENGLISH, with_range=False) == f"{name} admitted"
    assert difference_text(difference).startswith(f"admitted {text}: 1970-")


def test_rows_that_are_all_alike_do_not_make_more_digits_known():
    """Half of the rows of a cluster between 1.00001 and 1.00005 are told as 1.00."""
    edges = np.log([1.0, 1.00001, 1.00005, 1e6])
    profile = ColumnProfile(COST, (Part(edges, np.array([0.0, 1e6, 0.0]), 1.0, 1.0),))
    assert middle_half(profile) == "1.00"


def test_words_are_shown_by_their_language():
    """Signatures in the documentation show the default: all texts would fill pages."""
    assert repr(ENGLISH) == "Words('en')"
