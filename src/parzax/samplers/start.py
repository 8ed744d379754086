"""First suggestions: random configurations, or given good configurations."""

import abc
from collections.abc import Callable
from functools import partial
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from parzax import _checks
from parzax.meta import Notes
from parzax.samplers.candidates import is_near, select
from parzax.space import Points
from parzax.split import State

AtRandom = Callable[[PRNGKeyArray], Points]

_n_startup = partial(_checks.whole_number, "n_startup", least=0)


class AbstractStart(eqx.Module):
    """A rule for suggestions before a sampler has seen ``n_startup`` rows.

    Attributes:
        by_chance: whether the sampler's ``epsilon`` applies to these suggestions too.
        n_startup: suggestions come from the rule until there are this many rows; pending and failed rows
            count, constraint-only rows do not. Static.
    """

    by_chance: ClassVar[bool] = False
    n_startup: eqx.AbstractVar[int]

    @property
    def report(self) -> tuple[str, ...]:
        """One line for each log that suggestions come from."""
        return ()

    @abc.abstractmethod
    def __call__(self, key: PRNGKeyArray, state: State, at_random: AtRandom) -> Points:
        """Suggestions, as many as ``at_random(key)`` returns; ``key`` must not be used again."""


@final
class RandomStart(AbstractStart):
    """Random first suggestions, uniform on the (log) axes.

    ``n_startup`` is as in `AbstractStart`; 0 starts with the densities at once.
    """

    by_chance: ClassVar[bool] = True
    n_startup: int = eqx.field(static=True, default=10, converter=_n_startup)

    def __call__(self, key: PRNGKeyArray, state: State, at_random: AtRandom) -> Points:
        return at_random(key)


@final
class FromRows(AbstractStart):
    """First suggest the (w, d) ``rows`` that are not in the state yet, in random order; then at random."""

    rows: Points
    n_startup: int = eqx.field(static=True, default=10, converter=_n_startup)
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
