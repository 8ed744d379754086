"""Our samplers by name: presets, and presets with one setting changed."""

from collections.abc import Callable, Mapping
from typing import Any

import parzax as px
from parzax.samplers import Sampler

# Of a space, a number of objectives and one of constraints.
PRESETS: Mapping[str, Callable[..., Sampler]] = {
    "tpe": lambda space, _m, _c, **settings: px.tpe(space, **settings),
    "c_tpe": lambda space, _m, c, **settings: px.c_tpe(space, c, **settings),
    "mo_tpe": lambda space, m, c, **settings: px.mo_tpe(space, m, c, **settings),
    "optuna_tpe": px.optuna_tpe,
    "paper_tpe": lambda space, _m, _c, **settings: px.paper_tpe(space, **settings),
}
# What is compared with peers, by kind of problem, the one that others are compared with first.
OURS = {
    "one objective": ("tpe", "optuna_tpe"),
    "constraints": ("c_tpe", "optuna_tpe"),
    "two objectives": ("mo_tpe", "optuna_tpe"),
}
RANDOM = "random"

bandwidth, gamma = px.bandwidth, px.gamma
# Settings whose worth is asked, each as "NAME=VALUE" after a preset.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "top": {"0.8": 0.8, "0.9": 0.9, "by rows": bandwidth.optuna_top()},
    "bandwidth": {
        "scott": bandwidth.scott(),
        "scott 0.03": bandwidth.scott(0.03),
        "scott 0.1": bandwidth.scott(0.1),
        "neighbours": bandwidth.neighbours(),
        "neighbours 0.01": bandwidth.neighbours(0.01, consider_magic_clip=False),
        "neighbours 0.003": bandwidth.neighbours(0.003, consider_magic_clip=False),
        "neighbours 0.01 step": bandwidth.neighbours(0.01, consider_magic_clip=False, discrete_minimum=0.5),
        "neighbours 0.03": bandwidth.neighbours(0.03, consider_magic_clip=False),
        "neighbours 0.05": bandwidth.neighbours(0.05, consider_magic_clip=False),
    },
    "gamma": {
        "sqrt": gamma.sqrt(),
        "sqrt 0.5": gamma.sqrt(0.5),
        "0.1": gamma.linear(0.1),
        "0.15": gamma.linear(0.15),
        "0.2": gamma.linear(0.2),
        "0.3": gamma.linear(0.3),
        "optuna": gamma.optuna(),
    },
    "joint": {"yes": True, "no": False},
    "n_candidates": {"8": 8, "24": 24, "64": 64, "128": 128, "512": 512},
    "n_startup": {"5": 5, "10": 10, "20": 20},
    "ages": {"equal": px.ages.equal(), "ramp": px.ages.ramp()},
    "merit": {"equal": px.merits.equal(), "by rank": px.merits.by_rank()},
    "prior_weight": {"0.5": 0.5, "1": 1.0, "2": 2.0},
    "epsilon": {"0.05": 0.05, "0.1": 0.1},
    "gradient_steps": {"0": 0, "10": 10},
    "repeats": {"yes": True, "no": False},
}
# What the settings of `tpe` were chosen from.
_CHOSEN = "optuna_tpe, merit=by rank, gamma=0.2, repeats=no"
TRIED = (
    _CHOSEN, f"{_CHOSEN}, n_candidates=64", f"{_CHOSEN}, n_candidates=64, prior_weight=0.5",
    *(f"optuna_tpe, merit=by rank{own}" for own in (
        "", ", gamma=0.2", ", repeats=no", ", n_candidates=64", ", gamma=0.3, repeats=no", ", n_startup=5",
        ", ages=ramp", ", joint=no", ", bandwidth=scott 0.1",
    )),
    "optuna_tpe", "optuna_tpe, gamma=0.2, repeats=no", "optuna_tpe, bandwidth=neighbours 0.01, merit=by rank",
    "paper_tpe", "paper_tpe, top=by rows, joint=yes",
)  # fmt: skip


def settings(kind: str) -> list[str]:
    """The preset of a kind, and the same with one of `SETTINGS` changed; values that it has are left out.

    Of one objective those too that were `TRIED` before.
    """
    space, preset = px.Space({"x": px.Float(0, 1)}), OURS[kind][0]
    counts = {"one objective": (1, 0), "constraints": (1, 1), "two objectives": (2, 0)}[kind]
    own, found = repr(sampler(preset, space, *counts)), [preset]
    for name, values in SETTINGS.items():
        texts = [f"{preset}, {name}={value}" for value in values]
        found += [text for text in texts if repr(sampler(text, space, *counts)) != own]
    return [*found, *TRIED] if kind == "one objective" else found


def sampler(method: str, space: px.Space, n_objectives: int = 1, n_constraints: int = 0) -> Sampler:
    """A sampler such as "tpe", or "tpe, top=by rows, joint=yes"."""
    preset, *parts = method.split(", ")
    chosen = dict(part.split("=") for part in parts)
    given = {name: SETTINGS[name][value] for name, value in chosen.items()}
    return PRESETS[preset](space, n_objectives, n_constraints, **given)
