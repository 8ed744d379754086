"""Total variation of two Parzen estimators."""

import jax

from parzax import _checks
from parzax.parzen import ParzenEstimator
from parzax.tasks.variation import Variation, balanced_variation


def total_variation(
    key: jax.Array, p: ParzenEstimator, q: ParzenEstimator, n_samples: int = 1000
) -> Variation:
    """d = 1/2 E|p - q| of two estimators on one space, from half the points of each (`balanced_variation`).

    Args:
        key: consumed.
        p, q: single estimators; use `jax.vmap` for batches.
        n_samples: S; the standard error is at most 1/2 S^(-1/2), whatever the dimension.

    Returns:
        Estimate and standard error.

    Raises:
        TypeError, ValueError: for a key that is no typed key, what is no estimator, batches of estimators,
            and estimators of different spaces.

    >>> import jax, numpy as np, parzax as px
    >>> space = px.Space({"x": px.Categorical(["a", "b"])})
    >>> p, q = (px.ParzenEstimator.fit(space, np.array([[c]]), top=1.0, prior_weight=0.0) for c in (0, 1))
    >>> float(total_variation(jax.random.key(0), p, q).value)
    1.0
    """
    _checks.check_key(key)
    for name, estimator in (("p", p), ("q", q)):
        if not isinstance(estimator, ParzenEstimator):
            raise TypeError(f"{name} must be a parzax.ParzenEstimator, got {type(estimator).__name__}.")
        if estimator.weight.ndim != 1:
            raise ValueError(
                f"{name} must be one estimator, got a batch of shape {estimator.weight.shape[:-1]}; "
                "use jax.vmap."
            )
    if p.space != q.space:
        raise ValueError("p and q must have one space; `ParzenEstimator.marginal` leaves parameters out.")
    n = max(_checks.whole_number("n_samples", n_samples, 2) // 2, 1)
    first, second = jax.random.split(key)
    of_p, of_q = p.sample(first, (n,)), q.sample(second, (n,))
    return balanced_variation(
        p.log_prob(of_p) - q.log_prob(of_p),
        p.log_prob(of_q) - q.log_prob(of_q),
    )
