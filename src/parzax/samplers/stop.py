"""When a run stops: rules of `parzax.stop` for the argument ``stop`` of `parzax.optimize`.

A rule is any pure function of a sampler and a state that says whether to stop, traced before every round. To
write one with settings, make it an `equinox.Module`; settings that are arrays compile nothing anew.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._words import plural
from parzax.pareto import non_domination_rank
from parzax.samplers.repeats import signed
from parzax.samplers.sampler import Sampler
from parzax.split import State
from parzax.split.state import first_equal

Stop: TypeAlias = Callable[[Sampler, State], Bool[Any, ""]]


# Settings are arrays, so that another value compiles nothing.
def _numbers(value: Any) -> Any:
    values = _checks.floats("value", value)
    if not isinstance(values, jax.Array) and np.isnan(values).any():
        raise ValueError(f"value must not be NaN, got {value!r}.")
    return values


def _rows(n: Any) -> Any:
    return n if isinstance(n, jax.Array) else np.asarray(_checks.whole_number("n", n, 1), np.int32)


def _bound(bound: Any) -> Any:
    return _checks.floats("bound", _checks.setting("bound", bound, least=0))


@final
class Target(eqx.Module):
    """Stop when a feasible row is as good as ``value``.

    Attributes:
        value: a loss in the sampler's direction; for several objectives one for each, which a single row must
            reach.
    """

    value: Float[Any, "*m"] = eqx.field(converter=_numbers)

    def __call__(self, sampler: Sampler, state: State) -> Bool[Array, ""]:
        m = sampler.n_objectives
        if m > 1 or jnp.ndim(self.value):
            hint = f"; give a number for each of {plural(m, 'objective')}"
            _checks.check_shape("value of Target", self.value, m, hint=hint)
        value = jnp.asarray(self.value, state.losses.dtype).reshape(1, m)
        reached = (state.losses <= signed(sampler.directions, value)).all(axis=1)
        return (reached & state.feasible).any()


@final
class Patience(eqx.Module):
    """Stop when the last n rows did not improve on the best feasible row before them.

    Of several objectives a row improves the front if no earlier feasible row is as good in all of them. There
    is no stop before the first feasible row.

    Attributes:
        n: number of rows, at least 1.
    """

    n: Int[Any, ""] = eqx.field(converter=_rows)

    def __call__(self, sampler: Sampler, state: State) -> Bool[Array, ""]:
        feasible, number = state.feasible, jnp.arange(state.capacity, dtype=jnp.int32)
        # A later row of the front improved on all earlier ones, unless it equals one of them.
        front = feasible & (non_domination_rank(state.losses, feasible) == 0)
        improved = front & (first_equal(state.losses, front) == number)
        return improved.any() & (state.count - 1 - jnp.where(improved, number, -1).max() >= self.n)


@final
class Gain(eqx.Module):
    """Stop when the next evaluation is expected to improve on the best loss by less than ``bound``.

    The expectation is at most the mean of y* - y over the rows below, where y* is the smallest loss above
    them. For TPE's expected improvement over y* is

        EI(x) = gamma l(x) / (gamma l(x) + (1 - gamma) g(x)) * E[y* - y | y < y*],

    whose first factor is at most 1 (Bergstra et al. 2011), and no row is better than the best one by more
    than it is better than y*. The bound is about one evaluation: many that follow may gain more together. It
    holds as far as TPE's model does. There is no stop among the first suggestions, and none while too few
    rows are feasible. It is for one objective.

    Attributes:
        bound: a difference of losses, at least 0.
    """

    bound: Float[Any, ""] = eqx.field(converter=_bound)

    def __call__(self, sampler: Sampler, state: State) -> Bool[Array, ""]:
        if sampler.n_objectives > 1:
            raise ValueError(f"Gain is for one objective, the sampler has {sampler.n_objectives}.")
        loss, below = state.losses[:, 0], sampler.split(state).below[0]
        threshold = jnp.where(state.evaluated & ~below, loss, jnp.inf).min()
        count = jnp.maximum(below.sum(dtype=jnp.int32), 1).astype(loss.dtype)
        excess = jnp.where(below, threshold - loss, 0).sum() / count
        started = state.count >= max(sampler.start.n_startup, 1)
        return started & state.feasible.any() & (excess < self.bound)


def as_rules(stop: Any) -> tuple[Stop, ...]:
    """The argument ``stop`` of a run, a rule, several in a tuple or list, or None, as rules."""
    rules = () if stop is None else tuple(stop) if isinstance(stop, (tuple, list)) else (stop,)
    for rule in rules:
        if isinstance(rule, type) or not callable(rule):
            wanted = "a rule such as px.stop.Patience(20), or a function of (sampler, state)"
            raise TypeError(f"stop must be {wanted}, got {rule!r}.")
    return rules
