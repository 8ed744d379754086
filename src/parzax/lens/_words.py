"""Sets of words, words of names, and names in error messages."""

import re
from collections.abc import Sequence
from typing import Any

from parzax._words import join_names


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


def listed(names: Sequence[Any], limit: int = 20) -> str:
    """Names or labels for an error message, shortened."""
    return join_names([short(name) for name in names], limit)


def short(value: Any) -> str:
    """The value's repr for an error message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
