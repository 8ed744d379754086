"""Functions in JAX of named values, for searches in benchmarks.studies.in_jax."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

import parzax as px

Params = Mapping[str, jax.Array]
Domains = Mapping[str, px.Float | px.Int | px.Categorical]
# Where the optimum of the bowls is, in unit coordinates.
AT = 0.3

MIXED: Domains = {
    "rate": px.Float(1e-5, 1.0, log=True),
    "dropout": px.Float(0.0, 0.5),
    "decay": px.Float(1e-8, 1e-1, log=True),
    "layers": px.Int(1, 8),
    "width": px.Int(8, 512, log=True),
    "activation": px.Categorical(["relu", "tanh", "gelu", "silu"]),
}
CONDITIONAL: Domains = {
    "model": px.Categorical(["svm", "forest"]),
    "c": px.Float(1e-3, 1e3, log=True, when=px.In("model", ["svm"])),
    "gamma": px.Float(1e-4, 10.0, log=True, when=px.In("model", ["svm"])),
    "trees": px.Int(10, 1000, log=True, when=px.In("model", ["forest"])),
    "depth": px.Int(1, 20, when=px.In("model", ["forest"])),
    "share": px.Float(0.0, 1.0),
}
NETWORKS: Domains = {
    "optimizer": px.Categorical(["sgd", "adam"]),
    "rate": px.Float(1e-4, 10.0, log=True),
    "momentum": px.Float(0.0, 0.99, when=px.In("optimizer", ["sgd"])),
    "units": px.Int(2, 32, log=True),
    "decay": px.Float(1e-6, 1e-1, log=True),
    "spread": px.Float(1e-2, 10.0, log=True),
}
FIVE_FLOATS: Domains = {f"x{i}": px.Float(-5.0, 5.0) for i in range(5)}
# Functions of BBOB (Hansen et al. 2021) from three groups: separable, moderately conditioned, many optima.
BBOB = {"bbob-sphere": 0, "bbob-rosenbrock": 7, "bbob-rastrigin": 14}
NAMES = ("mixed", "conditional", "networks", *BBOB)


@dataclass(frozen=True)
class Task:
    """A function and its smallest value.

    Attributes:
        fn: ``fn(shared, key, params)``, with arrays that a seed has, a key and values by name.
        domains: of each name.
        least: its smallest value, 0 where it is not known.
        draw: the arrays of a seed.
    """

    fn: Callable[[Any, jax.Array, Params], jax.Array]
    domains: Domains
    least: float = 0.0
    draw: Callable[[int], Any] = lambda _seed: ()


def task(name: str) -> Task:
    """Of one of `NAMES`."""
    if name == "mixed":
        return Task(mixed, MIXED, _off(MIXED, "layers") + _off(MIXED, "width"))
    if name == "conditional":
        return Task(conditional, CONDITIONAL, _off(CONDITIONAL, "trees") + 2 * _off(CONDITIONAL, "depth"))
    if name == "networks":
        images = digits()
        return Task(train, NETWORKS, draw=lambda _seed: images)
    return bbob(BBOB[name])


def mixed(_shared: Any, _key: jax.Array, params: Params) -> jax.Array:
    """A bowl in unit coordinates; the activation moves the best rate, and one is the best."""
    units = _units(MIXED, params)
    moved = jnp.array([0.0, 0.1, 0.2, -0.1])[params["activation"].astype(int)]
    far = [4 * (units["rate"] - AT - moved) ** 2, *((units[name] - AT) ** 2 for name in list(units)[1:])]
    return sum(far) + 0.2 * (params["activation"] != 2)


def conditional(_shared: Any, _key: jax.Array, params: Params) -> jax.Array:
    """Two models with parameters of their own; the best forest is 0.1 better than the best SVM."""
    units = {name: (unit - AT) ** 2 for name, unit in _units(CONDITIONAL, params).items()}
    svm = 0.1 + units["c"] + 2 * units["gamma"]
    return jnp.where(params["model"] == 0, svm, units["trees"] + 2 * units["depth"]) + units["share"]


def _units(domains: Domains, params: Params) -> dict[str, jax.Array]:
    units = {}
    for name, domain in domains.items():
        if isinstance(domain, px.Categorical):
            continue
        ends, value = jnp.array([domain.low, domain.high], float), jnp.asarray(params[name], float)
        low, high, at = (jnp.log(x) if domain.log else x for x in (*ends, value))
        units[name] = (at - low) / (high - low)
    return units


def _off(domains: Domains, name: str) -> float:
    """Smallest squared distance of an integer from the optimum in unit coordinates."""
    values = jnp.asarray(domains[name].list_values())
    return float(jnp.min((_units({name: domains[name]}, {name: values})[name] - AT) ** 2))


def bbob(index: int) -> Task:
    """A function of COCO/BBOB in five dimensions by bbobax, another instance for each seed."""
    from bbobax import bbob_suite

    function = list(bbob_suite(num_dims=5).values())[index]
    sample = jax.jit(function.sample)

    def fn(instance: Any, _key: jax.Array, params: Params) -> jax.Array:
        x = jnp.stack([jnp.asarray(params[name], float) for name in FIVE_FLOATS])
        return function.evaluate(instance.key, x, instance).fitness

    return Task(fn, FIVE_FLOATS, draw=lambda seed: sample(jax.random.key(seed)))


# --- small networks ----------------------------------------------------------------------------------

MOST_UNITS, N_STEPS, BATCH, N_TRAIN = 32, 60, 64, 1200


def digits() -> tuple[jax.Array, jax.Array]:
    """The images (1797, 64) and labels of scikit-learn's digits, shuffled."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = jax.random.permutation(jax.random.key(0), len(images))
    return jnp.asarray(images, float)[order] / 16, jnp.asarray(labels)[order]


