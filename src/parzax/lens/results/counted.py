"""A result from counts alone, without the rows: importances, and p-values from shuffles of the counts."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from parzax.importance import Counts, estimate
from parzax.lens.logs import ImportReport
from parzax.lens.results.replicates import UNIT, shuffled_counts
from parzax.lens.results.result import ImportanceResult, Method
from parzax.lens.results.uncertainty import SHUFFLES, default_shuffles, p_values

# NumPy draws shuffles of fewer rows than this.
_MOST_SHUFFLED = 10**9


def analyse_counts(
    counts: Counts, report: ImportReport, goal: str, method: Method, *, tested: bool = True
) -> ImportanceResult:
    """Conditional PED-ANOVA of a log of which only the counts are known, as in `parzax.cond_ped_anova`.

    The rows of one parameter do not depend on another one's when losses are shuffled, so counts are enough
    for p-values. They are not for intervals: a sample of the rows has its own cut-offs, and the same rows for
    all parameters. There are none. ``tested`` says whether p-values are computed.
    """
    assert counts.space is not None
    levels = np.array(counts.levels)
    divergence, reference, balance, uniform = method.how
    how = {"reference": reference, "balance": balance, "uniform_when_undefined": uniform}
    estimates = estimate(counts, divergence, **how)
    result = ImportanceResult(estimates, counts.space, levels, counts.region, report, goal, (), method)
    if not tested or result.n_region >= _MOST_SHUFFLED:
        return result
    n, log = default_shuffles(SHUFFLES, len(counts.space)), jax.tree.map(jnp.asarray, counts)
    ascending = np.argsort(levels, kind="stable")
    sets, words = counts.counts[[*ascending, len(levels)]], jax.random.key_data(jax.random.key(0)).tolist()
    shuffled = [shuffled_counts([*words, 0, start], sets, counts, UNIT) for start in range(0, n, UNIT)]
    places = [*np.argsort(ascending), len(levels)]

    def variance(shuffled: Shaped[Array, "q1 w"]) -> Float[Array, "q d"]:
        return estimate(replace(log, counts=shuffled), divergence, **how).variance

    variances = jax.lax.map(variance, jnp.asarray(np.concatenate(shuffled)[:n, places]), batch_size=UNIT)
    p_value = p_values(result.variance[None], np.asarray(variances)[None])[0]
    known = replace(result.uncertainty, p_value=p_value, n_rows=result.n_region, n_shuffles=n)
    return replace(result, sampled=known)
