"""`of_function`: the importances of any function that JAX can call."""

from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from parzax import _checks
from parzax.importance.encode import encode
from parzax.importance.estimate import Importance, estimate
from parzax.importance.layout import Grid
from parzax.space import Space


def of_function(
    key: PRNGKeyArray,
    space: Space,
    function: Callable[[Any], Any],
    levels: Any,
    region: float = 1.0,
    *,
    n: int = 4096,
    batch_size: int | None = None,
    grid: Grid = Grid(),
    **how: Any,
) -> Importance:
    """Importances of a function of the configuration, from n random configurations.

    Pure: `jax.jit` and `jax.vmap` apply, also over what ``function`` closes over, such as the weights of a
    network or the draws of a surrogate; a batch of functions gives a batch of importances.

    Args:
        key: random key.
        space: the configurations are drawn by `parzax.Space.sample`.
        function: gives the loss of one configuration, (d,) native values as in `parzax.encode`
            (`parzax.Space.unflatten` names them). It is called under `jax.vmap`.
        levels, region, grid: as in `parzax.encode`.
        n: number of configurations. The standard error of an importance falls with its root.
        batch_size: configurations that are evaluated together; all of them by default.
        how: further arguments of `parzax.importance.estimate`.

    Returns:
        `parzax.importance.Importance`. Configurations whose loss is NaN or +inf are left out.

    Raises:
        TypeError, ValueError: as `parzax.encode` and `parzax.Space.sample`, and if the function does not give
            one number.

    >>> import jax, parzax as px
    >>> space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    >>> imp = px.importance.of_function(jax.random.key(0), space, lambda x: (x[0] - 0.3) ** 2, 0.1)
    >>> imp.importance.round(1).tolist()
    [[1.0, 0.0]]
    """
    x = space.sample(key, _checks.whole_number("n", n, 2))
    if batch_size is None:
        losses = jax.vmap(function)(x)
    else:
        losses = jax.lax.map(function, x, batch_size=_checks.whole_number("batch_size", batch_size, 1))
    if getattr(losses, "shape", None) != (n,):
        raise ValueError(
            f"function must give one number, got an array of shape {jax.numpy.shape(losses)[1:]}."
        )
    return estimate(encode(space, x, losses, levels, region, grid=grid), **how)
