"""Interactions of pairs of parameters on observations: check, encode, one compiled call, wrap."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from parzax import _checks, importance
from parzax._compile import compiled
from parzax._numerics import capacity
from parzax.importance import Encoded, Grid
from parzax.importance.encode import without_values
from parzax.importance.interactions import estimate_interactions
from parzax.importance.levels import checked_levels
from parzax.importance.pair_slots import PairLayout, pair_layout
from parzax.lens.logs import Observations
from parzax.lens.logs.encoding import encode_log
from parzax.lens.logs.groups import describe_groups
from parzax.lens.results.default_level import candidate_levels, choose_level
from parzax.lens.results.learning import with_learning
from parzax.lens.results.pairs.result import InteractionResult
from parzax.lens.results.sweep import checked_key
from parzax.lens.results.targets import counted_rows, losses_by_seed, objective_index

# Default number of draws under the null hypothesis, and smallest number per pair: with fewer, the adjusted
# p-values of many pairs cannot fall below 5 %.
_DRAWS, _DRAWS_PER_PAIR = 1000, 20
_REGION = 1.0


def interactions(
    obs: Observations | Encoded,
    target_quantile: Any = None,
    region_quantile: float = _REGION,
    *,
    pairs: Any = "all",
    objective: int | str = 0,
    rows: str | Sequence[str] = "all",
    n_draws: int | None = None,
    key: Any = None,
) -> Any:
    """Interactions: how much two parameters together explain of membership in the target, beyond each alone.

    For every combination of a regime of x and a regime of y, the rows that are active in both are counted on
    a grid of at most G x G cells. Cell c has r_c rows, t_c of them in the target; all cells have n_r rows,
    n_t in the target; g = n_t / n_r; C cells are occupied; the region has n_R rows. With SSB =
    sum_c r_c (t_c / r_c - g)^2 and SSW = n_r g (1 - g) - SSB,

        v = [SSB - (C - 1) SSW / (n_r - C)] / n_R,        I = v_xy - v_x - v_y

    with v_x and v_y from the margins of the same grid. v and I are summed over these combinations. At the
    resolution of the grid, v estimates Eq. 11 of "Conditional PED-ANOVA" (arXiv 2601.20800), for the pair and
    for each parameter. I is signed. It is 0 on average if neither parameter has an effect, or if
    P(target | x, y) is the sum of a function of x and a function of y.

    G is the even floor of sqrt(n_R / 15), from 4 to 10, or of sqrt(n_r / 5) if that is smaller. The cells are
    merged cells of `parzax.Grid`. If a regime has at most G occupied grid cells, none are merged. Otherwise
    numbers get cells of equal width on their axis, or of equal numbers of rows if some cell would have less
    than half its share. Up to 2 G categories (G if the rows are fewer than 8 G^2) have one cell each; with
    more, the rarest share a cell. Effects within a cell are not seen: I is **limited by resolution**, and too
    low for effects sharper than a cell. If x and y depend on each other in the region, as in logs of a
    sampler, v_x and v_y both include what x and y share; the split is exact for independent parameters.

    p-values are (1 + #{I* >= I}) / (B + 1). The null hypothesis: membership is the sum of a function of x, a
    function of y, and noise. The sum is fitted to the cells by least squares, and each of B draws flips
    the signs of the rows' residuals at random. Permuting the losses instead would reject too often if one
    parameter has a strong effect.

    Args:
        obs: the log; a leading seed axis is kept. It may also be a `parzax.importance.Encoded`. The result is
            then that of `parzax.importance.interactions`: ``pairs`` holds indices, and besides it only
            ``n_draws`` and ``key`` can be given.
        target_quantile, region_quantile, objective, rows: as in `parzax.cond_ped_anova`.
        pairs: "all", or pairs of names.
        n_draws: B, number of draws under the null hypothesis. The default is 1000, or 20 per pair if that is
            more. With 0 there are no draws, and p-values are NaN. If rows belong together in groups (see
            `parzax.Observations.from_arrays`), the default is 0 and no other number is possible, since the
            draws treat rows as independent.
        key: random key of the draws, such as ``jax.random.key(1)``; ``jax.random.key(0)`` by default. Seeds
            use the keys ``jax.random.split(key, n_seeds)``.

    Returns:
        `InteractionResult` with arrays (..., q, p) for q levels and p pairs, also if q or p is 1. In a space
        of one parameter p is 0. The computation is in float64 inside ``jax.enable_x64(True)``, else in
        float32.

    Raises:
        TypeError: if ``obs`` is neither `parzax.Observations` nor `parzax.importance.Encoded`.
        ValueError: for unknown names, a parameter with itself, a repeated pair, levels that
            `parzax.cond_ped_anova` refuses, a negative ``n_draws``, or draws for a log with groups.

    >>> import numpy as np, parzax as px
    >>> x = np.random.default_rng(0).uniform(-1, 1, size=(1000, 3))
    >>> space = px.Space({name: px.Float(-1, 1) for name in "xyz"})
    >>> result = px.interactions(px.Observations.from_arrays(space, x, x[:, 0] * x[:, 1]), 0.5)
    >>> result.ranking()[0], result.above_chance[0].tolist()
    (('x', 'y'), [True, False, False])
    """
    _checks.instance("obs", obs, (Observations, Encoded), "parzax.Observations or parzax.importance.Encoded")
    if isinstance(obs, Encoded):
        given = target_quantile is not None or region_quantile is not _REGION or objective != 0
        if given or rows != "all":
            raise TypeError("an Encoded has levels, objective and rows; give only pairs, n_draws, key.")
        n_draws = _draws(n_draws, pair_layout(obs.layout, pairs), obs.groups)
        return importance.interactions(obs, key, pairs=pairs, n_draws=n_draws)
    levels = candidate_levels(_checks.quantile("region_quantile", region_quantile))
    target, region = checked_levels(levels if target_quantile is None else target_quantile, region_quantile)
    obs = counted_rows(obs, rows)
    key = checked_key(key)
    losses = losses_by_seed(obs)[..., objective_index(obs, objective)]
    if target_quantile is None:
        obs, target = choose_level(obs, losses, region)
    # Without pools: parameters whose bounds move have no interactions.
    encoded, _ = encode_log(obs, losses, target, region, Grid(max_pools=0), rows=capacity(obs.n))
    where = pair_layout(encoded.layout, pairs, obs.space.names)
    estimates = _interactions(
        jax.random.split(key, len(losses)) if obs.batch_shape else key[None],
        without_values(encoded),
        where=where,
        n_draws=_draws(n_draws, where, encoded.groups),
    )
    _checks.outside_traces(estimates)
    estimates = jax.tree.map(lambda a: np.asarray(a).reshape((*obs.batch_shape, *a.shape[1:])), estimates)
    report = with_learning(obs, losses, groups=describe_groups(encoded.groups, losses))
    return InteractionResult(estimates, obs.space, target, region, report)


# Full optimisation takes twice as long to compile and does not make the program faster.
_interactions = compiled(size="middling")(estimate_interactions)


def _draws(n_draws: Any, where: PairLayout, groups: Any) -> int:
    if n_draws is None:
        return 0 if groups is not None else max(_DRAWS, _DRAWS_PER_PAIR * len(where.pairs))
    n_draws = _checks.whole_number("n_draws", n_draws, 0)
    if n_draws and groups is not None:
        raise ValueError("n_draws must be 0 for a log with groups: the draws treat rows as independent.")
    return n_draws
