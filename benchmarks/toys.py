"""Toy functions that only benchmarks and tests use: a bounded sphere, and ZDT1."""

from typing import Any

import jax.numpy as jnp
from jax.tree_util import Partial
from jaxtyping import Array, PRNGKeyArray

from benchmarks.toy_problems import bowl, box, point_of
from parzax import _checks
from parzax.samplers import Problem


def sphere(dim: int = 2, center: Any = 0.0, lower: Any = ()) -> Problem:
    """f(x) = sum_i (x_i - center_i)^2 on [-5, 5]^D, where x_i >= lower_i for the first c parameters.

    Args:
        dim: D; static.
        center: scalar or (D,), within the box; traced.
        lower: (c,), c <= D, within the box; traced.

    Returns:
        A problem with c constraints lower_i - x_i. Its optimum is sum_(i <= c) max(lower_i - center_i, 0)^2,
        where x_i is the larger of the two.

    >>> import jax, jax.numpy as jnp
    >>> problem = sphere(2, lower=[1.0])
    >>> [part.tolist() for part in problem(jax.random.key(0), jnp.array([3.0, 0.0]))]
    [[9.0], [-2.0]]
    >>> problem.feasible_optimum.tolist()
    [1.0]
    """
    center, lower = point_of("center", center, dim), jnp.asarray(lower, dtype=jnp.result_type(float))
    if lower.ndim != 1 or len(lower) > dim:
        raise ValueError(f"lower must have shape (c,) with c <= {dim}, got {lower.shape}.")
    best = jnp.sum(jnp.maximum(lower - center[: len(lower)], 0) ** 2)
    fn = Partial(_bounded_sphere, center, lower)
    return Problem(fn, box(dim), n_constraints=len(lower), name="sphere", feasible_optimum=best)


def zdt1(dim: int = 30) -> Problem:
    """ZDT1 (Zitzler, Deb and Thiele 2000): two objectives on [0, 1]^D.

    f_1 = x_1 and f_2 = g (1 - sqrt(x_1 / g)) with g = 1 + 9 mean(x_2 .. x_D). The Pareto set is
    x_2 = ... = x_D = 0, the front f_2 = 1 - sqrt(f_1), whose hypervolume below (1, 1) is 2/3.

    >>> import jax, jax.numpy as jnp
    >>> zdt1(3)(jax.random.key(0), jnp.array([0.25, 0.0, 0.0]))[0].tolist()
    [0.25, 0.5]
    """
    _checks.whole_number("dim", dim, 2)
    return Problem(_zdt1, box(dim, 0.0, 1.0), 2, name="zdt1", feasible_optimum=jnp.zeros(2))


def _bounded_sphere(center: Array, lower: Array, key: PRNGKeyArray, x: Array) -> tuple[Array, Array]:
    return bowl(jnp.ones_like(center), center, key, x), lower.astype(x.dtype) - x[: len(lower)]


def _zdt1(_key: PRNGKeyArray, x: Array) -> Array:
    g = 1 + 9 * jnp.mean(x[1:])
    return jnp.stack([x[0], g * (1 - jnp.sqrt(x[0] / g))])
