"""`Tabular`: benchmark tables as problems; an evaluation reads a row of the table."""

from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax.samplers.problem import Evaluation, Problem
from parzax.space import Ordinal, Space


class Tabular(Problem):
    """A benchmark table as a problem: HPOlib, NAS-Bench-201, NMT-Bench, or any table in the same format.

    An evaluation looks up its configuration and draws one of its recorded training seeds uniformly; the seed
    is the same for all objectives and constraints. Objectives are minimised: an objective recorded as
    "maximize" (bleu) is negated when the table is loaded. A constraint is the value minus the threshold. It
    is computed in float64 on the host and rounded so that its sign does not change, so an entry that is
    feasible in float64 is also feasible in float32 (float32 cannot tell the runtimes of NAS-Bench-201 apart).

    `benchmarks.load_table`, in the repository, reads one. It is a pytree, so tables with several thresholds
    can be one batch::

        tables = [load_table(path, ["loss"], constraint_quantiles={"size": q}) for q in (0.1, 0.5)]
        batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *tables)
        jax.vmap(lambda table: table(key, x))(batch)          # losses (2, m), constraints (2, c)

    Attributes:
        losses: (n, s, m) losses of the n configurations; existing seeds come first, the rest is NaN.
        excess: (n, s, c) values of the constraints minus their thresholds.
        n_seeds: (n,) number of existing seeds; 0 for a failed training.
        thresholds: (c,) float64, in units of the metrics.
        oracle: the best and worst values in the table; ``feasible_optimum`` is ``oracle.best``.
        objective_names, constraint_names: names of the metrics; static.
    """

    losses: Float[Array, "n s m"] = eqx.field(kw_only=True)
    excess: Float[Array, "n s c"] = eqx.field(kw_only=True)
    n_seeds: Int[Array, " n"] = eqx.field(kw_only=True)
    thresholds: np.ndarray = eqx.field(kw_only=True)
    oracle: Any = eqx.field(kw_only=True)
    objective_names: tuple[str, ...] = eqx.field(static=True, kw_only=True)
    constraint_names: tuple[str, ...] = eqx.field(static=True, kw_only=True)
    fn: Any = eqx.field(init=False, default=None)  # evaluations read a row instead

    def __post_init__(self) -> None:
        """Nothing to convert: the values of a file were checked, and stay in float64 on the host."""

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
