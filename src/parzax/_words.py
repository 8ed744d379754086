"""Text for people; needs nothing, so that a mistake in a command is told before anything is imported."""


def visible(text: str) -> str:
    """``text`` with each character that could move a terminal's cursor written out, as in a literal.

    >>> print(visible("lr" + chr(27) + "[2J"))
    lr\\x1b[2J
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def plural(n: int | str, word: str) -> str:
    """A count with its noun: "1 row", "2 rows", "28-31 rows"."""
    return f"{n} {word}{'s' * (str(n) != '1')}"
