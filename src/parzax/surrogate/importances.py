"""Importances of draws from the posterior of a surrogate."""

from typing import Any

import jax
from jaxtyping import PRNGKeyArray

from parzax.importance import Importance, of_function
from parzax.surrogate.process import Draw, Posterior, evaluate


def importances(
    key: PRNGKeyArray,
    posterior: Posterior,
    levels: Any,
    region: float = 1.0,
    *,
    n_draws: int = 24,
    n_points: int = 2048,
    **how: Any,
) -> Importance:
    """Importances of the whole space, one for each of several draws from a posterior.

    A draw is a function; its importances are those of `parzax.importance.of_function`. Each draw has separate
    random configurations, so that their sampling error is part of the interval. The estimate is the mean over
    the draws, and its interval is their quantiles: what the log does not determine makes it wide.

    Args:
        key: random key.
        posterior: what `GaussianProcess.fit` gives.
        levels, region: as in `parzax.encode`.
        n_draws: number of draws.
        n_points: number of random configurations for each draw.
        how: further arguments of `parzax.importance.estimate`.

    Returns:
        `parzax.importance.Importance` with a leading axis of draws.
    """

    def of_draws(posterior: Posterior, key: Any) -> Importance:
        of_points, of_draws = jax.random.split(key)
        keys, draws = jax.random.split(of_points, n_draws), posterior.functions(of_draws, n_draws)

        def of_draw(both: tuple[PRNGKeyArray, Draw]) -> Importance:
            return of_function(both[0], posterior.space, both[1], levels, region, n=n_points, **how)

        return jax.lax.map(of_draw, (keys, draws))

    return evaluate(of_draws, posterior, key)
