"""From `Encoded` to `Importance`: counts, divergences, variances and statuses in one compiled function."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, Shaped

from parzax import _checks
from parzax.divergence import AbstractDivergence, Explained
from parzax.importance.counts import sweep_counts
from parzax.importance.encode import Encoded, check_encoded
from parzax.importance.flags import level_status, parameter_status
from parzax.importance.layout import Layout
from parzax.importance.regimes import estimate_regimes, merge_pools
from parzax.importance.variance import normalise

REFERENCES = ("region", "uniform")
_BY_LEVEL = ("variance", "inter", "unweighted", "status")
# Static arguments of `from_counts`, see `checked_options`.
OPTIONS = ("divergence", "uniform", "balance", "uniform_when_undefined")


class Importance(eqx.Module):
    """Importances at q levels of d parameters with k regimes ("inactive" last); leading axes are batches.

    A pytree whose arrays are all JAX's or all NumPy's.

    Attributes:
        variance: (..., q, d) within-regime local marginal variance, Eq. 11 of arXiv 2601.20800; signed where
            the divergence is debiased.
        inter: (..., q, d) inter-regime term of Eq. 17; each pool with like bounds counts as a regime.
        unweighted: (..., q, d) ablation without regime probabilities, Eq. 18.
        divergence: (..., q, d, k) estimate of D_PE (Eq. 6) in each regime; 0 for "inactive".
        regime_target: (..., q, d, k) rows (weight) of each target set in each regime, ties included.
        regime_region: (..., d, k) rows (weight) of the region in each regime.
        counts: (..., q + 1, w) rows (weight) per cell of the target sets, and of the region last.
        status: (..., q, d) int32 bits of `parzax.Status`.
        balance, uniform_when_undefined: of `share`, see `parzax.importance.normalise`; static.
    """

    variance: Float[Any, "*s q d"]
    inter: Float[Any, "*s q d"]
    unweighted: Float[Any, "*s q d"]
    divergence: Float[Any, "*s q d k"]
    regime_target: Shaped[Any, "*s q d k"]
    regime_region: Shaped[Any, "*s d k"]
    counts: Shaped[Any, "*s q1 w"]
    status: Int[Any, "*s q d"]
    balance: bool = eqx.field(static=True, default=True)
    uniform_when_undefined: bool = eqx.field(static=True, default=False)

    @property
    def share(self) -> Float[Any, "*s q d"]:
        """(..., q, d) importance, Eq. 8: each parameter's share of the variances; rows sum to 1 or are 0."""
        return normalise(
            self.variance, balance=self.balance, uniform_when_undefined=self.uniform_when_undefined
        )


def estimate(
    encoded: Encoded,
    divergence: AbstractDivergence | None = None,
    *,
    reference: str = "region",
    balance: bool = True,
    uniform_when_undefined: bool = False,
) -> Importance:
    """Conditional PED-ANOVA of one encoded log at all of its levels (arXiv 2601.20800, Eq. 8 and 11).

    Pure and unbatched; `jax.jit`, `jax.vmap` and `jax.grad` apply. Gradients with respect to
    ``encoded.weight`` hold the level sets fixed: the rows of a set do not depend on the weights there.

    Args:
        encoded: of `parzax.encode`.
        divergence: how target and region are compared, `parzax.divergence.Explained()` by default.
        reference: "region" compares with the region's density (local importance), "uniform" with the uniform
            density of the domain (global importance).
        balance, uniform_when_undefined: of `Importance.share`, see `parzax.importance.normalise`.

    Returns:
        `Importance`, its levels in the order in which they were asked for; NumPy arrays for NumPy arrays. It
        is computed in float64 inside ``jax.enable_x64(True)`` and in float32 otherwise. Data raise nothing:
        statuses say what is unusual.

    Raises:
        TypeError, ValueError: for arguments of other types, a batch without `jax.vmap`, another reference.

    >>> import jax, parzax as px
    >>> x = jax.random.uniform(jax.random.key(0), (200, 2))
    >>> space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    >>> encoded = px.encode(space, x, (x[:, 0] - 0.3) ** 2, levels=[0.1, 0.5])
    >>> imp = px.importance.estimate(encoded)
    >>> imp.share.shape, bool((imp.share[:, 0] > 0.9).all())
    ((2, 2), True)
    """
    check_encoded(encoded, "estimate")
    options = checked_options(divergence, reference, balance, uniform_when_undefined)
    arrays = encoded.codes, encoded.level, encoded.weight, encoded.status
    estimates = _estimate(*arrays, layout=encoded.layout, place=encoded.place, **options)
    return jax.tree.map(np.asarray, estimates) if isinstance(encoded.codes, np.ndarray) else estimates


