"""Effects of parameters in units of the loss, from draws of the posterior of a surrogate."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled
from parzax.space import Categorical, Domain, Space
from parzax.surrogate.process import Draw, Posterior, embed_points, evaluate, map_draws

# Random configurations for each that a mean is over: enough of them are in the target set, or have a
# parameter that is seldom active.
_POOL = 16


class Effects(eqx.Module):
    """The mean loss along each slot (regime of a parameter, as in `parzax.Space.slots`) for b draws.

    The other parameters are as in the space, or as in its target set under the draw. A mean is over the
    configurations in which the slot applies, and NaN if none is among them. Parameters that depend on the
    slot follow its value. Of configurations with this value only valid ones count, unless none of them is.

    Attributes:
        values: (s, g) native values, categories as codes; NaN beyond the last value of a slot.
        shares: (s, g) the share of the space that a value stands for; 0 beyond the last value.
        losses: (b, s, g) mean loss at each value, with the other parameters as in the space.
        target_losses: (b, s, g) the same, with the other parameters as in the target set.
    """

    values: Float[Any, "s g"]
    shares: Float[Any, "s g"]
    losses: Float[Any, "b s g"]
    target_losses: Float[Any, "b s g"]

    @property
    def worth(self) -> Float[Any, "*k b s"]:
        """What tuning is worth: mean loss at a random value minus that at the best value; sorted.

        What a draw says lies between what the value is worth that is the best on average over the draws, and
        what the value is worth that is the best in this draw. The first is too little, as that value need not
        be the best. The second is too much, as the least of uncertain numbers is too small. The sorted
        numbers go from the first to the second, so that their quantiles are an interval.
        """
        return _worth(self.losses, self.shares)

    @property
    def target_worth(self) -> Float[Any, "*k b s"]:
        """The same where the other parameters are as in the target set."""
        return _worth(self.target_losses, self.shares)

    def negligible(self, part: float = 0.05, probability: float = 0.95) -> Bool[Any, " s"]:
        """Whether a slot may as well be fixed at its best value: with this probability its share of the worth
        of all slots is below ``part``, where the other parameters are as in the target set.
        """
        xp, losses = self.target_losses.__array_namespace__(), self.target_losses
        worth = (losses * self.shares[None]).sum(axis=-1) - losses.min(axis=-1)
        below = worth < part * xp.nansum(worth, axis=1, keepdims=True)
        return below.mean(axis=0) >= probability


def _worth(losses: Any, shares: Any) -> Any:
    xp, n_draws = losses.__array_namespace__(), losses.shape[-3]
    mean = (losses * shares[..., None, :, :]).sum(axis=-1)
    at = xp.nansum(losses, axis=-3, keepdims=True).argmin(axis=-1)[..., None]
    at = xp.broadcast_to(at, (*losses.shape[:-1], 1))
    best_on_average = xp.take_along_axis(losses, at, axis=-1)[..., 0]
    low, high = (xp.sort(mean - best, axis=-2) for best in (best_on_average, losses.min(axis=-1)))
    part = xp.linspace(0, 1, n_draws, dtype=losses.dtype).reshape(*[1] * (low.ndim - 2), n_draws, 1)
    return low * (1 - part) + high * part


def effects(
    key: PRNGKeyArray,
    posterior: Posterior,
    *,
    level: float = 0.1,
    n_draws: int = 24,
    n_points: int = 128,
    n_values: int = 16,
) -> Effects:
    """The mean loss along each parameter, in units of the loss, one curve for each draw from a posterior.

    Losses beyond the worst loss of the log are taken as the worst: a log does not say how bad the rest of the
    space is, and a few configurations that diverge would otherwise be all that a mean says.

    Args:
        key: random key.
        posterior: what `GaussianProcess.fit` gives.
        level: share of the space that is its target set, for `Effects.target_losses`.
        n_draws: number of draws.
        n_points: number of configurations in each mean; they are the same for all values of a slot.
        n_values: number of values of a slot; a categorical has all of its choices.
    """
    _checks.check_key(key)
    return evaluate(_effects, posterior, key, level, n_draws=n_draws, n_points=n_points, n_values=n_values)


def surface(
    key: PRNGKeyArray,
    posterior: Posterior,
    slots: tuple[int, int],
    *,
    n_draws: int = 24,
    n_points: int = 64,
    n_values: int = 12,
) -> Float[Any, "b g g"]:
    """The mean loss over two slots, with the other parameters as in the space, for b draws.

    The values along both axes are the ``values`` of `effects` with the same ``n_values``. A mean is NaN where
    the two slots never apply together.
    """
    _checks.check_key(key)
    which = np.array(slots)
    return evaluate(_surface, posterior, key, which, n_draws=n_draws, n_points=n_points, n_values=n_values)


def value_grid(space: Space, n_values: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per slot: levels for `parzax.space.Frame.drawn`, native values, and shares of the space; (s, g)."""
    grids = [_domain_grid(slot.domain, n_values) for slot in space.slots]
    n = max(len(levels) for levels, _, _ in grids)
    # Padding repeats the last level, so that a minimum needs no mask.
    levels = np.stack([np.pad(row, (0, n - len(row)), mode="edge") for row, _, _ in grids])
    values, shares = (np.full(levels.shape, fill) for fill in (np.nan, 0.0))
    for j, (row, native, share) in enumerate(grids):
        values[j, : len(row)], shares[j, : len(row)] = native, share
    return levels, values, shares


