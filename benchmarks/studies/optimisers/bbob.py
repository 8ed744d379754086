"""The 24 noiseless functions of COCO/BBOB (Hansen et al. 2021) by bbobax, another instance in each run."""

import zlib
from importlib.util import find_spec

import jax
import jax.numpy as jnp

import parzax as px
from benchmarks.studies.optimisers.problems import Case, Group, alternately, of_one_loss

DIMENSIONS = 2, 5, 10, 20


def names(n_dims: int) -> list[tuple[str, str]]:
    """Name and half of each function; none without bbobax. Those of odd number are for choosing."""
    if find_spec("bbobax") is None:
        return []
    from bbobax import BBOB_PROBLEMS

    halves = alternately(len(BBOB_PROBLEMS))
    return [
        (f"bbob-{n_dims:02}d/f{i + 1:02} {name}", half)
        for i, (name, half) in enumerate(zip(BBOB_PROBLEMS, halves, strict=True))
    ]


def group(n_dims: int, n_seeds: int, half: str | None = None) -> Group:
    """All functions in so many dimensions on [-5, 5]^d, or those of a half: each takes long to compile."""
    from bbobax import bbob_suite

    suite = bbob_suite(num_dims=n_dims)
    draws = [problem.sample for problem in suite.values()]
    keys = jax.random.split(jax.random.key(zlib.crc32(f"bbob-{n_dims}".encode())), n_seeds)
    # One program for the instances of all functions, and one for their values.
    draw = jax.jit(jax.vmap(lambda index, key: jax.lax.switch(index, draws, key), in_axes=(None, 0)))
    named, problems = names(n_dims), list(suite.values())
    chosen = [i for i, (_, own) in enumerate(named) if half in (None, own)]
    values = [lambda x, at, own=problems[i]: own.evaluate(at.key, x, at).fitness for i in chosen]

    def loss(shared: jax.Array, own: object, _key: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.switch(shared, values, x, own)

    def regret(shared: jax.Array, own: object, x: jax.Array) -> jax.Array:
        return jnp.maximum(jax.lax.switch(shared, values, x, own), 0)

    cases = [Case(*named[i], jnp.asarray(k), draw(i, keys)) for k, i in enumerate(chosen)]
    space = px.Space({f"x{d}": px.Float(-5.0, 5.0) for d in range(n_dims)})
    return of_one_loss(f"bbob-{n_dims:02}d", space, tuple(cases), loss, regret)
