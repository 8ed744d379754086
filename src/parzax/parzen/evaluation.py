"""Evaluation of a mixture at many points: three forms of the same sum, in blocks of points."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax._numerics import exp2, masked_logsumexp
from parzax.kernels import AbstractKernel
from parzax.parzen import terms
from parzax.parzen.basis import Basis, Regimes
from parzax.parzen.many import ManyTerms, many_logs
from parzax.parzen.prior import UserPrior
from parzax.space import Points

Form = Literal["product", "max", "difference"]
FORMS = ("product", "max", "difference")

# Pairs of point and kernel in one block: 2 MiB in float32, what a core keeps close.
BLOCK = 1 << 19
# The same of the difference form, whose intermediates are many.
_DIFFERENCE_BLOCK = 1 << 17
# Up to this many pairs the difference form is used in float32, where the product loses digits on kernels.
_SMALL = 1 << 14
# The share of the log of the largest float by which exponents are lowered, and the share they may fill.
SHIFT, FILLED = 0.45, 0.95
# The product form keeps its exponents to the base 2.
LOG2_E = math.log2(math.e)
# With less prior weight per unit of other weight the anchor itself could underflow.
LEAST_PRIOR = 1e-3


def choose_form(basis: Basis, n_points: int, n_kernels: int, dtype: Any, smallest: float | None) -> Form:
    """The form for a problem, from what is known before it runs.

    * "difference" for continuous parameters and at most 2^14 pairs in float32, and for kernels so narrow
      that squares cancel to less than two digits (float32) or nine (float64) after the point: exact, 5-70
      times slower.
    * "product": exp without a maximum, anchored at the wide kernels, where ``basis.product`` says that it
      holds, see `parzax.parzen.mixture.basis_for`.
    * "max": the same matrix product, then logsumexp, for everything else.

    No scale of a continuous parameter is below ``smallest``; None where it is not known (a traced setting),
    which float32 answers with "difference".
    """
    n_continuous = basis.n_continuous
    if jnp.finfo(dtype).bits <= 32 and n_continuous and n_points * n_kernels <= _SMALL:
        return "difference"
    if cancels(dtype, n_continuous, smallest):
        return "difference"
    return "product" if basis.product else "max"


def cancels(dtype: Any, n_continuous: int, smallest: float | None) -> bool:
    """Whether squares of continuous coordinates lose too many digits."""
    info = jnp.finfo(dtype)
    single = info.bits <= 32
    if not n_continuous or smallest is None:
        return bool(n_continuous) and single
    # (u - m)^2 / (2 s^2) from its terms is off by about eps / (8 s^2), with u and m within 1/2.
    return n_continuous * float(info.eps) / (8 * smallest**2) > (1e-2 if single else 1e-9)


class Prepared(eqx.Module):
    """A mixture prepared for evaluation: what depends on the kernels alone is computed, once.

    As the mixture, which makes it, it knows no space; every method is given the basis it was prepared with.
    """

    rows: terms.KernelTerms  # times log2(e) in the product form
    # Kernels of continua that are evaluated pair by pair, and which rows are in them.
    pairs: tuple[tuple[AbstractKernel, Bool[Array, "n k"]], ...]
    many: tuple[ManyTerms, ...]
    weight: Float[Array, " n"]
    prior_weight: Float[Array, ""]
    priors: tuple[UserPrior, ...]
    form: Form = eqx.field(static=True)

    def log_prob(self, basis: Basis, at: Points) -> Float[Array, " j"]:
        """log density in unit coordinates of (j,) valid points, in blocks with a rematerialised gradient."""
        by_pairs = self.pairs or any(own.table is None for own in self.many)
        pairs = _DIFFERENCE_BLOCK if by_pairs else BLOCK
        n_features, n_kernels = self.rows.kernels.shape
        return in_blocks(partial(self._block, basis), at, max(1, pairs // max(n_kernels, n_features, 1)))

    def features(self, basis: Basis, at: Points) -> Float[Array, "j f"]:
        """Functions of the points, by which `ratios` are linear."""
        return terms.features(basis, at, self.priors, self.form == "difference")

    def ratios(self, basis: Basis, at: Points, values: Float[Array, "j f"]) -> Float[Array, "j n"]:
        """log kernel - log anchor, plus the constants of the form, in its unit."""
        return self.logs(basis, at, values)[0]

    def _block(self, basis: Basis, at: Points) -> Float[Array, " j"]:
        ratio, anchor = self.logs(basis, at, self.features(basis, at))
        prior = terms.prior_ratio(basis.n_slots, at, self.priors)
        if self.form == "product":
            shift = shift_of(ratio.dtype)
            # A product with the weights, not a sum: the exponentials are then one plain pass.
            kernels = terms.matmul(exp2(ratio), self.weight)
            return anchor + shift + jnp.log(kernels + self.prior_weight * jnp.exp(prior - shift))
        ratio = jnp.concatenate([ratio, prior[:, None]], axis=-1)
        weight = jnp.append(self.weight, self.prior_weight)[None]
        return terms.restored(anchor + masked_logsumexp(ratio, weight, axis=-1), basis.n_slots)

    def logs(
        self, basis: Basis, at: Points, values: Float[Array, "j f"]
    ) -> tuple[Float[Array, "j n"], Float[Array, " j"]]:
        """`ratios`, and the log density of the wide kernels: 0 for inactive parameters and single values."""
        unit = unit_of(self.form)
        ratio = terms.matmul(values, self.rows.kernels)
        anchor = terms.matmul(values, self.rows.anchor[:, None])[:, 0]
        for part, (kernels, present) in zip(pairwise(basis, self.form), self.pairs, strict=True):
            ratio = ratio + unit * terms.pair_logs(part, kernels, present, at)
            anchor = anchor + terms.anchor_pair_logs(part, at)
        if self.many:
            logs, anchors = many_logs(basis.many, self.many, at, basis.n_slots)
            ratio, anchor = ratio + unit * logs, anchor + anchors
        return ratio, anchor


def pairwise(basis: Basis, form: Form) -> tuple[Regimes, ...]:
    """Regimes that are evaluated pair by pair."""
    return (*basis.products, *basis.pairs) if form == "difference" else basis.pairs


def in_blocks(function: Callable[[Points], Array], points: Points, block: int) -> Float[Array, "... j"]:
    """function(points), its last axis as long as there are points, at most ``block`` of them at once.

    The gradient of a block is rematerialised: memory is that of one block, forwards and backwards.
    """
    n_points = len(points)
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


def unit_of(form: Form) -> float:
    """What the exponents of a form are multiplied by."""
    return LOG2_E if form == "product" else 1.0


def shift_of(dtype: Any) -> float:
    """By how much exponents are lowered, so that sums of narrow kernels stay in range."""
    return SHIFT * math.log(float(jnp.finfo(dtype).max))
