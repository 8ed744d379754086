"""The evaluations of a run, and what is best among them."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from parzax import _checks
from parzax._compile import compiled
from parzax.samplers.repeats import incumbents
from parzax.space import Space
from parzax.split import State


class Trace(eqx.Module):
    """The evaluations of a run, in order; `optimize_many` adds a leading axis of runs.

    Attributes:
        x: (..., n, d) native values.
        losses: (..., n, m) values that the problem returned, in the sampler's directions.
        constraints: (..., n, c) values, satisfied if <= 0.
        directions: "minimize" or "maximize" for each objective; static.
        space: the sampler's search space, None where it is not known; static.
        state: the final state, to go on from; None for a trace made otherwise.
    """

    x: Float[Any, "*s n d"]
    losses: Float[Any, "*s n m"]
    constraints: Float[Any, "*s n c"]
    directions: tuple[str, ...] = eqx.field(static=True)
    space: Space | None = eqx.field(static=True, default=None)
    state: State | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        names = [given for given in dir(self) if not given.startswith("_")]
        alike = [given for given in names if given.startswith(name)]
        hint = f"it has {' and '.join(alike)}." if alike else _checks.suggest(name, names)
        raise AttributeError(f"a Trace has no {name!r}; {hint}")

    @property
    def n_evaluations(self) -> Int[Any, "*s"]:
        """(...) number of rows that were run; later rows are NaN, as the run was stopped."""
        return self.was_run.sum(axis=-1)

    @property
    def feasible(self) -> Array:
        """(..., n) whether all constraints are satisfied."""
        return (self.constraints <= 0).all(axis=-1) & self.was_run

    @property
    def was_run(self) -> Array:
        """(..., n) whether a row was run, that is before any stop."""
        # A configuration has a parameter that is not NaN; a comparison works in NumPy and in JAX.
        return (self.x == self.x).any(axis=-1)

    def best_losses(self, objective: int = 0) -> Array:
        """(..., n) best feasible value so far of an objective; +inf (-inf if maximised) before the first.

        It is the value of a single evaluation. If evaluations have noise, it is too good; see `incumbent`.
        Rows told before the run (``state=``) do not count; ``sampler.best(trace.state)`` is of all rows.
        """
        sign, losses = self._losses_of(objective)
        usable = self.feasible & ~jnp.isnan(losses)
        return sign * jax.lax.cummin(jnp.where(usable, losses, jnp.inf), axis=losses.ndim - 1)

    def incumbent(self, objective: int = 0) -> Int[Array, "*s n"]:
        """(..., n) first row of the best feasible configuration so far; -1 before there is one.

        The best one is that of `parzax.samplers.Sampler.best`, by the means of repeated evaluations.
        """
        return _incumbents(self.x, self._losses_of(objective)[1][..., None], self.constraints)

    def _losses_of(self, objective: int) -> tuple[int, Any]:
        """Sign of an objective, -1 if it is maximised, and its values times the sign."""
        objective = _checks.whole_number("objective", objective, 0, self.losses.shape[-1] - 1)
        sign = -1 if self.directions[objective] == "maximize" else 1
        return sign, sign * self.losses[..., objective]

    def best_params(self) -> Any:
        """The parameters of the best feasible configuration by name, as `parzax.Space.as_dict` gives them.

        The best configuration is the one that `incumbent` finds; None if no feasible row has a loss.
        Rows told before the run (``state=``) do not count; ``sampler.best(trace.state)`` is of all rows. The
        method works on the host, for one run (`runs` separates several) and one objective.

        Raises:
            ValueError: several runs or objectives (`parzax.samplers.Sampler.best` has the front of several
                objectives), or no space.
            TypeError: a traced run.
        """
        _checks.on_host("a run", self.x, self.losses)
        if self.losses.shape[-1] > 1:
            raise ValueError("best_params is for one objective; sampler.best gives the front of several.")
        if self.x.ndim > 2:
            remedy = "use [run.best_params() for run in trace.runs()]"
            raise ValueError(f"best_params is for one run, got runs of shape {self.x.shape[:-2]}; {remedy}.")
        space, values = self.space_and_values()
        best = int(self.incumbent()[-1]) if len(values) else -1
        return None if best < 0 else space.as_dict(values[best])

    def runs(self) -> list["Trace"]:
        """The runs along the leading axis, such as those of `parzax.optimize_many`, one trace each."""
        return [jax.tree.map(lambda a, i=i: a[i], self) for i in range(self.x.shape[0])]

    def space_and_values(self) -> tuple[Space, np.ndarray]:
        """The space and the native values in float64; those rounded out of their domain are moved inside."""
        if self.space is None:
            raise ValueError("this trace has no space; give it one: dataclasses.replace(trace, space=space).")
        x, frame = np.asarray(self.x, np.float64), self.space.frame()
        return self.space, frame.decode(frame.nearest(x.reshape(-1, x.shape[-1]))).reshape(x.shape)


_incumbents = compiled(jnp.vectorize(incumbents, signature="(n,d),(n,m),(n,c)->(n)"))
