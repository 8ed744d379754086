"""`Tabular`: benchmark tables as problems; an evaluation reads a row of the table."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax.lens.problems.table_file import TableFile, read_table
from parzax.samplers.problem import AbstractProblem, Evaluation
from parzax.space import Ordinal, Space


class Oracle(NamedTuple):
    """The best values that a table contains under the constraints, in float64.

    An entry is one seed of one configuration. It is feasible if all its constraint values are <= 0.

    Attributes:
        best: (m,) smallest value of each objective over feasible entries; NaN without feasible entries.
        worst: (m,) largest value of each objective over feasible entries; without constraints it can serve
            as reference point of the hypervolume.
        best_mean: (m,) smallest mean over seeds, among configurations whose entries are all feasible.
        feasible_fraction: fraction of the existing entries that are feasible.
    """

    best: np.ndarray
    worst: np.ndarray
    best_mean: np.ndarray
    feasible_fraction: np.ndarray


class Tabular(AbstractProblem):
    """A benchmark table as a problem: HPOlib, NAS-Bench-201, NMT-Bench, or any table in the same format.

    An evaluation looks up its configuration and draws one of its recorded training seeds uniformly; the seed
    is the same for all objectives and constraints. Objectives are minimised: an objective recorded as
    "maximize" (bleu) is negated when the table is loaded. A constraint is the value minus the threshold. It
    is computed in float64 on the host and rounded so that its sign does not change, so an entry that is
    feasible in float64 is also feasible in float32 (float32 cannot tell the runtimes of NAS-Bench-201 apart).

    Make it with `Tabular.load`. It is a pytree, so tables with several thresholds can be one batch::

        tables = [px.samplers.Tabular.load(path, constraint_quantiles={"size": q}) for q in (0.1, 0.5)]
        batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *tables)
        jax.vmap(lambda table: table(key, x))(batch)          # objectives (2, m), constraints (2, c)

    Attributes:
        losses: (n, s, m) objectives of the n configurations; existing seeds come first, the rest is NaN.
        excess: (n, s, c) values of the constraints minus their thresholds.
        n_seeds: (n,) number of existing seeds; 0 for a failed training.
        thresholds: (c,) float64, in units of the metrics.
        oracle: the best values in the table; ``feasible_optimum`` is ``oracle.best``.
        objective_names, constraint_names: names of the metrics; static.
    """

    losses: Float[Array, "n s m"]
    excess: Float[Array, "n s c"]
    n_seeds: Int[Array, " n"]
    thresholds: np.ndarray
    oracle: Oracle
    feasible_optimum: np.ndarray
    space: Space = eqx.field(static=True)
    name: str = eqx.field(static=True)
    n_objectives: int = eqx.field(static=True)
    n_constraints: int = eqx.field(static=True)
    objective_names: tuple[str, ...] = eqx.field(static=True)
    constraint_names: tuple[str, ...] = eqx.field(static=True)

    @classmethod
    def load(
        cls,
        path: str | Path,
        objectives: Sequence[str],
        *,
        constraint_quantiles: Mapping[str, float] | None = None,
        constraint_thresholds: Mapping[str, float] | None = None,
    ) -> "Tabular":
        """Read a table: an npz file, and a JSON header with the same name in its folder.

        Args:
            path: path such as "nasbench201/cifar10.npz". A relative path starts at the folder in the
                environment variable PARZAX_DATA, or at the working directory if it is not set.
            objectives: names of metrics: valid_mse, runtime, n_params (hpolib); valid_error, runtime,
                size_mb (nasbench201); bleu, decoding_time (nmt_bench). If a training failed, these metrics
                and the evaluation are NaN. bleu_padded and decoding_time_padded (nmt_bench) have the worst
                possible value instead.
            constraint_quantiles: constraints of the header ("size", "runtime") with one of the quantiles that
                the header lists. With {"size": 0.1} about a tenth of the configurations is feasible.
            constraint_thresholds: metrics, or constraints of the header, with thresholds in their units. A
                value is feasible at or below the threshold; for a maximised metric, at or above it.
                Constraints are in the order of the mappings, ``constraint_quantiles`` first.

        Raises:
            ValueError: a missing or damaged file, or a name or quantile that it does not contain.
        """
        table = read_table(path)
        if isinstance(objectives, str) or not objectives:
            raise ValueError(f"objectives must be a list of names, got {objectives!r}.")
        names = tuple(objectives)
        if len(set(names)) < len(names):
            raise ValueError(f"objectives must be different, got {objectives!r}.")
        metrics = [table.metrics[_checks.one_of("an objective", name, table.metrics)] for name in names]
        limits = _find_limits(table, constraint_quantiles or {}, constraint_thresholds or {})
        parts = [metric.sign * metric.values + 0.0 for metric in metrics]  # adding 0.0 turns -0.0 into 0.0
        for _, name, threshold in limits:
            # Floats have gradual underflow, so the difference is 0 only if value and threshold are equal.
            parts.append(table.metrics[name].sign * (table.metrics[name].values - threshold))
        everything = np.stack(np.broadcast_arrays(*parts), axis=-1)  # (n, s, columns)
        exists = ~np.isnan(everything).any(axis=-1)
        order = np.argsort(~exists, axis=1, kind="stable")
        everything = np.take_along_axis(everything, order[..., None], axis=1)
        losses, excess = everything[..., : len(names)], everything[..., len(names) :]
        n_seeds = exists.sum(axis=1)
        oracle = _find_oracle(losses, excess, n_seeds)
        return cls(
            losses=jnp.asarray(losses),
            excess=jnp.asarray(_round_excess(excess, jnp.result_type(float))),
            n_seeds=jnp.asarray(n_seeds, dtype=jnp.int32),
            thresholds=np.array([threshold for *_, threshold in limits], dtype=np.float64),
            oracle=oracle,
            feasible_optimum=oracle.best,
            space=table.space,
            name=table.name,
            n_objectives=len(names),
            n_constraints=len(limits),
            objective_names=names,
            constraint_names=tuple(name for name, *_ in limits),
        )

    def encode(self, x: Any) -> Int[Array, ""]:
        """Row index of one configuration x (d,) in native units; -1 for NaN or an invalid category code.

        A value of an ordinal parameter is replaced by the nearest one (on the log axis for a log parameter),
        so values in float32 are found too.
        """
        x = _checks.floating_array("x", x)
        limits, strides, n_codes = _lattice(self.space)
        choice = jnp.sum(x[:, None] > jnp.asarray(limits, dtype=x.dtype), axis=1, dtype=jnp.int32)
        code = (x >= 0) & (x < n_codes.astype(x.dtype)) & (x == jnp.floor(x))
        valid = jnp.all(jnp.where(n_codes > 0, code, ~jnp.isnan(x)))
        return jnp.where(valid, jnp.sum(choice * strides, dtype=jnp.int32), -1)

    def decode(self, row: Any) -> Float[Array, " d"]:
        """Configuration (d,) of a row from 0 to n - 1, in native units, with categories as codes."""
        choices = jnp.unravel_index(jnp.asarray(row), [d[0].n_values for d in self.space.domains])
        pairs = zip(self.space.domains, choices, strict=True)
        return jnp.stack([jnp.asarray(domain.list_values())[choice] for (domain,), choice in pairs])

    def _evaluate(self, key: PRNGKeyArray, x: Float[Array, " d"]) -> Evaluation:
        row, seed = self.encode(x), 0
        exists, row = row >= 0, jnp.maximum(row, 0)
        if self.losses.shape[1] > 1:
            n = self.n_seeds[row]
            # This takes half the random bits of `randint`. The bias is negligible: 2^23 steps for n seeds.
            seed = (jax.random.uniform(key) * n.astype(float)).astype(n.dtype)
            seed = jnp.clip(seed, 0, jnp.maximum(n - 1, 0))
        losses, excess = (jnp.where(exists, a[row, seed], jnp.nan) for a in (self.losses, self.excess))
        return losses, excess


def _find_limits(
    table: TableFile, quantiles: Mapping[str, float], thresholds: Mapping[str, float]
) -> list[tuple[str, str, float]]:
    """Name, metric and threshold of each constraint."""
    limits = []
    for name, value in quantiles.items():
        _checks.one_of("a name in constraint_quantiles", name, table.constraints)
        metric, levels = table.constraints[name]
        level = round(_checks.real_number(f"constraint_quantiles[{name!r}]", value), 12)
        level = _checks.one_of(f"constraint_quantiles[{name!r}]", level, levels)
        limits.append((name, metric, levels[level]))
    metrics = {name: metric for name, (metric, _) in table.constraints.items()}
    metrics |= {name: name for name in table.metrics if name not in metrics}
    for name, value in thresholds.items():
        metric = metrics[_checks.one_of("a name in constraint_thresholds", name, metrics)]
        limits.append((name, metric, _checks.real_number(f"constraint_thresholds[{name!r}]", value)))
    names = [name for name, *_ in limits]
    if len(set(names)) < len(names):
        raise ValueError(f"constraints must be different, got {', '.join(map(repr, names))}.")
    return limits


def _round_excess(excess: np.ndarray, dtype: Any) -> np.ndarray:
    """``excess`` rounded to ``dtype``; positive values stay finite and >= the smallest normal number."""
    bounds = np.finfo(dtype)
    result = np.clip(excess, float(bounds.min), float(bounds.max)).astype(dtype)
    return np.where(excess > 0, np.maximum(result, bounds.tiny), result)


def _find_oracle(losses: np.ndarray, excess: np.ndarray, n_seeds: np.ndarray) -> Oracle:
    def extreme(function: Any, rows: np.ndarray) -> np.ndarray:
        return function(rows, axis=0) if len(rows) else np.full(rows.shape[1:], np.nan)

    exists = np.arange(losses.shape[1]) < n_seeds[:, None]
    feasible = exists & (excess <= 0).all(axis=-1)
    always = (feasible == exists).all(axis=1) & (n_seeds > 0)
    total = np.where(exists[..., None], losses, 0.0).sum(axis=1)
    return Oracle(
        best=extreme(np.min, losses[feasible]),
        worst=extreme(np.max, losses[feasible]),
        best_mean=extreme(np.min, total[always] / n_seeds[always, None]),
        feasible_fraction=np.asarray(feasible.sum() / max(exists.sum(), 1)),
    )


@lru_cache(maxsize=64)
def _lattice(space: Space) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Limits (d, k) between neighbouring values, strides (d,), numbers of codes (d,) (0 for an ordinal)."""
    sizes = [int(domain.n_values or 0) for (domain,) in space.domains]
    limits = np.full((len(sizes), max(max(sizes) - 1, 1)), np.inf)
    for d, (domain,) in enumerate(space.domains):
        values = domain.list_values()
        lower, upper = values[:-1], values[1:]
        log = isinstance(domain, Ordinal) and domain.log
        limits[d, : len(lower)] = np.sqrt(lower * upper) if log else (lower + upper) / 2
    strides = np.cumprod([1, *sizes[:0:-1]])[::-1]
    n_codes = [0 if isinstance(d, Ordinal) else n for (d,), n in zip(space.domains, sizes, strict=True)]
    return limits, strides.astype(np.int32), np.array(n_codes, np.int32)
