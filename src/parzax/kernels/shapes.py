"""Types of the numbers and arrays of kernels."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

# A number of one kernel; a number of values or cells; the latter of a padded grid, None without padding.
Scalar = Float[Array, ""]
Count = Int[Array, ""]
Size = Count | None
# A number for each cell of a grid, and how often each cell was seen.
Cells = Float[Array, " g"]
Counts = Shaped[Array, " g"]
# Scott's bandwidth of counts, in cells.
GridRule = Callable[[Counts, jnp.dtype], Scalar]
