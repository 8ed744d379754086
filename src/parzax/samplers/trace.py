"""The evaluations of a run, and what is best among them."""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from parzax import _checks
from parzax._compile import compiled
from parzax.samplers.arguments import call
from parzax.samplers.repeats import incumbents
from parzax.space import Space, host_frame

if TYPE_CHECKING:
    from parzax.lens.logs import Observations


class Trace(eqx.Module):
    """The evaluations of a run, in order; `optimize_many` adds a leading axis of runs.

    Attributes:
        x: (..., n, d) native values.
        objectives: (..., n, m) values that the problem returned.
        constraints: (..., n, c) values, satisfied if <= 0.
        directions: "minimize" or "maximize" for each objective; static.
        space: the sampler's search space, None where it is not known; static.
    """

    x: Float[Any, "*s n d"]
    objectives: Float[Any, "*s n m"]
    constraints: Float[Any, "*s n c"]
    directions: tuple[str, ...] = eqx.field(static=True)
    space: Space | None = eqx.field(static=True, default=None)

    @property
    def feasible(self) -> Array:
        """(..., n) whether all constraints are satisfied."""
        return (self.constraints <= 0).all(axis=-1)

    def best(self, objective: int = 0) -> Array:
        """(..., n) best feasible value so far of an objective; +inf (-inf if maximised) before the first.

        It is the value of a single evaluation. If evaluations have noise, it is too good; see `incumbent`.
        """
        objective = _checks.whole_number("objective", objective, 0, self.objectives.shape[-1] - 1)
        value = self.objectives[..., objective]
        usable, axis = self.feasible & ~jnp.isnan(value), value.ndim - 1
        if self.directions[objective] == "maximize":
            return jax.lax.cummax(jnp.where(usable, value, -jnp.inf), axis=axis)
        return jax.lax.cummin(jnp.where(usable, value, jnp.inf), axis=axis)

    def incumbent(self, objective: int = 0) -> Int[Array, "*s n"]:
        """(..., n) first row of the best feasible configuration so far; -1 before there is one.

        The best one is that of `parzax.samplers.Sampler.best`, by the means of repeated evaluations.
        """
        objective = _checks.whole_number("objective", objective, 0, self.objectives.shape[-1] - 1)
        sign = -1 if self.directions[objective] == "maximize" else 1
        losses = sign * self.objectives[..., objective, None]
        return call(_incumbents, self.x, losses, self.constraints)

    def best_params(self) -> Any:
        """The parameters of the best feasible configuration by name, as `parzax.Space.as_dict` gives them.

        With several runs the result is a list with one entry per run. The best configuration is the one that
        `incumbent` finds. The result (or the entry) is None if the run has no feasible row with an objective
        value. The method works on the host, for one objective.

        Raises:
            ValueError: several objectives (`parzax.samplers.Sampler.best` has their front), or no space.
            TypeError: a traced run.
        """
        _checks.on_host("a run", self.x, self.objectives)
        if self.objectives.shape[-1] > 1:
            raise ValueError("best_params is for one objective; sampler.best gives the front of several.")
        space, values = self._values()
        best = np.full(values.shape[:-2], -1)
        if values.shape[-2]:
            best = np.asarray(self.incumbent())[..., -1]

        def params(values: np.ndarray, best: np.ndarray) -> Any:
            if values.ndim > 2:
                return [params(*each) for each in zip(values, best, strict=True)]
            return None if best < 0 else space.as_dict(values[best])

        return params(values, best)

    def _values(self) -> tuple[Space, np.ndarray]:
        """The space and the native values in float64; those rounded out of their domain are moved inside."""
        if self.space is None:
            raise ValueError("this trace has no space; give it one: dataclasses.replace(trace, space=space).")
        x, frame = np.asarray(self.x, np.float64), host_frame(self.space)
        return self.space, frame.decode(frame.nearest(x.reshape(-1, x.shape[-1]))).reshape(x.shape)

    def to_observations(self, *, pooled: bool = False) -> "Observations":
        """The rows as a log on the host, such as for `parzax.cond_ped_anova`.

        Each run becomes a seed of the log: the best rows are chosen within each run, and importances are
        averaged over runs. With ``pooled=True`` the rows of all runs form one log, and the best rows are
        chosen among all of them.

        Values rounded out of their domain are moved to the nearest value inside. ValueError if the trace has
        no space; TypeError if it is traced.
        """
        from parzax.lens.logs import Observations  # samplers need logs for nothing else

        _checks.on_host("a run", self.x, self.objectives)
        space, values = self._values()
        constraints = np.asarray(self.constraints) if self.constraints.shape[-1] else None
        objectives, directions = np.asarray(self.objectives), self.directions
        if pooled:
            values, objectives = (rows.reshape(-1, rows.shape[-1]) for rows in (values, objectives))
            constraints = None if constraints is None else constraints.reshape(-1, constraints.shape[-1])
        return Observations.from_arrays(space, values, objectives, directions, constraints=constraints)


_incumbents = compiled(jnp.vectorize(incumbents, signature="(n,d),(n,m),(n,c)->(n)"))
