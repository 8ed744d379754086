"""Array aliases and the dimension letters used in shape annotations.

``n`` observations (padded), ``d`` parameters, ``k`` regimes (the last is "inactive"), ``g`` grid
cells, ``q`` quantile levels, ``s`` seeds, ``m`` objectives, ``c`` constraints.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Array, Float, Int, Shaped

# Anything NumPy turns into an array on the host.
ArrayLike = np.ndarray | Sequence | float | int
# Row or cell counts: integers for integer weights, floats otherwise.
Counts = Shaped[Array, "..."]

__all__ = ["Array", "ArrayLike", "Counts", "Float", "Int", "Shaped"]
