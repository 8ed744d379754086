"""Conditional PED-ANOVA of many seeds in one cached program, or in chunks of seeds."""

import math
from typing import Any

import jax

from parzax import _checks
from parzax._compile import compiled
from parzax.importance import Encoded, Importance
from parzax.importance.encode import without_values
from parzax.importance.estimate import estimate_seeds
from parzax.lens.run.chunks import run_chunks
from parzax.lens.run.progress import is_shown

# Counts of a chunk of seeds: the arrays that are computed from them take about 20 times their 4 bytes.
_MOST_COUNTS = 1 << 24
# Up to so many counts the work of an analysis is small, or middling.
_SMALL, _MIDDLING = 1 << 13, 1 << 16
# With more cells of rows than this, a program without all optimisations takes twice as long.
_MOST_ROWS = 1 << 18
# More chunks than this show a progress bar on a terminal.
_QUIET_CHUNKS = 4


def estimate_batch(encoded: Encoded, how: tuple[Any, ...]) -> Importance:
    """Conditional PED-ANOVA of s seeds, as NumPy or JAX arrays, in JAX's default dtype.

    It is one dispatch; more seeds than fit `_MOST_COUNTS` are computed in chunks of one size. The program
    depends only on shapes, layout, ``how``, and the order of the levels.
    """
    log = without_values(encoded, rank=None)
    n_seeds, n_counts = len(encoded.level), (len(encoded.levels) + 2) * encoded.layout.n_columns
    n_chunks = math.ceil(n_seeds * n_counts / _MOST_COUNTS)
    if n_chunks <= 1 or n_seeds == 1:
        estimates = sweep(log, how=how)
        _checks.outside_traces(estimates.variance)
        return estimates
    size = math.ceil(n_seeds / min(n_chunks, n_seeds))
    leaves, structure = jax.tree.flatten(log)

    def run(*leaves: Any) -> Importance:
        return sweep(jax.tree.unflatten(structure, leaves), how=how)

    example = [jax.ShapeDtypeStruct((size, *a.shape[1:]), a.dtype) for a in leaves]
    like = jax.eval_shape(lambda *x: estimate_seeds(jax.tree.unflatten(structure, x), how), *example)
    shown = is_shown(None) and n_chunks > _QUIET_CHUNKS
    return run_chunks(run, tuple(leaves), n_seeds, like, None, what="seeds", shown=shown)


def _size(log: Encoded, **_: Any) -> str:
    """Size of the work, by the numbers of rows and of counts."""
    if log.codes.size > _MOST_ROWS:
        return "large"
    n_counts = len(log.codes) * (len(log.levels) + 2) * log.layout.n_columns
    return "small" if n_counts <= _SMALL else "middling" if n_counts <= _MIDDLING else "large"


sweep = compiled(size=_size)(estimate_seeds)
