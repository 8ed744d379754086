"""What the tests of tables do with a problem, compiled once for all."""

import jax
from reference import tables


@jax.jit
def evaluate(problem, keys, x):
    return jax.vmap(problem)(keys, x)


@jax.jit
def both_ways(problem, rows):
    x = jax.vmap(problem.decode)(rows)
    return x, jax.vmap(problem.encode)(x)


def keys_of(n, seed=0):
    return jax.random.split(jax.random.key(seed), n)


def limits(name, level):
    """Excess over the threshold in float64, by constraint."""
    raw = tables.load(name)
    entries = raw.header["constraints"]
    return {c: raw.metric(e["array"]) - e["thresholds"][str(level)] for c, e in entries.items()}
