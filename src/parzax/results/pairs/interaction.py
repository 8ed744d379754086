"""Interactions of pairs of parameters on observations: check, rank and cut into cells, one call, wrap."""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax.importance.pair_cells import PairCells, pair_cells
from parzax.importance.pair_program import PairArrays, pair_arrays
from parzax.observations import Observations, capacity, level_sets
from parzax.results.pairs.flags import UNKNOWN, pair_status
from parzax.results.pairs.result import InteractionResult
from parzax.importance.levels import checked_levels
from parzax.observations.encoding import frequencies
from parzax.results.targets import counted_rows, objective_index
from parzax.results.uncertainty import holm
from parzax.space import Space

# Draws from the null by default, and at least so many per pair: with fewer, no pair of many can have a
# p-value below 5 % once it is adjusted for all of them.
_DRAWS, _DRAWS_PER_PAIR = 1000, 20


def interactions(
    obs: Observations,
    target_quantile: Any = 0.1,
    region_quantile: float = 1.0,
    *,
    pairs: str | Iterable[Sequence[str]] = "all",
    objective: int | str = 0,
    rows: str | Sequence[str] = "all",
    n_draws: int | None = None,
    key: Any = None,
) -> InteractionResult:
    """Interactions: how much two parameters explain together of who is in the target, beyond each alone.

    For the rows in which both are active, regime by regime of both, membership in the target is counted on a
    G x G grid. With r_c rows and t_c target rows in cell c, n_r and n_t in all, g = n_t / n_r and C occupied
    cells, SSB = sum_c r_c (t_c / r_c - g)^2, SSW = n_r g (1 - g) - SSB, and over all n_R rows of the region

        v = [SSB - (C - 1) SSW / (n_r - C)] / n_R,        I = v_xy - v_x - v_y

    with v_x and v_y from the margins of the same grid, summed over the regimes of both. v estimates Eq. 11 of
    "Conditional PED-ANOVA" (arXiv 2601.20800) for the pair and for each at that resolution. I is signed, and
    0 on average where neither has an effect, or P(target | x, y) is a sum of a function of x and one of y.

    G is the even floor of sqrt(n_R / 15), from 4 to 10, or of sqrt(n_r / 5) if that is less. Numbers are in
    cells of equal width on their axis, or of equal numbers of rows where some would have less than half
    their share; up to 2 G categories (G below 8 G^2 rows) have cells of their own, and the rarest of more
    share one. What happens within a cell is not seen: I is **limited by resolution**, and too low for effects
    that are sharper than a cell. Where the two depend on each other in the region, as in logs of a sampler,
    v_x and v_y both count what they share; the split is exact for independent ones.

    p-values are (1 + #{I* >= I}) / (B + 1). The null is that membership is a sum of a function of x, one of
    y, and noise: the sum is fitted to the cells by least squares, and in B draws the signs of the rows'
    residuals are flipped at random. Shuffles of the losses would reject too often beside strong effects of
    one parameter.

    Args:
        obs: the log; a leading seed axis is kept.
        target_quantile, region_quantile, objective, rows: of `parzax.cond_ped_anova`.
        pairs: "all", or pairs of names.
        n_draws: B, draws from the null; 1000 by default, or 20 per pair if those are more. 0 leaves
            p-values out: they are NaN.
        key: of the draws, such as ``jax.random.key(1)``; ``jax.random.key(0)`` by default.

    Returns:
        `InteractionResult` with arrays (..., q, p) for p pairs, whether q and p are 1 or more; p is 0 in a
        space of one parameter. In float64 inside ``jax.enable_x64(True)``, else in float32.

    Raises:
        ValueError: unknown names, a parameter with itself, the same pair twice; levels as in
            `parzax.cond_ped_anova`; a negative ``n_draws``.

    >>> import numpy as np, parzax as px
    >>> x = np.random.default_rng(0).uniform(-1, 1, size=(1000, 3))
    >>> space = px.Space({name: px.Float(-1, 1) for name in "xyz"})
    >>> found = px.interactions(px.Observations.from_arrays(space, x, x[:, 0] * x[:, 1]), 0.5)
    >>> found.ranking()[0], found.above_chance[0].tolist()
    (('x', 'y'), [True, False, False])
    """
    if not isinstance(obs, Observations):
        raise TypeError(f"obs must be parzax.Observations, got {type(obs).__name__}.")
    target, region = checked_levels(target_quantile, region_quantile)
    obs = obs if rows == "all" else counted_rows(obs, rows)
    number = objective_index(obs, objective)
    chosen = _chosen(pairs, obs.space)
    if n_draws is None:
        n_draws = max(_DRAWS, _DRAWS_PER_PAIR * len(chosen))
    else:
        n_draws = _checks.whole_number("n_draws", n_draws, 0)
    if key is not None:
        _checks.check_key(key)
    losses = obs.losses[..., number].reshape(math.prod(obs.batch_shape), obs.n)
    weight = None if obs.weight is None else obs.weight.reshape(losses.shape)
    size, q = capacity(obs.n), len(target)
    sets = level_sets(losses, weight, target, region, rows=size)
    cells = pair_cells(obs, chosen, sets.level[:, : obs.n] <= q, weight, size)
    found = _computed(cells, sets.level, frequencies(weight, size), q, len(chosen), n_draws, key)
    status = pair_status(obs.space, chosen, cells, found, sets.status)
    arrays = _measures(found, n_draws, status)
    arrays |= {"status": status, "n_active": cells.n_active, "n_region": found.n_sets[:, -1]}
    of_levels = {"variance", "joint", "main", "importance", "p_value", "p_adjusted", "status", "n_target"}
    arrays |= {"n_target": found.n_sets[:, :-1], "slot_variance": _interaction(found.slots)}
    of_levels.add("slot_variance")
    # In the order and the shape that was asked.
    arrays = {name: x[:, sets.order] if name in of_levels else x for name, x in arrays.items()}
    arrays = {name: x.reshape((*obs.batch_shape, *x.shape[1:])) for name, x in arrays.items()}
    names = obs.space.names
    return InteractionResult(
        **arrays,
        space=obs.space,
        pairs=tuple((names[a], names[b]) for a, b in chosen.tolist()),
        target_quantile=target,
        region_quantile=region,
        n_draws=n_draws,
        slots=cells.slots,
        report=obs.report,
    )


