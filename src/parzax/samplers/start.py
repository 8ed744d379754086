"""First suggestions: random configurations, or given good configurations."""

import abc
from collections.abc import Callable
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from parzax.meta import Notes
from parzax.samplers.candidates import is_near, select
from parzax.space import Points
from parzax.split import State

AtRandom = Callable[[PRNGKeyArray], Points]


class AbstractStart(eqx.Module):
    """A rule for suggestions before a sampler has seen ``n_startup`` rows.

    Attributes:
        by_chance: whether the sampler's ``epsilon`` applies to these suggestions too.
    """

    by_chance: ClassVar[bool] = False

    @property
    def report(self) -> tuple[str, ...]:
        """One line for each log that suggestions come from."""
        return ()

    @abc.abstractmethod
    def __call__(self, key: PRNGKeyArray, state: State, at_random: AtRandom) -> Points:
        """Suggestions, as many as ``at_random(key)`` returns; ``key`` must not be used again."""


@final
class RandomStart(AbstractStart):
    """Random first suggestions."""

    by_chance: ClassVar[bool] = True

    def __call__(self, key: PRNGKeyArray, state: State, at_random: AtRandom) -> Points:
        return at_random(key)


@final
class FromRows(AbstractStart):
    """First suggest the (w, d) ``rows`` that are not in the state yet, in random order; then at random."""

    rows: Points
    notes: Notes = eqx.field(static=True, default=Notes())

    @property
    def report(self) -> tuple[str, ...]:
        """One line for each log, which says which rows could be used (see `parzax.meta_learn_tpe`)."""
        return self.notes.report

    def __call__(self, key: PRNGKeyArray, state: State, at_random: AtRandom) -> Points:
        draw, choose = jax.random.split(key)
        other = at_random(draw)
        if not len(self.rows):
            return other
        # The rows may have another precision than the state.
        rows = jax.tree.map(lambda a, b: jnp.asarray(a).astype(b.dtype), self.rows, other)
        # Rows of the state come from rounded native values, so they are compared with a tolerance.
        reach = 64 * float(jnp.finfo(rows.unit.dtype).eps)
        used = (is_near(rows[:, None], state.points[None], True, reach) & state.present[None]).any(axis=-1)
        used |= jnp.tril(is_near(rows[:, None], rows[None], True, reach), -1).any(axis=-1)
        rank = jnp.where(used, 2.0, jax.random.uniform(choose, used.shape))
        order = jnp.argsort(rank)[: len(other)]
        missing = len(other) - len(order)
        unused = jnp.pad(~used[order], (0, missing))[:, None]
        ordered = jax.tree.map(lambda a: jnp.pad(a[order], ((0, missing), (0, 0))), rows)
        return select(unused, ordered, other)
