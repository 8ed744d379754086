"""What pictures write: names, values and settings, in a few characters."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from parzax.results.labels import short_names, shorten
from parzax.results.phrases import CHOICE as _CHOICE
from parzax.results.phrases import NAME as _NAME
from parzax.results.phrases import number as number
from parzax.results.phrases import regime_text as regime_text
from parzax.space import Categorical, Space


def plain(text: str) -> str:
    """``text`` drawn literally, on one line: control characters become a sign, dollars start no formula."""
    shown = (c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return "".join(shown).replace("$", r"\$")


def name(full: Any, length: int = _NAME) -> str:
    """A name that the user has given, as it is drawn."""
    return plain(shorten(str(full), length))


def names(full: Sequence[str], length: int) -> dict[str, str]:
    """Names that the user has given, as they are drawn: about ``length`` characters each, all different."""
    return {own: plain(short) for own, short in short_names(full, length).items()}


def settings(space: Space, values: Mapping[str, float], most: int = 4) -> str:
    """The first ``most`` of native values by name, as they are drawn: "lr = 0.01, no momentum and 3 more"."""
    shown = []
    for own, value in list(values.items())[:most]:
        called, domain = shorten(own, _NAME), space[own][0]
        text = number(value)
        if isinstance(domain, Categorical) and not math.isnan(value):
            text = shorten(str(domain.choices[int(value)]), _CHOICE)
        shown.append(f"no {called}" if math.isnan(value) else f"{called} = {text}")
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return plain(", ".join(shown)) + more
