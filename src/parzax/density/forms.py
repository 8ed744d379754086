"""The four ways to evaluate a sum of kernels, and when each applies.

* `parzax.density.common_scale.CommonScale` serves samplers whose bandwidth rule has ``one_scale``, if the
  form "product" applies. All groups share the coefficients of the rows.
* "product" is a matrix product followed by exp, without subtracting the maximum. Kernels are divided by the
  wide kernels (the anchor), whose prior weight must be at least 1e-3. The logs of kernel / wide kernel must
  stay within the range of exp: at a bandwidth of 0.01, up to about 25 parameters in float32 and 190 in
  float64. With a user's prior it does not apply, because the prior's peaks have no known bound.
* "max" is the same matrix product followed by logsumexp. It serves all cases without another form.
* "difference" evaluates continuous parameters pair by pair. It is exact and 5-70 times slower. It serves at
  most 2^14 pairs in float32, and kernels so narrow that log densities from squares have fewer than two
  (float32) or nine (float64) correct decimals.
"""

import math
from typing import Any, Literal, get_args

import jax.numpy as jnp

from parzax.space import Space

Form = Literal["product", "max", "difference"]
FORMS: tuple[Form, ...] = get_args(Form)

# In float32 the difference form is used for up to this many pairs, because the product loses digits.
_SMALL = 1 << 14
# Fractions of log(finfo.max): the shift subtracted from exponents, and the range that exponents may use.
_SHIFT, _FILLED = 0.45, 0.95
# The product form uses exponents to the base 2.
LOG2_E = math.log2(math.e)
# If the prior weight, per unit of row weight, is below this number, the anchor could underflow.
LEAST_PRIOR = 1e-3


def form_for_many(
    space: Space, dtype: Any, n_continuous: int, smallest: float | None, safe_prior: bool
) -> Form:
    """The form for many pairs of points and kernels.

    ``smallest`` is a lower bound on the scales of continuous parameters, None if it is unknown (a traced
    setting); float32 then uses "difference". ``safe_prior`` says that the prior's weight is large enough.
    """
    if _cancels(dtype, n_continuous, smallest):
        return "difference"
    peak, limit = _peak(space, smallest), (_FILLED + _SHIFT) * _log_max(dtype)
    return "product" if safe_prior and peak is not None and peak <= limit else "max"


def is_few(dtype: Any, n_continuous: int, n_pairs: int) -> bool:
    """Whether the number of pairs is small enough to evaluate each pair separately."""
    return _is_single(dtype) and bool(n_continuous) and n_pairs <= _SMALL


def unit_of(form: Form) -> float:
    """Factor of the exponents in a form: log2(e) in the product form, whose base is 2, else 1."""
    return LOG2_E if form == "product" else 1.0


def shift_of(dtype: Any) -> float:
    """Number subtracted from exponents, so that sums of narrow kernels do not overflow."""
    return _SHIFT * _log_max(dtype)


def _cancels(dtype: Any, n_continuous: int, smallest: float | None) -> bool:
    """Whether log densities that are computed from squares of coordinates lose too many digits."""
    if not n_continuous or smallest is None:
        return bool(n_continuous) and _is_single(dtype)
    # The expanded form of (u - m)^2 / (2 s^2) has an error of about eps / (8 s^2), as |u| and |m| are <= 1/2.
    error = n_continuous * float(jnp.finfo(dtype).eps) / (8 * smallest**2)
    return error > (1e-2 if _is_single(dtype) else 1e-9)


def _peak(space: Space, smallest: float | None) -> float | None:
    """Upper bound on the log of kernel / wide kernel; each numeric factor adds log(1 / scale) + 1/2."""
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
    return jnp.dtype(dtype).itemsize <= 4


def _log_max(dtype: Any) -> float:
    return math.log(float(jnp.finfo(dtype).max))
