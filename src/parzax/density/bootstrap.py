"""The bootstrap of a density: estimators of random samples of its rows."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled
from parzax.density.estimator import ParzenEstimator
from parzax.density.rows import checked_rows
from parzax.space import Space


def resample(
    key: PRNGKeyArray, space: Space, x: Any, n: int, weight: Any = None, **options: Any
) -> ParzenEstimator:
    """n estimators, each fitted to as many rows as there are, drawn with replacement: a batch.

    Each sample has its own bandwidths. Quantiles over the batch are a band, at each point, of the expected
    value of the estimator: they leave out the bias of the bandwidth.

    Args:
        key: a typed PRNG key.
        space, x, weight, options: as in `ParzenEstimator.fit`. A row of weight 2 is two rows; the sum of the
            weights, rounded, is the number of draws.
        n: number of samples; static.

    >>> import jax, jax.numpy as jnp, numpy as np, parzax as px
    >>> space, x = px.Space({"x": px.Float(0, 1)}), np.random.default_rng(0).beta(2, 5, (50, 1))
    >>> batch = px.density.resample(jax.random.key(0), space, x, 200)
    >>> batch
    ParzenEstimator(200 estimators, x; room for 64 rows)
    >>> at = np.linspace(0, 1, 5)[:, None]
    >>> jnp.quantile(jax.vmap(lambda pe: pe.prob(at))(batch), jnp.array([0.05, 0.95]), axis=0).shape
    (2, 5)
    """
    _checks.check_key(key)
    n = _checks.whole_number("n", n, 1)
    encoded, frequency, _ = checked_rows(space, x, weight, options.get("mixture_weight"))
    if frequency is None:
        frequency = jnp.ones(len(encoded), encoded.dtype)
    drawn = _counts(key, jnp.asarray(frequency), n)[:, : len(x)]
    return jax.vmap(lambda drawn: ParzenEstimator.fit(space, x, drawn, **options))(drawn)


@compiled
def _counts(key: PRNGKeyArray, weight: Float[Array, " r"], n: int) -> Float[Array, "{n} r"]:
    """How often rows are drawn, in each of n samples; weights that are not positive and finite stay."""
    is_row = (weight > 0) & (weight < jnp.inf)
    weights = jnp.where(is_row, weight, 0)
    total = weights.sum()
    share = weights / jnp.where(total > 0, total, 1)
    draw = jax.vmap(lambda key: jax.random.multinomial(key, jnp.round(total), share, dtype=weight.dtype))
    return jnp.where(is_row[None], draw(jax.random.split(key, n)), weight[None])
