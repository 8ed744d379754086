"""Our samplers by name: presets, and presets with one setting changed."""

from collections.abc import Callable, Mapping
from typing import Any

import parzax as px
from benchmarks.settings import adjusted
from benchmarks.studies.optimisers.spread import Spread
from parzax.samplers import RandomStart, Sampler

# Of a space, n_objectives and n_constraints.
PRESETS: Mapping[str, Callable[..., Sampler]] = {
    "tpe": px.tpe,
    "c_tpe": px.c_tpe,
    "mo_tpe": px.mo_tpe,
    "optuna_tpe": px.optuna_tpe,
    "paper_tpe": px.papers.tpe,
}
# What is compared with peers, by kind of problem, the one that others are compared with first.
OURS = {
    "one objective": ("tpe", "optuna_tpe"),
    "constraints": ("tpe", "c_tpe", "optuna_tpe"),
    "two objectives": ("tpe", "mo_tpe"),
}
RANDOM = "random"

bandwidth, gamma = px.bandwidth, px.gamma
# Settings whose worth is asked, each as "NAME=VALUE" after a preset.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "start": {"random": RandomStart(), "spread": Spread()},
    "n_startup": {"5": 5, "10": 10, "20": 20},
    "gamma": {
        "sqrt": gamma.Sqrt(),
        "0.1": gamma.Linear(0.1),
        "0.2": gamma.Linear(0.2),
        "0.3": gamma.Linear(0.3),
        "optuna": gamma.Optuna(),
    },
    "bandwidth": {
        "scott": bandwidth.Scott(),
        "scott without a floor": bandwidth.Scott(discrete_minimum=None),
        "scott 0.1": bandwidth.Scott(0.1),
        "neighbours": bandwidth.Neighbours(),
        # Floors of discrete parameters.
        "half a step": bandwidth.Neighbours(discrete_minimum=0.5),
        "one step": bandwidth.Neighbours(discrete_minimum=1.0),
        "two steps": bandwidth.Neighbours(discrete_minimum=2.0),
        "neighbours 0.01": bandwidth.Neighbours(0.01, consider_magic_clip=False),
    },
    "top": {"0.8": 0.8, "by rows": bandwidth.OptunaTop()},
    "joint": {"yes": True, "no": False},
    "n_candidates": {"8": 8, "24": 24, "64": 64, "512": 512},
    "ages": {"equal": None, "ramp": px.ages.Ramp()},
    "merit": {"equal": None, "by rank": px.merits.ByRank()},
    "prior_weight": {"0.5": 0.5, "1": 1.0, "2": 2.0},
    "epsilon": {"0": 0.0, "0.1": 0.1},
    "repeats": {"yes": True, "no": False},
    # Under constraints alone.
    "share_power": {"1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0},
    # Of several objectives alone.
    "ties": {"crowding": px.pareto.Crowding(), "hypervolume": px.pareto.Hypervolume()},
    "first_front": {"yes": True, "no": False},
}
OF_OTHERS = "share_power", "ties", "first_front"
# What else was tried: where the search for settings began, and what it passed.
TRIED = {
    "one objective": (
        "paper_tpe", "optuna_tpe", "optuna_tpe, merit=by rank", "optuna_tpe, bandwidth=one step",
        "tpe, repeats=yes, bandwidth=one step",
    ),
    "constraints": (
        "c_tpe", "optuna_tpe", "tpe, share_power=1, n_candidates=24", "tpe, share_power=1",
        "tpe, share_power=2", "tpe, share_power=4", "tpe, n_candidates=24", "tpe, gamma=0.2",
        "tpe, gamma=sqrt", "tpe, repeats=yes",
    ),
    "two objectives": (
        "mo_tpe", "optuna_tpe", "tpe, n_candidates=64", "tpe, gamma=0.1", "tpe, first_front=yes",
        "tpe, ties=hypervolume",
    ),
}  # fmt: skip


def settings(kind: str, of: str | None = None) -> list[str]:
    """`tpe`, of one objective the same with one of `SETTINGS` changed, and what was `TRIED` before.

    With ``of`` only those that change this setting. Combinations that come to the same sampler are there
    once.
    """
    space = px.Space({"x": px.Float(0, 1)})
    counts = {"one objective": (1, 0), "constraints": (1, 1), "two objectives": (2, 0)}[kind]
    names = [name for name in SETTINGS if name not in OF_OTHERS] if kind == "one objective" else []
    texts = ["tpe", *(f"tpe, {name}={value}" for name in names for value in SETTINGS[name]), *TRIED[kind]]
    texts = [text for text in texts if of is None or text in OURS[kind] or f"{of}=" in text]
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(repr(sampler(text, space, *counts)), text)
    return list(found.values())


def sampler(method: str, space: px.Space, n_objectives: int = 1, n_constraints: int = 0) -> Sampler:
    """A sampler such as "tpe", or "tpe, top=by rows, joint=yes"."""
    preset, *parts = method.split(", ")
    chosen = dict(part.split("=") for part in parts)
    given = {name: SETTINGS[name][value] for name, value in chosen.items()}
    adjusted_preset = adjusted(PRESETS[preset], **given)
    return adjusted_preset(space, n_objectives=n_objectives, n_constraints=n_constraints)
