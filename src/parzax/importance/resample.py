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
    return _replicated("resample", method, key, encoded, n, divergence, reference, share)


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
    return _replicated("shuffle", "shuffle", key, encoded, n, divergence, reference, share)


def _replicated(
    function: str,
    draw: str,
    key: Any,
    encoded: Encoded,
    n: int,
    divergence: Any,
    reference: str,
    share: dict[str, bool],
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
    found = _replicates(
        key, encoded.codes, encoded.level, encoded.rank, encoded.status, draw=draw, n=n,
        layout=encoded.layout, levels=encoded.levels, place=encoded.place, region=encoded.region,
        optuna_rounding=encoded.grid.optuna_rounding, divergence=checked_divergence(divergence, reference),
        uniform=reference == "uniform", **share,
    )  # fmt: skip
    return jax.tree.map(np.asarray, found) if isinstance(encoded.codes, np.ndarray) else found


_STATIC = (
    "draw", "n", "layout", "levels", "place", "region", "optuna_rounding", "divergence", "uniform", "balance",
    "uniform_when_undefined",
)  # fmt: skip


@partial(jax.jit, static_argnames=_STATIC)
def _replicates(
    key: PRNGKeyArray,
    codes: Integer[Any, "d m"],
    level: Integer[Any, " m"],
    rank: Int[Any, " m"],
    status: Int[Any, " q"],
    *,
    draw: str,
    n: int,
    layout: Layout,
    levels: tuple[float, ...],
    place: tuple[int, ...],
    region: float,
    optuna_rounding: bool,
    divergence: AbstractDivergence,
    uniform: bool,
    **share: bool,
) -> Importance:
    codes, level, rank, status = map(jnp.asarray, (codes, level, rank, status))
    if draw == "shuffle":
        arrays: Any = blocks_of(codes, level, layout, len(levels))
        counts_of = partial(shuffled_counts, layout=layout, n_levels=len(levels))
    else:
        ascending = (*sorted(levels), region)
        arrays = ordered_rows(codes, rank, draw, ascending, optuna_rounding)
        counts_of = partial(sampled_counts, layout=layout, n_levels=len(levels), method=draw)

    def some(keys: Key[Array, " b"]) -> Importance:
        log_status = jnp.broadcast_to(status[None], (len(keys), len(status)))
        return from_counts(counts_of(keys, arrays), log_status, layout, divergence, uniform, **share)

    def rounds(numbers: Integer[Array, " n"], limits: tuple[int, int, int]) -> Importance:
        rows, counts, most = limits
        fitting = min(rows // max(codes.size, 1), counts // ((len(levels) + 2) * layout.n_columns), most, n)
        n_rounds = math.ceil(n / max(fitting, 1))
        size = math.ceil(n / n_rounds)
        padded = jnp.pad(numbers, (0, n_rounds * size - n)).reshape(n_rounds, size)
        keys = jax.vmap(jax.vmap(lambda i: jax.random.fold_in(key, i)))(padded)
        if n_rounds == 1:
            return some(keys[0])
        found = jax.lax.map(some, keys)
        return jax.tree.map(lambda a: a.reshape(n_rounds * size, *a.shape[2:])[:n], found)

    numbers = jnp.arange(n, dtype=jnp.uint32)
    found = jax.lax.platform_dependent(
        numbers, cpu=partial(rounds, limits=_CPU), default=partial(rounds, limits=_ACCELERATOR)
    )
    return in_order(found, place)


class Ranked(NamedTuple):
    """The rows of a log by loss, best first; those that are left out come last.

    Attributes:
        codes: (d, m) grid codes.
        first_tied: (m,) the first row with the same loss.
        level_after: (m + 1,) first level set of a row, by the number of better rows in the sample.
        size, usable: rows of a sample, and rows to draw from.
    """

    codes: Integer[Any, "*s d m"]
    first_tied: Int[Any, "*s m"]
    level_after: Int[Any, "*s m1"]
    size: Int[Any, "*s"]
    usable: Int[Any, "*s"]


def ordered_rows(
    codes: Integer[Array, "d m"],
    rank: Int[Array, " m"],
    method: str,
    levels: tuple[float, ...],
    optuna_rounding: bool,
) -> Ranked:
    """Rows for `sampled_counts`; ``levels`` are ascending, the region's last."""
    m = len(rank)
    usable = (rank < m).sum(dtype=jnp.int32)
    size = usable // 2 if method == "half-sampling" else usable
    ranked, row = jax.lax.sort((rank, jnp.arange(m, dtype=jnp.int32)), num_keys=1)
    needed = sizes(levels, size, True, optuna_rounding).astype(jnp.int32)
    better = jnp.arange(m + 1, dtype=jnp.int32)
    level_after = (needed[None] <= better[:, None]).sum(axis=1, dtype=jnp.int32)
    return Ranked(codes[:, row], jnp.minimum(ranked, m - 1), level_after, size, usable)


def sampled_counts(
    keys: Key[Array, " b"], rows: Ranked, *, layout: Layout, n_levels: int, method: str
) -> Int[Array, "b q1 w"]:
    """Counts of one random sample for each of b keys."""
    m = rows.codes.shape[1]
    draw = jax.vmap(METHODS[method], in_axes=(0, None, None, None))
    weight = draw(keys, m, rows.size, rows.usable)
    level = sample_levels(weight, rows.first_tied, rows.level_after)
    return replicate_counts(rows.codes, level, weight, n_levels=n_levels, layout=layout)


class Blocked(NamedTuple):
    """The rows of the region in each parameter, regime by regime; rows outside the region come last.

    Attributes:
        codes: (d, m) grid codes in this order.
        block: (d, m) block of each row, in the order of the log.
        level: (m,) first level set of each row, in the order of the log.
    """

    codes: Integer[Array, "d m"]
    block: Int[Array, "d m"]
    level: Int[Array, " m"]


def blocks_of(
    codes: Integer[Array, "d m"], level: Integer[Array, " m"], layout: Layout, n_levels: int
) -> Blocked:
    """Rows for `shuffled_counts`."""
    table = np.zeros((len(layout.offsets), max(layout.n_codes)), np.int32)
    for block in layout.blocks:
        first = block.start - layout.offsets[block.parameter]
        table[block.parameter, first : first + block.n_cells] = block.slot + 1
    level = level.astype(jnp.int32)
    block = jnp.asarray(table)[jnp.arange(len(table))[:, None], codes.astype(jnp.int32)]
    block = jnp.where((level <= n_levels)[None], block, layout.n_slots + 1)
    _, ordered = jax.lax.sort((block, codes), num_keys=1)
    return Blocked(ordered, block, level)


def shuffled_counts(
    keys: Key[Array, " b"], rows: Blocked, *, layout: Layout, n_levels: int
) -> Int[Array, "b q1 w"]:
    """Counts of one log shuffled within regimes for each of b keys."""

    def permuted(key: PRNGKeyArray) -> Int[Array, "d m"]:
        bits = jax.random.bits(key, rows.block.shape, jnp.uint32)
        level = jnp.broadcast_to(rows.level[None], bits.shape)
        return jax.lax.sort((rows.block, bits, level), num_keys=2)[2]

    return replicate_counts(rows.codes, jax.vmap(permuted)(keys), None, n_levels=n_levels, layout=layout)
