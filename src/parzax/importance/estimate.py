"""From `Encoded` to `Importance`: counts, divergences, variances and statuses in one compiled function."""

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax.divergence import AbstractDivergence, Explained
from parzax.importance.counts import Counts, count_seeds
from parzax.importance.encode import Encoded, check_encoded, without_values
from parzax.importance.flags import level_status, parameter_status
from parzax.importance.layout import Layout
from parzax.importance.regimes import estimate_regimes, level_variances, merge_pools
from parzax.importance.variance import compute_shares

# Divergence, reference, balance and uniform_when_undefined of `estimate`; static under jit.
How: TypeAlias = tuple[AbstractDivergence, str, bool, bool]


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Importance:
    """Importances at q levels of d parameters with k regimes ("inactive" last); leading axes are batches.

    A pytree whose arrays are all JAX's or all NumPy's.

    Attributes:
        variance: (..., q, d) within-regime local marginal variance, Eq. 11 of arXiv 2601.20800; signed where
            the divergence is debiased.
        importance: (..., q, d) importance, Eq. 8: each parameter's part of the variances; rows sum to 1, or
            are 0 with a status.
        inter: (..., q, d) inter-regime term of Eq. 17; each pool with similar bounds counts as a regime.
        unweighted: (..., q, d) ablation without regime probabilities, Eq. 18.
        divergence: (..., q, d, k) estimate of D_PE (Eq. 6) in each regime; 0 for "inactive".
        regime_target: (..., q, d, k) rows (weight) of each target set in each regime, ties included.
        regime_region: (..., d, k) rows (weight) of the region in each regime.
        counts: (..., q + 1, w) rows (weight) per cell of the target sets, and of the region last.
        status: (..., q, d) int32 bits of `parzax.Status`.
    """

    variance: Float[Any, "*s q d"]
    importance: Float[Any, "*s q d"]
    inter: Float[Any, "*s q d"]
    unweighted: Float[Any, "*s q d"]
    divergence: Float[Any, "*s q d k"]
    regime_target: Shaped[Any, "*s q d k"]
    regime_region: Shaped[Any, "*s d k"]
    counts: Shaped[Any, "*s q1 w"]
    status: Int[Any, "*s q d"]

    @property
    def n_target(self) -> Shaped[Any, "*s q"]:
        """(..., q) rows (weight) in each target set, ties included."""
        return self.regime_target[..., 0, :].sum(axis=-1)

    @property
    def n_region(self) -> Shaped[Any, "*s"]:
        """(...,) rows (weight) in the region."""
        return self.regime_region[..., 0, :].sum(axis=-1)


def estimate(
    encoded: Encoded | Counts,
    divergence: AbstractDivergence = Explained(),
    *,
    reference: str = "region",
    balance: bool = True,
    uniform_when_undefined: bool = False,
) -> Importance:
    """Conditional PED-ANOVA of one encoded log at all of its levels (arXiv 2601.20800, Eq. 8 and 11).

    Pure and unbatched; `jax.jit`, `jax.vmap` and `jax.grad` apply. Gradients with respect to
    ``encoded.weight`` treat the level sets as fixed, although weights also decide which rows a set has.

    Args:
        encoded: the result of `parzax.encode`, or `parzax.importance.Counts`. If it has groups, rows of a
            group in the same cells count as one row together, except on Optuna's grid.
        divergence: how target and region are compared: `parzax.divergence.Explained()` by default,
            `parzax.divergence.Pearson()` for the papers' estimator, or one of your own; static.
        reference: "region" compares with the region's density (local importance), "uniform" with the uniform
            density of the domain (global importance).
        balance, uniform_when_undefined: how variances become importances, see `parzax.importance.importance`.
            A divergence that is never negative, such as `Pearson`, does not depend on ``balance``.

    Returns:
        `Importance`, with levels in the requested order; NumPy arrays if ``encoded`` has NumPy arrays. It is
        computed in float64 inside ``jax.enable_x64(True)`` and in float32 otherwise. Unusual data raise no
        error: `Importance.status` says what is unusual. On the grid ``parzax.Grid.optuna()``, `Pearson` gives
        Optuna 5's variances.

    Raises:
        TypeError, ValueError: wrong argument types; a batch without `jax.vmap`; an unknown ``reference``.

    >>> import jax, parzax as px
    >>> x = jax.random.uniform(jax.random.key(0), (200, 2))
    >>> space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    >>> encoded = px.encode(space, x, (x[:, 0] - 0.3) ** 2, levels=[0.1, 0.5])
    >>> imp = px.importance.estimate(encoded)
    >>> imp.importance.shape, bool((imp.importance[:, 0] > 0.9).all())
    ((2, 2), True)
    """
    how = checked_how(divergence, reference, balance, uniform_when_undefined)
    if isinstance(encoded, Counts):
        if encoded.counts.ndim != 2:
            raise ValueError(
                f"counts hold a batch of shape {encoded.counts.shape[:-2]}; use jax.vmap(estimate)."
            )
        log = without_values(encoded, counts=_as_32_bits(encoded), cutoffs=None, space=None)
    else:
        check_encoded(encoded, "estimate")
        log = without_values(encoded, rank=None, cutoffs=None)
    estimates = _estimate(log, how)
    on_host = isinstance(encoded.status, np.ndarray)
    return jax.tree.map(np.asarray, estimates) if on_host else estimates


