"""Text for people; needs nothing, so that a mistake in a command is told before anything is imported."""

from unicodedata import combining, east_asian_width


def visible(text: str) -> str:
    """``text`` with each character that could move a terminal's cursor written out, as in a literal.

    >>> print(visible("lr" + chr(27) + "[2J"))
    lr\\x1b[2J
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def columns_of(text: str) -> int:
    """How many columns of a terminal ``text`` takes: two for wide characters, none for combining ones.

    >>> columns_of("lr"), columns_of("学習率")
    (2, 6)
    """
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)
