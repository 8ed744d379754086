"""Evaluation of a mixture at many points: three forms of the same sum, in blocks of points."""

import math
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax._numerics import exp2, masked_logsumexp
from parzax.parzen.points import Points, Slot
from parzax.parzen.prior import Prior
from parzax.parzen.product import (
    Shared,
    added,
    anchor_log_prob,
    coefficients,
    features,
    has_table,
    is_discrete,
    kernel_log_prob,
    log_of_zero,
    lookups,
    prior_log_prob,
    prior_ratio,
    shared,
)

Form = Literal["product", "max", "difference"]
FORMS = ("product", "max", "difference")

# Pairs of point and kernel in one block: 2 MiB in float32, what a core keeps close.
BLOCK = 1 << 19
# The same of the difference form, whose intermediates are many.
_DIFFERENCE_BLOCK = 1 << 17
# Up to this many pairs the difference form is used in float32, where the product loses digits on kernels.
_SMALL = 1 << 14
# The share of the log of the largest float by which exponents are lowered, and the share they may fill.
_SHIFT, _FILLED = 0.45, 0.95
# The product form keeps its exponents to the base 2.
LOG2_E = math.log2(math.e)
# With less prior weight per unit of other weight the anchor itself could underflow.
LEAST_PRIOR = 1e-3


def choose_form(
    n_points: int,
    n_kernels: int,
    dtype: Any,
    *,
    n_continuous: int,
    smallest: float | None,
    peak: float | None,
    safe_prior: bool,
) -> Form:
    """The form for a problem, from what is known before it runs.

    * "difference" for continuous parameters and at most 2^14 pairs in float32, and for kernels so narrow
      that squares cancel to less than two digits (float32) or nine (float64) after the point: exact, 5-70
      times slower.
    * "product": exp without a maximum, anchored at the wide kernels. It needs a prior weight of at least 1e-3
      and logs of kernel / wide kernel, at most ``peak``, within the range of exp: about 25 parameters in
      float32 at a bandwidth of 0.01, 190 in float64.
    * "max": the same matrix product, then logsumexp, for everything else.

    Args:
        n_points, n_kernels: numbers of pairs.
        dtype: floating dtype.
        n_continuous: continuous parameters.
        smallest: no scale of a continuous parameter is below this; None where it is not known (a traced
            setting), which float32 answers with "difference".
        peak: largest log of kernel / wide kernel; None where it is not known.
        safe_prior: whether the prior weight is known to be at least 1e-3.
    """
    if jnp.finfo(dtype).bits <= 32 and n_continuous and n_points * n_kernels <= _SMALL:
        return "difference"
    if _cancels(dtype, n_continuous, smallest):
        return "difference"
    holds = product_holds(
        dtype, n_continuous=n_continuous, smallest=smallest, peak=peak, safe_prior=safe_prior
    )
    return "product" if holds else "max"


def product_holds(
    dtype: Any, *, n_continuous: int, smallest: float | None, peak: float | None, safe_prior: bool
) -> bool:
    """Whether the product form is exact enough and stays within the range of exp; see `choose_form`."""
    limit = (_FILLED + _SHIFT) * math.log(float(jnp.finfo(dtype).max))
    in_range = safe_prior and peak is not None and peak <= limit
    return in_range and not _cancels(dtype, n_continuous, smallest)


def _cancels(dtype: Any, n_continuous: int, smallest: float | None) -> bool:
    """Whether squares of continuous coordinates lose too many digits."""
    info = jnp.finfo(dtype)
    single = info.bits <= 32
    if not n_continuous or smallest is None:
        return bool(n_continuous) and single
    # (u - m)^2 / (2 s^2) from its terms is off by about eps / (8 s^2), with u and m within 1/2.
    return n_continuous * float(info.eps) / (8 * smallest**2) > (1e-2 if single else 1e-9)


