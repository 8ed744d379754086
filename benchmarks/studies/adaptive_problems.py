"""Problems whose importances are known, for `benchmarks.studies.adaptive_logs`."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.load_table import load_table
from benchmarks.studies.adaptive_networks import NETWORKS, network_problem
from parzax.surrogate.effects import value_grid

# The last parameter of each problem does nothing.
IDLE = "idle"
# Levels of the shares.
LEVELS = (0.1, 0.3)
# Rows of the uniform sample that the true shares come from.
N_TRUTH = 1 << 19


def quadratic(_key: jax.Array, x: jax.Array) -> jax.Array:
    """Four parameters add up, each of half the weight of the one before."""
    return jnp.sum(jnp.array([4.0, 2, 1, 0.5]) * (x[:4] - jnp.array([0.3, 0.6, 0.5, 0.2])) ** 2)


def gated(_key: jax.Array, x: jax.Array) -> jax.Array:
    """The gate chooses which of two parameters matters; one choice is better."""
    gate, first, second, always, _ = x
    chosen = jnp.where(gate == 0, 2 * (first - 0.3) ** 2, 0.2 + 2 * (second - 0.7) ** 2)
    return chosen + 0.3 * (always - 0.5) ** 2


def interacting(_key: jax.Array, x: jax.Array) -> jax.Array:
    """A ridge: the sum of two parameters matters, so that each makes up for the other."""
    return 4 * (x[0] + x[1] - 0.7) ** 2 + 0.5 * (x[2] - 0.4) ** 2 + 0.2 * (x[3] - 0.8) ** 2


def branching(_key: jax.Array, x: jax.Array) -> jax.Array:
    """Two parameters of three models, one for all of them; a model's parameters matter if it is chosen."""
    model, depth, leaves, rate, layers, cost, gamma, rows, _ = jnp.nan_to_num(x)
    tree = 0.3 + 0.02 * (depth - 6) ** 2 + 0.2 * (jnp.log(leaves / 20) / 3) ** 2
    net = 0.1 + 0.5 * (jnp.log10(rate) + 2.5) ** 2 + 0.1 * (layers - 3) ** 2
    machine = 0.5 + 0.3 * (jnp.log10(cost) - 1) ** 2 + 0.2 * (jnp.log10(gamma) + 2) ** 2
    return jnp.stack([tree, net, machine])[model.astype(np.int32)] + 0.5 * (1 - rows) ** 2


def cliff(_key: jax.Array, x: jax.Array) -> jax.Array:
    """A valley that ends in a cliff, and waves whose height another parameter sets."""
    valley = jnp.where(x[0] > 0.8, 1.0, 3 * (x[0] - 0.5) ** 2)
    return valley + 0.6 * x[2] * jnp.sin(7 * x[1]) ** 2 + 0.3 * jnp.abs(x[3] - 0.3)


def noise(key: jax.Array, _x: jax.Array) -> jax.Array:
    """No parameter does anything."""
    return jax.random.normal(key)


def _problem(loss: Callable, *names: str, **domains: Any) -> px.Problem:
    space = {name: domains.get(name, px.Float(0, 1)) for name in (*names, IDLE)}
    return px.Problem(loss, px.Space(space), name=loss.__name__)


def _when(model: str) -> px.In:
    return px.In("model", [model])


PROBLEMS: Mapping[str, px.Problem] = {
    "quadratic": _problem(quadratic, "x1", "x2", "x3", "x4"),
    "gated": _problem(gated, "gate", "first", "second", "always", gate=px.Categorical(["first", "second"])),
    "interacting": _problem(interacting, "x1", "x2", "x3", "x4"),
    "branching": _problem(
        branching,
        "model", "depth", "leaves", "rate", "layers", "cost", "gamma", "rows",
        model=px.Categorical(["tree", "net", "machine"]),
        depth=px.Int(1, 12, when=_when("tree")), leaves=px.Float(1, 400, log=True, when=_when("tree")),
        rate=px.Float(1e-5, 1, log=True, when=_when("net")), layers=px.Int(1, 6, when=_when("net")),
        cost=px.Float(1e-2, 1e3, log=True, when=_when("machine")),
        gamma=px.Float(1e-5, 10, log=True, when=_when("machine")),
    ),
    "noise": _problem(noise, "x1", "x2", "x3", "x4"),
}  # fmt: skip
# Problems of `benchmarks.studies.importance_peers` alone; the second is `gated` with parameters that are
# active for one choice only.
PEER_PROBLEMS = {
    "cliff": _problem(cliff, "x1", "x2", "x3", "x4"),
    "conditional": _problem(
        gated,
        "gate", "first", "second", "always",
        gate=px.Categorical(["first", "second"]),
        first=px.Float(0, 1, when=px.In("gate", ["first"])),
        second=px.Float(0, 1, when=px.In("gate", ["second"])),
    ),
}  # fmt: skip
# Tables of trainings, and the metric that is minimised; they need PARZAX_DATA.
TABLES = {
    "slice": ("hpolib/slice_localization.npz", "valid_mse"),
    "parkinsons": ("hpolib/parkinsons_telemonitoring.npz", "valid_mse"),
    "naval": ("hpolib/naval_propulsion.npz", "valid_mse"),
    "cells": ("nasbench201/cifar10.npz", "valid_error"),
    "images": ("nasbench201/imagenet16_120.npz", "valid_error"),
}


