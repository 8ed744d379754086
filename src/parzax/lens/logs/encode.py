"""The public function `encode`: NumPy arrays are encoded on the host, JAX arrays on their device."""

from typing import Any

import jax

from parzax.importance import Encoded, Grid, encode_arrays
from parzax.lens.logs.observations import Observations
from parzax.space import Space


def encode(
    space: Space,
    x: Any,
    losses: Any,
    levels: Any,
    region: float = 1.0,
    weight: Any = None,
    grid: Grid | None = None,
    groups: Any = None,
) -> Encoded:
    """Put the rows of one log on the grid and into level sets, for `parzax.importance.estimate`.

    With JAX arrays, traced or not, it is a pure function of ``x``, ``losses``, ``weight`` and ``groups``; all
    other arguments are static. `jax.jit` and `jax.vmap` apply. NumPy arrays are encoded on the host. Host and
    device give exactly the same codes and levels: in float64, and in float32 if it represents the values.

    Args:
        space: the search space.
        x: (n, d) native values, NaN = inactive, categories as codes.
        losses: (n,) lower is better; -inf is a legal best. Rows with NaN are left out.
        levels: a number or (q,) numbers in (0, 1): the levels gamma' of the target sets, below ``region``. A
            target set has the best ceil(level * N) of N usable rows, and all rows tied with the last of them.
        region: level gamma of the region, in (0, 1].
        weight: (n,) frequency weights, at least 0; None counts every row once.
        grid: `parzax.Grid()` by default.
        groups: (n,) integers, equal for rows that belong together, such as the epochs of one configuration.
            Rows of a group in the same cells count as one row together, and `parzax.importance.resample` and
            `shuffle` take whole groups. By default every row of JAX arrays is a group; for NumPy arrays see
            `parzax.Observations.from_arrays`.

    Returns:
        `parzax.importance.Encoded`. A row of a traced array is left out if a value is outside its domain or
        is given for an inactive parameter, or if its weight is negative or not finite; every level then has
        the status INVALID_ROWS. Such rows of arrays that are not traced raise an error.

    Raises:
        TypeError, ValueError: levels outside (0, 1), repeated, or not below the region's; shapes that do not
            fit; unless traced, rows outside the space and weights that are negative or not finite. For JAX
            arrays also bounds that move (`parzax.Varying`) and parameters with several `parzax.Recorded`
            domains, which only ``Observations.encode`` takes.

    >>> import jax.numpy as jnp, parzax as px
    >>> space = px.Space({"x": px.Float(0, 1)})
    >>> x, losses = jnp.array([[0.2], [0.7], [0.9]]), jnp.array([1.0, 3.0, 2.0])
    >>> px.encode(space, x, losses, [0.3, 0.6]).level.tolist()
    [0, 2, 1]
    """
    if any(isinstance(array, jax.Array) for array in (x, losses, weight, groups)):
        return encode_arrays(space, x, losses, levels, region, weight, grid, groups)
    obs = Observations.from_arrays(space, x, losses, weight=weight, groups=groups)
    return obs.encode(levels, region, grid=grid)