def train(shared: Any, key: jax.Array, params: Params) -> jax.Array:
    """Test loss of a network with one hidden layer, at most 10."""
    images, labels = shared
    used = (jnp.arange(MOST_UNITS) < params["units"]).astype(float)
    *keys, steps = jax.random.split(key, 3)
    shapes = {"in": (images.shape[1], MOST_UNITS), "out": (MOST_UNITS, 10)}
    weights = {
        name: params["spread"] * jax.random.normal(key, shape) / shape[0] ** 0.5
        for key, (name, shape) in zip(keys, shapes.items(), strict=True)
    }
    is_adam = params["optimizer"] == 1

    def loss(weights: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
        logits = (jax.nn.relu(x @ weights["in"]) * used) @ weights["out"]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], axis=1).mean()

    def step(carry: Any, at: tuple[jax.Array, jax.Array]) -> tuple[Any, None]:
        t, key = at
        rows = jax.random.randint(key, (BATCH,), 0, N_TRAIN)
        gradients = jax.grad(loss)(carry[0], images[rows], labels[rows])

        def moved(w: jax.Array, first: jax.Array, second: jax.Array, g: jax.Array) -> Any:
            # The momentum of SGD, or the first moment of Adam (Kingma and Ba 2015).
            first = jnp.where(is_adam, 0.9 * first + 0.1 * g, params["momentum"] * first + g)
            second = 0.999 * second + 0.001 * g**2
            scaled = first / (1 - 0.9**t) / (jnp.sqrt(second / (1 - 0.999**t)) + 1e-8)
            by = jnp.where(is_adam, scaled, first) + params["decay"] * w
            return w - params["rate"] * by, first, second

        together = jax.tree.map(moved, *carry, gradients)
        return jax.tree.transpose(jax.tree.structure(weights), jax.tree.structure((0, 0, 0)), together), None

    zeros = jax.tree.map(jnp.zeros_like, weights)
    at = jnp.arange(1.0, N_STEPS + 1), jax.random.split(steps, N_STEPS)
    (weights, *_), _ = jax.lax.scan(step, (weights, zeros, zeros), at)
    return jnp.nan_to_num(jnp.minimum(loss(weights, images[N_TRAIN:], labels[N_TRAIN:]), 10.0), nan=10.0)