def _as_32_bits(log: Counts) -> Any:
    """Counts on the host in a dtype that JAX does not wrap outside jax.enable_x64."""
    if not isinstance(log.counts, np.ndarray) or log.counts.dtype.kind not in "iu":
        return log.counts
    # 32 bits must hold the number of all rows, not of a cell.
    n_rows = log.counts[:, : log.layout.n_codes[0]].sum(axis=1).max(initial=0)
    return log.counts.astype(np.int32 if n_rows < 2**31 else float)


@jit_on_meshes("how")
def _estimate(log: Encoded | Counts, how: How) -> Importance:
    estimates = estimate_seeds(jax.tree.map(lambda a: jnp.asarray(a)[None], log), how)
    return jax.tree.map(lambda a: a[0], estimates)


def estimate_seeds(log: Encoded | Counts, how: How) -> Importance:
    """`estimate` for s seeds in one batch, so that a CPU runs no loop over seeds."""
    counts = log.counts if isinstance(log, Counts) else count_seeds(log)
    return from_counts(counts, log.status, log.layout, how)


def from_counts(
    counts: Shaped[Array, "s q1 w"], log_status: Int[Any, "s q"], layout: Layout, how: How
) -> Importance:
    """The estimates from counts."""
    divergence, reference, balance, uniform_when_undefined = how
    uniform = reference == "uniform"
    divergences, rows, occupied, crowded = estimate_regimes(counts, layout, divergence, uniform)
    over_levels = jax.vmap(jax.vmap(level_variances, in_axes=(0, 0, None)))
    variance, inter, unweighted = over_levels(divergences, rows[:, :-1], rows[:, -1])
    # Slots are then not regimes.
    if any(block.is_pool for block in layout.blocks):
        rows, divergences = merge_pools(rows, divergences, layout)
    n_target, n_region = rows[:, :-1], rows[:, -1]
    level_bits = jax.vmap(jax.vmap(level_status, in_axes=(0, 0, None)))(variance, n_target, n_region)
    parameter_bits = jax.vmap(partial(parameter_status, layout=layout, min_rows=divergence.min_rows))
    status = log_status[..., None] | level_bits | parameter_bits(n_region, occupied, crowded)[:, None]
    share = compute_shares(variance, balance, uniform_when_undefined)
    return Importance(variance, share, inter, unweighted, divergences, n_target, n_region, counts, status)


def checked_how(
    divergence: Any, reference: Any = "region", balance: Any = True, uniform_when_undefined: Any = False
) -> How:
    """The settings of `estimate`, or an error that names the argument that is wrong."""
    wanted = "one of parzax.divergence, such as parzax.divergence.Explained()"
    return (
        _checks.instance("divergence", divergence, AbstractDivergence, wanted),
        _checks.one_of("reference", reference, ("region", "uniform")),
        _checks.flag("balance", balance),
        _checks.flag("uniform_when_undefined", uniform_when_undefined),
    )
