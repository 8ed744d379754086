"""Importances by level and parameter, with the counts and densities behind them, as one value and file."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Shaped

from parzax import _checks
from parzax._compile import compiled
from parzax.divergence import AbstractDivergence, Explained, Pearson, RegimeCounts
from parzax.importance import Grid, Importance
from parzax.importance.flags import low_regimes
from parzax.importance.layout import Block, cell_values, layout
from parzax.kernels import AbstractKernel
from parzax.lens._files import UNREADABLE
from parzax.lens.logs import ImportReport
from parzax.lens.results import words
from parzax.lens.results.base import AbstractResult, attributes, mean_and_error
from parzax.lens.results.good_values import GoodValues, good_values
from parzax.lens.results.phrases import interval_text, mean_text, p_text, size_text
from parzax.lens.results.uncertainty import Uncertainty
from parzax.space import Domain, Space
from parzax.status import OF_LEVELS, Status, drop_consequences

# Files of `save`: version of the format, prefix of the uncertainty's arrays, names of the estimates' arrays.
_FORMAT, _SAMPLED = 2, "uncertainty_"
_ARRAYS = tuple(x.name for x in fields(Importance))
# Divergences that a file can hold.
_DIVERGENCES = {kind.__name__: kind for kind in (Explained, Pearson)}


@dataclass(frozen=True)
class Method:
    """How importances are computed: arguments of `parzax.cond_ped_anova`."""

    divergence: AbstractDivergence = field(default_factory=Explained)
    grid: Grid = field(default_factory=Grid)
    reference: str = "region"

    @property
    def balance(self) -> bool:
        """Whether importances subtract negative variances from positive ones; Optuna's do not."""
        return not self.grid.optuna_rounding

    @property
    def how(self) -> tuple[Any, ...]:
        """Divergence, reference, balance, and whether 1/d stands where nothing is positive, as in Optuna."""
        return self.divergence, self.reference, self.balance, not self.balance


