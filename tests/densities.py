"""Spaces with every kind of parameter, rows of them and points in them: shared by the tests of densities.

Numbers of points are few and fixed, so that the tests share what they compile.
"""

import functools
import math
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from reference import mixture

import parzax as px
from parzax.density.basis import basis_of
from parzax.density.rows import configurations, encoded, log_prob_at

SPACES = {
    "flat": px.Space(
        {
            "x": px.Float(-3.0, 5.0),
            "lr": px.Float(1e-5, 10.0, log=True),
            "k": px.Int(1, 7),
            "units": px.Int(1, 60, log=True),
            "step": px.Float(-1.0, 1.0, step=0.25),
            "batch": px.Ordinal([16, 32, 64, 256], log=True),
            "kind": px.Categorical(["a", "b", "c"]),
            "one": px.Int(3, 3),
        }
    ),
    "conditional": px.Space(
        {
            "c": px.Float(0.0, 1.0),
            "kind": px.Categorical(["a", "b", "c"]),
            "lr": px.Float(1e-4, 1.0, log=True, when=px.In("kind", ["a", "b"])),
            "x": (
                px.Float(-7.0, -2.0, when=px.Between("c", high=0.4)),
                px.Float(2.0, 7.0, when=px.Between("c", low=0.6)),
            ),
            "k": px.Int(1, 5, when=(px.In("kind", ["b"]), px.Between("x", high=5.0))),
            "size": px.Ordinal([1, 2, 5]),
            "z": px.Float(-1.0, 1.0, step=0.5, when=px.In("size", [2, 5])),
        }
    ),
    # Too many values for columns of the product: rows of tables, and categories compared pair by pair.
    "many": px.Space(
        {
            "kind": px.Categorical([f"kind {i}" for i in range(20)]),
            "k": px.Int(1, 40, when=px.In("kind", [f"kind {i}" for i in range(10)])),
            "m": (
                px.Int(0, 30, when=px.In("kind", [f"kind {i}" for i in range(5, 12)])),
                px.Int(1, 50, log=True),
            ),
            "x": px.Float(0.0, 1.0),
        }
    ),
    # More values than points: no table of log masses, but each pair for itself.
    "long": px.Space({"n": px.Int(0, 999), "x": px.Float(0.0, 1.0)}),
}
N_ROWS, N_POINTS = 12, 10


def draw(name: str, n: int, seed: int = 0) -> np.ndarray:
    """Configurations, (n, d): active values anywhere in their domains, one in five at an end."""
    space = SPACES[name]
    parameters = mixture.parameters_of(space)
    rng = np.random.default_rng(seed)
    rows = np.full((n, len(space)), math.nan)
    for row in rows:
        for own in space.order:
            j = space.index(own)
            regime = mixture.regimes(parameters, row)[j]
            if regime is None:
                continue
            kind, domain = parameters[j]["kind"], mixture.domains(parameters[j])[regime]
            values = mixture.listed(kind, domain)
            if values is not None:
                row[j] = rng.choice([*values, values[0], values[-1]])
            elif rng.uniform() < 0.2:
                row[j] = domain["low"] if rng.uniform() < 0.5 else domain["high"]
            elif domain.get("log"):
                row[j] = math.exp(rng.uniform(math.log(domain["low"]), math.log(domain["high"])))
            else:
                row[j] = rng.uniform(domain["low"], domain["high"])
    return rows


@functools.cache
def rows(name: str) -> np.ndarray:
    """Rows of a space, the same in every test."""
    return draw(name, N_ROWS, 1)


@functools.cache
def points(name: str) -> np.ndarray:
    """Points of a space, the last two on rows of `rows`."""
    return np.concatenate([draw(name, N_POINTS - 2, 2), rows(name)[:2]])


def log_prob_in(form: str | None, pe: px.ParzenEstimator, x: Any) -> jax.Array:
    """`ParzenEstimator.log_prob` with kernels in the form "product" or "pairwise"; None leaves the choice."""
    if form is None:
        return pe.log_prob(x)
    x, shape = configurations(pe.space, x)
    if isinstance(x, np.ndarray):
        at = encoded(pe.space, x, len(x), pe.scale.dtype)
    else:
        at = basis_of(pe.space, x.dtype).frame, x
    basis = replace(pe.basis, pairwise=form == "pairwise")
    return log_prob_at(basis, pe.mixture, True, at).reshape(shape)
