"""From `Encoded` to `Importance`: counts, divergences, variances and statuses in one compiled function."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, Shaped

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax.divergence import AbstractDivergence, Explained
from parzax.importance.counts import sweep_counts
from parzax.importance.encode import Encoded, check_encoded
from parzax.importance.flags import level_status, parameter_status
from parzax.importance.groups import configuration_share, count_configurations
from parzax.importance.layout import Layout
from parzax.importance.log_counts import Counts
from parzax.importance.regimes import estimate_regimes, merge_pools
from parzax.importance.variance import importance

REFERENCES = ("region", "uniform")
_DEFAULT = Explained()


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
    divergence: AbstractDivergence = _DEFAULT,
    *,
    reference: str = "region",
    balance: bool = True,
    uniform_when_undefined: bool = False,
) -> Importance:
    """Conditional PED-ANOVA of one encoded log at all of its levels (arXiv 2601.20800, Eq. 8 and 11).

    Pure and unbatched; `jax.jit`, `jax.vmap` and `jax.grad` apply. Gradients with respect to
    ``encoded.weight`` treat the level sets as fixed, although weights also decide which rows a set has.

    Args:
        encoded: the result of `parzax.encode`, or `parzax.Counts`. If it has groups, rows of a group in the
            same cells count as one row together, except on Optuna's grid.
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
        return _estimate_counts(encoded, how)
    check_encoded(encoded, "estimate")
    arrays = encoded.codes, encoded.level, encoded.weight, encoded.status, encoded.counted_groups
    estimates = _estimate(*arrays, place=encoded.place, layout=encoded.layout, **how)
    return jax.tree.map(np.asarray, estimates) if isinstance(encoded.codes, np.ndarray) else estimates


def _estimate_counts(log: Counts, how: dict[str, Any]) -> Importance:
    if log.counts.ndim != 2:
        raise ValueError(f"counts hold a batch of shape {log.counts.shape[:-2]}; use jax.vmap(estimate).")
    counts, on_host = log.counts, isinstance(log.counts, np.ndarray)
    if on_host and counts.dtype == np.int64:
        # Outside jax.enable_x64 JAX would wrap numbers that 32 bits do not hold: of all rows, not of a cell.
        n_rows = counts[:, : log.layout.n_codes[0]].sum(axis=1).max(initial=0)
        counts = counts.astype(np.int32 if n_rows < 2**31 else float)
    estimates = _from_counts(counts, log.status, layout=log.layout, **how)
    return jax.tree.map(np.asarray, estimates) if on_host else estimates


_SETTINGS = "layout", "divergence", "reference", "balance", "uniform_when_undefined"


@jit_on_meshes(*_SETTINGS)
def _from_counts(counts: Any, status: Any, **static: Any) -> Importance:
    counts, status = (jnp.asarray(a)[None] for a in (counts, status))
    return jax.tree.map(lambda a: a[0], from_counts(counts, status, **static))


@jit_on_meshes("place", *_SETTINGS)
def _estimate(*arrays: Any, **static: Any) -> Importance:
    estimates = estimate_seeds(*jax.tree.map(lambda a: jnp.asarray(a)[None], arrays), **static)
    return jax.tree.map(lambda a: a[0], estimates)


def estimate_seeds(
    codes: Integer[Any, "s d n"],
    level: Integer[Any, "s n"],
    weight: Shaped[Any, "s n"] | None,
    log_status: Int[Any, "s q"],
    groups: Int[Any, "s n"] | None = None,
    *,
    place: tuple[int, ...] | Int[Any, " q"],
    layout: Layout,
    **how: Any,
) -> Importance:
    """`estimate` for s seeds in one batch, so that a CPU runs no loop over seeds; see `from_counts`."""
    counts = sweep_counts(codes, level, weight, place=place, layout=layout)
    if groups is not None:
        of_seeds = jax.vmap(partial(configuration_share, n_levels=counts.shape[1] - 1))
        counts = count_configurations(counts, of_seeds(codes, level, weight, groups)[:, None, None])
    return from_counts(counts, log_status, layout, **how)


def from_counts(
    counts: Shaped[Array, "s q1 w"],
    log_status: Int[Any, "s q"],
    layout: Layout,
    divergence: AbstractDivergence,
    reference: str,
    balance: bool,
    uniform_when_undefined: bool,
) -> Importance:
    """The estimates from counts. The counts of a log are the sum of the counts of its parts."""
    regimes = estimate_regimes(counts, layout, divergence, uniform=reference == "uniform")
    variance, rows, divergences = regimes.variance, regimes.rows, regimes.divergence
    if layout.has_pools:
        rows, divergences = merge_pools(rows, divergences, layout)
    n_target, n_region = rows[:, :-1], rows[:, -1]
    level_bits = jax.vmap(jax.vmap(level_status, in_axes=(0, 0, None)))(variance, n_target, n_region)
    parameter_bits = jax.vmap(partial(parameter_status, layout=layout, min_rows=divergence.min_rows))
    fixed_bits = parameter_bits(n_region, regimes.occupied, regimes.crowded)
    return Importance(
        variance=variance,
        importance=importance(variance, balance=balance, uniform_when_undefined=uniform_when_undefined),
        inter=regimes.inter,
        unweighted=regimes.unweighted,
        divergence=divergences,
        regime_target=n_target,
        regime_region=n_region,
        counts=counts,
        status=log_status[..., None] | level_bits | fixed_bits[:, None],
    )


def checked_how(divergence: Any, reference: Any, balance: Any, uniform_when_undefined: Any) -> dict[str, Any]:
    """The settings of `estimate` as keyword arguments, or an error that names the argument that is wrong."""
    wanted = "one of parzax.divergence, such as parzax.divergence.Explained()"
    return {
        "divergence": _checks.instance("divergence", divergence, AbstractDivergence, wanted),
        "reference": _checks.one_of("reference", reference, REFERENCES),
        "balance": _checks.flag("balance", balance),
        "uniform_when_undefined": _checks.flag("uniform_when_undefined", uniform_when_undefined),
    }
