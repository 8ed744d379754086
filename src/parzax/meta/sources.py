"""Source tasks: their densities, which are fitted once, and the similarity of a target to each task."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from parzax._compile import compiled
from parzax._numerics import to_device
from parzax.density import Mixture, Smoothing
from parzax.density.basis import Basis
from parzax.meta.comparison import ComparedTasks, Comparison, SimilarityEstimator
from parzax.meta.densities import over_tasks
from parzax.meta.rows import Notes, SourceRows
from parzax.meta.states import Tasks
from parzax.space import Points, Space
from parzax.split import AbstractSplit, SplitRows, State


class Sources(eqx.Module):
    """t source tasks; each has c + 1 densities below and above, for the objective and each constraint."""

    densities: Mixture  # (t, c + 1, 2)
    n_rows: Float[Array, "t c1 2"]  # number of rows of each group
    compared: tuple[ComparedTasks, ...]  # densities of the groups below, for the comparison
    comparison: SimilarityEstimator
    shared: Bool[Array, "t d"] | None  # as in `Tasks`
    notes: Notes = eqx.field(static=True)  # one line for each task

    @classmethod
    def fit(
        cls,
        space: Space,
        rows: list[SourceRows],
        split: AbstractSplit,
        smoothing: Smoothing,
        comparison: Comparison,
    ) -> "Sources":
        """Fit the groups of one or more tasks in the target's space; see `parzax.meta_learn_tpe`."""
        dtype = jnp.result_type(float)
        space.check_dtype(dtype, native=True, arrays=False)
        tasks, basis = Tasks.of(rows, split), smoothing.basis(space, dtype)
        estimator = SimilarityEstimator.of(space, smoothing, comparison)

        masks = np.stack([tasks.below, tasks.above], axis=2)
        densities = _densities(basis, smoothing, tasks.states.points, to_device(masks))
        n_rows = to_device(masks.sum(axis=-1).astype(dtype))
        compared = tuple(tasks.compared(estimator, group) for group in range(masks.shape[1]))
        return cls(densities, n_rows, compared, estimator, tasks.shared, Notes(tasks.report))

    def check_precision(self, dtype: Any) -> None:
        """Raise ValueError if the state has another precision than the densities."""
        fitted = self.n_rows.dtype
        if fitted != dtype:
            remedy = "make both the sampler and the state inside jax.enable_x64(True), or both outside"
            precisions = f"fitted in {fitted}, but the state is {jnp.dtype(dtype)}"
            raise ValueError(f"the sources were {precisions}; {remedy}.")

    @property
    def report(self) -> tuple[str, ...]:
        """(t,) one line per task, which says which rows and parameters could be used."""
        return self.notes.report

    def there(self, group: int) -> Bool[Array, " t"]:
        """Mask of the tasks that have rows in the group below."""
        return self.n_rows[:, group, 0] > 0

    def similarities(self, state: State, split: SplitRows, group: int = 0) -> Float[Array, " t"]:
        """Similarity s_m of the target to each source task, from the rows below (arXiv 2212.06751).

        All similarities are 1 while the target has too few rows below to keep a single parameter. A task is
        compared over the kept parameters that it has. Its similarity is 0 if it has none of them, or no row
        below.
        """
        compared, there, below = self.compared[group], self.there(group), split.below[group]
        # The importance of a parameter is averaged over the tasks that have it.
        measured = there[:, None] if self.shared is None else there[:, None] & self.shared
        reduction, n_rows = self.comparison.reduction, split.n_measured[group]
        size = split.most if group == 0 else state.capacity
        target, counted = self.comparison.density(state.points, below, size), below | split.above[group]
        of_target = reduction.raw_importance(self.comparison.basis, target, state.points, counted)
        kept, n = reduction.kept(of_target, compared.importance, measured, below.sum(), n_rows)
        kept = kept if self.shared is None else kept[None] & self.shared
        alike = self.comparison.similarities(target, compared, kept)
        some = jnp.broadcast_to(kept.any(axis=-1), there.shape)
        return jnp.where(there, jnp.where(n > 0, jnp.where(some, alike, 0), 1), 0)


@compiled
def _densities(basis: Basis, smoothing: Smoothing, rows: Points, masks: Bool[Array, "t c1 2 n"]) -> Mixture:
    """Densities (t, c + 1, 2) of the groups of t tasks."""
    return over_tasks(lambda at, masks: jax.vmap(partial(smoothing.mixture, basis, at))(masks), rows, masks)
