"""`parzax.importance.estimate` for encoded logs of the host: one program, kept on disk, for all seeds."""

from typing import Any

import jax
import numpy as np
from jaxtyping import Int, Integer, Shaped

from parzax import _checks
from parzax._programs import program
from parzax.divergence import AbstractDivergence, Explained
from parzax.importance import Encoded, Importance
from parzax.importance.estimate import estimate_seeds
from parzax.importance.layout import Layout
from parzax.results.estimator import GridEstimator


def estimated(encoded: Encoded, estimator: GridEstimator, uniform: bool) -> Importance:
    """Conditional PED-ANOVA of s seeds, levels in ascending order, as NumPy arrays.

    One dispatch, in JAX's default dtype. The program depends on shapes, layout and estimator alone.
    """
    found = sweep(
        encoded.codes, encoded.level, encoded.weight, encoded.status, layout=encoded.layout,
        divergence=estimator.divergence, uniform=uniform, balance=estimator.balance,
        uniform_when_undefined=estimator.uniform_when_undefined,
    )  # fmt: skip
    _checks.on_host("cond_ped_anova", found)
    return jax.tree.map(np.asarray, found)


def _library(*_: Any, divergence: AbstractDivergence, **__: Any) -> float:
    """Share of the operations that are products of matrices."""
    return 0.75 if isinstance(divergence, Explained) else 0.0


def _weight(*_: Any, divergence: AbstractDivergence, **__: Any) -> float:
    """Passes over grids of levels and parameters gain more from full optimisation than products of them."""
    return 0.4 if isinstance(divergence, Explained) else 2.5


@program(weight=_weight, library=_library)
def sweep(
    codes: Integer[Any, "s d n"],
    level: Integer[Any, "s n"],
    weight: Shaped[Any, "s n"] | None,
    log_status: Int[Any, "s q"],
    *,
    layout: Layout,
    divergence: AbstractDivergence,
    uniform: bool,
    balance: bool,
    uniform_when_undefined: bool,
) -> Importance:
    """`parzax.importance.estimate.estimate_seeds` as a program that is kept."""
    return estimate_seeds(
        codes, level, weight, log_status, layout=layout, divergence=divergence, uniform=uniform,
        balance=balance, uniform_when_undefined=uniform_when_undefined,
    )  # fmt: skip
