"""Sets of words, words of names, and names in error messages."""

import re
from collections.abc import Sequence
from typing import Any


def word_set(text: str) -> frozenset[str]:
    """The words of a text between its spaces."""
    return frozenset(text.split())


def split_words(name: str) -> list[str]:
    """The words of a name in small letters, at least one; capitals begin words, but not in val/mIoU.

    >>> split_words("BestIteration"), split_words("val/mIoU (%)")
    (['best', 'iteration'], ['val', 'miou'])
    """
    spaced = re.sub(r"(?<=[a-z0-9]{2})(?=[A-Z])|(?<=\d)(?=[A-Z][a-z])", " ", name.replace("^", "")).lower()
    return [word for word in re.split(r"[\W_]+", spaced) if word] or [""]


def join_names(names: Sequence[str], most: int) -> str:
    """The first names, and how many more there are.

    >>> join_names(["lr", "depth", "momentum"], 2)
    'lr, depth and 1 more'
    """
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")


def listed(names: Sequence[Any], limit: int = 20) -> str:
    """Names or labels for an error message, shortened."""
    return join_names([short(name) for name in names], limit)


def short(value: Any) -> str:
    """The value's repr for an error message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
