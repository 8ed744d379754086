"""Interactions of pairs of parameters on observations: check, encode, one compiled call, wrap."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, overload

import jax
import numpy as np
from jaxtyping import Bool, Int, Integer, PRNGKeyArray, Shaped

from parzax import _checks
from parzax._programs import program
from parzax.importance import Encoded, Grid, Interactions
from parzax.importance import interactions as interactions_of_arrays
from parzax.importance.interactions import in_order, interactions_of_seeds
from parzax.importance.levels import checked_levels
from parzax.importance.pair_layout import PairLayout, cell_blocks, pair_layout
from parzax.observations import Observations, capacity
from parzax.observations.encoding import encode_log
from parzax.results.pairs.result import InteractionResult
from parzax.results.targets import counted_rows, objective_index
from parzax.space import Space

# Draws from the null by default, and at least so many per pair: with fewer, no pair of many can have a
# p-value below 5 % once it is adjusted for all of them.
_DRAWS, _DRAWS_PER_PAIR = 1000, 20
_LEVEL, _REGION = 0.1, 1.0


@overload
def interactions(obs: Encoded, *, pairs: Any = "all", n_draws: Any = None, key: Any = None) -> Interactions: ...
@overload
def interactions(
    obs: Observations,
    target_quantile: Any = _LEVEL,
    region_quantile: float = _REGION,
    *,
    pairs: str | Iterable[Sequence[str]] = "all",
    objective: int | str = 0,
    rows: str | Sequence[str] = "all",
    n_draws: int | None = None,
    key: Any = None,
) -> InteractionResult: ...
def interactions(
    obs: Observations | Encoded,
    target_quantile: Any = _LEVEL,
    region_quantile: float = _REGION,
    *,
    pairs: Any = "all",
    objective: int | str = 0,
    rows: str | Sequence[str] = "all",
    n_draws: int | None = None,
    key: Any = None,
) -> InteractionResult | Interactions:
    """Interactions: how much two parameters explain together of who is in the target, beyond each alone.

    For the rows in which both are active, regime by regime of both, membership in the target is counted on a
    grid of at most G x G cells. With r_c rows and t_c target rows in cell c, n_r and n_t in all, g = n_t / n_r
    and C occupied cells, SSB = sum_c r_c (t_c / r_c - g)^2, SSW = n_r g (1 - g) - SSB, and over all n_R rows of
    the region

        v = [SSB - (C - 1) SSW / (n_r - C)] / n_R,        I = v_xy - v_x - v_y

    with v_x and v_y from the margins of the same grid, summed over the regimes of both. v estimates Eq. 11 of
    "Conditional PED-ANOVA" (arXiv 2601.20800) for the pair and for each at that resolution. I is signed, and
    0 on average where neither has an effect, or P(target | x, y) is a sum of a function of x and one of y.

    G is the even floor of sqrt(n_R / 15), from 4 to 10, or of sqrt(n_r / 5) if that is less. The cells are those
    of `parzax.Grid`, merged: while the occupied ones of a regime are at most G, each is a cell. Otherwise
    numbers are in cells of equal width on their axis, or of equal numbers of rows where some would have less
    than half their share; up to 2 G categories (G below 8 G^2 rows) have a cell each, and the rarest of more
    share one. What happens within a cell is not seen: I is **limited by resolution**, and too low for effects
    that are sharper than a cell. Where the two depend on each other in the region, as in logs of a sampler,
    v_x and v_y both count what they share; the split is exact for independent ones.

    p-values are (1 + #{I* >= I}) / (B + 1). The null is that membership is a sum of a function of x, one of
    y, and noise: the sum is fitted to the cells by least squares, and in B draws the signs of the rows'
    residuals are flipped at random. Permutations of the losses would reject too often beside strong effects
    of one parameter.

    Args:
        obs: the log; a leading seed axis is kept. For `parzax.importance.Encoded`, with pairs of indices, the
            result is that of `parzax.importance.interactions`, and only pairs, n_draws and key can be given.
        target_quantile, region_quantile, objective, rows: of `parzax.cond_ped_anova`.
        pairs: "all", or pairs of names.
        n_draws: B, draws from the null; 1000 by default, or 20 per pair if those are more. 0 leaves
            p-values out: they are NaN.
        key: of the draws, such as ``jax.random.key(1)``; ``jax.random.key(0)`` by default. Seeds have the keys
            ``jax.random.split(key, n_seeds)``.

    Returns:
        `InteractionResult` with arrays (..., q, p) for p pairs, whether q and p are 1 or more; p is 0 in a
        space of one parameter. In float64 inside ``jax.enable_x64(True)``, else in float32.

    Raises:
        TypeError: for what is neither `parzax.Observations` nor `parzax.importance.Encoded`.
        ValueError: unknown names, a parameter with itself, the same pair twice; levels as in
            `parzax.cond_ped_anova`; a negative ``n_draws``.

    >>> import numpy as np, parzax as px
    >>> x = np.random.default_rng(0).uniform(-1, 1, size=(1000, 3))
    >>> space = px.Space({name: px.Float(-1, 1) for name in "xyz"})
    >>> found = px.interactions(px.Observations.from_arrays(space, x, x[:, 0] * x[:, 1]), 0.5)
    >>> found.ranking()[0], found.above_chance[0].tolist()
    (('x', 'y'), [True, False, False])
    """
    if isinstance(obs, Encoded):
        given = target_quantile is not _LEVEL or region_quantile is not _REGION or objective != 0
        if given or rows != "all":
            raise TypeError("an Encoded has its levels, objective and rows; give pairs, n_draws and key alone.")
        chosen = None if isinstance(pairs, str) and pairs == "all" else pairs
        n_draws = _draws(n_draws, len(pair_layout(obs.layout, chosen).pairs))
        return interactions_of_arrays(obs, key, pairs=chosen, n_draws=n_draws)
    if not isinstance(obs, Observations):
        raise TypeError(
            f"obs must be parzax.Observations or parzax.importance.Encoded, got {type(obs).__name__}."
        )
    target, region = checked_levels(target_quantile, region_quantile)
    obs = obs if rows == "all" else counted_rows(obs, rows)
    number, chosen = objective_index(obs, objective), _chosen(pairs, obs.space)
    if key is not None:
        _checks.check_key(key)
    key, s = jax.random.key(0) if key is None else key, math.prod(obs.batch_shape)
    losses = obs.losses[..., number].reshape(s, obs.n)
    # Pools are for bounds that move, and these have no interactions.
    encoded = encode_log(obs, losses, target, region, Grid(max_pools=0), rows=capacity(obs.n)).encoded
    where = pair_layout(encoded.layout, chosen, _together(encoded))
    found = _interactions(
        jax.random.split(key, s) if obs.batch_shape else key[None],
        encoded.codes, encoded.level, encoded.weight, encoded.status,
        where=where, n_draws=_draws(n_draws, len(where.pairs)),
    )  # fmt: skip
    _checks.on_host("interactions", found)
    found = in_order(jax.tree.map(np.asarray, found), encoded.place)
    found = jax.tree.map(lambda a: a.reshape((*obs.batch_shape, *a.shape[1:])), found)
    return InteractionResult(found, obs.space, target, region, obs.report)


# Most of the work is in loops, which XLA counts once; full optimisation takes twice as long to compile and
# gains nothing.
@program(size="middling")
def _interactions(
    keys: PRNGKeyArray,
    codes: Integer[Any, "s d n"],
    level: Integer[Any, "s n"],
    weight: Shaped[Any, "s n"] | None,
    log_status: Int[Any, "s q"],
    *,
    where: PairLayout,
    n_draws: int,
) -> Interactions:
    """`interactions_of_seeds` as a program that is kept."""
    return interactions_of_seeds(keys, codes, level, weight, log_status, where=where, n_draws=n_draws)


def _draws(n_draws: Any, n_pairs: int) -> int:
    if n_draws is None:
        return max(_DRAWS, _DRAWS_PER_PAIR * n_pairs)
    return _checks.whole_number("n_draws", n_draws, 0)


def _together(encoded: Encoded) -> Bool[np.ndarray, "b b"]:
    """Which two regimes with cells have rows of the region in common, in any seed."""
    used = encoded.level <= len(encoded.levels)
    used = used if encoded.weight is None else used & (encoded.weight > 0)
    blocks = cell_blocks(encoded.layout)
    together = np.zeros((len(blocks), len(blocks)), bool)
    for codes, rows in zip(encoded.codes, used, strict=True):
        first = [block.start - encoded.layout.offsets[block.parameter] for block in blocks]
        cells = [codes[b.parameter].astype(int) - start for b, start in zip(blocks, first, strict=True)]
        member = [(cell >= 0) & (cell < b.n_cells) & rows for cell, b in zip(cells, blocks, strict=True)]
        rows_of = np.array(member, np.float32).reshape(len(blocks), -1)
        together |= rows_of @ rows_of.T > 0
    return together


def _chosen(pairs: Any, space: Space) -> list[tuple[int, int]] | None:
    """Indices of the pairs, or None for all; or raise."""
    if isinstance(pairs, str):
        _checks.one_of("pairs", pairs, ("all",))
        return None
    if not isinstance(pairs, Iterable):
        raise TypeError(f'pairs must be "all" or a list of pairs of names, got {pairs!r}.')
    found: list[tuple[int, int]] = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(f'pairs must hold pairs of names such as ("x", "y"), got {pair!r}.')
        for name in pair:
            if name not in space.names:
                names = ", ".join(map(repr, space.names))
                raise ValueError(f"pairs: no parameter {name!r} (in {tuple(pair)!r}); there are {names}.")
        found.append((space.index(pair[0]), space.index(pair[1])))
        if found[-1][0] == found[-1][1]:
            raise ValueError(f"pairs: {tuple(pair)!r} is one parameter; a pair needs two.")
        if len({frozenset(own) for own in found}) < len(found):
            raise ValueError(f"pairs holds {tuple(pair)!r} twice (in either order).")
    if not found:
        raise ValueError('pairs is empty; give at least one, or "all".')
    return found
