"""Pieces of HTML for notebooks."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from dpmondrian.schema.columns import Column
from dpmondrian.show.notebooks import release_html, statement_html
from dpmondrian.show.words.numbers import right_of_hundred
from dpmondrian_lab.peers.statements import no_privacy


class Piece(HTMLParser):
    """The elements and attributes of a piece of HTML."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}


def is_a_piece(text):
    """Return whether a text is one element that holds words and tables only."""
    piece = Piece(text)
    known = "div p strong ul li br bdi span table thead tbody tr th td details summary"
    whole = text.strip().startswith("<div") and text.strip().endswith("</div>")
    return whole and set(piece.tags) <= set(known.split()) and piece.attributes <= {"style", "scope"}


def test_a_release_shows_its_clusters_and_its_guarantee(patients):
    text = release_html(patients)
    assert is_a_piece(text)
    assert text.count("<tr>") == 1 + len(patients.sizes)
    assert "NOT RELEASABLE" in text
    assert "epsilon = 2" in text
    assert "systolic" in text


def test_a_secure_release_has_no_banner(mixed):
    text = release_html(mixed) + statement_html(mixed.privacy)
    assert "NOT RELEASABLE" not in text
    assert "Differential privacy for one row: epsilon = 1, delta = 1e-7." in text
    assert "basic</bdi> 62\u00a0% ± 3\u00a0%" in text
    assert f"at most {right_of_hundred(mixed.privacy.explain().advantage)} of 100 cases" in text


def test_a_large_release_is_cut_short(hand_made):
    text = release_html(hand_made([Column(f"x{j}", 0, 1) for j in range(300)], 500))
    assert "20 of 500 clusters, 8 of 300 columns" in text
    assert len(text) < 60_000


def test_a_seeded_statement_promises_nothing(patients):
    text = statement_html(patients.privacy)
    assert is_a_piece(text)
    assert "Not private, because a seed was used" in text
    assert "of 100 cases" not in text


def test_the_epsilon_of_bounds_is_part_of_the_guarantee(mixed):
    text = statement_html(replace(mixed.privacy, bounds_epsilon=0.5))
    assert "epsilon = 1.5" in text
    assert "spent on estimating the bounds" in text


def test_a_statement_without_a_guarantee_says_why():
    text = statement_html(no_privacy())
    assert is_a_piece(text)
    assert "no finite epsilon holds" in text
    assert "centres and sizes are exact" in text
    assert "of 100 cases" not in text


@pytest.mark.parametrize("make", [release_html, lambda release: statement_html(release.privacy)])
def test_hostile_texts_stay_texts(hostile, make):
    text = make(hostile)
    assert is_a_piece(text)
    text.encode("utf-8")
    assert "n" * 400 not in text
