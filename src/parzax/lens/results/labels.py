"""Names short enough for a table or a picture, and still different from each other."""

from collections.abc import Sequence
from itertools import groupby

from parzax._words import visible


def shorten(text: str, length: int) -> str:
    """``text``, without its middle if it is longer than ``length`` characters."""
    if len(text) <= length:
        return text
    head = (length - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def short_names(names: Sequence[str], length: int) -> dict[str, str]:
    """Each name in about ``length`` characters, longer only as far as needed to keep all different.

    The middle of a long name is left out. If that would make two names equal, their common parts are left out
    instead.
    """
    labels = {name: shorten(name, length) for name in names}
    width, longest = length, max(map(len, labels), default=0)
    while len(set(labels.values())) < len(labels):
        alike = groupby(sorted(labels, key=labels.__getitem__), labels.__getitem__)
        for group in [list(group) for _, group in alike]:
            if len(group) > 1:
                labels |= _differences(group, width)
        if width >= longest:
            break
        width = min(width + max(width // 4, 1), longest)
    return labels


def short_labels(names: Sequence[str], length: int) -> list[str]:
    """`short_names` of the visible names, in their order."""
    shown = [visible(name) for name in names]
    return list(map(short_names(shown, length).__getitem__, shown))


def _differences(group: list[str], length: int) -> dict[str, str]:
    """The part in which the names differ, with as much text around it as fits."""
    before = _common(group)
    after = min(_common([name[::-1] for name in group]), min(map(len, group)) - before)
    out = {}
    for name in group:
        spare = max(length - 2 - (len(name) - before - after), 0)
        right = min(after, spare - min(before, spare // 2))
        start, stop = max(before - spare + right, 0), len(name) - after + right
        text = ("…" if start else "") + name[start:stop] + ("…" if stop < len(name) else "")
        # Replacing a single character by an ellipsis saves nothing.
        out[name] = name if len(name) <= max(length, len(text)) else shorten(text, length)
    return out


def _common(names: list[str]) -> int:
    """Number of leading characters that all names share; the first and the last in order differ most."""
    first, last = min(names), max(names)
    return next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
