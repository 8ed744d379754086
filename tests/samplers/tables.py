"""Tables of rows, ordinary and degenerate, of one size: shared by the tests of the engine."""

import math
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from benchmarks.settings import adjusted
from densities import SPACES, draw
from reference import tpe as oracle

import parzax as px
from parzax.samplers import Sampler, State
from parzax.space import Points

N_ROWS, N_EXTRA, CAPACITY, N_CANDIDATES = 30, 6, 40, 12
NAN, INF = math.nan, math.inf
SPACE_OF = {
    "mixed": px.Space(
        {
            "lr": px.Float(1e-5, 10.0, log=True),
            "k": px.Int(1, 7),
            "kind": px.Categorical(["a", "b", "c"]),
            "one": px.Int(3, 3),
        }
    ),
    "conditional": SPACES["conditional"],
    "categories": px.Space({"k": px.Categorical(["a", "b"]), "z": px.Categorical(["a", "b", "c"])}),
}


class Table(NamedTuple):
    """Native values, losses, constraints, and which rows are constraint-only ones; these come last."""

    x: np.ndarray
    losses: np.ndarray
    constraints: np.ndarray
    constraint_only: np.ndarray


@cache
def rows(space: str, n: int, seed: int) -> np.ndarray:
    if space in SPACES:
        return draw(space, n, seed)
    rng = np.random.default_rng(seed)
    if space == "categories":
        return np.stack([rng.integers(0, 2, n), rng.integers(0, 3, n)], axis=1).astype(float)
    lr = np.exp(rng.uniform(np.log(1e-5), np.log(10), n))
    lr[: n // 5] = 10
    return np.stack([lr, rng.integers(1, 8, n), rng.integers(0, 3, n), np.full(n, 3)], axis=1)


def candidates(space: str) -> np.ndarray:
    """Anywhere, and on rows."""
    return np.concatenate([rows(space, N_CANDIDATES - 2, 2), rows(space, N_ROWS, 1)[:2]])


def table(space: str, data: str, m: int = 1, c: int = 0, seed: int = 1) -> Table:
    """One of DATA for m objectives and c constraints."""
    rng = np.random.default_rng(seed + 10)
    x = rows(space, N_ROWS, seed).copy()
    losses, excess = rng.normal(size=(N_ROWS, m)), rng.normal(size=(N_ROWS, c)) - 0.2
    n_extra, n = 0, N_ROWS
    if data == "ties":
        losses, excess = np.full_like(losses, 0.5), np.zeros_like(excess)
    elif data == "few values":
        losses, excess = np.round(losses), np.round(excess)
    elif data == "one row":
        n = 1
    elif data == "none":
        n = 0
    elif data == "nothing feasible":
        excess = np.round(np.abs(excess), 1) + 0.1
        excess[N_ROWS // 2] = 0.05
    elif data == "little feasible":
        excess = np.abs(excess) + 0.1
        excess[7] = -1
    elif data == "all feasible":
        excess = -np.abs(excess)
    elif data == "one configuration":
        x = np.repeat(x[:1], N_ROWS, axis=0)
    elif data == "pending":
        losses[3::4] = NAN
        losses[5, -1] = NAN
        excess[3::8] = NAN
    elif data == "infinite":
        losses[::5], losses[1::7] = INF, -INF
        excess[::4], excess[1::6] = INF, -INF
    elif data == "extra":
        n_extra = N_EXTRA
    else:
        assert data == "random", data
    x = np.concatenate([x[:n], rows(space, N_EXTRA, seed + 20)[:n_extra]])
    more = rng.normal(size=(N_EXTRA, c))
    more[::2, :1] = NAN
    more[1::3, 1:] = NAN
    losses = np.concatenate([losses[:n], np.full((n_extra, m), NAN)])
    excess = np.concatenate([excess[:n], more[:n_extra]])
    return Table(x, losses, excess, np.arange(n + n_extra) >= n)


DATA = (
    "random", "ties", "few values", "one row", "none", "nothing feasible", "little feasible", "all feasible",
    "one configuration", "pending", "infinite", "extra",
)  # fmt: skip


def _told_alike(sampler: Sampler) -> Sampler:
    """The one that stands for all whose states are the same: what is compiled for it serves them all."""
    return replace(
        px.papers.tpe(sampler.space), directions=sampler.directions, n_constraints=sampler.n_constraints
    )


@eqx.filter_jit
def _empty(sampler: Sampler, capacity: int) -> State:
    return sampler.init(capacity)


@eqx.filter_jit
def _add(sampler: Sampler, state: State, x, objectives, constraints, constraint_only: bool) -> State:
    if constraint_only:
        return sampler.augment(state, x, constraints)
    return sampler.tell(state, x, objectives, constraints)


def empty(sampler: Sampler, capacity: int) -> State:
    """`Sampler.init`, compiled."""
    return _empty(_told_alike(sampler), capacity)


def add(sampler: Sampler, state: State, x, objectives, constraints, constraint_only: bool) -> State:
    """`Sampler.tell` or `Sampler.augment`, compiled."""
    return _add(_told_alike(sampler), state, x, objectives, constraints, constraint_only)


def searching_alike(sampler: Sampler) -> Sampler:
    """With the search of any other sampler of the space: nothing but suggestions depends on it."""
    plain = px.papers.tpe(sampler.space)
    return replace(sampler, start=plain.start, proposal=plain.proposal)


@eqx.filter_jit
def _score_of(sampler: Sampler, state: State, x):
    return sampler.score_of(state, x)


def score_of(sampler: Sampler, state: State, x):
    """`Sampler.score_of`, compiled."""
    return _score_of(searching_alike(sampler), state, x)


@eqx.filter_jit
def encoded(space: px.Space, x) -> Points:
    """Native values on the axes of a space, compiled."""
    return space.frame(x.dtype).encode(x)


def valid(space: px.Space, x) -> np.ndarray:
    """(n,) which rows are configurations of a space, as compiled code sees them."""
    return np.asarray(encoded(space, jnp.asarray(x)).valid.all(axis=-1))


def told(sampler: Sampler, own: Table, capacity: int = CAPACITY) -> State:
    """The state after all rows of a table."""
    state = empty(sampler, capacity)
    for only in (False, True):
        these = own.constraint_only == only
        if these.any():
            parts = (jnp.asarray(part[these], state.x.dtype) for part in own[:3])
            state = add(sampler, state, *parts, only)
    return state


# A preset, and its definition.
FAMILY = {
    "tpe": (
        lambda s: px.tpe(s), 1, 0,
        oracle.Settings(rule="linear", quantile=0.2, kernel="neighbours", top=None, by_rank=True),
    ),
    "tpe, constrained": (
        lambda s: px.tpe(s, n_constraints=2), 1, 2,
        oracle.Settings(
            "relative", "linear", quantile=0.1, kernel="neighbours", top=None, by_rank=True, share_power=3.0,
            infeasible="nearest",
        ),
    ),
    "tpe of two, constrained": (
        lambda s: px.tpe(s, 2, 1), 2, 1,
        oracle.Settings(
            "relative", "linear", quantile=0.1, kernel="neighbours", top=None, by_rank=True, share_power=3.0,
            infeasible="nearest",
        ),
    ),
    "tpe of two": (
        lambda s: px.tpe(s, 2), 2, 0,
        oracle.Settings(rule="linear", quantile=0.2, kernel="neighbours", top=None, by_rank=True),
    ),
    "paper_tpe": (lambda s: px.papers.tpe(s), 1, 0, oracle.Settings()),
    "c_tpe of none": (lambda s: px.c_tpe(s, n_constraints=0), 1, 0, oracle.Settings()),
    "c_tpe of one": (lambda s: px.c_tpe(s, n_constraints=1), 1, 1, oracle.Settings(score="relative")),
    "c_tpe": (lambda s: px.c_tpe(s, n_constraints=2), 1, 2, oracle.Settings(score="relative")),
    "c_tpe, every minimum": (
        lambda s: adjusted(px.c_tpe, unsatisfied="all")(s, n_constraints=2), 1, 2,
        oracle.Settings(score="relative", unsatisfied="all"),
    ),
    "c_tpe, ages": (
        lambda s: adjusted(px.c_tpe, ages=px.ages.Ramp())(s, n_constraints=2), 1, 2,
        oracle.Settings(score="relative", forget=True),
    ),
    "c_tpe, by rank": (
        lambda s: adjusted(px.c_tpe, ages=px.ages.Ramp(), merit=px.merits.ByRank())(s, n_constraints=2), 1, 2,
        oracle.Settings(score="relative", forget=True, by_rank=True),
    ),
    "mo_tpe, by rank": (
        lambda s: adjusted(px.mo_tpe, gamma=px.gamma.Linear(0.4), merit=px.merits.ByRank())(s, 2), 2, 0,
        oracle.Settings(rule="linear", quantile=0.4, whole_front=True, minimum=0.1, top=0.9, by_rank=True),
    ),
    "optuna_tpe, by rank": (
        lambda s: adjusted(px.optuna_tpe, merit=px.merits.ByRank())(s), 1, 0,
        oracle.Settings(rule="optuna", kernel="neighbours", top=None, by_rank=True, forget=True),
    ),
    "c_tpe of another power": (
        lambda s: adjusted(px.c_tpe, share_power=2.5)(s, n_constraints=2), 1, 2,
        oracle.Settings(score="relative", share_power=2.5),
    ),
    "naive": (
        lambda s: px.papers.naive_c_tpe(s, n_constraints=2), 1, 2,
        oracle.Settings(score="naive", unsatisfied="none"),
    ),
    "linear, strong prior": (
        lambda s: adjusted(px.papers.tpe, gamma=px.gamma.Linear(0.3), prior_weight=3.0, top=1.0)(s), 1, 0,
        oracle.Settings(rule="linear", quantile=0.3, prior_weight=3.0, top=1.0),
    ),
    "mo_tpe": (
        lambda s: px.mo_tpe(s, 2), 2, 0,
        oracle.Settings(rule="linear", whole_front=True, minimum=0.1, top=0.9),
    ),
    "mo_tpe, constrained": (
        lambda s: px.mo_tpe(s, 2, 1), 2, 1,
        oracle.Settings("relative", "linear", whole_front=True, minimum=0.1, top=0.9),
    ),
    "mo_tpe, hypervolume": (
        lambda s: adjusted(
            px.mo_tpe, ties=px.pareto.Hypervolume(), first_front=False, gamma=px.gamma.Linear(0.4)
        )(s, 2), 2, 0,
        oracle.Settings(rule="linear", quantile=0.4, minimum=0.1, top=0.9, ties="hypervolume"),
    ),
    "mo_tpe, constrained, hypervolume": (
        lambda s: adjusted(px.mo_tpe, ties=px.pareto.Hypervolume())(s, 2, 1), 2, 1,
        oracle.Settings("relative", "linear", whole_front=True, minimum=0.1, top=0.9, ties="hypervolume"),
    ),
    "mo_tpe of three, hypervolume": (
        lambda s: adjusted(px.mo_tpe, ties=px.pareto.Hypervolume())(s, 3, 1), 3, 1,
        oracle.Settings("relative", "linear", whole_front=True, minimum=0.1, top=0.9, ties="hypervolume"),
    ),
    "optuna_tpe": (
        lambda s: px.optuna_tpe(s), 1, 0,
        oracle.Settings(rule="optuna", kernel="neighbours", top=None, forget=True),
    ),
    "optuna_tpe, all ages": (
        lambda s: adjusted(px.optuna_tpe, ages=None)(s), 1, 0,
        oracle.Settings(rule="optuna", kernel="neighbours", top=None),
    ),
    "optuna_tpe, constrained": (
        lambda s: px.optuna_tpe(s, 1, 1), 1, 1,
        oracle.Settings("relative", "optuna", kernel="neighbours", top=None, forget=True),
    ),
}  # fmt: skip
