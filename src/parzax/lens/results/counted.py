"""A result from counts alone, without the rows: importances, and p-values from shuffles of the counts."""

from dataclasses import replace

import jax
import numpy as np

from parzax.importance import Counts, Encoded, estimate
from parzax.lens.logs import ImportReport
from parzax.lens.results.replicates import draw_replicates
from parzax.lens.results.result import ImportanceResult, Method
from parzax.lens.results.uncertainty import SHUFFLES, Uncertainty, default_shuffles, p_values

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
    n_rows = np.asarray(counts.counts[-1, : counts.layout.n_codes[0]].sum())
    if not tested or n_rows >= _MOST_SHUFFLED:
        return result
    n_shuffles = default_shuffles(SHUFFLES, len(counts.space))
    # Samples would need rows; one that is in no set stands for all.
    d, q = len(counts.space), len(levels)
    codes, nowhere = np.zeros((1, d, 1), np.uint8), np.ones((1, 1), np.int32)
    settings = counts.layout, counts.levels, counts.region, counts.grid
    status, one = np.asarray(counts.status)[None], nowhere[:, 0]
    log = Encoded(codes, nowhere * (q + 1), nowhere, None, None, status, one, None, *settings)
    how = method.divergence, method.reference, "half-sampling"
    _, shuffled = draw_replicates(jax.random.key(0), log, counts.counts[None], (0, n_shuffles), *how)
    p_value = p_values(result.variance[None], shuffled)[0]
    none, one = np.zeros((0, q, d)), np.ones(())
    known = Uncertainty(none, estimates, p_value, one, n_rows, n_rows, n_shuffles, balance=method.balance)
    return replace(result, sampled=known)
