"""Text of tables: how wide it is on a terminal, and sets of words."""

from unicodedata import combining, east_asian_width


def columns_of(text: str) -> int:
    """How many columns of a terminal ``text`` takes: two for wide characters, none for combining ones.

    >>> columns_of("lr"), columns_of("学習率")
    (2, 6)
    """
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)


def word_set(text: str) -> frozenset[str]:
    """The words of a text between its spaces."""
    return frozenset(text.split())
