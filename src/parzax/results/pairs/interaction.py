"""Interactions of pairs of parameters on observations: check, encode, one compiled call, wrap."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from parzax import _checks, importance
from parzax._numerics import capacity
from parzax._programs import program
from parzax.importance import Encoded, Grid
from parzax.importance.interactions import estimate_interactions
from parzax.importance.levels import checked_levels
from parzax.importance.pair_slots import PairLayout, pair_layout
from parzax.observations import Observations
from parzax.observations.encoding import encode_log
from parzax.observations.groups import find_groups
from parzax.results.learning import with_learning
from parzax.results.pairs.result import InteractionResult
from parzax.results.sweep import checked_key
from parzax.results.targets import counted_rows, losses_by_seed, objective_index

# Default number of draws from the null, and its least per pair: with fewer, the p-values of many pairs cannot
# fall below 5 % once they are adjusted for all of them.
_DRAWS, _DRAWS_PER_PAIR = 1000, 20
_LEVEL, _REGION = 0.1, 1.0


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
) -> Any:
    """Interactions: how much two parameters explain together of who is in the target, beyond each alone.

    For the rows in which both are active, regime by regime of both, membership in the target is counted on a
    grid of at most G x G cells. With r_c rows and t_c target rows in cell c, n_r and n_t in all, g = n_t /
    n_r and C occupied cells, SSB = sum_c r_c (t_c / r_c - g)^2, SSW = n_r g (1 - g) - SSB, and over all n_R
    rows of the region

        v = [SSB - (C - 1) SSW / (n_r - C)] / n_R,        I = v_xy - v_x - v_y

    with v_x and v_y from the margins of the same grid, summed over the regimes of both. v estimates Eq. 11 of
    "Conditional PED-ANOVA" (arXiv 2601.20800) for the pair and for each at that resolution. I is signed, and
    0 on average where neither has an effect, or P(target | x, y) is a sum of a function of x and one of y.

    G is the even floor of sqrt(n_R / 15), from 4 to 10, or of sqrt(n_r / 5) if that is less. The cells are
    those of `parzax.Grid`, merged: while at most G of a regime are occupied, each is a cell. Otherwise
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
            p-values out: they are NaN. It is the default where rows belong together in groups (see
            `parzax.Observations.from_arrays`), as the draws take rows as independent.
        key: of the draws, such as ``jax.random.key(1)``; ``jax.random.key(0)`` by default. Seeds have the
            keys ``jax.random.split(key, n_seeds)``.

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
    >>> result = px.interactions(px.Observations.from_arrays(space, x, x[:, 0] * x[:, 1]), 0.5)
    >>> result.ranking()[0], result.above_chance[0].tolist()
    (('x', 'y'), [True, False, False])
    """
    _checks.instance("obs", obs, (Observations, Encoded), "parzax.Observations or parzax.importance.Encoded")
    if isinstance(obs, Encoded):
        given = target_quantile is not _LEVEL or region_quantile is not _REGION or objective != 0
        if given or rows != "all":
            raise TypeError("an Encoded has its levels, objective and rows; give only pairs, n_draws, key.")
        n_draws = _draws(n_draws, pair_layout(obs.layout, pairs), obs.groups)
        return importance.interactions(obs, key, pairs=pairs, n_draws=n_draws)
    target, region = checked_levels(target_quantile, region_quantile)
    obs = counted_rows(obs, rows)
    key = checked_key(key)
    losses = losses_by_seed(obs)[..., objective_index(obs, objective)]
    # Without pools: parameters whose bounds move have no interactions.
    encoded, _ = encode_log(obs, losses, target, region, Grid(max_pools=0), rows=capacity(obs.n))
    where = pair_layout(encoded.layout, pairs, obs.space.names)
    estimates = _interactions(
        jax.random.split(key, len(losses)) if obs.batch_shape else key[None],
        encoded.codes, encoded.level, encoded.weight, encoded.status,
        where=where, place=encoded.place, n_draws=_draws(n_draws, where, find_groups(obs)),
    )  # fmt: skip
    _checks.outside_traces(estimates)
    estimates = jax.tree.map(lambda a: np.asarray(a).reshape((*obs.batch_shape, *a.shape[1:])), estimates)
    report = with_learning(obs, losses)
    return InteractionResult(estimates, obs.space, target, region, report)


# Most of the work is in loops, which XLA counts once; full optimisation takes twice as long to compile and
# gains nothing.
_interactions = program(size="middling")(estimate_interactions)


def _draws(n_draws: Any, where: PairLayout, groups: Any) -> int:
    if n_draws is None:
        return 0 if groups is not None else max(_DRAWS, _DRAWS_PER_PAIR * len(where.pairs))
    return _checks.whole_number("n_draws", n_draws, 0)
