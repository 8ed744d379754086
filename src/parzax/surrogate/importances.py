"""Importances of draws from the posterior of a surrogate."""

from typing import Any

from jaxtyping import PRNGKeyArray

from parzax.importance import Importance, of_function
from parzax.surrogate.process import Draw, Posterior, evaluate, map_draws


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
        def of_draw(key: PRNGKeyArray, draw: Draw) -> Importance:
            return of_function(key, posterior.space, draw, levels, region, n=n_points, **how)

        return map_draws(of_draw, posterior, key, n_draws)

    return evaluate(of_draws, posterior, key)
