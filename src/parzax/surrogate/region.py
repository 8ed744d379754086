"""The part of a space in which its best configurations are, from draws of the posterior of a surrogate."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled
from parzax.space import Categorical, Domain, Numeric, Ordinal, Recorded, Space, Varying
from parzax.space.conditions import among
from parzax.space.valid import Forbidden
from parzax.surrogate.effects import RandomRows
from parzax.surrogate.process import Draw, Posterior, evaluate, map_draws

OwnerT = TypeVar("OwnerT", Domain, Forbidden)
# An end of the region that is nearer to a bound than this share of the range is the bound.
_NEAR = 0.05


class Region(eqx.Module):
    """A box around the best configurations; for each slot, see `parzax.Space.slots`.

    Attributes:
        low, high: (s,) the smallest and the largest native value; NaN if the slot applies to none of them.
        choices: (s, c) which choices of a categorical slot they have.
    """

    low: Float[Any, " s"]
    high: Float[Any, " s"]
    choices: Bool[Any, "s c"]
    space: Space = eqx.field(static=True)

    def narrowed(self) -> Space:
        """The space within the region: a sampler can start on it.

        Domains, choices and conditions that cannot apply in the region are left out, and so are parameters
        without a domain, and rules (`parzax.valid`) that are about none of what is left. If a function says
        what is valid, only numbers are narrowed, unless a condition depends on them. A `parzax.Varying`
        or periodic domain stays as it is. The ends of continuous domains are rounded outwards to two digits;
        an end within 5 % of the range from a bound is the bound.

        >>> import jax, numpy as np, parzax as px
        >>> space = px.Space({"a": px.Float(0, 1), "b": px.Categorical(["x", "y"])})
        >>> region = px.surrogate.Region(
        ...     np.array([0.2, 0]), np.array([0.4, 0]), np.array([[False, False], [True, False]]), space
        ... )
        >>> region.narrowed()
        Space({
            'a': Float(0.2, 0.4),
            'b': Categorical(['x']),
        })
        """
        low, high, choices = (np.asarray(a) for a in (self.low, self.high, self.choices))
        inside: dict[str, list[Domain]] = {name: [] for name in self.space}
        # A function of the values may need every choice and every parameter.
        is_fixed = any(map(callable, self.space.valid))
        parents = {parent for name in self.space for parent in self.space.parents(name)}
        for s, slot in enumerate(self.space.slots):
            name, domain, is_used = self.space.names[slot.parameter], slot.domain, not np.isnan(low[s])
            if is_fixed and (name in parents or not is_used or not isinstance(domain, Numeric)):
                inside[name].append(domain)
            elif is_used:
                inside[name].append(_within(domain, float(low[s]), float(high[s]), choices[s]))
        # Parents first: a condition is about what is left of its parent.
        for name in self.space.order:
            inside[name] = [domain for part in inside[name] for domain in _reachable(part, inside)]
        valid: list[Any] = []
        for rule in self.space.valid:
            if isinstance(rule, Forbidden):
                valid += _reachable(rule, inside)
            elif callable(rule) or all(inside[name] for name in rule.names):
                valid.append(rule)
        return Space({name: domains for name, domains in inside.items() if domains}, valid)


def region(
    key: PRNGKeyArray,
    posterior: Posterior,
    probability: float = 0.95,
    *,
    level: float = 0.01,
    n_draws: int = 64,
    n_points: int = 2048,
) -> Region:
    """A box that holds a configuration of the target set with a given probability.

    Each draw has its own target set, the best of random configurations. The configurations that lie furthest
    out along any parameter are left out (for a category, those with the rarest choices), until the stated
    share is left; the box is what they span.

    Args:
        key: random key.
        posterior: what `GaussianProcess.fit` gives.
        probability: share of the target sets' configurations that the box holds.
        level: share of the space that is the target set.
        n_draws: number of draws.
        n_points: number of random configurations for each draw.
    """
    _checks.check_key(key)
    n_best = max(round(level * n_points), 1)
    return evaluate(_region, posterior, key, probability, n_best=n_best, n_draws=n_draws, n_points=n_points)


@partial(compiled, size="middling")
def _region(
    posterior: Posterior, key: Any, probability: Any, n_best: int, n_draws: int, n_points: int
) -> Region:
    space, dtype = posterior.space, posterior.z.dtype

    def best_of(key: PRNGKeyArray, draw: Draw) -> Any:
        rows = RandomRows.draw(key, space, n_points, dtype)
        best = jnp.argsort(draw.losses(rows.z))[:n_best]
        return rows.levels[best], rows.here[best]

    # With lengths from the prior, some of the best configurations of a draw may lie anywhere.
    drawn = map_draws(best_of, posterior, key, n_draws, elsewhere=0.0)
    levels, here = (a.reshape(n_draws * n_best, -1) for a in drawn)
    frame = space.frame(np.dtype(dtype))
    place, number = frame.over(lambda axis, level: axis.drawn(level), levels)
    value = frame.over(lambda axis, place, number: axis.native(place, number), place, number)
    categorical = np.array([isinstance(slot.domain, Categorical) for slot in space.slots])
    n_choices = max(s.domain.n_values or 0 if isinstance(s.domain, Categorical) else 0 for s in space.slots)
    has = here[..., None] & (number[..., None] == np.arange(n_choices, dtype=number.dtype)[None, None])
    n_rows = jnp.maximum(here.sum(axis=0), 1).astype(dtype)

    def share_further_out(place: Any, here: Any) -> Any:
        distance = jnp.abs(place - jnp.nanmedian(jnp.where(here, place, jnp.nan)))
        nearer = jnp.searchsorted(jnp.sort(jnp.where(here, distance, jnp.inf)), distance)
        return 1 - nearer.astype(dtype) / jnp.maximum(here.sum(), 1).astype(dtype)

    depth = jax.vmap(share_further_out, in_axes=1, out_axes=1)(place, here)
    commonness = jnp.where(has, (has.sum(axis=0).astype(dtype) / n_rows[:, None])[None], 0).max(
        axis=-1, initial=0
    )
    outermost = jnp.where(here, jnp.where(categorical[None], commonness, depth), 1).min(axis=1)
    kept = here & (outermost >= jnp.quantile(outermost, 1 - probability))[:, None]
    low, high = (
        jnp.where(kept.any(axis=0), f(jnp.where(kept, value, fill), axis=0), jnp.nan)
        for f, fill in ((jnp.min, jnp.inf), (jnp.max, -jnp.inf))
    )
    return Region(low, high, (has & kept[..., None]).any(axis=0), space)


def _within(domain: Domain, low: float, high: float, choices: np.ndarray) -> Domain:
    """The domain from ``low`` to ``high``, or with some of its choices."""
    if isinstance(domain, Categorical):
        return replace(domain, choices=[c for c, kept in zip(domain.choices, choices, strict=False) if kept])
    if isinstance(domain, Ordinal):
        return replace(domain, values=[v for v in domain.values if low <= v <= high])
    is_fixed = low < high and (isinstance(domain, Varying) or domain.is_circle)
    if not isinstance(domain, Numeric) or is_fixed:
        return domain
    if domain.n_values is None and low < high:
        # Two digits, rounded outwards.
        low, high = max(_round(low, math.floor), domain.low), min(_round(high, math.ceil), domain.high)
        scale = math.log if domain.log else float
        near = _NEAR * (scale(domain.high) - scale(domain.low))
        low = domain.low if scale(low) - scale(domain.low) < near else low
        high = domain.high if scale(domain.high) - scale(high) < near else high
    return replace(domain, low=low, high=high)


def _round(x: float, rounding: Callable[[float], int]) -> float:
    """A number with two significant digits."""
    digits = 1 - math.floor(math.log10(abs(x))) if x else 0
    return float(f"{rounding(x * 10.0**digits)}e{-digits}")


def _reachable(domain: OwnerT, inside: Mapping[str, list[Domain]]) -> list[OwnerT]:
    """A domain or rule with conditions on values that parents still have; nothing if it never applies."""
    conditions = [
        condition if isinstance(condition, Recorded) else among(condition, inside[condition.parent])
        for condition in domain.conditions
    ]
    return [] if None in conditions else [replace(domain, when=tuple(conditions))]
