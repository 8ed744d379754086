"""`adjusted`: a preset with some settings changed by name, for tables of variants."""

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from inspect import signature
from typing import Any

import parzax as px
from parzax.acquisition import Relative
from parzax.density import Smoothing
from parzax.meta import Comparison
from parzax.samplers import Sampler
from parzax.split.gamma import Optuna

# What None stands for in the presets' signatures.
_NONE = {"split": px.Split(Optuna(), merit=None), "comparison": Comparison()}
_PARTS = {
    "split": px.Split, "smoothing": Smoothing, "acquisition": Relative, "start": px.samplers.RandomStart,
    "proposal": px.samplers.Proposal, "comparison": Comparison,
}  # fmt: skip
_COMPARED = {"compared_bandwidth": "bandwidth", "compared_top": "top"}


def adjusted(preset: Callable[..., Sampler], **options: Any) -> Callable[..., Sampler]:
    """The preset with other values of the fields of its parts, given by the names of the fields.

    Fields of a comparison are ``compared_bandwidth``, ``compared_top`` and otherwise its own names; arguments
    of the preset are passed on.
    """
    preset, chosen = (preset.func, dict(preset.keywords)) if isinstance(preset, partial) else (preset, {})
    parameters = signature(preset).parameters
    for name, value in options.items():
        if name in parameters:
            chosen[name] = value
            continue
        field = _COMPARED.get(name, name)
        homes = [part for part, kind in _PARTS.items() if field in {one.name for one in fields(kind)}]
        if not homes:
            return partial(preset, **chosen, **{name: value})
        home = "comparison" if name in _COMPARED else homes[0]
        if home == "start" and not isinstance(parameters["start"].default, px.samplers.RandomStart):
            chosen["start"] = value
            continue
        part = chosen.get(home, parameters[home].default)
        chosen[home] = replace(_NONE[home] if part is None else part, **{field: value})
    return partial(preset, **chosen)
