"""Texts in pictures: names, values and settings, in a few characters."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from parzax._words import join_names
from parzax.lens.results import phrases
from parzax.lens.results.phrases import short_names, shorten
from parzax.space import Categorical, Space


def escape(text: str) -> str:
    """``text`` drawn literally, on one line: control characters are replaced, dollar signs escaped."""
    shown = (c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return "".join(shown).replace("$", r"\$")


def shorten_name(name: Any, length: int = phrases.NAME) -> str:
    """A name given by the user, as it is drawn."""
    return escape(shorten(str(name), length))


def shorten_names(names: Sequence[str], length: int = 22) -> dict[str, str]:
    """Names given by the user, as they are drawn: about ``length`` characters each, all different."""
    return {name: escape(short) for name, short in short_names(names, length).items()}


def describe_settings(space: Space, values: Mapping[str, float], most: int = 4) -> str:
    """The first ``most`` native values with their names, such as "lr = 0.01, no momentum and 3 more"."""
    settings = []
    for name, value in values.items():
        short, domain, text = shorten(name, phrases.NAME), space[name][0], phrases.number(value)
        if isinstance(domain, Categorical) and not math.isnan(value):
            text = shorten(str(domain.choices[int(value)]), phrases.CHOICE)
        settings.append(f"no {short}" if math.isnan(value) else f"{short} = {text}")
    return escape(join_names(settings, most))
