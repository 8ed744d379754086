"""Sets of words."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text between its spaces."""
    return frozenset(text.split())
