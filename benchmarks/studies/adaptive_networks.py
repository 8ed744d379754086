"""Networks trained on random configurations of YAHPO, as functions of conditional spaces."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special

import parzax as px
from benchmarks.studies.papers import data

# File of the space, and of random configurations with their accuracies.
NETWORKS = {
    "boosting": ("rbv2_xgboost.space.json", "rbv2_xgboost_40499.npz"),
    "learners": ("rbv2_cash2.space.json", "rbv2_cash2_1053_n100000.npz"),
}
# Units of each of the two hidden layers; rows, passes over them and rows of a step in training.
_WIDTH, _ROWS, _PASSES, _BATCH = 64, 20_000, 60, 256

# A list of (weights, biases).
Layers = list[tuple[jax.Array, jax.Array]]


@cache
def network_problem(name: str) -> px.Problem:
    """The error rate, as a network predicts it; it needs PARZAX_DATA."""
    folder = data.folder()
    if folder is None:
        raise FileNotFoundError("set PARZAX_DATA to the folder that has yahpo/")
    space_file, rows_file = (folder / "yahpo" / file for file in NETWORKS[name])
    space = px.Space.from_json(json.loads(Path(space_file).read_text()))
    with np.load(rows_file) as arrays:
        x = arrays["values"].reshape(-1, len(space))[:_ROWS]
        accuracy = arrays["objective"].reshape(-1)[:_ROWS]
    layers, features = _train(space, x, 1 - accuracy), _features(space)

    def loss(_key: jax.Array, x: jax.Array) -> jax.Array:
        return _predict(layers, features(x[None]))[0]

    return px.Problem(loss, space, name=name)


def _features(space: px.Space) -> Callable[[Any], jax.Array]:
    """Of configurations (n, d): unit values, one-hot categories, and whether a parameter applies."""

    def features(x: Any) -> jax.Array:
        at = space.frame(np.dtype(x.dtype)).encode(jnp.asarray(x))
        columns = []
        for j, (domain,) in enumerate(space.domains):
            active = ~jnp.isnan(x[:, j])
            if isinstance(domain, px.Categorical):
                columns += [active & (at.index[:, j] == code) for code in range(len(domain.choices))]
            else:
                columns += [active, jnp.where(active, 2 * at.unit[:, j] - 1, 0)]
        return jnp.stack(columns, axis=1).astype(x.dtype)

    return features


def _predict(layers: Layers, features: jax.Array) -> jax.Array:
    """Error rates (n,), between 0 and 1."""
    *hidden, last = layers
    for weights, biases in hidden:
        features = jnp.tanh(features @ weights + biases)
    return jax.nn.sigmoid(features @ last[0] + last[1])[:, 0]


def _train(space: px.Space, x: np.ndarray, error: np.ndarray) -> Layers:
    """Least squares by Adam, with a step size that falls to 0."""
    features, target = jax.jit(_features(space))(jnp.asarray(x, jnp.float32)), jnp.asarray(error, jnp.float32)
    sizes = [features.shape[1], _WIDTH, _WIDTH, 1]
    keys = jax.random.split(jax.random.key(0), len(sizes))
    layers = [
        (jax.random.normal(key, (m, n)) / m**0.5, jnp.zeros(n))
        for key, m, n in zip(keys, sizes[:-1], sizes[1:], strict=False)
    ]
    layers[-1] = (layers[-1][0], jnp.full(1, scipy.special.logit(error.mean())))
    n_steps = _PASSES * len(target) // _BATCH

    def mean_square(layers: Layers, rows: Any) -> jax.Array:
        return ((_predict(layers, features[rows]) - target[rows]) ** 2).mean()

    def step(carry: Any, at: Any) -> tuple[Any, None]:
        layers, first, second = carry
        number, key = at
        gradient = jax.grad(mean_square)(layers, jax.random.randint(key, (_BATCH,), 0, len(target)))
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
        size = 3e-3 * (1 - number / n_steps) / (1 - 0.9 ** (number + 1))
        layers = jax.tree.map(
            lambda p, m, v: p - size * m / (jnp.sqrt(v / (1 - 0.999 ** (number + 1))) + 1e-8),
            layers, first, second,
        )  # fmt: skip
        return (layers, first, second), None

    zeros = jax.tree.map(jnp.zeros_like, layers)
    steps = jnp.arange(n_steps, dtype=jnp.float32), jax.random.split(keys[-1], n_steps)
    (layers, _, _), _ = jax.jit(lambda *carry: jax.lax.scan(step, carry, steps))(layers, zeros, zeros)
    return layers
