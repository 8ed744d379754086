"""Importances of random parts of a log, and of logs whose losses were shuffled, on the device."""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer, Key, PRNGKeyArray

from parzax import _checks
from parzax.divergence import AbstractDivergence
from parzax.importance.counts import replicate_counts
from parzax.importance.draws import METHODS, sample_levels
from parzax.importance.encoded import Encoded, check_encoded
from parzax.importance.estimate import Importance, checked_divergence, from_counts, in_order
from parzax.importance.layout import Layout
from parzax.importance.levels import sizes

# Replicates side by side: at most so many scattered entries, counts, and replicates. What fits a CPU's cache
# leaves an accelerator idle.
_CPU, _ACCELERATOR = (1 << 18, 1 << 16, 64), (1 << 26, 1 << 22, 1 << 10)


def resample(
    key: PRNGKeyArray,
    encoded: Encoded,
    n: int,
    divergence: AbstractDivergence | None = None,
    *,
    method: str = "half-sampling",
    reference: str = "region",
    balance: bool = True,
    uniform_when_undefined: bool = False,
) -> Importance:
    """`estimate` of ``n`` random samples of the rows, with level sets of their own.

    Pure and unbatched; `jax.jit` and `jax.vmap` over keys and logs apply. The i-th sample depends on the key
    and i alone.

    Args:
        key: a typed key such as ``jax.random.key(0)``.
        encoded: of `parzax.encode`, with ranks and without weights.
        n: number of samples; static.
        method: "half-sampling" takes half of the usable rows without replacement; "bootstrap" takes as many
            as there are, with replacement.
        divergence, reference, balance, uniform_when_undefined: of `estimate`.

    Returns:
        `Importance` with a leading axis of length n. Statuses known from the losses are those of the log.

    Raises:
        TypeError, ValueError: as `estimate`, and for weights. A row of weight 2 is two rows, so that the
            number of rows would depend on data: repeat the rows, or use `parzax.cond_ped_anova` with
            ``n_resamples``.
    """
    _checks.one_of("method", method, tuple(METHODS))
    share = {"balance": balance, "uniform_when_undefined": uniform_when_undefined}
    return _replicated("resample", method, key, encoded, n, divergence, reference, **share)


def shuffle(
    key: PRNGKeyArray,
    encoded: Encoded,
    n: int,
    divergence: AbstractDivergence | None = None,
    *,
    reference: str = "region",
    balance: bool = True,
    uniform_when_undefined: bool = False,
) -> Importance:
    """`estimate` of ``n`` logs whose losses were shuffled within the regimes of each parameter.

    The target rows of a regime are then a random subset of its rows. Sets of all levels stay nested, and each
    parameter has another permutation. ``(1 + (shuffled.variance >= imp.variance).sum(axis=0)) / (n + 1)`` is
    the p-value of the null that a parameter has no effect within its regimes.

    Arguments, restrictions and the answer are those of `resample`.
    """
    share = {"balance": balance, "uniform_when_undefined": uniform_when_undefined}
    return _replicated("shuffle", "shuffle", key, encoded, n, divergence, reference, **share)


def _replicated(
    function: str,
    draw: str,
    key: Any,
    encoded: Encoded,
    n: int,
    divergence: Any,
    reference: str,
    **share: bool,
) -> Importance:
    """What `resample` and `shuffle` have in common: checks, and the compiled call."""
    check_encoded(encoded, function)
    n = _checks.whole_number("n", n, 1)
    _checks.check_key(key)
    if encoded.weight is not None:
        raise ValueError(
            "encoded has weights, and a row of weight 2 is two rows; repeat the rows, or use "
            "parzax.cond_ped_anova(obs, n_resamples=...)."
        )
    if encoded.rank is None:
        raise ValueError("encoded has no ranks; make it by parzax.encode or Observations.encode.")
    how = {"divergence": checked_divergence(divergence, reference), "uniform": reference == "uniform"}
    replicates = _replicates(key, encoded, draw=draw, n=n, **how, **share)
    return jax.tree.map(np.asarray, replicates) if isinstance(encoded.codes, np.ndarray) else replicates