@cache
def problem_of(name: str) -> Any:
    """The function, the network or the table of that name."""
    functions = {**PROBLEMS, **PEER_PROBLEMS}
    if name in functions:
        return functions[name]
    if name in NETWORKS:
        return network_problem(name)
    path, metric = TABLES[name]
    return load_table(path, [metric])


@cache
def true_shares(problem: str, levels: tuple[float, ...] = LEVELS, n: int = N_TRUTH) -> np.ndarray:
    """Importances (q, d) at levels, of n random configurations, or of all of a table, without noise."""
    space, losses_of = problem_of(problem).space, mean_loss(problem)
    if problem in TABLES:
        decode = jax.jit(jax.vmap(problem_of(problem).decode))
        x = np.asarray(decode(np.arange(len(problem_of(problem).losses))), float)
    else:
        x = np.asarray(space.sample(jax.random.key(0), n), float)
    losses = losses_of(x)
    some = np.isfinite(losses)
    estimate = px.importance.estimate(px.encode(space, x[some], losses[some], levels))
    return np.asarray(estimate.importance)


def true_worth(problem: str, worst: float = np.inf) -> list[np.ndarray]:
    """Worth (s,) of tuning each slot, with the others as in the space and as in its best tenth.

    As in `px.surrogate.Effects`, losses beyond the worst loss of a log are taken as the worst.
    """
    shares, worths = value_grid(problem_of(problem).space, 16)[2], []
    for losses in _losses_on_grid(problem):
        curves = np.array([[np.nanmean(np.minimum(cell, worst)) for cell in row] for row in losses])
        worths.append((curves * shares).sum(axis=1) - curves.min(axis=1))
    return worths


@cache
def _losses_on_grid(problem: str, n: int = 1 << 15, n_rows: int = 1024) -> list[list[list[np.ndarray]]]:
    """Losses of random rows with a slot at each value, by slot and value: all rows, and the best tenth."""
    space, losses_of = problem_of(problem).space, mean_loss(problem)
    frame, levels = space.frame(), value_grid(space, 16)[0]
    pool = np.random.default_rng(0).uniform(size=(n, len(space.slots)))
    at = frame.drawn(pool)
    losses, here, on_grid = losses_of(frame.decode(at)), frame.here(at), []
    for best in (np.inf, np.nanquantile(losses, 0.1)):
        of_slots = []
        for s, row in enumerate(levels):
            rows = pool[here[:, s] & (losses <= best)][:n_rows]
            moved = np.repeat(rows[None], len(row), axis=0)
            moved[:, :, s] = row[:, None]
            x = frame.decode(frame.drawn(moved.reshape(-1, pool.shape[1])))
            of_slots.append(list(losses_of(x).reshape(len(row), -1)))
        on_grid.append(of_slots)
    return on_grid


def mean_loss(problem: str) -> Callable[[np.ndarray], np.ndarray]:
    """Of configurations (n, d), without noise."""
    evaluate = problem_of(problem)
    if problem not in TABLES:
        losses = jax.jit(jax.vmap(evaluate, in_axes=(None, 0)))
        return lambda x: np.asarray(losses(jax.random.key(0), jnp.asarray(x))[0][:, 0], float)
    rows, means = jax.jit(jax.vmap(evaluate.encode)), np.nanmean(np.asarray(evaluate.losses)[..., 0], axis=1)
    return lambda x: means[np.asarray(rows(jnp.asarray(x)))]