def _domain_grid(domain: Domain, n_values: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = domain.n_values
    if n and (n <= n_values or isinstance(domain, Categorical)):
        shares = np.exp(domain.axis.log_uniform(np.arange(n), np.float64))
    else:
        shares = np.full(n_values, 1 / n_values)
    levels = np.cumsum(shares) - shares / 2
    return levels, domain.axis.native(*domain.axis.drawn(levels)), shares


class RandomRows(eqx.Module):
    """Random configurations, by a level for each slot, and which slots apply in them."""

    levels: Float[Array, "n s"]
    here: Bool[Array, "n s"]
    z: Float[Array, "n p"]

    @classmethod
    def draw(cls, key: PRNGKeyArray, space: Space, n: int, dtype: Any) -> "RandomRows":
        """n valid configurations, uniform as `parzax.Space.sample` draws them."""
        frame = space.frame(np.dtype(dtype))
        draw = partial(jax.random.uniform, shape=(n, len(space.slots)), dtype=dtype)
        levels = frame.redraw(key, draw(key), draw, n, points=frame.drawn)
        at = frame.drawn(levels)
        return cls(levels, frame.here(at), embed_points(space, at))


def _mean_losses(draw: Draw, pool: RandomRows, slots: Any, levels: Any, n_points: int, among: Any) -> Any:
    """Mean loss (g,) with some slots (t,) at levels (g, t), over n_points of the pool's rows ``among``."""
    rows = jnp.argsort(~among, stable=True)[:n_points]
    taken, frame = among[rows], draw.space.frame(np.dtype(levels.dtype))
    moved = jnp.broadcast_to(pool.levels[rows], (len(levels), n_points, pool.levels.shape[1]))
    moved = moved.at[:, :, slots].set(levels[:, None])
    at = frame.drawn(moved.reshape(-1, moved.shape[-1]))
    losses = jnp.minimum(draw.losses(embed_points(draw.space, at)), draw.worst).reshape(len(levels), n_points)
    # One slot may decide whether another applies.
    counted = taken[None] & frame.here(at)[:, slots].all(axis=1).reshape(losses.shape)
    if frame.rules:
        valid = counted & frame.allowed(at).reshape(losses.shape)
        counted = jnp.where(valid.any(axis=1, keepdims=True), valid, counted)
    return jnp.where(counted, losses, 0).sum(axis=1) / counted.sum(axis=1).astype(losses.dtype)


@partial(compiled, size="middling")
def _effects(
    posterior: Posterior, key: Any, level: Any, n_draws: int, n_points: int, n_values: int
) -> Effects:
    space, dtype = posterior.space, posterior.z.dtype
    levels, values, shares = (jnp.asarray(a, dtype) for a in value_grid(space, n_values))

    def of_draw(key: PRNGKeyArray, draw: Draw) -> Any:
        pool = RandomRows.draw(key, space, _POOL * n_points, dtype)
        losses = draw.losses(pool.z)
        in_target = losses <= jnp.quantile(losses, level.astype(dtype))

        def of_slot(slot: Any) -> Any:
            here, on_grid = jnp.take(pool.here, slot, axis=1), levels[slot][:, None]
            curve = partial(_mean_losses, draw, pool, slot[None], on_grid, n_points)
            return jax.lax.map(curve, jnp.stack([here, here & in_target]))

        return jax.lax.map(of_slot, jnp.arange(len(space.slots)))

    losses = map_draws(of_draw, posterior, key, n_draws)
    return Effects(values, shares, losses[:, :, 0], losses[:, :, 1])


@partial(jax.jit, static_argnames=("n_draws", "n_points", "n_values"))
def _surface(posterior: Posterior, key: Any, slots: Any, n_draws: int, n_points: int, n_values: int) -> Any:
    space, dtype = posterior.space, posterior.z.dtype
    levels = jnp.asarray(value_grid(space, n_values)[0], dtype)[slots]
    grid = jnp.stack(jnp.meshgrid(levels[0], levels[1], indexing="ij"), axis=-1)

    def of_draw(key: PRNGKeyArray, draw: Draw) -> Any:
        pool = RandomRows.draw(key, space, _POOL * n_points, dtype)
        among = pool.here[:, slots].all(axis=1)
        of_row = partial(_mean_losses, draw, pool, slots, n_points=n_points, among=among)
        return jax.lax.map(of_row, grid)

    return map_draws(of_draw, posterior, key, n_draws)