@partial(jax.jit, static_argnames=("draw", "n", "divergence", "uniform", "balance", "uniform_when_undefined"))
def _replicates(
    key: PRNGKeyArray,
    encoded: Encoded,
    *,
    draw: str,
    n: int,
    divergence: AbstractDivergence,
    uniform: bool,
    **share: bool,
) -> Importance:
    layout, status = encoded.layout, encoded.status
    if draw == "shuffle":
        counts_of = partial(shuffled_counts, rows=blocks_of(encoded), encoded=encoded)
    else:
        rank, levels = jnp.asarray(encoded.rank), (*sorted(encoded.levels), encoded.region)
        size = sample_size((rank < len(rank)).sum(dtype=jnp.int32), draw)
        needed = sizes(levels, size, True, encoded.grid.optuna_rounding).astype(jnp.int32)
        rows = ordered_rows(encoded.codes, rank, needed, draw)
        counts_of = partial(sampled_counts, rows=rows, layout=layout, n_levels=len(status), method=draw)

    def some(keys: Key[Array, " b"]) -> Importance:
        log_status = jnp.broadcast_to(status[None], (len(keys), len(status)))
        return from_counts(counts_of(keys), log_status, layout, divergence, uniform, **share)

    def rounds(numbers: Integer[Array, " n"], limits: tuple[int, int, int]) -> Importance:
        rows, counts, most = limits
        n_counts = (len(encoded.levels) + 2) * layout.n_columns
        fitting = min(rows // max(encoded.codes.size, 1), counts // n_counts, most, n)
        n_rounds = math.ceil(n / max(fitting, 1))
        size = math.ceil(n / n_rounds)
        padded = jnp.pad(numbers, (0, n_rounds * size - n)).reshape(n_rounds, size)
        keys = jax.vmap(jax.vmap(lambda i: jax.random.fold_in(key, i)))(padded)
        if n_rounds == 1:
            return some(keys[0])
        replicated = jax.lax.map(some, keys)
        return jax.tree.map(lambda a: a.reshape(n_rounds * size, *a.shape[2:])[:n], replicated)

    numbers = jnp.arange(n, dtype=jnp.uint32)
    replicated = jax.lax.platform_dependent(
        numbers, cpu=partial(rounds, limits=_CPU), default=partial(rounds, limits=_ACCELERATOR)
    )
    return in_order(replicated, encoded.place)


class Ranked(NamedTuple):
    """The rows of a log by loss, best first; those that are left out come last."""

    codes: Integer[Any, "*s d m"]  # grid codes
    first_tied: Int[Any, "*s m"]  # the first row with the same loss
    # (m + 1,) first level set of a row, by the number of better rows in the sample.
    level_after: Int[Any, "*s m1"]
    size: Int[Any, "*s"]  # rows of a sample
    usable: Int[Any, "*s"]  # rows to draw from


def sample_size(usable: Any, method: str) -> Any:
    """Rows of a sample of ``usable`` rows."""
    return usable // 2 if method == "half-sampling" else usable


def ordered_rows(codes: Any, rank: Int[Array, " m"], needed: Int[Array, " q1"], method: str) -> Ranked:
    """Rows for `sampled_counts`; ``needed`` rows of a sample make each of its sets, the region last."""
    m, usable = len(rank), (rank < len(rank)).sum(dtype=jnp.int32)
    ranked, row = jax.lax.sort((rank, jnp.arange(m, dtype=jnp.int32)), num_keys=1)
    better = jnp.arange(m + 1, dtype=jnp.int32)
    level_after = (needed[None] <= better[:, None]).sum(axis=1, dtype=jnp.int32)
    size = sample_size(usable, method)
    return Ranked(codes[:, row], jnp.minimum(ranked, m - 1), level_after, size, usable)


def sampled_counts(
    keys: Key[Array, " b"], *, rows: Ranked, layout: Layout, n_levels: int, method: str
) -> Int[Array, "b q1 w"]:
    """Counts of one random sample for each of b keys."""
    m = rows.codes.shape[1]
    draw = jax.vmap(METHODS[method], in_axes=(0, None, None, None))
    weight = draw(keys, m, rows.size, rows.usable)
    level = sample_levels(weight, rows.first_tied, rows.level_after)
    return replicate_counts(rows.codes, level, weight, layout, n_levels)


class Blocked(NamedTuple):
    """The rows of the region in each parameter, regime by regime; rows outside the region come last."""

    codes: Integer[Array, "d m"]  # grid codes in this order
    block: Int[Array, "d m"]  # block of each row, in the order of the log
    level: Int[Array, " m"]  # first level set of each row, in the order of the log


def blocks_of(encoded: Encoded) -> Blocked:
    """Rows for `shuffled_counts`."""
    codes, layout = encoded.codes, encoded.layout
    table = np.zeros((len(layout.offsets), max(layout.n_codes)), np.int32)
    for block in layout.blocks:
        first = block.start - layout.offsets[block.parameter]
        table[block.parameter, first : first + block.n_cells] = block.slot + 1
    level = encoded.level.astype(jnp.int32)
    block = jnp.asarray(table)[jnp.arange(len(table))[:, None], codes.astype(jnp.int32)]
    block = jnp.where((level <= len(encoded.levels))[None], block, layout.n_slots + 1)
    _, ordered = jax.lax.sort((block, codes), num_keys=1)
    return Blocked(ordered, block, level)


def shuffled_counts(keys: Key[Array, " b"], *, rows: Blocked, encoded: Encoded) -> Int[Array, "b q1 w"]:
    """Counts of one log shuffled within regimes for each of b keys."""

    def permuted(key: PRNGKeyArray) -> Int[Array, "d m"]:
        bits = jax.random.bits(key, rows.block.shape, jnp.uint32)
        level = jnp.broadcast_to(rows.level[None], bits.shape)
        return jax.lax.sort((rows.block, bits, level), num_keys=2)[2]

    levels = jax.vmap(permuted)(keys)
    return replicate_counts(rows.codes, levels, None, encoded.layout, len(encoded.levels))
