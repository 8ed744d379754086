"""Types of the scalars and arrays that kernels take and return."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

# A floating-point scalar of one kernel.
Scalar = Float[Array, ""]
# A number of values or of cells.
Count = Int[Array, ""]
# Number of real cells of a padded grid; None without padding.
Size = Count | None
# One float for each cell of a grid.
Cells = Float[Array, " g"]
# How often each cell of a grid was seen.
Counts = Shaped[Array, " g"]
# Function that returns Scott's bandwidth for counts, in cells.
GridRule = Callable[[Counts, jnp.dtype], Scalar]
# Function that multiplies the entries of a grid by a kernel matrix.
Smoother = Callable[[Cells], Cells]
