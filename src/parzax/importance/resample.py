"""Importances of random samples of a log, and of logs with shuffled losses, on the device."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Integer, Key, PRNGKeyArray, Shaped

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax._numerics import count_below
from parzax.divergence import AbstractDivergence, Explained
from parzax.importance.counts import count_configurations, sweep_counts
from parzax.importance.encode import Encoded, check_encoded
from parzax.importance.estimate import How, Importance, checked_how, from_counts
from parzax.importance.levels import level_weights
from parzax.pareto.order import changes

# A function that maps keys to counts, one set of counts for each key.
Counter: TypeAlias = Callable[[Key[Array, " b"]], Shaped[Array, "b q1 w"]]
_LARGEST = np.uint32(2**32 - 1)
# Batch limits: scattered entries, counts, and replicates. Batches that fit a CPU's cache would leave an
# accelerator idle.
_CPU, _ACCELERATOR = (1 << 18, 1 << 16, 64), (1 << 26, 1 << 24, 1 << 10)


def resample(
    key: PRNGKeyArray,
    encoded: Encoded,
    n: int,
    divergence: AbstractDivergence = Explained(),
    **how: Any,
) -> Importance:
    """`estimate` of ``n`` random halves of the rows; each sample has its own level sets.

    Pure and unbatched; `jax.jit` and `jax.vmap` over keys and logs apply. The i-th sample depends on the key
    and i alone.

    Args:
        key: a typed key such as ``jax.random.key(0)``.
        encoded: the result of `parzax.encode`, with ranks and without weights. If it has groups, groups are
            drawn instead of rows, each with all its rows.
        n: number of samples; static. Each takes half of the usable rows, without replacement.
        divergence, how: as in `estimate`: ``reference``, ``balance``, ``uniform_when_undefined``.

    Returns:
        `Importance` with a leading axis of length n. Status bits that depend on losses alone are copied from
        ``encoded``.

    Raises:
        TypeError, ValueError: as in `estimate`, and for weights. A row of weight 2 is two rows, so that the
            number of rows would depend on data: repeat the rows, or use `parzax.cond_ped_anova` with
            ``n_resamples``.
    """
    return _replicate(sample_counter, key, encoded, n, checked_how(divergence, **how))


def shuffle(
    key: PRNGKeyArray,
    encoded: Encoded,
    n: int,
    divergence: AbstractDivergence = Explained(),
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
    return _replicate(shuffle_counter, key, encoded, n, checked_how(divergence, **how))


def _replicate(
    counter: Callable[[Encoded], Counter], key: Any, encoded: Encoded, n: int, how: How
) -> Importance:
    """Check the arguments of `resample` or `shuffle`, and make the compiled call."""
    check_encoded(encoded, "resample" if counter is sample_counter else "shuffle")
    n = _checks.whole_number("n", n, 1)
    _checks.check_key(key)
    if encoded.weight is not None:
        remedy = "repeat the rows, or use parzax.cond_ped_anova(obs, n_resamples=...)"
        raise ValueError(f"encoded has weights, and a row of weight 2 is two rows; {remedy}.")
    if encoded.rank is None:
        raise ValueError("encoded has no ranks; make it by parzax.encode without cut-offs, or by obs.encode.")
    replicates = _replicates(key, encoded, counter=counter, n=n, how=how)
    return jax.tree.map(np.asarray, replicates) if isinstance(encoded.codes, np.ndarray) else replicates


@jit_on_meshes("counter", "n", "how")
def _replicates(
    key: PRNGKeyArray, encoded: Encoded, *, counter: Callable[[Encoded], Counter], n: int, how: How
) -> Importance:
    encoded = jax.tree.map(jnp.asarray, encoded)
    count, status = counter(encoded), encoded.status[None]

    def estimate_batch(keys: Key[Array, " b"]) -> Importance:
        log_status = jnp.broadcast_to(status, (len(keys), status.shape[1]))
        return from_counts(count(keys), log_status, encoded.layout, how)

    def estimate_in_rounds(numbers: Integer[Array, " n"], limits: tuple[int, int, int]) -> Importance:
        most_entries, most_counts, most = limits
        n_counts = (len(encoded.levels) + 2) * encoded.layout.n_columns
        fitting = min(most_entries // max(encoded.codes.size, 1), most_counts // n_counts, most, n)
        n_rounds = math.ceil(n / max(fitting, 1))
        size = math.ceil(n / n_rounds)
        padded = jnp.pad(numbers, (0, n_rounds * size - n)).reshape(n_rounds, size)
        keys = jax.vmap(jax.vmap(lambda i: jax.random.fold_in(key, i)))(padded)
        replicated = jax.lax.map(estimate_batch, keys)
        return jax.tree.map(lambda a: a.reshape(n_rounds * size, *a.shape[2:])[:n], replicated)

    on_cpu, on_accelerator = (partial(estimate_in_rounds, limits=limits) for limits in (_CPU, _ACCELERATOR))
    numbers = jnp.arange(n, dtype=jnp.uint32)
    return jax.lax.platform_dependent(numbers, cpu=on_cpu, default=on_accelerator)


def sample_counter(encoded: Encoded, needed: Int[Array, " q1"] | None = None) -> Counter:
    """A function that maps keys to counts; each key draws a random half of the groups of rows.

    A group is drawn with all its rows; without groups, rows are drawn. The level sets of a sample follow from
    its rows. Where the number of its rows is fixed, ``needed`` may give the size of each set in ascending
    order, with the region last; then one program serves all values of the levels.
    """
    rank, levels = encoded.rank, (*sorted(encoded.levels), encoded.region)
    assert rank is not None
    m, q1, layout = len(rank), len(levels), encoded.layout
    # Rows sorted by loss, best first; rows that are left out come last.
    ranked, row = jax.lax.sort((rank, jnp.arange(m, dtype=jnp.int32)), num_keys=1)
    usable, first_tied, ordered = ranked < m, jnp.minimum(ranked, m - 1), encoded.codes[:, row]
    group, n_groups = jnp.arange(m), usable.sum(dtype=jnp.int32)
    if encoded.groups is not None:
        group, n_groups = _number_groups(encoded.groups[row], usable)
    size = n_groups // 2

    def find_level(weight: Int[Array, " m"]) -> Int[Array, " m"]:
        n_rows = size if encoded.groups is None else weight.sum(dtype=jnp.int32)
        sizes = needed
        if sizes is None:
            sizes = level_weights(levels, n_rows, True, encoded.grid.level_size).astype(jnp.int32)
        # Entry k is the first set of a row with k better rows in the sample.
        level_after = count_below(sizes, jnp.arange(1, m + 2, dtype=jnp.int32), -1, q1, q1)
        upto = jnp.cumsum(weight, dtype=jnp.int32)
        return level_after[(upto - weight)[first_tied]]

    def count(keys: Key[Array, " b"]) -> Shaped[Array, "b q1 w"]:
        weight = jax.vmap(lambda key: half_sample(key, m, size, n_groups))(keys)
        if encoded.groups is not None:
            weight = jnp.where(usable[None], weight[:, group], 0)
        level = jax.vmap(find_level)(weight)
        counts = sweep_counts(ordered[None], level, weight, place=encoded.place, layout=layout)
        return count_configurations(counts, encoded)

    return count


def shuffle_counter(encoded: Encoded) -> Counter:
    """A function that maps keys to counts; each key shuffles the groups of the log once within regimes.

    For each parameter, the rows of a group in one regime are one unit; without groups, a row is. Units of a
    regime exchange their lists of cells; a unit with more rows than the list that it gets repeats the list.
    The losses stay, so rows of one group remain together in the target.
    """
    codes, layout, n_levels = encoded.codes, encoded.layout, len(encoded.levels)
    row = jnp.broadcast_to(jnp.arange(codes.shape[1], dtype=jnp.int32)[None], codes.shape)
    column = codes.astype(jnp.int32) + jnp.asarray(layout.offsets, jnp.int32)[:, None]
    regime = jnp.asarray(layout.slot_of_column)[column]
    # Rows outside the region have a number that no regime has.
    regime = jnp.where((encoded.level <= n_levels)[None], regime, layout.n_slots)
    groups = row if encoded.groups is None else jnp.broadcast_to(encoded.groups, codes.shape)
    level = jnp.broadcast_to(encoded.level.astype(jnp.int32), codes.shape)
    # Stable, so that the rows of a unit stay in their order.
    regime, groups, codes, level = jax.lax.sort((regime, groups, codes, level), dimension=1, num_keys=2)
    unit = jax.vmap(lambda *keys: jnp.cumsum(changes(list(keys)), dtype=jnp.int32) - 1)(regime, groups)

    def first_of_units(x: Int[Array, "d n"]) -> Int[Array, "d n"]:
        none = jnp.full_like(row, jnp.iinfo(jnp.int32).max)
        return jax.vmap(lambda none, x, unit: none.at[unit].min(x))(none, x, unit)

    unit_regime, start = first_of_units(regime), first_of_units(row)
    size = jax.vmap(lambda unit: jnp.zeros_like(unit).at[unit].add(1))(unit)
    within = row - jnp.take_along_axis(start, unit, axis=1)

    def permute_codes(key: Any) -> Integer[Array, "d n"]:
        bits = jax.random.bits(key, row.shape, jnp.uint32)
        # Units are numbered regime by regime, so the sort permutes the units within each regime.
        *_, starts, lengths = jax.lax.sort((unit_regime, bits, start, size), dimension=1, num_keys=2)
        if encoded.groups is None:
            return jnp.take_along_axis(codes, starts, axis=1)
        first, length = (jnp.take_along_axis(x, unit, axis=1) for x in (starts, lengths))
        return jnp.take_along_axis(codes, first + within % length, axis=1)

    def count(keys: Key[Array, " b"]) -> Shaped[Array, "b q1 w"]:
        shuffled = jax.vmap(permute_codes)(keys)
        levels = jnp.broadcast_to(level[None], shuffled.shape)
        counts = sweep_counts(shuffled, levels, None, place=encoded.place, layout=layout)
        return count_configurations(counts, encoded)

    return count


def _number_groups(
    groups: Int[Array, " n"], usable: Bool[Array, " n"]
) -> tuple[Int[Array, " n"], Int[Array, ""]]:
    """Group numbers 0, 1, ... of usable rows (larger numbers elsewhere), and the number of usable groups."""
    row = jnp.arange(len(groups), dtype=jnp.int32)
    unused, ordered, row = jax.lax.sort((~usable, groups, row), num_keys=2)
    number = jnp.cumsum(changes([unused, ordered]), dtype=jnp.int32) - 1
    n_groups = jnp.where(unused, 0, number + 1).max(initial=0)
    return jnp.zeros_like(number).at[row].set(number, unique_indices=True), n_groups


def half_sample(key: PRNGKeyArray, n: int, size: Int[Array, ""], usable: Int[Array, ""]) -> Int[Array, " n"]:
    """Draw ``size`` of the first ``usable`` of n rows at random: 1 for the rows drawn, else 0."""
    is_usable = jnp.arange(n, dtype=jnp.int32) < usable
    bits = jnp.where(is_usable, jax.random.bits(key, (n,), jnp.uint32), _LARGEST)

    def set_bit(k: Int[Array, ""], cut: Array) -> Array:
        higher = cut | (np.uint32(1 << 31) >> jnp.asarray(k, jnp.uint32))
        return jnp.where((bits < higher).sum(dtype=jnp.int32) < size, higher, cut)

    # The cut-off is found bit by bit, faster than by a sort. The number of steps is fixed, so that devices
    # that draw different samples need not agree when to end. One subset in 2^32 / n has one row more, since
    # two rows have the same bits at the cut-off.
    cut = jax.lax.fori_loop(0, 32, set_bit, jnp.zeros((), jnp.uint32))
    return ((bits <= cut) & is_usable & (size > 0)).astype(jnp.int32)
