"""Importances of random samples of a log, and of logs with shuffled losses, on the device."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer, Key, PRNGKeyArray

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax.divergence import AbstractDivergence, Explained
from parzax.importance.counts import sweep_counts
from parzax.importance.draws import METHODS, sample_levels, sample_size
from parzax.importance.encode import Encoded, check_encoded
from parzax.importance.estimate import Importance, checked_how, from_counts
from parzax.importance.groups import (
    count_configurations,
    group_sample_counter,
    group_shuffle_counter,
    share_of,
)
from parzax.importance.layout import Layout
from parzax.importance.levels import sizes

# Batch limits: scattered entries, counts, and replicates. Batches that fit a CPU's cache would leave an
# accelerator idle.
_DEFAULT = Explained()
_CPU, _ACCELERATOR = (1 << 18, 1 << 16, 64), (1 << 26, 1 << 24, 1 << 10)


def resample(
    key: PRNGKeyArray,
    encoded: Encoded,
    n: int,
    divergence: AbstractDivergence = _DEFAULT,
    *,
    method: str = "half-sampling",
    **how: Any,
) -> Importance:
    """`estimate` of ``n`` random samples of the rows; each sample has its own level sets.

    Pure and unbatched; `jax.jit` and `jax.vmap` over keys and logs apply. The i-th sample depends on the key
    and i alone.

    Args:
        key: a typed key such as ``jax.random.key(0)``.
        encoded: the result of `parzax.encode`, with ranks and without weights. If it has groups, groups are
            drawn instead of rows, each with all its rows.
        n: number of samples; static.
        method: "half-sampling" takes half of the usable rows without replacement; "bootstrap" takes as many
            rows as are usable, with replacement.
        divergence, how: as in `estimate`: ``reference``, ``balance``, ``uniform_when_undefined``.

    Returns:
        `Importance` with a leading axis of length n. Status bits that depend on losses alone are copied from
        ``encoded``.

    Raises:
        TypeError, ValueError: as in `estimate`, and for weights. A row of weight 2 is two rows, so that the
            number of rows would depend on data: repeat the rows, or use `parzax.cond_ped_anova` with
            ``n_resamples``.
    """
    _checks.one_of("method", method, tuple(METHODS))
    return _replicate(method, key, encoded, n, divergence, **how)


def shuffle(
    key: PRNGKeyArray,
    encoded: Encoded,
    n: int,
    divergence: AbstractDivergence = _DEFAULT,
    **how: Any,
) -> Importance:
    """`estimate` of ``n`` logs whose losses were shuffled within the regimes of each parameter.

    The target rows of a regime are then a random subset of its rows. The level sets stay nested. Each
    parameter gets a different permutation. The p-value of the null hypothesis that a parameter has no effect
    within its regimes is ``(1 + (shuffled.variance >= imp.variance).sum(axis=0)) / (n + 1)``.

    If ``encoded`` has groups, the rows of a group stay together: groups exchange their lists of cells. A
    group with more rows than the list that it gets repeats the list. So the number of rows per cell varies.

    Arguments, errors and the returned value are those of `resample`.
    """
    return _replicate("shuffle", key, encoded, n, divergence, **how)


def _replicate(
    draw: str,
    key: Any,
    encoded: Encoded,
    n: int,
    divergence: Any,
    reference: str = "region",
    balance: bool = True,
    uniform_when_undefined: bool = False,
) -> Importance:
    """Check the arguments of `resample` or `shuffle`, and make the compiled call."""
    check_encoded(encoded, "shuffle" if draw == "shuffle" else "resample")
    how = checked_how(divergence, reference, balance, uniform_when_undefined)
    n = _checks.whole_number("n", n, 1)
    _checks.check_key(key)
    if encoded.weight is not None:
        remedy = "repeat the rows, or use parzax.cond_ped_anova(obs, n_resamples=...)"
        raise ValueError(f"encoded has weights, and a row of weight 2 is two rows; {remedy}.")
    if encoded.rank is None:
        raise ValueError("encoded has no ranks; make it by parzax.encode or Observations.encode.")
    replicates = replicate(key, encoded, draw=draw, n=n, **how)
    return jax.tree.map(np.asarray, replicates) if isinstance(encoded.codes, np.ndarray) else replicates


@jit_on_meshes("draw", "n", "divergence", "reference", "balance", "uniform_when_undefined")
def replicate(key: PRNGKeyArray, encoded: Encoded, *, draw: str, n: int, **how: Any) -> Importance:
    """`resample` by the method ``draw``, or `shuffle`, without their checks."""
    if draw == "shuffle":
        count = shuffle_counter(encoded)
    elif encoded.groups is not None:
        count = group_sample_counter(encoded, draw)
    else:
        rank, levels = jnp.asarray(encoded.rank), (*sorted(encoded.levels), encoded.region)
        size = sample_size((rank < len(rank)).sum(dtype=jnp.int32), draw)
        needed = sizes(levels, size, True, encoded.grid.optuna_rounding).astype(jnp.int32)
        count = sample_counter(encoded.codes, rank, needed, encoded.place, encoded.layout, draw)

    share = share_of(encoded)

    def estimate_batch(keys: Key[Array, " b"]) -> Importance:
        log_status = jnp.broadcast_to(encoded.status[None], (len(keys), len(encoded.status)))
        counts = count_configurations(count(keys), share)
        return from_counts(counts, log_status, encoded.layout, **how)

    def estimate_in_rounds(numbers: Integer[Array, " n"], limits: tuple[int, int, int]) -> Importance:
        most_entries, most_counts, most = limits
        n_counts = (len(encoded.levels) + 2) * encoded.layout.n_columns
        fitting = min(most_entries // max(encoded.codes.size, 1), most_counts // n_counts, most, n)
        n_rounds = math.ceil(n / max(fitting, 1))
        size = math.ceil(n / n_rounds)
        padded = jnp.pad(numbers, (0, n_rounds * size - n)).reshape(n_rounds, size)
        keys = jax.vmap(jax.vmap(lambda i: jax.random.fold_in(key, i)))(padded)
        if n_rounds == 1:
            return estimate_batch(keys[0])
        replicated = jax.lax.map(estimate_batch, keys)
        return jax.tree.map(lambda a: a.reshape(n_rounds * size, *a.shape[2:])[:n], replicated)

    on_cpu, on_accelerator = (partial(estimate_in_rounds, limits=limits) for limits in (_CPU, _ACCELERATOR))
    numbers = jnp.arange(n, dtype=jnp.uint32)
    return jax.lax.platform_dependent(numbers, cpu=on_cpu, default=on_accelerator)


def sample_counter(
    codes: Any,
    rank: Int[Array, " m"],
    needed: Int[Array, " q1"],
    place: tuple[int, ...],
    layout: Layout,
    method: str,
) -> Callable[[Key[Array, " b"]], Int[Array, "b q1 w"]]:
    """A function that maps keys to counts; each key draws one random sample of the log.

    ``needed`` is the number of sampled rows in each set, in ascending order, with the region last.
    """
    m, usable = len(rank), (rank < len(rank)).sum(dtype=jnp.int32)
    # Rows sorted by loss, best first; rows that are left out come last.
    ranked, row = jax.lax.sort((rank, jnp.arange(m, dtype=jnp.int32)), num_keys=1)
    ordered, first_tied = codes[:, row], jnp.minimum(ranked, m - 1)
    better = jnp.arange(m + 1, dtype=jnp.int32)
    level_after = (needed[None] <= better[:, None]).sum(axis=1, dtype=jnp.int32)
    draw, size = jax.vmap(METHODS[method], in_axes=(0, None, None, None)), sample_size(usable, method)

    def count(keys: Key[Array, " b"]) -> Int[Array, "b q1 w"]:
        weight = draw(keys, m, size, usable)
        level = sample_levels(weight, first_tied, level_after)
        return sweep_counts(ordered[None], level, weight, place=place, layout=layout)

    return count


def shuffle_counter(encoded: Encoded) -> Callable[[Key[Array, " b"]], Int[Array, "b q1 w"]]:
    """A function that maps keys to counts; each key shuffles the log once within regimes."""
    codes, layout, n_levels = encoded.codes, encoded.layout, len(encoded.levels)
    block_of_code = np.zeros((len(layout.offsets), max(layout.n_codes)), np.int32)
    for block in layout.blocks:
        first = block.start - layout.offsets[block.parameter]
        block_of_code[block.parameter, first : first + block.n_cells] = block.slot + 1
    level = encoded.level.astype(jnp.int32)
    block = jnp.asarray(block_of_code)[jnp.arange(len(codes))[:, None], codes.astype(jnp.int32)]
    block = jnp.where((level <= n_levels)[None], block, layout.n_slots + 1)
    if encoded.groups is not None:
        return group_shuffle_counter(encoded, block)
    # Grid codes sorted by regime; rows outside the region come last.
    _, ordered = jax.lax.sort((block, codes), num_keys=1)

    def permute_levels(key: PRNGKeyArray) -> Int[Array, "d m"]:
        bits = jax.random.bits(key, block.shape, jnp.uint32)
        return jax.lax.sort((block, bits, jnp.broadcast_to(level[None], bits.shape)), num_keys=2)[2]

    def count(keys: Key[Array, " b"]) -> Int[Array, "b q1 w"]:
        levels = jax.vmap(permute_levels)(keys)
        return sweep_counts(ordered[None], levels, None, place=encoded.place, layout=layout)

    return count
