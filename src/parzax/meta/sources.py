"""Source tasks, fitted once, and the smoothing that mixes their densities with those of a target."""

from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax._numerics import placed
from parzax._programs import program
from parzax.meta.comparison import Compared, Comparison, Estimate
from parzax.meta.densities import TaskDensities, TaskMixtures
from parzax.meta.reduction import Reduction, Rule
from parzax.meta.rows import SourceRows
from parzax.meta.states import Tasks, compact
from parzax.meta.variation import task_kernel
from parzax.parzen import AbstractDensities, AbstractSmoothing, Smoothing
from parzax.parzen.basis import Basis
from parzax.space import Space, check_dtype
from parzax.split import AbstractSplit, SplitRows, State, first_rows
from parzax.split.gamma import AbstractGamma


@dataclass(frozen=True)
class Notes:
    """Words about tasks. All are equal, so that no compiled program depends on them."""

    names: tuple[str, ...] = field(compare=False)
    report: tuple[str, ...] = field(compare=False)


class Sources(eqx.Module):
    """t source tasks, in groups of the objective and every constraint; (c + 1) densities each."""

    below: tuple[TaskDensities, ...]
    above: tuple[TaskDensities, ...]
    compared: tuple[Compared, ...]  # of the groups below, by which tasks are compared
    comparison: Comparison  # how
    reduction: Reduction  # in which parameters
    shared: Bool[Array, "t d"] | None  # as of `Tasks`
    notes: Notes = eqx.field(static=True)  # names of the tasks, and a line for each

    @classmethod
    def fit(
        cls,
        space: Space,
        rows: list[SourceRows],
        split: AbstractSplit,
        smoothing: Smoothing,
        eta: float | None,
        estimate: Estimate,
        n_samples: int,
        importance: Rule,
        n_good: AbstractGamma | None,
        key: PRNGKeyArray,
    ) -> "Sources":
        """Fit the groups of all tasks, at least one, in the target's space; see `parzax.meta_learn_tpe`."""
        dtype = jnp.result_type(float)
        check_dtype(space, dtype, native=True, arrays=False)
        tasks, basis = Tasks.of(rows, split), smoothing.basis(space, dtype)
        comparison = Comparison.of(space, smoothing, estimate, n_samples, key)
        reduction = Reduction.of(space, eta, importance, n_good=n_good)
        numbers = range(tasks.below.shape[1])

        def densities(groups: Bool[np.ndarray, "t c1 n"]) -> tuple[TaskDensities, ...]:
            given = ((placed(groups[:, i]), *compact(groups[:, i])) for i in numbers)
            return tuple(_density(basis, smoothing, tasks.states, *own) for own in given)

        below, above = densities(tasks.below), densities(tasks.above)
        compared = tuple(tasks.compared(comparison, reduction, smoothing, i) for i in numbers)
        notes = Notes(tuple(one.name for one in rows), tasks.report)
        return cls(below, above, compared, comparison, reduction, tasks.shared, notes)

    def check_precision(self, dtype: Any) -> None:
        """Raise ValueError for a state of another precision than the densities'."""
        fitted = self.below[0].n_rows.dtype
        if fitted != dtype:
            raise ValueError(
                f"the sources were fitted in {fitted}, but the state is {jnp.dtype(dtype)}; make the sampler "
                "and the state both inside jax.enable_x64(True), or both outside."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """(t,) of the tasks."""
        return self.notes.names

    @property
    def report(self) -> tuple[str, ...]:
        """(t,) a line per task: what was used of it."""
        return self.notes.report

    def there(self, group: int) -> Bool[Array, " t"]:
        """Which tasks have rows in the group below."""
        return self.below[group].n_rows > 0

    def similarities(
        self, smoothing: Smoothing, state: State, split: SplitRows, group: int = 0
    ) -> Float[Array, " t"]:
        """s_m of the target and every source task, by their rows below of a group (arXiv 2212.06751).

        1 for all while the target has too few rows below to keep a single parameter. A task is compared by
        those of the kept parameters that it has; 0 if it has none of them, or no row below.
        """
        compared, there, below = self.compared[group], self.there(group), split.below[group]
        # Over the tasks that have the parameter.
        known = there[:, None] if self.shared is None else there[:, None] & self.shared
        of_target = self.reduction.raw_importance(state.points, below, below | split.above[group])
        n_rows = split.n_known[group]
        kept, n = self.reduction.kept(of_target, compared.importance, known, below.sum(), n_rows)
        kept = kept if self.shared is None else kept[None] & self.shared
        index, present = first_rows(below, split.most if group == 0 else state.capacity)
        target = self.comparison.density(smoothing, state.points[index], present)
        alike = self.comparison.similarities(target, compared, kept)
        some = jnp.broadcast_to(kept.any(axis=-1), there.shape)
        return jnp.where(there, jnp.where(n > 0, jnp.where(some, alike, 0), 1), 0)


_density = program(TaskDensities.fit)


class MixedSmoothing(AbstractSmoothing):
    """Densities that are mixtures over tasks (arXiv 2212.06751).

    W_m is proportional to N_m k(1, m), N_m the size of the group in task m. Tasks without rows in a group
    below are not among the T tasks of its k(1, m). A share gamma is sum_m k(1, m) N_m^(l) over
    sum_m k(1, m) N_m. With c-TPE's score the sum gamma l + (1 - gamma) g is then the density of all rows of
    all tasks.
    """

    own: Smoothing  # the target's
    sources: Sources
    most: int = eqx.field(static=True)  # candidates of all groups and tasks together, at most

    def __check_init__(self) -> None:
        """Raise for densities of the target that are not made of kernels: tasks are compared by theirs."""
        if not isinstance(self.own, Smoothing):
            raise TypeError(f"own must be a parzax.parzen.Smoothing, got {self.own!r}.")

    def basis(self, space: Space, dtype: Any) -> Basis:
        self.sources.check_precision(dtype)
        return self.own.basis(space, dtype)

    def fit(
        self, basis: Basis, state: State, split: SplitRows
    ) -> tuple[AbstractDensities, Float[Array, " c1"]]:
        own, _ = self.own.fit(basis, state, split)
        sources, dtype = self.sources, state.x.dtype
        alike = (sources.similarities(self.own, state, split, i) for i in range(len(split.below)))
        kernels = [task_kernel(similarity, sources.there(i)) for i, similarity in enumerate(alike)]
        below = _sizes(split.below, sources.below, dtype)
        above = _sizes(split.above, sources.above, dtype)
        weights = [_log_weights(n, k) for n, k in zip(below + above, kernels * 2, strict=True)]
        gamma = []
        for i, kernel in enumerate(kernels):
            known = (below[i] + above[i]).at[0].set(split.n_known[i].astype(dtype))
            rows = (kernel * known).sum()
            share = (kernel * below[i]).sum() / jnp.where(rows > 0, rows, 1)
            gamma.append(jnp.where(rows > 0, share, split.gamma[i]))
        densities = (sources.below + sources.above, jnp.stack(weights), self.most, self.own.joint)
        return TaskMixtures(basis, own, *densities), jnp.stack(gamma)

    def status(self, basis: Basis, state: State, split: SplitRows) -> Int[Array, ""]:
        """That of the target's own densities."""
        return self.own.status(basis, state, split)


def _sizes(masks: Bool[Array, "c1 n"], tasks: tuple[TaskDensities, ...], dtype: Any) -> list[Array]:
    """Rows of every task in each group, the target's first."""
    own = masks.sum(axis=-1).astype(dtype)
    return [jnp.concatenate([own[i, None], task.n_rows]) for i, task in enumerate(tasks)]


def _log_weights(n_rows: Float[Array, " t1"], kernel: Float[Array, " t1"]) -> Float[Array, " t1"]:
    """log of N_m k(1, m) over its sum; the target alone where no task has a weight."""
    weight = n_rows * kernel
    total = weight.sum()
    alone = (jnp.arange(len(weight)) == 0).astype(weight.dtype)
    share = jnp.where(total > 0, weight / jnp.where(total > 0, total, 1), alone)
    return jnp.where(share > 0, jnp.log(jnp.where(share > 0, share, 1)), -jnp.inf)
