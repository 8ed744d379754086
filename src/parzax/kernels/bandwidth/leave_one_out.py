"""The scale under which each row is foretold best by the others."""

from collections.abc import Callable
from typing import NamedTuple, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax.kernels.bandwidth.likelihood import leave_one_out_log_likelihood
from parzax.kernels.bandwidth.rule import Bandwidth, Setting, check_settings, clip, lower_clip
from parzax.kernels.bandwidth.scott import Scott

# Scales tried first, evenly spaced in their logarithm, to find the highest of several maxima; between 0.01
# and 0.5 they are 1.6-fold apart. Then steps by value and slope within one spacing of the best.
_POINTS = 9
_STEPS = 8
# No step comes nearer to an end of its interval than this share of it.
_MARGIN = 0.05


@final
class LeaveOneOut(Bandwidth):
    """The likelihood's maximiser, where Scott's rule stands in; made by ``leave_one_out``."""

    start: Scott
    prior_weight: Setting

    @property
    def smallest(self) -> float | None:
        """The smallest scale of the rule that the search starts from."""
        return self.start.smallest

    def _scale(self, position, frequency, prior_position, n_parameters, n_values, order):
        start = self.start._scale(position, frequency, prior_position, n_parameters, n_values, order)
        lower = lower_clip(self.start.minimum, self.start.discrete_minimum, n_values, position.dtype)
        low, high = clip(lower, lower, self.start.maximum), jnp.asarray(self.start.maximum, position.dtype)

        def likelihood(log_scale: Array) -> Array:
            return leave_one_out_log_likelihood(
                jnp.exp(log_scale),
                position,
                frequency,
                prior_position=prior_position,
                prior_weight=self.prior_weight,
                n_values=n_values,
            )

        best = jnp.exp(_maximise(likelihood, jnp.log(start), jnp.log(low), jnp.log(high)))
        # A choice among scales: it does not follow the rows smoothly, so it is a constant to gradients.
        best = jax.lax.stop_gradient(jnp.clip(best, low, high))
        return jnp.where(frequency.sum() > 1, best, start)


def leave_one_out(
    minimum: Setting = 0.01,
    maximum: Setting = 0.5,
    *,
    discrete_minimum: Setting | None = 1.0,
    prior_weight: Setting = 1.0,
) -> LeaveOneOut:
    """One scale per parameter, of greatest leave-one-out likelihood between the clips.

    Maximises ``leave_one_out_log_likelihood`` (Duin 1976; Habbema, Hermans and van den Broek 1974) over
    the scale by its gradient, from the best of nine scales, so that several maxima do not mislead it. Its
    likelihood is never below that of ``scott`` with the same clips, which is tried too. With one row or none
    it is ``scott``'s.

    17 evaluations with their slopes, each of n^2 kernels: for analysis rather than for each step of an
    optimisation. Equal
    rows on a continuous domain draw the scale to the minimum. A row of weight w equals w rows. The scale
    counts as a constant in gradients.

    Args:
        minimum: smallest scale, in units of the range.
        maximum: largest scale, in units of the range.
        discrete_minimum: smallest scale of a discrete parameter, in steps; None: ``minimum`` serves both.
        prior_weight: weight of the prior kernel, as a number of rows.

    Returns:
        A rule; see ``Bandwidth`` for how it is called.

    Raises:
        ValueError: a setting that is not positive, or minimum > maximum.

    >>> import jax.numpy as jnp
    >>> two_groups = jnp.array([0.1, 0.12, 0.14, 0.86, 0.88, 0.9])
    >>> print(f"{leave_one_out()(two_groups, jnp.ones(6))[0]:.2f}")
    0.02
    """
    settings = {"minimum": minimum, "maximum": maximum, "discrete_minimum": discrete_minimum}
    check_settings("leave_one_out", **settings, prior_weight=prior_weight)
    return LeaveOneOut(Scott(minimum, maximum, discrete_minimum, None), prior_weight)


class _Point(NamedTuple):
    """An argument of the function, its value and its slope."""

    at: Float[Array, "..."]
    value: Float[Array, "..."]
    slope: Float[Array, "..."]


def _maximise(
    function: Callable[[Array], Array], start: Float[Array, ""], low: Float[Array, ""], high: Float[Array, ""]
) -> Float[Array, ""]:
    """The best argument found between low and high; never worse than ``start``."""

    def look(at: Array) -> _Point:
        return _Point(at, *jax.jvp(function, (at,), (jnp.ones_like(at),)))

    def step(state: tuple[_Point, _Point], _: None) -> tuple[tuple[_Point, _Point], None]:
        inner, outer = state
        new = look(_peak(inner, outer))
        better = new.value > inner.value
        # It is uphill from the better end, and the value at the other end is lower: the maximum lies between.
        # A better point takes over; the end that its slope points to stays or is the former best.
        ahead = new.slope * (outer.at - inner.at) > 0
        opposite = _choose(ahead, outer, inner)
        return (_choose(better, new, inner), _choose(better, opposite, new)), None

    tried = jax.lax.map(look, jnp.linspace(high, low, _POINTS, dtype=low.dtype))
    # The widest first: of equal values the first is taken.
    k = jnp.argmax(tried.value)
    best = jax.tree.map(lambda x: x[k], tried)
    beside = jnp.clip(jnp.where(best.slope > 0, k - 1, k + 1), 0, _POINTS - 1)
    (best, _), _ = jax.lax.scan(step, (best, jax.tree.map(lambda x: x[beside], tried)), length=_STEPS)
    return jnp.where(function(start) >= best.value, start, best.at)


def _choose(condition: Array, yes: _Point, no: _Point) -> _Point:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _peak(a: _Point, b: _Point) -> Float[Array, ""]:
    """Where the cubic through two values and slopes is highest (Davidon 1959), kept off both ends."""
    width = b.at - a.at
    mean = 3 * (b.value - a.value) / jnp.where(width == 0, 1, width) - a.slope - b.slope
    root = jnp.sqrt(jnp.maximum(jnp.square(mean) - a.slope * b.slope, 0)) * jnp.sign(width)
    below = a.slope - b.slope + 2 * root
    share = (a.slope + root + mean) / jnp.where(below == 0, 1, below)
    share = jnp.where((below == 0) | ~jnp.isfinite(share), 0.5, share)
    return a.at + width * jnp.clip(share, _MARGIN, 1 - _MARGIN)
