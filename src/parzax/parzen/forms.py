"""The four ways to evaluate a sum of kernels, and when each applies.

* One scale for all kernels of a group (`parzax.parzen.common_scale.CommonScale`): the densities of a sampler,
  where the bandwidth rule has ``one_scale`` and the product form holds. All groups share the coefficients.
* "product": exp without a maximum, anchored at the wide kernels. It needs a prior weight of at least 1e-3 and
  logs of kernel / wide kernel within the range of exp: about 25 parameters in float32 at a bandwidth of 0.01,
  190 in float64. A user's prior rules it out, since nothing is known of its peaks.
* "max": the same matrix product, then logsumexp, for everything else.
* "difference": continuous parameters pair by pair; exact, 5-70 times slower. For at most 2^14 pairs in
  float32, and for kernels so narrow that squares cancel to less than two digits (float32) or nine (float64)
  after the point.
"""

import math
from typing import Any, Literal, get_args

import jax.numpy as jnp

from parzax.space import Space

Form = Literal["product", "max", "difference"]
FORMS: tuple[Form, ...] = get_args(Form)

# Up to this many pairs the difference form is used in float32, where the product loses digits on kernels.
_SMALL = 1 << 14
# The share of the log of the largest float by which exponents are lowered, and the share they may fill.
_SHIFT, _FILLED = 0.45, 0.95
# The product form keeps its exponents to the base 2.
LOG2_E = math.log2(math.e)
# With less prior weight per unit of other weight the anchor itself could underflow.
LEAST_PRIOR = 1e-3


def form_for_many(
    space: Space, dtype: Any, n_continuous: int, smallest: float | None, safe_prior: bool
) -> Form:
    """The form for many pairs of points and kernels.

    No scale of a continuous parameter is below ``smallest``; None where it is unknown (a traced setting), and
    then float32 uses "difference". ``safe_prior``: the prior's weight is known to be large enough.
    """
    if _cancels(dtype, n_continuous, smallest):
        return "difference"
    peak, limit = _peak(space, smallest), (_FILLED + _SHIFT) * _log_max(dtype)
    return "product" if safe_prior and peak is not None and peak <= limit else "max"


def is_few(dtype: Any, n_continuous: int, n_pairs: int) -> bool:
    """Whether there are so few pairs of points and kernels that they are evaluated one by one."""
    return _is_single(dtype) and bool(n_continuous) and n_pairs <= _SMALL


def unit_of(form: Form) -> float:
    """Factor of a form's exponents: log2(e) where they are to the base 2."""
    return LOG2_E if form == "product" else 1.0


def shift_of(dtype: Any) -> float:
    """Amount by which exponents are lowered, so that sums of narrow kernels stay in range."""
    return _SHIFT * _log_max(dtype)


def _cancels(dtype: Any, n_continuous: int, smallest: float | None) -> bool:
    """Whether squares of continuous coordinates lose too many digits."""
    if not n_continuous or smallest is None:
        return bool(n_continuous) and _is_single(dtype)
    # (u - m)^2 / (2 s^2) from its terms is off by about eps / (8 s^2), with u and m within 1/2.
    error = n_continuous * float(jnp.finfo(dtype).eps) / (8 * smallest**2)
    return error > (1e-2 if _is_single(dtype) else 1e-9)


def _peak(space: Space, smallest: float | None) -> float | None:
    """Bound on the log of kernel / wide kernel: each numeric factor's is below log(1 / scale) + 1/2."""
    out = 0.0
    for domains in space.domains:
        axes = [domain.axis for domain in domains]
        widths = [axis.narrowest() if axis.discrete else smallest for axis in axes]
        scales = [width for width in widths if width is not None]
        if len(scales) < len(widths):
            return None
        out += 0.5 - math.log(min(scales))
    return out


def _is_single(dtype: Any) -> bool:
    return jnp.finfo(dtype).bits <= 32


def _log_max(dtype: Any) -> float:
    return math.log(float(jnp.finfo(dtype).max))
