"""BBOB's functions on integers and ordinals, in the manner of COCO's bbob-mixint (Tusar et al. 2019).

A parameter of m values stands for m points of [-5, 5] at equal distances. They are shifted so that one of
them is the function's optimum; the smallest value is therefore 0.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.optimisers import bbob
from benchmarks.studies.optimisers.problems import Group, of_one_loss


def _ints(sizes: tuple[int, ...]) -> dict[str, px.Int]:
    return {f"i{k}": px.Int(0, m - 1) for k, m in enumerate(sizes)}


_POWERS = [10.0**-j for j in range(8, -1, -1)]
SPACES = {
    "mixint-05d": px.Space(_ints((2, 4, 8, 16)) | {"x": px.Float(-5.0, 5.0)}),
    "few values": px.Space(_ints((3, 5, 7)) | {"o": px.Ordinal([1, 2, 4, 8, 16, 32], log=True)}),
    "ordinals": px.Space({f"o{k}": px.Ordinal([16, 32, 64, 128, 256, 512, 1024, 2048]) for k in range(5)}),
    "log ordinals": px.Space({f"o{k}": px.Ordinal(_POWERS, log=True) for k in range(5)}),
    "integers": px.Space(_ints((20, 30, 50, 75, 100))),
}


def names(space: str) -> list[tuple[str, str]]:
    """Name and half of each function on one of `SPACES`, as in `bbob`."""
    return [(f"{space}/{name.split('/')[1]}", half) for name, half in bbob.names(2)]


def group(name: str, n_seeds: int, half: str | None = None) -> Group:
    """The functions on one of `SPACES`, or those of a half."""
    space = SPACES[name]
    plain = bbob.group(len(space), n_seeds, half)
    floats, sizes, values = _axes(space)

    def position(own: Any, x: jax.Array) -> jax.Array:
        step, index = 10 / sizes, jnp.abs(x[:, None] - values).argmin(axis=1)
        best = jnp.clip(jnp.floor((own.x_opt + 5) / step), 0, sizes - 1)
        return jnp.where(floats, x, own.x_opt + (index - best) * step)

    def loss(shared: Any, own: Any, key: jax.Array, x: jax.Array) -> jax.Array:
        return plain.evaluate(shared, own, key, position(own, x))[0][0]

    def regret(shared: Any, own: Any, x: jax.Array) -> jax.Array:
        return jnp.maximum(loss(shared, own, jax.random.key(0), x), 0)

    cases = [replace(case, name=f"{name}/{case.name.split('/')[1]}") for case in plain.cases]
    return of_one_loss(name, space, tuple(cases), loss, regret)


def _axes(space: px.Space) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(d,) which parameters are floats, (d,) numbers of values, (d, m) values, padded with infinity."""
    domains = [own for (own,) in space.domains]
    listed = [
        [] if isinstance(own, px.Float)
        else list(own.values) if isinstance(own, px.Ordinal)
        else range(own.low, own.high + 1)
        for own in domains
    ]  # fmt: skip
    sizes = np.array([max(len(own), 1) for own in listed])
    values = np.full((len(domains), sizes.max()), np.inf)
    for row, own in zip(values, listed, strict=True):
        row[: len(own)] = own
    return np.array([not own for own in listed]), sizes, values
