"""The log of `parzax demo`: a random search over a small network on scikit-learn's digits, trained in JAX.

python -m benchmarks.demo_log    # writes src/parzax/lens/cli/network.csv

All networks are trained at once, as one program: layers and units beyond those of a configuration are masked.
"""

import csv
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

import parzax as px

OUT = Path(__file__).parents[1] / "src/parzax/lens/cli/network.csv"
N, LAYERS, WIDTH, BATCH, STEPS = 400, 3, 64, 64, 200
SPACE = px.Space(
    {
        "learning_rate": px.Float(1e-4, 1.0, log=True),
        "optimizer": px.Categorical(["adam", "sgd"]),
        "momentum": px.Float(0.0, 0.99, when=px.In("optimizer", ["sgd"])),
        "layers": px.Int(1, LAYERS),
        "units": px.Int(8, WIDTH, log=True),
        "dropout": px.Float(0.0, 0.6),
        "weight_decay": px.Float(1e-6, 1e-2, log=True),
    }
)


def main() -> None:
    digits: Any = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    x, y = jnp.asarray(digits.data[order] / 16, jnp.float32), jnp.asarray(digits.target[order])
    train, valid = slice(0, 1200), slice(1200, None)

    def forward(weights, config, rows, key):
        """Logits; without a key nothing is dropped."""
        _, _, _, layers, units, dropout, _ = config
        active = jnp.arange(WIDTH) < units
        hidden = rows
        for i, (w, b) in enumerate(weights[:-1]):
            out = jax.nn.relu(hidden @ w + b) * active
            if key is not None:
                kept = jax.random.bernoulli(jax.random.fold_in(key, i), 1 - dropout, out.shape)
                out = out * kept / (1 - dropout)
            hidden = out if i == 0 else jnp.where(i < layers, out, hidden)
        return hidden @ weights[-1][0] + weights[-1][1]

    def validate(key, config):
        rate, kind, momentum, _, units, _, decay = config
        sizes = [x.shape[1], *[WIDTH] * LAYERS, 10]
        fans = [x.shape[1], *[units] * LAYERS]
        keys = jax.random.split(key, LAYERS + 2)
        weights = [
            (jax.random.normal(k, (a, b)) * jnp.sqrt(2 / fan), jnp.zeros(b))
            for k, a, b, fan in zip(keys, sizes[:-1], sizes[1:], fans, strict=False)
        ]

        def loss(weights, rows, labels, key):
            return -jax.nn.log_softmax(forward(weights, config, rows, key))[jnp.arange(BATCH), labels].mean()

        def step(carry, i):
            weights, first, second = carry
            key = jax.random.fold_in(keys[-1], i)
            rows = jax.random.randint(key, (BATCH,), 0, 1200)
            gradient = jax.grad(loss)(weights, x[train][rows], y[train][rows], key)
            gradient = jax.tree.map(lambda g, w: g + decay * w, gradient, weights)
            beta = jnp.where(kind == 0, 0.9, momentum)
            first = jax.tree.map(lambda m, g: beta * m + jnp.where(kind == 0, 0.1, 1.0) * g, first, gradient)
            second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, gradient)
            t = i + 1.0

            def move(w, m, v):
                adam = m / (1 - 0.9**t) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
                return w - rate * jnp.where(kind == 0, adam, m)

            return (jax.tree.map(move, weights, first, second), first, second), None

        zeros = jax.tree.map(jnp.zeros_like, weights)
        (weights, *_), _ = jax.lax.scan(step, (weights, zeros, zeros), jnp.arange(STEPS))
        scores = jax.nn.log_softmax(forward(weights, config, x[valid], None))
        return -jnp.take_along_axis(scores, y[valid][:, None], axis=1).mean()

    configs = SPACE.sample(jax.random.key(1), N)
    train_all = jax.jit(
        lambda keys, configs: jax.lax.map(lambda a: validate(*a), (keys, configs), batch_size=20)
    )
    losses = train_all(jax.random.split(jax.random.key(2), N), jnp.nan_to_num(configs))
    with OUT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*SPACE.names, "val_loss"])
        for row, value in zip(np.asarray(configs), np.asarray(losses), strict=True):
            native = [
                SPACE[n][0].interpret(v) if v == v else "" for n, v in zip(SPACE.names, row, strict=True)
            ]
            cells = [f"{v:.4g}" if isinstance(v, float) else v for v in native]
            writer.writerow([*cells, f"{value:.5g}" if np.isfinite(value) else ""])


if __name__ == "__main__":
    main()