def _chosen(pairs: Any, space: Space) -> np.ndarray:
    """(p, 2) indices of the pairs, or raise."""
    if isinstance(pairs, str):
        _checks.one_of("pairs", pairs, ("all",))
        found = list(combinations(range(len(space)), 2))
        return np.array(found, np.int64).reshape(-1, 2)
    if not isinstance(pairs, Iterable):
        raise TypeError(f'pairs must be "all" or a list of pairs of names, got {pairs!r}.')
    found = []
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(f'pairs must hold pairs of names such as ("x", "y"), got {pair!r}.')
        for name in pair:
            if name not in space.names:
                known = ", ".join(map(repr, space.names))
                raise ValueError(f"pairs: no parameter {name!r} (in {tuple(pair)!r}); there are {known}.")
        found.append((space.index(pair[0]), space.index(pair[1])))
        if found[-1][0] == found[-1][1]:
            raise ValueError(f"pairs: {tuple(pair)!r} is one parameter; a pair needs two.")
        if len({frozenset(own) for own in found}) < len(found):
            raise ValueError(f"pairs holds {tuple(pair)!r} twice (in either order).")
    if not found:
        raise ValueError('pairs is empty; give at least one, or "all".')
    return np.array(found, np.int64)


def _computed(
    cells: PairCells, level: np.ndarray, weight: Any, q: int, p: int, n_draws: int, key: Any
) -> PairArrays:
    """The compiled call; without slots there is nothing to compile."""
    s = len(level)
    if not cells.slots:
        dtype, none = jax.dtypes.canonicalize_dtype(np.float64), (s, q, 0)
        rows = level if weight is None else np.asarray(weight)
        mass = np.ones(level.shape) if weight is None else rows
        sets = np.stack([np.where(level <= own, mass, 0).sum(axis=1) for own in range(q + 1)], axis=1)
        return PairArrays(
            np.zeros((*none, 3), dtype), np.zeros((s, q, p, 3), dtype), np.full((s, q, p), n_draws),
            np.zeros(none), np.zeros((s, 0)), np.zeros((s, 0, 3), int), sets,
        )  # fmt: skip
    of_slots = np.array([slot.pair for slot in cells.slots], np.int32)
    sizes = {"width": cells.width, "n_levels": q, "n_pairs": p, "n_draws": n_draws}
    found = pair_arrays(
        jax.random.key(0) if key is None else key,
        cells.codes,
        cells.columns,
        of_slots,
        level,
        weight,
        **sizes,
    )
    return PairArrays(*map(np.asarray, found))


def _interaction(variances: np.ndarray) -> np.ndarray:
    return variances[..., 0] - variances[..., 1] - variances[..., 2]


def _measures(found: PairArrays, n_draws: int, status: np.ndarray) -> dict[str, np.ndarray]:
    """Variances, shares of the variance of membership, p-values."""
    joint, main = found.pairs[..., 0], found.pairs[..., 1:]
    variance = _interaction(found.pairs)
    n_target, n_region = found.n_sets[:, :-1, None], found.n_sets[:, -1:, None]
    share = n_target / np.where(n_region > 0, n_region, 1)
    whole = (share * (1 - share)).astype(variance.dtype)
    importance = np.where(whole > 0, np.maximum(variance, 0) / np.where(whole > 0, whole, 1), 0)
    unknown = (status & int(UNKNOWN)) != 0
    p_value = (1 + found.beyond) / (n_draws + 1)
    p_value = np.where(unknown | (n_draws == 0), np.nan, p_value)
    return {
        "variance": variance, "joint": joint, "main": main, "importance": importance.astype(variance.dtype),
        "p_value": p_value, "p_adjusted": holm(p_value),
    }  # fmt: skip