@partial(jax.jit, static_argnames=("layout", "place", *OPTIONS))
def _estimate(*arrays: Any, place: tuple[int, ...], **static: Any) -> Importance:
    estimates = estimate_seeds(*jax.tree.map(lambda a: jnp.asarray(a)[None], arrays), **static)
    return in_order(jax.tree.map(lambda a: a[0], estimates), place)


def estimate_seeds(
    codes: Integer[Any, "s d n"],
    level: Integer[Any, "s n"],
    weight: Shaped[Any, "s n"] | None,
    log_status: Int[Any, "s q"],
    *,
    layout: Layout,
    **options: Any,
) -> Importance:
    """`estimate` of s seeds, levels in ascending order; one batch, so that a CPU has no loop over seeds."""
    counts = sweep_counts(codes, level, weight, n_levels=log_status.shape[1], layout=layout)
    return from_counts(counts, log_status, layout, **options)


def from_counts(
    counts: Shaped[Array, "s q1 w"],
    log_status: Int[Any, "s q"],
    layout: Layout,
    divergence: AbstractDivergence,
    uniform: bool,
    **share: bool,
) -> Importance:
    """The estimates from counts, which add up over parts of a log."""
    regimes = estimate_regimes(counts, layout, divergence, uniform)
    variance, rows, divergences = regimes.variance, regimes.rows, regimes.divergence
    if layout.has_pools:
        rows, divergences = merge_pools(rows, divergences, layout)
    n_target, n_region = rows[:, :-1], rows[:, -1]
    level_bits = jax.vmap(jax.vmap(level_status, in_axes=(0, 0, None)))(variance, n_target, n_region)
    parameter_bits = jax.vmap(partial(parameter_status, layout=layout, min_rows=divergence.min_rows))
    fixed_bits = parameter_bits(n_region, regimes.occupied, regimes.crowded)
    status = log_status[..., None] | level_bits | fixed_bits[:, None]
    return Importance(
        variance, regimes.inter, regimes.unweighted, divergences, n_target, n_region, counts, status, **share
    )


def in_order(ascending: Importance, place: tuple[int, ...]) -> Importance:
    """Levels in another order: the i-th is the ``place[i]``-th of the ascending ones."""
    if list(place) == sorted(place):
        return ascending
    index = np.array(place)
    moved = {name: getattr(ascending, name)[..., index, :] for name in _BY_LEVEL}
    moved |= {name: getattr(ascending, name)[..., index, :, :] for name in ("divergence", "regime_target")}
    return replace(ascending, **moved, counts=ascending.counts[..., np.append(index, len(index)), :])


def checked_options(
    divergence: Any, reference: Any, balance: bool, uniform_when_undefined: bool
) -> dict[str, Any]:
    """The options of `from_counts`, or an error that names the argument that is wrong."""
    _checks.one_of("reference", reference, REFERENCES)
    divergence = Explained() if divergence is None else divergence
    _checks.instance("divergence", divergence, AbstractDivergence, "one of parzax.divergence")
    options = divergence, reference == "uniform", balance, uniform_when_undefined
    return dict(zip(OPTIONS, options, strict=True))
