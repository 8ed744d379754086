"""Integers that tell configurations of a discrete space apart."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from parzax.space.axes import AbstractAxis


def place_values(parameter: Int[np.ndarray, " s"], axes: Sequence[AbstractAxis]) -> np.ndarray | None:
    """Factors (2, w, d) of the values and the regimes in w mixed-radix numbers, each below 2^31.

    None if some axis is a continuum, or has more values than fit in one number. ``parameter`` says which of
    the d parameters each of the s axes belongs to. The digit of a parameter is ``n * index + regime``, where
    regime 0 is inactive and n is the number of regimes with it.
    """
    words: list[np.ndarray] = []
    n_regimes, most, product = np.bincount(parameter) + 1, np.iinfo(np.int32).max, 1
    for j, n in enumerate(n_regimes):
        group = [axis for axis, k in zip(axes, parameter, strict=True) if k == j]
        size = int(n) * max(int(axis.n_values) for axis in group)
        if size > most or not all(axis.discrete for axis in group):
            return None
        if not words or product * size > most:
            words.append(np.zeros((2, len(n_regimes)), np.int64))
            product = 1
        words[-1][:, j] = product * n, product
        product *= size
    return np.stack(words, axis=1)
