"""Functions of mixed and of conditional parameters.

Each label of the first parameter has an optimum of its own, which integers and ordinals can reach. Labels of
categorical parameters add offsets; the best have none, so that the smallest value is 0. Distances are of unit
coordinates, times 5.
"""

import math
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.optimisers.problems import Case, Group, alternately, of_one_loss

SPACES = {
    "mixed": px.Space(
        {
            "method": px.Categorical(["a", "b", "c", "d"]),
            "loss": px.Categorical(["l1", "l2", "huber"]),
            "rate": px.Float(1e-5, 1.0, log=True),
            "share": px.Float(0.0, 1.0),
            "decay": px.Float(1e-6, 1e-1, log=True),
            "layers": px.Int(1, 8),
            "trees": px.Int(10, 1000, log=True),
            "batch": px.Ordinal([16, 32, 64, 128, 256, 512], log=True),
        }
    ),
    "conditional": px.Space(
        {
            "model": px.Categorical(["svm", "forest", "net"]),
            "c": px.Float(1e-3, 1e3, log=True, when=px.In("model", ["svm"])),
            "gamma": px.Float(1e-4, 10.0, log=True, when=px.In("model", ["svm"])),
            "trees": px.Int(10, 1000, log=True, when=px.In("model", ["forest"])),
            "depth": px.Int(1, 20, when=px.In("model", ["forest"])),
            "features": px.Float(0.0, 1.0, when=px.In("model", ["forest"])),
            "rate": px.Float(1e-5, 1.0, log=True, when=px.In("model", ["net"])),
            "units": px.Int(8, 512, log=True, when=px.In("model", ["net"])),
            "dropout": px.Float(0.0, 0.8, when=px.In("model", ["net"])),
            "activation": px.Categorical(["relu", "tanh", "gelu"], when=px.In("model", ["net"])),
            "seed_share": px.Float(0.0, 1.0),
        }
    ),
}
# The last is the first with noise, whose standard deviation is this.
NOISE = 0.5


def _quadratic(t: jax.Array) -> jax.Array:
    return jnp.sum(jnp.linspace(1, 5, len(t)) * t**2)


def _ackley(t: jax.Array) -> jax.Array:
    far, waves = jnp.exp(-0.2 * jnp.sqrt(jnp.mean(t**2) + 1e-12)), jnp.exp(jnp.mean(jnp.cos(2 * jnp.pi * t)))
    return 20 * (1 - far) + math.e - waves


def _rastrigin(t: jax.Array) -> jax.Array:
    return jnp.sum(t**2 + 3 * (1 - jnp.cos(2 * jnp.pi * t)))


def _rosenbrock(t: jax.Array) -> jax.Array:
    s = 1 + t
    return jnp.sum(10 * (s[1:] - s[:-1] ** 2) ** 2 + t[:-1] ** 2)


def _steps(t: jax.Array) -> jax.Array:
    return jnp.sum(jnp.floor(2 * jnp.abs(t)))


BASES = {
    "quadratic": _quadratic,
    "ackley": _ackley,
    "rastrigin": _rastrigin,
    "rosenbrock": _rosenbrock,
    "steps": _steps,
    "noisy quadratic": _quadratic,
}


def names(space: str) -> list[tuple[str, str]]:
    """Name and half of each function on one of `SPACES`; every other one is for choosing."""
    return [(f"{space}/{base}", half) for base, half in zip(BASES, alternately(len(BASES)), strict=True)]


def group(name: str, n_seeds: int) -> Group:
    """The functions of one of `SPACES`."""
    space = SPACES[name]
    domains = [own for (own,) in space.domains]
    units = units_of(space)
    numeric, ends, logs = _axes(space)
    labels = [d for d, own in enumerate(domains) if isinstance(own, px.Categorical)]
    places = [0, *np.cumsum([domains[d].n_values or 0 for d in labels])]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    size = (n_seeds, places[-1])
    best = np.stack([_drawn(domains[d], rng, size) for d in numeric], axis=-1)
    offsets = rng.uniform(0.5, 3.0, size)
    for first, last in pairwise(places):
        offsets[np.arange(n_seeds), rng.integers(first, last, n_seeds)] = 0.0
    own = jnp.asarray(offsets, float), jnp.asarray(_units(best, ends, logs, np), float)

    def regret(shared: tuple, own: tuple, x: jax.Array) -> jax.Array:
        offsets, optima = own
        codes = x[jnp.array(labels)]
        at = jnp.array(places[:-1]) + jnp.nan_to_num(codes).astype(int)
        # The category of the first label says where the optimum is.
        t = 5 * jnp.nan_to_num(units(x) - optima[at[0]])
        return (
            jax.lax.switch(shared[0], list(BASES.values()), t)
            + jnp.where(jnp.isnan(codes), 0, offsets[at]).sum()
        )

    def loss(shared: tuple, own: tuple, key: jax.Array, x: jax.Array) -> jax.Array:
        return regret(shared, own, x) + shared[1] * jax.random.normal(key)

    cases = [
        Case(case, half, (jnp.asarray(i), jnp.asarray(NOISE if "noisy" in case else 0.0)), own)
        for i, (case, half) in enumerate(names(name))
    ]
    return of_one_loss(name, space, tuple(cases), loss, regret)


def units_of(space: px.Space) -> Callable[[jax.Array], jax.Array]:
    """Unit coordinates of parameters that are not categorical, NaN where inactive, of native values."""
    numeric, ends, logs = _axes(space)
    return lambda x: _units(x[jnp.array(numeric)], ends, logs)


def _axes(space: px.Space) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Which parameters are not categorical, their ends, and whether they are on a log axis."""
    domains = [own for (own,) in space.domains]
    numeric = [d for d, own in enumerate(domains) if not isinstance(own, px.Categorical)]
    logs = np.array([bool(getattr(domains[d], "log", False)) for d in numeric])
    return numeric, np.array([_ends(domains[d]) for d in numeric]), logs


def _ends(domain: px.Float | px.Int | px.Ordinal) -> tuple[float, float]:
    if isinstance(domain, px.Ordinal):
        return float(domain.values[0]), float(domain.values[-1])
    return float(domain.low), float(domain.high)


def _units(x: Any, ends: np.ndarray, logs: np.ndarray, xp: Any = jnp) -> Any:
    """Unit coordinates of numeric parameters (..., d), by NumPy or JAX."""
    low, high = np.where(logs[:, None], np.log(np.where(logs[:, None], ends, 1.0)), ends).T
    low, high, logs = (np.broadcast_to(a, x.shape) for a in (low, high, logs))
    return (xp.where(logs, xp.log(xp.where(logs, x, 1.0)), x) - xp.asarray(low, x.dtype)) / xp.asarray(
        high - low, x.dtype
    )


def _drawn(
    domain: px.Float | px.Int | px.Ordinal, rng: np.random.Generator, size: tuple[int, ...]
) -> np.ndarray:
    """Values that the parameter can have, about uniform on its axis, not at its ends."""
    low, high = _ends(domain)
    level = rng.uniform(0.1, 0.9, size)
    value = low * (high / low) ** level if getattr(domain, "log", False) else low + (high - low) * level
    if isinstance(domain, px.Int):
        return np.rint(value)
    if isinstance(domain, px.Ordinal):
        values = np.array(domain.values, float)
        return values[np.abs(value[..., None] - values).argmin(axis=-1)]
    return value
