"""Texts from elsewhere on a terminal: names, categories and words of files may hold characters that move the cursor or hide others."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return a text on one line, in which everything that is not to be seen is written as an escape, as `repr` does.

    Escape sequences of terminals, other control characters, line ends and marks that turn the direction of writing could show a
    reader other words than a file holds, such as a better promise.

    Examples
    --------
    >>> print(printable("age\x1b[2K\nepsilon = 0.01"))
    age\x1b[2K\nepsilon = 0.01
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]
