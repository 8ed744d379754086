"""What pictures write: names, values and settings, in a few characters."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from parzax._words import join_names
from parzax.results import phrases
from parzax.results.labels import short_names, shorten
from parzax.space import Categorical, Space


def escape(text: str) -> str:
    """``text`` drawn literally, on one line: control characters become a sign, dollars start no formula."""
    shown = (c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return "".join(shown).replace("$", r"\$")


def shorten_name(name: Any, length: int = phrases.NAME) -> str:
    """A name that the user has given, as it is drawn."""
    return escape(shorten(str(name), length))


def shorten_names(names: Sequence[str], length: int = 22) -> dict[str, str]:
    """Names that the user has given, as they are drawn: about ``length`` characters each, all different."""
    return {name: escape(short) for name, short in short_names(names, length).items()}


def describe_settings(space: Space, values: Mapping[str, float], most: int = 4) -> str:
    """The first ``most`` of native values by name, as they are drawn: "lr = 0.01, no momentum and 3 more"."""
    settings = []
    for name, value in values.items():
        short, domain, text = shorten(name, phrases.NAME), space[name][0], phrases.number(value)
        if isinstance(domain, Categorical) and not math.isnan(value):
            text = shorten(str(domain.choices[int(value)]), phrases.CHOICE)
        settings.append(f"no {short}" if math.isnan(value) else f"{short} = {text}")
    return escape(join_names(settings, most))
