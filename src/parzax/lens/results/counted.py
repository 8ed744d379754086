"""A result from counts alone, without the rows: importances, and p-values from shuffles of the counts."""

from dataclasses import replace

import jax
import numpy as np

from parzax.importance import Counts, estimate
from parzax.importance.levels import rank_levels
from parzax.lens.logs import ImportReport
from parzax.lens.results.resampling import SHUFFLES, default_shuffles, p_values
from parzax.lens.results.result import ImportanceResult, Method
from parzax.lens.results.shuffles import shuffled_counts
from parzax.lens.results.uncertainty import Uncertainty

# NumPy draws shuffles of fewer rows than this.
_MOST_SHUFFLED = 10**9
# Number of shuffles drawn from one seed, as of a log in memory.
_SEEDED = 16


def analyse_counts(
    counts: Counts, report: ImportReport, goal: str, method: Method, *, shuffled: bool = True
) -> ImportanceResult:
    """Conditional PED-ANOVA of a log of which only the counts are known, as in `parzax.cond_ped_anova`.

    The rows of one parameter do not depend on another one's when losses are shuffled, so counts are enough
    for p-values. They are not for intervals: a sample of the rows has its own cut-offs, and the same rows for
    all parameters. There are none.
    """
    space, levels = counts.space, counts.levels
    assert space is not None
    how = dict(zip(("divergence", "reference", "balance", "uniform_when_undefined"), method.how, strict=True))
    estimates = estimate(counts, **how)
    result = ImportanceResult(estimates, space, np.array(levels), counts.region, report, goal, (), method)
    n_rows = np.asarray(counts.counts[-1, : counts.layout.n_codes[0]].sum())
    if not shuffled or n_rows >= _MOST_SHUFFLED:
        return result
    ascending = np.asarray(counts.counts)[[*np.argsort(levels, kind="stable"), -1]]
    n, variances = default_shuffles(SHUFFLES, len(space)), []
    for start in range(0, n, _SEEDED):
        null = shuffled_counts([0, 0, 0, start], ascending, counts.layout, _SEEDED)
        null = null[:, [*rank_levels(levels), -1]]
        shuffles = jax.vmap(lambda array: estimate(replace(counts, counts=array), **how))(null)
        variances.append(np.asarray(shuffles.variance))
    p_value = p_values(result.variance[None], np.concatenate(variances)[None, :n])[0]
    without, one = np.zeros((0, *p_value.shape)), np.ones(())
    tested = Uncertainty(without, estimates, p_value, one, n_rows, n_rows, n, balance=method.balance)
    return replace(result, sampled=tested)