class RegimeDensity(NamedTuple):
    """Densities of one regime of one parameter on its grid.

    Attributes:
        domain: the regime's domain.
        values: (g,) native value at the centre of each cell, or the choices; where bounds move
            (`parzax.Varying`), places between them, 0 at the lower and 1 at the upper one.
        target: (..., q, g) p_T, mass per cell.
        region: (..., q, g) p_R, mass per cell.
        ratio: (..., q, g) p_T / p_R; above 1 where good configurations are over-represented.
        rows: (..., q + 1, g) rows (weight) per cell of the target sets, and of the region last.
    """

    domain: Domain
    values: list
    target: np.ndarray
    region: np.ndarray
    ratio: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class ImportanceResult(AbstractResult):
    """Importances at q levels for d parameters, with the counts and densities from which they were computed.

    Leading axes "..." are the seeds of the observations; all arrays are NumPy. `print` and notebooks show
    what mattered, how sure that is and what to do next, and a table.

    Attributes:
        estimates: `parzax.importance.Importance`, in NumPy; its attributes are those of the result too.
            A debiased ``variance`` may be negative; for importances it counts as 0, and other variances are
            reduced in return. If bounds move, ``divergence`` is a mean over pools with similar bounds,
            weighted so that Eq. 11 gives the sum over the pools.
        space: the search space.
        levels: (q,) requested levels.
        region: level of the region.
        report: how the log was read.
        goal: what the best rows have, such as "smallest loss".
        facts: sentences on how the result was computed.
        method: how it was computed: divergence, grid and reference.
        sampled: `Uncertainty` from samples and shuffles of the log; see ``uncertainty``.
        learned: function that returns whether the order of the rows shows a search that learns.
    """

    estimates: Importance
    method: Method = field(default_factory=Method)
    sampled: Uncertainty | None = None
    learned: Callable[[], bool] = field(default_factory=lambda: bool)

    kind: ClassVar[str] = "parameter"

    variance, importance, inter = attributes("variance", "importance", "inter")
    unweighted, divergence, counts = attributes("unweighted", "divergence", "counts")
    regime_target, regime_region = attributes("regime_target", "regime_region")
    status, n_target, n_region = attributes("status", "n_target", "n_region")

    @property
    def entries(self) -> tuple[str, ...]:
        """Parameter names, in the order of the space."""
        return self.names

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """Intervals and p-values; NaN where no samples or shuffles were asked for."""
        return self.sampled or Uncertainty.unknown(self.estimates, self.method.balance)

    @property
    def alpha(self) -> np.ndarray:
        """(..., q, d, k) probability of each regime in the target, "inactive" last."""
        return self.regime_target / _divisor(self.n_target)[..., None, None]

    @property
    def beta(self) -> np.ndarray:
        """(..., q, d, k) probability of each regime in the region, the same at every level."""
        share = self.regime_region / _divisor(self.n_region)[..., None, None]
        return np.broadcast_to(share[..., None, :, :], self.regime_target.shape)

    @property
    def standard(self) -> np.ndarray:
        """(..., q, d) standard local marginal variance, within + inter (Eq. 17)."""
        return self.variance + self.inter

    @property
    def has_importance(self) -> np.ndarray:
        """(..., q) whether any parameter has an importance at this level; if not, a status says why."""
        return np.asarray((self.importance > 0).any(axis=-1))

    @property
    def is_defined(self) -> np.ndarray:
        """(..., q, d) whether the importance is defined; if not, tables show "-" and JSON has null.

        It is undefined at levels where no parameter has an importance (`has_importance`), and for parameters
        whose rows cannot be compared (UNIDENTIFIABLE).
        """
        return self.has_importance[..., None] & (self.status & int(Status.UNIDENTIFIABLE) == 0)

    @property
    def seeds_counted(self) -> np.ndarray:
        """(q,) number of seeds that `over_seeds` counts at each level: those that have an importance."""
        return self.by_seed(self.has_importance).sum(axis=0)

    @property
    def regime_status(self) -> np.ndarray:
        """(..., q, d, k) status bits of each regime, "inactive" last (always 0).

        LOW_DATA is set if the regime has ten rows or fewer in the target, unless a random target would be
        expected to have more than ten rows there. It is also set if the regime has ten rows or fewer in the
        region outside the target. SPARSE_REGIME is set if the regime was left out of the sum.
        """
        target, region = self.regime_target[..., :-1], self.regime_region[..., None, :, :-1]
        n_target, n_region = self.n_target[..., None, None], self.n_region[..., None, None, None]
        low = low_regimes(target, np.broadcast_to(region, target.shape), n_target, n_region)
        sparse = (region > 0) & (region < self.method.divergence.min_rows)
        bits = np.where(low, int(Status.LOW_DATA), 0) | np.where(sparse, int(Status.SPARSE_REGIME), 0)
        return np.pad(bits.astype(np.int32), [(0, 0)] * (bits.ndim - 1) + [(0, 1)])

    @property
    def regime_importance(self) -> np.ndarray:
        """(..., q, d, k) each regime's part of the importance of each parameter, "inactive" last (always 0).

        Regime i adds (n_T/n_R)^2 alpha_i^2 / beta_i D_i to the variance (Eq. 11, arXiv 2601.20800). Its part
        of the importance is proportional to this term; debiased divergences below 0 count as 0. The parts
        sum over k to the importance. The exception is an importance that is positive only by convention (1/d
        on Optuna's grid): its parts are 0.
        """
        # n_T and n_R are the same in all regimes of a parameter, so they cancel. A regime without rows in the
        # region has none in the target either.
        term = np.square(self.alpha) * np.maximum(self.divergence, 0) / _divisor(self.beta)
        return self.importance[..., None] * term / _divisor(term.sum(axis=-1, keepdims=True))

    def over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error of the importance over the seeds that have one, (q, d) each.

        A seed without any importance at a level (`has_importance`; for example NO_DATA or ALL_ZERO) is left
        out at that level; `seeds_counted` is the number of seeds that remain. With 1/d by convention every
        seed counts. Means are 0 where no seed counts, and standard errors are NaN where fewer than two seeds
        count.
        """
        return mean_and_error(self.by_seed(self.importance), self.by_seed(self.has_importance))

    def may_matter(self, level: int, parameters: Any) -> np.ndarray:
        """(...) whether any of ``parameters`` (..., k) is above chance; True if this was not tested."""
        parameters = np.asarray(parameters)
        if self.n_seeds > 1:
            return np.ones(parameters.shape[:-1], bool)
        return self.uncertainty.any_above_chance(level, parameters)

    @cached_property
    def above(self) -> np.ndarray:
        """(q, d) parameters with an importance that are above chance.

        A single log decides by its p-values, if it was tested. Otherwise a parameter is above chance if its
        variance is not below that of a random target in most seeds.
        """
        chance = self.usual_status & int(Status.NOT_ABOVE_CHANCE) != 0
        if self.n_seeds == 1:
            p = self.by_seed(self.uncertainty.p_adjusted)[0]
            chance |= ~self.by_seed(self.uncertainty.above_chance)[0] & ~np.isnan(p)
        return (self.over_seeds()[0] > 0) & ~chance

    def cells(self, level: int) -> dict[str, list[str]]:
        """Importance, interval, p, active rows and remarks of each parameter at a level."""
        known, active = (
            self.uncertainty,
            self.regime_region[..., :-1].sum(axis=-1).reshape(-1, len(self.names)),
        )
        defined = np.asarray(self.by_seed(self.is_defined)[:, level].any(axis=0))
        mean, error = (np.where(defined, x[level], np.nan) for x in self.over_seeds())
        columns = {"importance": list(map(mean_text, mean, error))}
        if self.n_seeds == 1:
            ends = np.where(defined[:, None], self.by_seed(known.importance_interval)[0, level], np.nan)
            columns[f"{100 * known.level:g} % interval"] = [interval_text(*pair) for pair in ends]
            p, adjusted = (self.by_seed(x)[0, level] for x in (known.p_value, known.p_adjusted))
            columns["p"] = [p_text(*pair, known.n_shuffles) for pair in zip(p, adjusted, strict=True)]
        columns["rows"] = [size_text(column) for column in active.T]
        bits = drop_consequences(self.usual_status[level]) & ~int(OF_LEVELS | Status.NOT_ABOVE_CHANCE)
        chance = ~self.above[level] & (self.usual_status[level] & int(words.NOT_TESTED) == 0)
        remarks = zip(chance, bits, strict=True)
        facts = [
            ["not above chance"] * bool(one) + [bit.fact for bit in Status(int(of))] for one, of in remarks
        ]
        columns["remarks"] = ["; ".join(dict.fromkeys(texts)) for texts in facts]
        return columns

    def sentences(self, level: int | None = None) -> list[str]:
        """What mattered, how sure that is, and what to do next, at a level (by default `usual_level`)."""
        return words.importance_sentences(self, self.usual_level if level is None else level)

    def details(self) -> list[str]:
        """How the numbers of the table were made, a line each."""
        method, known = self.method, self.uncertainty
        against = "the region" if method.reference == "region" else "the uniform density"
        lines = [
            "importance: by conditional PED-ANOVA (arXiv 2601.20800, Eq. 8); those of a level add up to 1",
            f"compared with {against}: {method.divergence!r} on {method.grid!r}, {self.variance.dtype}",
        ]
        if known.n_resamples:
            samples = f"{known.n_resamples} samples of the rows ({known.method})"
            lines.append(
                f"interval: {100 * known.level:g} %, from {samples}; it holds 0 where p is above 0.05"
            )
        if known.n_shuffles:
            shuffles = f"{known.n_shuffles} shuffles of the losses"
            lines.append(f"p: of no effect, by {shuffles}, adjusted for the parameters of a level (Holm)")
        return lines

    def density(self, name: str) -> list[RegimeDensity]:
        """p_T, p_R and their ratio on the grid, per regime of parameter ``name``: which values are good.

        The densities are masses per cell at every level, smoothed by a kernel; `parzax.divergence.Explained`
        compares unsmoothed counts instead. If a set has no rows in the regime, its density is the prior. If
        bounds move, values are places between them, from 0 to 1, and the rows of all pools are joined.
        """
        if name not in self._densities:
            self._densities[name] = [self._density(name, i) for i in range(len(self.space[name]))]
        return self._densities[name]

    @cached_property
    def _densities(self) -> dict[str, list[RegimeDensity]]:
        return {}

    def _density(self, name: str, regime: int) -> RegimeDensity:
        """The density of one regime."""
        grid, dtype, domain = self.method.grid, self.importance.dtype, self.space[name][regime]
        where = self.space.index(name), regime
        blocks = layout(self.space, grid).blocks
        block, *pools = (block for block in blocks if (block.parameter, block.regime) == where)
        counts, values = self._counts_of(block), cell_values(domain, grid)
        if pools and (pooled := self._counts_of(*pools)).any():
            block, counts, values = pools[0], pooled, np.linspace(0, 1, pools[0].n_cells).tolist()
        shape = (*counts.shape[:-2], counts.shape[-2] - 1, counts.shape[-1])
        if block.family is None:  # a single value: mass 1 in the only cell
            target = region = np.ones(shape, dtype)
        else:
            how = self.method.divergence, block.family, self.method.reference == "uniform"
            # The densities get the precision of the result, which may differ from the caller's setting.
            with jax.enable_x64(dtype == np.float64):
                densities = _densities(counts.reshape(-1, *counts.shape[-2:]), *how)
            target, region = (np.asarray(density).reshape(shape) for density in densities)
        return RegimeDensity(domain, values, target, region, target / region, counts)

    def _counts_of(self, *blocks: Block) -> np.ndarray:
        """(..., q + 1, g) counts of the cells of blocks of one size, added up."""
        columns = [self.counts[..., block.start : block.start + block.n_cells] for block in blocks]
        return np.sum(columns, axis=0, dtype=self.counts.dtype)

    def good_values(self, level: int | None = None) -> list[GoodValues]:
        """The values of each parameter that are over-represented among the best rows, see `GoodValues`.

        They are those of the ``level``-th level (by default `usual_level`), the most important parameter
        first. Parameters not above chance are left out.

        >>> import numpy as np, parzax as px
        >>> x = np.random.default_rng(0).uniform(size=(1000, 1))
        >>> obs = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), x, (x[:, 0] - 0.3) ** 2)
        >>> (good,) = px.cond_ped_anova(obs, 0.2).good_values()
        >>> good.parameter, [round(float(end), 1) for end in good.values], good.target > 0.9
        ('x', [0.2, 0.4], True)
        """
        return good_values(self, self.usual_level if level is None else level)

    def _columns(self) -> dict[str, np.ndarray]:
        columns = {"parameter": np.array(self.names, dtype=object)}
        for name in ("importance", "variance", "standard", "inter", "unweighted"):
            columns[name] = getattr(self, name)
        known = self.uncertainty
        ends = {"importance": known.importance_interval, "variance": known.variance_interval}
        columns |= {f"{name}_low": x[..., 0] for name, x in ends.items()}
        columns |= {f"{name}_high": x[..., 1] for name, x in ends.items()}
        columns |= {"p_value": known.p_value, "p_adjusted": known.p_adjusted}
        return columns | {"n_target": self.n_target[..., None], "n_region": self.n_region[..., None, None]}

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values; see `AbstractResult.to_dict`. The good values are of the level shown."""
        return super().to_dict() | {"good_values": [good._asdict() for good in self.good_values()]}

    def save(self, path: str | Path) -> None:
        """Write the result to one ``.npz`` file (arrays and JSON text, no pickles).

        Raises:
            ValueError: for a divergence that is not parzax's.
        """
        known = self.uncertainty
        divergence: Any = self.method.divergence
        if _DIVERGENCES.get(name := type(divergence).__name__) is not type(divergence):
            raise ValueError(f"a file cannot hold the divergence {divergence!r}, which is not parzax's.")
        meta = {
            "format": _FORMAT,
            "space": json.loads(self.space.to_json()),
            "region": self.region,
            "method": [[name, asdict(divergence)], asdict(self.method.grid), self.method.reference],
            "report": asdict(self.report),
            "goal": self.goal,
            "facts": list(self.facts),
            "learned": bool(self.learned()),
            "uncertainty": {name: getattr(known, name) for name in Uncertainty.SETTINGS},
        }
        arrays = {name: getattr(self, name) for name in (*_ARRAYS, "levels")}
        arrays |= {_SAMPLED + name: getattr(known, name) for name in Uncertainty.ARRAYS}
        with open(path, "wb") as file:
            np.savez_compressed(file, meta=np.asarray(json.dumps(meta)), **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "ImportanceResult":
        """Read a file written by `save`; nothing in it is executed.

        Raises:
            ValueError: if the file is missing, truncated, or not such a file.
        """
        with _checks.explain(f"cannot read an importance result from {str(path)!r}", UNREADABLE):
            # The file is opened here because np.load would leave a truncated file open.
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as data:
                stored = dict(data)
            meta = json.loads(str(stored["meta"]))
            if meta["format"] != _FORMAT:
                raise ValueError(f"format {meta['format']} is not {_FORMAT}")
            space, levels = Space.from_json(meta["space"]), stored["levels"]
            for name in ("variance", "inter", "unweighted", "status"):
                if stored[name].shape[-2:] != (len(levels), len(space)):
                    wanted = f"(..., {len(levels)}, {len(space)})"
                    raise ValueError(f"{name} has shape {stored[name].shape}, not {wanted}")
            (name, settings), grid, reference = meta["method"]
            method = Method(_DIVERGENCES[name](**settings), Grid(**grid), reference)
            arrays = {name: stored[name] for name in _ARRAYS}
            estimates = Importance(**arrays)
            arrays = {name: stored[_SAMPLED + name] for name in Uncertainty.ARRAYS}
            known = Uncertainty(**arrays, estimates=estimates, **meta["uncertainty"])
            lists = {key: tuple(value) for key, value in meta["report"].items() if isinstance(value, list)}
            report, learned = ImportReport(**(meta["report"] | lists)), bool(meta["learned"])
            how = meta["goal"], tuple(meta["facts"]), method, known, lambda: learned
            return cls(estimates, space, levels, float(meta["region"]), report, *how)


def _divisor(total: np.ndarray) -> np.ndarray:
    """``total``, with 1 in place of 0, to divide by."""
    return np.where(total > 0, total, 1)


def seeds_with_data(status: np.ndarray) -> np.ndarray:
    """(s, q) seeds whose variances count, from a status (..., q, d): all seeds except those with NO_DATA."""
    # A seed with ALL_ZERO has no importances, but its variances (0 or below) are valid estimates: without
    # them the mean would be too high.
    flat = status.reshape(-1, *status.shape[-2:])
    return (flat & int(Status.NO_DATA) == 0).all(axis=-1)


@compiled
def _densities(
    counts: Shaped[Any, "s q1 g"],
    divergence: AbstractDivergence,
    kernel: type[AbstractKernel],
    uniform: bool,
) -> tuple[Float[Array, "s q g"], Float[Array, "s q g"]]:
    return jax.vmap(lambda sets: divergence.densities(RegimeCounts(sets, kernel, uniform=uniform)))(counts)
