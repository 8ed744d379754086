"""Toy functions with known optima: those of the papers, a bounded sphere and ZDT1.

Their settings are leaves, so problems can be batched.
"""

from typing import Any

import jax.numpy as jnp
from jax.tree_util import Partial
from jaxtyping import Array, PRNGKeyArray

from parzax import _checks
from parzax.samplers.problem import Problem
from parzax.space import Float as FloatDomain
from parzax.space import Space

BOX = (-5.0, 5.0)


def ellipsoid(dim: int = 4, center: Any = 0.0) -> Problem:
    """f(x) = sum_i 5^(i - 1) (x_i - c_i)^2 on [-5, 5]^D (meta-learning TPE, arXiv 2212.06751).

    In the paper the centre is the same in every dimension: 0 in the target task, 0 to 4 in the source tasks.

    Args:
        dim: D; static.
        center: c, a scalar or (D,); it may be traced. `jax.vmap` over `ellipsoid` gives a batch of tasks.

    Returns:
        A problem whose optimum is 0, at the centre. If the centre is outside the box, the optimum is at the
        nearest point of the box.

    >>> import jax, jax.numpy as jnp
    >>> ellipsoid(3)(jax.random.key(0), jnp.ones(3))[0].tolist()
    [31.0]
    """
    center = point_of("center", center, dim)
    weight = 5.0 ** jnp.arange(dim, dtype=center.dtype)
    best = bowl(weight, center, None, jnp.clip(center, *BOX))
    return Problem(Partial(bowl, weight, center), box(dim), name="ellipsoid", feasible_optimum=best)


def discs(center: Any = -2.0, feasible_center: Any = 1.0, radius: Any = 2.0) -> Problem:
    """f(x) = |x - center|^2 on [-5, 5]^2, feasible in a disc: the toy of c-TPE (arXiv 2211.14411, Figure 2).

    The paper maps the acquisition function for a tight constraint (the defaults) and for a loose constraint
    that hardly matters (``radius=4``). In two other settings the best tenth and the feasible tenth of the
    domain are discs of radius sqrt(3): ``discs(0.0, 0.5, 3**0.5)`` has a large overlap of the two,
    ``discs(0.0, 2.3, 3**0.5)`` a small one. All settings are the authors'.

    Args:
        center, feasible_center: scalar (the same in both coordinates) or (2,), in the box; may be traced.
        radius: radius of the feasible disc; may be traced.

    Returns:
        A problem with the constraint |x - feasible_center|^2 - radius^2. Its optimum is
        max(0, |center - feasible_center| - radius)^2, on the line between the centres.

    >>> import jax, jax.numpy as jnp
    >>> objectives, constraints = discs()(jax.random.key(0), jnp.array([-2.0, 1.0]))
    >>> objectives.tolist(), constraints.tolist()
    ([9.0], [5.0])
    """
    center, middle = point_of("center", center, 2), point_of("feasible_center", feasible_center, 2)
    radius = jnp.asarray(radius, dtype=center.dtype)
    best = jnp.maximum(jnp.linalg.norm(center - middle) - radius, 0) ** 2
    fn = Partial(_disc, center, middle, radius)
    return Problem(fn, box(2), n_constraints=1, name="discs", feasible_optimum=best)


def ellipsoids(dim: int = 4, centers: Any = (-1.0, 1.0), base: Any = 5.0) -> Problem:
    """Ellipsoids with m different centres as m objectives on [-5, 5]^D; ``base=1`` gives spheres.

    f_k(x) = sum_i base^(i - 1) (x_i - c_ki)^2. With two objectives the Pareto set is the segment between the
    centres, and the front is sqrt(f_1) + sqrt(f_2) = sqrt(sum_i base^(i - 1) (c_1i - c_2i)^2).

    Args:
        dim: D; static.
        centers: (m,) or (m, D), in the box; may be traced.
        base: ratio of the weights of neighbouring dimensions; may be traced.

    >>> import jax, jax.numpy as jnp
    >>> ellipsoids(2, base=1.0)(jax.random.key(0), jnp.zeros(2))[0].tolist()
    [2.0, 2.0]
    """
    centers = jnp.asarray(centers, dtype=jnp.result_type(float))
    if centers.ndim not in (1, 2) or len(centers) == 0 or (centers.ndim == 2 and centers.shape[1] != dim):
        raise ValueError(f"centers must have shape (m,) or (m, {dim}), got {centers.shape}.")
    centers = jnp.broadcast_to(centers if centers.ndim == 2 else centers[:, None], (len(centers), dim))
    weight = jnp.asarray(base, dtype=centers.dtype) ** jnp.arange(dim, dtype=centers.dtype)
    fn, best = Partial(bowl, weight, centers), jnp.zeros(len(centers), centers.dtype)
    return Problem(fn, box(dim), len(centers), name="ellipsoids", feasible_optimum=best)


def bowl(weight: Array, center: Array, key: PRNGKeyArray | None, x: Array) -> Array:
    """Weighted squared distance to the centre: one value for a centre (d,), m values for centres (m, d)."""
    weight, center = jnp.broadcast_to(weight, center.shape).astype(x.dtype), center.astype(x.dtype)
    return jnp.sum(weight * (jnp.broadcast_to(x, center.shape) - center) ** 2, axis=-1)


def _disc(center: Array, middle: Array, radius: Array, key: PRNGKeyArray, x: Array) -> tuple[Array, Array]:
    one = jnp.ones_like(center)
    return bowl(one, center, key, x), bowl(one, middle, key, x) - radius.astype(x.dtype) ** 2


def point_of(name: str, value: Any, dim: int) -> Array:
    """``value`` as (dim,); a scalar is repeated."""
    array = jnp.asarray(value, dtype=jnp.result_type(float))
    if array.shape not in ((), (dim,)):
        raise ValueError(f"{name} must be a scalar or have shape ({dim},), got {array.shape}.")
    return jnp.broadcast_to(array, (dim,))


def box(dim: int, low: float = BOX[0], high: float = BOX[1]) -> Space:
    """A space with D parameters x1, x2, ..., each from ``low`` to ``high``."""
    names = [f"x{i}" for i in range(1, _checks.whole_number("dim", dim, 1) + 1)]
    return Space(dict.fromkeys(names, FloatDomain(low, high)))


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
