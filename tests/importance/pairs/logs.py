"""Logs with known interactions, and the level sets of a log by sorting."""

import numpy as np

import parzax as px

UNIT = {name: px.Float(-1, 1) for name in "xyz"}


def log_of(loss, n=1000, seed=0, d=3, **settings) -> px.Observations:
    """Rows uniform on [-1, 1]^d, with one column of uniform noise for the loss."""
    rng = np.random.default_rng(seed)
    x, noise = rng.uniform(-1, 1, (n, d)), rng.uniform(size=n)
    space = px.Space(dict(list(UNIT.items())[:d]))
    return px.Observations.from_arrays(space, x, loss(x, noise), **settings)


def product(x, noise):
    """No parameter has an effect of its own at gamma' = 0.5."""
    return x[:, 0] * x[:, 1]


def gated(n=1000, seed=0) -> px.Observations:
    """x y where c < 0.5, noise elsewhere; there u and v are active instead, without any effect."""
    rng = np.random.default_rng(seed)
    c, (x, y, u, v, noise) = rng.uniform(size=n), rng.uniform(-1, 1, (5, n))
    low, high = px.Between("c", high=0.5), px.Between("c", low=0.5)
    space = px.Space({
        "c": px.Float(0, 1), "x": px.Float(-1, 1, when=low), "y": px.Float(-1, 1, when=low),
        "u": px.Float(-1, 1, when=high), "v": px.Float(-1, 1, when=high),
    })  # fmt: skip
    on, off = np.where(c < 0.5, [x, y], np.nan), np.where(c < 0.5, np.nan, [u, v])
    return px.Observations.from_arrays(space, np.stack([c, *on, *off], -1), np.where(c < 0.5, x * y, noise))


def mixed(n=300, seed=0) -> px.Observations:
    """Every kind of parameter, two regimes, skewed rows, more categories than cells, whole weights."""
    rng, low = np.random.default_rng(seed), px.Between("c", high=0.4)
    space = px.Space({
        "c": px.Float(0, 1),
        "x": (px.Float(-2, -1, when=low), px.Float(1, 2, when=px.Between("c", low=0.4))),
        "log": px.Float(1e-4, 1, log=True),
        "skewed": px.Float(0, 1),
        "int": px.Int(1, 9),
        "wide": px.Int(0, 40),
        "logint": px.Int(1, 500, log=True),
        "ordinal": px.Ordinal([1, 2, 4, 8, 16, 32, 64]),
        "label": px.Categorical(["a", "b", "c"]),
        "labels": px.Categorical([f"l{i}" for i in range(30)]),
        "when": px.Float(0, 1, when=px.In("label", ["a", "b"])),
    })  # fmt: skip
    c, label = rng.uniform(size=n), rng.integers(0, 3, n)
    x = np.where(c < 0.4, rng.uniform(-2, -1, n), rng.uniform(1, 2, n))
    values = np.stack(
        [
            c, x, 10 ** rng.uniform(-4, 0, n), rng.uniform(size=n) ** 5, rng.integers(1, 10, n),
            rng.integers(0, 41, n), np.floor(np.exp(rng.uniform(0, np.log(500), n))).clip(1, 500),
            2.0 ** rng.integers(0, 7, n), label, np.minimum(rng.geometric(0.1, n) - 1, 29),
            np.where(label < 2, rng.uniform(size=n), np.nan),
        ],
        axis=-1,
    )  # fmt: skip
    loss = np.round(x * c + 0.3 * (label == 1) * values[:, 4] + rng.normal(size=n), 1)
    return px.Observations.from_arrays(space, values, loss, weight=rng.integers(0, 3, n))


def level_set(obs: px.Observations, quantile: float) -> np.ndarray:
    """(n,) rows of the best share, ties included, by whole weights."""
    loss = obs.losses[:, 0]
    weight = np.ones(obs.n) if obs.weight is None else obs.weight
    needed, reached = np.ceil(quantile * weight.sum() - 1e-9), 0.0
    for row in np.argsort(loss, kind="stable"):
        reached += weight[row]
        if reached >= needed:
            return (loss <= loss[row]) & (weight > 0)
    return weight > 0
