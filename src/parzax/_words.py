"""Text for people; needs nothing, so that a mistake in a command is told before anything is imported."""

from collections.abc import Sequence


def visible(text: str) -> str:
    """``text`` with each character that could move a terminal's cursor written out, as in a literal.

    >>> print(visible("lr" + chr(27) + "[2J"))
    lr\\x1b[2J
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def plural(n: int | str, word: str) -> str:
    """A count with its noun: "1 row", "2 rows", "28-31 rows"."""
    return f"{n} {word}{'s' * (str(n) != '1')}"


def join_names(names: Sequence[str], most: int, rest: str = "more") -> str:
    """The first names, and how many more there are.

    >>> join_names(["lr", "depth", "momentum"], 2)
    'lr, depth and 1 more'
    """
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} {rest}" if left > 0 else "")
