"""The result of an importance computation: arrays by level and parameter, densities, tables, files."""

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Shaped

from parzax import _checks
from parzax._compile import compiled
from parzax.divergence import AbstractDivergence, RegimeCounts
from parzax.importance import Importance
from parzax.importance.layout import Block, cell_values, layout
from parzax.kernels import AbstractKernel
from parzax.lens._files import UNREADABLE
from parzax.lens.logs import ImportReport
from parzax.lens.results.arrays import ResultArrays
from parzax.lens.results.base import ReadTable
from parzax.lens.results.estimator import GridEstimator
from parzax.lens.results.good_values import GoodValues, good_values
from parzax.lens.results.table import importance_table
from parzax.lens.results.uncertainty import Uncertainty
from parzax.space import Domain, Space

# Files of `save`: version of the format, prefix of the uncertainty's arrays, names of the estimates' arrays.
_FORMAT, _SAMPLED = 1, "uncertainty_"
_ARRAYS = tuple(field.name for field in fields(Importance))


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


@dataclass(frozen=True, eq=False)
class ImportanceResult(ResultArrays):
    """Importances at q levels for d parameters, with the counts and densities from which they were computed.

    Leading axes "..." are the seeds of the observations; all arrays are NumPy.

    Attributes:
        estimates: `parzax.importance.Importance`, in NumPy; its attributes are those of the result too.
            A debiased ``variance`` may be negative; for importances it counts as 0, and other variances are
            reduced in return. If bounds move, ``divergence`` is a mean over pools with similar bounds,
            weighted so that Eq. 11 gives the sum over the pools.
        space: the search space.
        target_quantile: (q,) requested levels.
        region_quantile: level of the region.
        report: how the log was read.
        uncertainty: intervals, ranks and p-values from ``n_resamples`` samples of the log, or None.
    """

    def density(self, name: str) -> list[RegimeDensity]:
        """p_T, p_R and their ratio on the grid, per regime of parameter ``name``: which values are good.

        The densities are masses per cell at every level, smoothed by a kernel; `parzax.divergence.Explained`
        compares unsmoothed counts instead. If a set has no rows in the regime, its density is the prior. If
        bounds move, values are places between them, from 0 to 1, and the rows of all pools are joined.
        """
        grid, dtype = self.estimator.grid, self.importance.dtype
        j, out = self.space.index(name), []
        blocks = [block for block in layout(self.space, grid).blocks if block.parameter == j]
        for regime, domain in enumerate(self.space[name]):
            block, *pools = (block for block in blocks if block.regime == regime)
            counts, values = self._counts_of(block), cell_values(domain, grid)
            if pools and (pooled := self._counts_of(*pools)).any():
                block, counts, values = pools[0], pooled, np.linspace(0, 1, pools[0].n_cells).tolist()
            shape = (*counts.shape[:-2], counts.shape[-2] - 1, counts.shape[-1])
            if block.family is None:  # a single value: mass 1 in the only cell
                target = region = np.ones(shape, dtype)
            else:
                how = self.estimator.divergence, block.family, self.reference == "uniform"
                # The densities get the precision of the result, which may differ from the caller's setting.
                with jax.enable_x64(dtype == np.float64):
                    densities = _densities(counts.reshape(-1, *counts.shape[-2:]), *how)
                target, region = (np.asarray(density).reshape(shape) for density in densities)
            out.append(RegimeDensity(domain, values, target, region, target / region, counts))
        return out

    def _counts_of(self, *blocks: Block) -> np.ndarray:
        """(..., q + 1, g) counts of the cells of blocks of one size, added up."""
        columns = [self.counts[..., block.start : block.start + block.n_cells] for block in blocks]
        return np.sum(columns, axis=0, dtype=self.counts.dtype)

    def good_values(self, level: int | None = None) -> list[GoodValues]:
        """The values of each parameter that are over-represented among the best rows, see `GoodValues`.

        They are those of the ``level``-th level (by default `usual_level`), the most important parameter
        first. If a single log was tested against chance, parameters not above chance are left out.

        >>> import numpy as np, parzax as px
        >>> x = np.random.default_rng(0).uniform(size=(1000, 1))
        >>> obs = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), x, (x[:, 0] - 0.3) ** 2)
        >>> (good,) = px.cond_ped_anova(obs, 0.2).good_values()
        >>> good.parameter, [round(float(end), 1) for end in good.values], good.target > 0.9
        ('x', [0.2, 0.4], True)
        """
        return good_values(self, self.density, self.usual_level if level is None else level)

    def _table(self) -> ReadTable:
        return importance_table(self)

    def __repr__(self) -> str:
        return self._described("parameter")

    def save(self, path: str | Path) -> None:
        """Write the result to one ``.npz`` file (arrays and JSON text, no pickles)."""
        meta = {
            "format": _FORMAT,
            "space": json.loads(self.space.to_json()),
            "region_quantile": self.region_quantile,
            "estimator": self.estimator.to_dict(),
            "reference": self.reference,
            "report": asdict(self.report),
        }
        arrays = {name: getattr(self, name) for name in (*_ARRAYS, "target_quantile")}
        if (sampled := self.uncertainty) is not None:
            meta["uncertainty"] = {name: getattr(sampled, name) for name in Uncertainty.SETTINGS}
            arrays |= {_SAMPLED + name: getattr(sampled, name) for name in Uncertainty.ARRAYS}
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
            space, levels = Space.from_json(meta["space"]), stored["target_quantile"]
            for name in ("importance", "variance", "inter", "unweighted", "status"):
                if stored[name].shape[-2:] != (len(levels), len(space)):
                    wanted = f"(..., {len(levels)}, {len(space)})"
                    raise ValueError(f"{name} has shape {stored[name].shape}, not {wanted}")
            estimator, reference = GridEstimator.from_dict(meta["estimator"]), str(meta["reference"])
            arrays = {name: stored[name] for name in _ARRAYS}
            estimates, sampled = Importance(**arrays), None
            if "uncertainty" in meta:
                arrays = {name: stored[_SAMPLED + name] for name in Uncertainty.ARRAYS}
                sampled = Uncertainty(**arrays, estimates=estimates, **meta["uncertainty"])
            lists = {key: tuple(value) for key, value in meta["report"].items() if isinstance(value, list)}
            report, region = ImportReport(**(meta["report"] | lists)), float(meta["region_quantile"])
            return cls(estimates, space, levels, region, report, sampled, estimator, reference)


@compiled
def _densities(
    counts: Shaped[Any, "s q1 g"],
    divergence: AbstractDivergence,
    kernel: type[AbstractKernel],
    uniform: bool,
) -> tuple[Float[Array, "s q g"], Float[Array, "s q g"]]:
    return jax.vmap(lambda sets: divergence.densities(RegimeCounts(sets, kernel, uniform=uniform)))(counts)