class Mixture(eqx.Module):
    """A mixture prepared for evaluation: the coefficients of all kernels are built, once.

    Attributes:
        coefficients: (n, f) see `parzax.parzen.product`, times log2(e) in the product form; (n, 0) in the
            difference form.
        lookups: rows to be added to the product, per slot with a long table; see `parzax.parzen.product`.
        kernels, scale: the kernels, for what the product leaves out.
        parts: their normalisers and tables.
        weight: (n,) mixture weights, 0 for absent rows.
        prior_weight: weight of the prior; all weights sum to 1.
        priors: the prior of each slot.
        slots: static.
        form: static.
    """

    coefficients: Float[Array, "n f"]
    lookups: tuple[Float[Array, "c n"] | None, ...]
    kernels: Points
    scale: Float[Array, "n d"]
    parts: Shared
    weight: Float[Array, " n"]
    prior_weight: Float[Array, ""]
    priors: tuple[Prior, ...]
    slots: tuple[Slot, ...] = eqx.field(static=True)
    form: Form = eqx.field(static=True)

    @classmethod
    def prepare(
        cls,
        kernels: Points,
        scale: Float[Array, "n d"],
        weight: Float[Array, " n"],
        prior_weight: Float[Array, ""],
        priors: tuple[Prior, ...],
        slots: tuple[Slot, ...],
        form: Form,
        n_points: int,
    ) -> "Mixture":
        """Build the coefficients, and tables where ``n_points`` points make them worth it."""
        parts = shared(slots, kernels, scale, n_points)
        built, rows = jnp.zeros((len(scale), 0), scale.dtype), (None,) * len(slots)
        if form != "difference":
            shift = shift_of(scale.dtype) if form == "product" else 0.0
            built = coefficients(slots, priors, kernels, scale, parts, jnp.full_like(weight, -shift))
            built = built * _unit(form)
            rows = lookups(slots, kernels, parts, _unit(form))
            # Absent rows are 0 but for a constant so low that its exponential is 0.
            present = (weight > 0)[:, None]
            built = jnp.where(present, built, 0)
            built = built.at[:, -1:].add(jnp.where(present, 0, -4.0 * shift_of(scale.dtype)))
        return cls(built, rows, kernels, scale, parts, weight, prior_weight, priors, slots, form)

    def log_prob(self, points: Points) -> Float[Array, " j"]:
        """log density in unit coordinates of (j,) valid points, in blocks with a rematerialised gradient."""
        n_points, n_kernels = len(points.unit), max(len(self.scale), 1)
        pairs = _DIFFERENCE_BLOCK if self.form == "difference" else BLOCK
        if any(is_discrete(slot) and not has_table(slot, n_points, n_kernels) for slot in self.slots):
            pairs = min(pairs, _DIFFERENCE_BLOCK)
        block = max(1, min(n_points, pairs // max(n_kernels, self.coefficients.shape[1])))
        return in_blocks(self._block, points, block)

    def _block(self, points: Points) -> Float[Array, " j"]:
        if self.form == "difference":
            logs = kernel_log_prob(self.slots, self.priors, self.kernels, self.scale, self.parts, points)
            wide = prior_log_prob(self.slots, self.priors, points)
            logs = jnp.concatenate([logs, wide[:, None]], axis=-1)
            return masked_logsumexp(logs, self._weights(), axis=-1)
        ratio = jnp.matmul(
            features(self.slots, self.priors, points), self.coefficients.T, precision="highest"
        )
        ratio = ratio + added(self.slots, self.lookups, self.kernels, self.scale, points, _unit(self.form))
        anchor = anchor_log_prob(self.slots, points)
        if self.form == "product":
            shift = shift_of(self.scale.dtype)
            # A product with the weights, not a sum: the exponentials are then one plain pass.
            kernels = jnp.matmul(exp2(ratio), self.weight, precision="highest")
            prior = jnp.exp(prior_ratio(self.slots, self.priors, points) - shift)
            return anchor + shift + jnp.log(kernels + self.prior_weight * prior)
        prior = prior_ratio(self.slots, self.priors, points)
        ratio = jnp.concatenate([ratio, prior[:, None]], axis=-1)
        out = anchor + masked_logsumexp(ratio, self._weights(), axis=-1)
        return jnp.where(out < log_of_zero(out.dtype) / (2 * len(self.slots)), -jnp.inf, out)

    def _weights(self) -> Float[Array, " n+1"]:
        return jnp.append(self.weight, self.prior_weight)


def in_blocks(function: Callable[[Points], Array], points: Points, block: int) -> Float[Array, "... j"]:
    """function(points), its last axis as long as there are points, at most ``block`` of them at once.

    The gradient of a block is rematerialised: memory is that of one block, forwards and backwards.
    """
    n_points = len(points.unit)
    if n_points <= block:
        return function(points)
    n_blocks = -(-n_points // block)
    block = -(-n_points // n_blocks)
    padding = n_blocks * block - n_points
    blocks = jax.tree.map(
        lambda x: jnp.pad(x, ((0, padding), (0, 0)), mode="edge").reshape(n_blocks, block, -1), points
    )
    found = jnp.moveaxis(jax.lax.map(jax.checkpoint(lambda part: function(part)), blocks), 0, -2)
    return found.reshape(*found.shape[:-2], n_blocks * block)[..., :n_points]


def _unit(form: Form) -> float:
    return LOG2_E if form == "product" else 1.0


def shift_of(dtype: Any) -> float:
    """By how much exponents are lowered, so that sums of narrow kernels stay in range."""
    return _SHIFT * math.log(float(jnp.finfo(dtype).max))
