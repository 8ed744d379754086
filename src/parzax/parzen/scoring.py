"""Log densities of configurations: NumPy's padded to a few sizes, traced ones as they are."""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from parzax import _checks
from parzax.observations.encoding import capacity
from parzax.parzen.points import Points, points
from parzax.space import Space

if TYPE_CHECKING:
    from parzax.parzen.evaluation import Form
    from parzax.parzen.mixture import ParzenEstimator


def log_prob(pe: "ParzenEstimator", x: Any, measure: str, form: "Form | None") -> Float[Array, "..."]:
    """See `ParzenEstimator.log_prob`."""
    at = _configurations(pe.space, x)
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(pe))
    if traced or not isinstance(at, Points):
        return _log_prob(pe, at, measure=measure, form=form)
    # Few numbers of points are compiled; the form is that of the true number.
    *shape, d = at.unit.shape
    n = int(np.prod(shape))
    form = pe.form(n) if form is None else form
    padded = jax.tree.map(lambda a: np.pad(a.reshape(n, d), ((0, _bucket(n) - n), (0, 0))), at)
    out = _log_prob(pe, padded, measure=measure, form=form)
    # On the host: a slice of a JAX array would be compiled for every n.
    return jnp.asarray(np.asarray(out)[:n].reshape(shape))


def _bucket(n: int) -> int:
    """A capacity up to 4096; beyond, eight sizes per doubling, so that little is evaluated in vain."""
    if n <= 4096:
        return capacity(n)
    step = 1 << ((n - 1).bit_length() - 4)
    return -(-n // step) * step


def _configurations(space: Space, x: Any) -> Any:
    """(..., d) values: encoded when they are NumPy's, else floats that are encoded in compiled code."""
    if isinstance(x, np.ndarray) and x.dtype == np.float32:
        x = jnp.asarray(x)  # draws, say: to be judged by what a float32 can hold
    if not isinstance(x, jax.Array):
        x = _checks.float_array("x", _checks.ordered("x", x, space.names))
    elif not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.result_type(float))
    if x.ndim < 1 or x.shape[-1] != len(space):
        raise ValueError(f"x must have shape (..., {len(space)}), got {x.shape}.")
    return points(space, x) if isinstance(x, np.ndarray) else x


@eqx.filter_jit
def _log_prob(
    pe: "ParzenEstimator", at: Points | Float[Array, "... d"], *, measure: str, form: "Form | None"
) -> Float[Array, "..."]:
    at = at if isinstance(at, Points) else points(pe.space, at)
    shape, dtype = at.unit.shape[:-1], pe.scale.dtype
    flat = jax.tree.map(lambda a: jnp.asarray(a).reshape(-1, a.shape[-1]), at)
    flat = jax.tree.map(lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, flat)
    out = pe.prepare(len(flat.unit), form).log_prob(flat)
    if measure == "native":
        out = out + flat.log_jacobian.sum(axis=-1)
    return jnp.where(flat.valid.all(axis=-1), out, -jnp.inf).reshape(shape)
