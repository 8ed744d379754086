"""Grid estimators of importance, as data, and the Parzen densities that they make of counts."""

from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Shaped

from parzax import _checks
from parzax._numerics import cell_sum
from parzax.importance.grid.layout import GridSpec
from parzax.importance.grid.resolutions import Resolutions
from parzax.kernels import AbstractKernel, TruncatedNormal, in_grid
from parzax.kernels.bandwidth import MINIMUM, scott_on_grid


@dataclass(frozen=True)
class GridEstimator:
    """Everything in which grid estimators of importance differ, as data.

    The default explains membership in the target by functions of the parameter, at the resolutions that
    predict it best, and subtracts what chance would explain. So it converges as rows grow, for categories
    and for effects of any shape that cells can follow; a constant parameter scores exactly 0 and a useless
    one about 0 (more with ten target rows or fewer). `smoothed` compares densities smoothed by one kernel
    instead; `optuna` gives Optuna 5's numbers.

    Attributes:
        grid: how values are put on the grid.
        resolutions: the functions and how they are weighed; None to compare smoothed densities. The densities
            of a result are smoothed in any case.
        shared_kernel: one kernel (with the target's bandwidth) and one prior share for both sets;
            False gives each set its own.
        debias: subtract the expectation of the divergence when the target is a random subset of the
            region (of smoothed densities it needs ``shared_kernel``).
        prior_weight: weight of the prior kernel, in rows.
        min_bandwidth: smallest bandwidth, in cells.
        floor: added to both densities (0 except for parity).
        floor_quartiles: Optuna's integer quartiles in Scott's rule.
        raw_levels: level counts from the raw floating-point product, ceil(q * N), and of several objectives
            exactly so many rows (``selection="pareto"``).
        balance: make up for negative variances in importances, see `parzax.importance.normalise`.
        min_regime_rows: regimes with fewer rows in the region are left out of the within-regime sum.
        uniform_when_undefined: report 1/d for each parameter where all variances are 0, instead of 0.
    """

    grid: GridSpec = field(default_factory=partial(GridSpec, max_cells=96))
    resolutions: Resolutions | None = field(default_factory=Resolutions)
    shared_kernel: bool = True
    debias: bool = True
    prior_weight: float = 1.0
    min_bandwidth: float = MINIMUM
    floor: float = 0.0
    floor_quartiles: bool = False
    raw_levels: bool = False
    balance: bool = True
    min_regime_rows: int = 2
    uniform_when_undefined: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.grid, GridSpec):
            raise TypeError(f"GridEstimator: grid must be a GridSpec, got {self.grid!r}.")
        if not isinstance(self.resolutions, Resolutions | None):
            raise TypeError(f"GridEstimator: resolutions must be Resolutions, got {self.resolutions!r}.")
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.generic):
                object.__setattr__(self, item.name, value.item())
            elif item.type is bool and not isinstance(value, bool):
                raise TypeError(f"GridEstimator: {item.name} must be a bool, got {value!r}.")
        rows = self.min_regime_rows
        if not isinstance(rows, int) or rows < 0:
            raise ValueError(f"GridEstimator: min_regime_rows must be an integer >= 0, got {rows!r}.")
        for name in ("prior_weight", "min_bandwidth", "floor"):
            if _checks.real_number(f"GridEstimator: {name}", getattr(self, name)) < 0:
                raise ValueError(f"GridEstimator: {name} must not be negative, got {getattr(self, name)!r}.")
        if self.prior_weight == 0 and self.floor == 0:
            raise ValueError(
                "GridEstimator: prior_weight and floor are both 0, so empty cells have density 0."
            )
        if self.min_bandwidth == 0:
            raise ValueError("GridEstimator: min_bandwidth must be positive.")
        if self.resolutions is None and self.debias and not self.shared_kernel:
            raise ValueError("GridEstimator: debias needs shared_kernel=True, or resolutions.")

    @classmethod
    def smoothed(cls, *, debias: bool = True) -> "GridEstimator":
        """Densities of target and region on 50 cells, smoothed by one kernel with Scott's bandwidth."""
        return cls(grid=GridSpec(), resolutions=None, debias=debias, balance=False)

    @classmethod
    def optuna(cls) -> "GridEstimator":
        """Parity with Optuna 5.0's PedAnovaImportanceEvaluator (levels, cells, bandwidth, floor, 1/d)."""
        return cls(
            grid=GridSpec(mirror=False, max_pools=0),
            resolutions=None,
            shared_kernel=False,
            debias=False,
            floor=1e-12,
            floor_quartiles=True,
            raw_levels=True,
            balance=False,
            uniform_when_undefined=True,
        )

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "GridEstimator":
        """From what `dataclasses.asdict` made of one; older files lack resolutions, pools or balance.

        Polynomials of older files were of places, which no estimator has any more: those of ranks and of the
        same degrees stand for them.
        """
        known = stored.get("resolutions")
        if known is not None and "degree" in known:
            older = {"degrees": tuple(range(2, known["degree"] + 1)), "smoothness": 1.0}
            known = {name: value for name, value in known.items() if name != "degree"} | older
        resolutions = None if known is None else Resolutions(**known)
        grid = GridSpec(**({"max_pools": 0} | stored["grid"]))
        # Files without a word on balance are older, and negative variances counted as 0.
        balance = bool(stored.get("balance", False))
        return cls(**(stored | {"grid": grid, "resolutions": resolutions, "balance": balance}))

    def bandwidth(self, counts: Shaped[Array, " g"], dtype: jnp.dtype) -> Float[Array, ""]:
        """Scott's bandwidth of some counts, in cells."""
        quartiles, minimum = self.floor_quartiles, self.min_bandwidth
        return scott_on_grid(counts, floor_quartiles=quartiles, minimum=minimum, dtype=dtype)


def grid_density(
    counts: Shaped[ArrayLike, " g"],
    n_cells: Int[ArrayLike, ""] | None = None,
    *,
    kernel: type[AbstractKernel] = TruncatedNormal,
    estimator: GridEstimator | None = None,
) -> Float[Array, " g"]:
    """Parzen density of one set on the grid, from its counts per cell.

    p = (K counts + w * prior) / (n + w) + floor, with K the kernel matrix (each column sums to 1), n the
    sum of the counts and w ``estimator.prior_weight`` (conditional PED-ANOVA, arXiv 2601.20800, Section 4;
    PED-ANOVA, arXiv 2304.10255).

    Args:
        counts: (g,) counts or weights per cell, at least 0; integers give Optuna's quartiles exactly.
        n_cells: number of cells of the grid where ``counts`` are padded with 0 to a larger g, so that
            grids of several sizes can share a vmap; None when there is no padding.
        kernel: family of kernels: `parzax.kernels.TruncatedNormal` of numbers (with Scott's bandwidth),
            `parzax.kernels.AitchisonAitken` of categories, or one of your own.
        estimator: its ``prior_weight``, ``floor``, ``min_bandwidth`` and quartile rule are used.

    Returns:
        (g,) probability per cell, linear; sums to 1 (plus g times the floor); 0 in padding. The prior
        alone where the counts are all 0. Pure, unbatched, jit- and vmap-able; the dtype is that of
        floating counts, else JAX's default.

    Raises:
        TypeError, ValueError: for what is no family, shapes that do not fit, complex counts, and (on the
            host) counts that are negative, masked or not finite; in compiled code such floats give NaN, and
            negative integers are 0.

    >>> import jax.numpy as jnp
    >>> p = grid_density(jnp.array([0, 3, 1, 0]))
    >>> p.shape, int(p.argmax()), round(float(p.sum()), 5)
    ((4,), 1, 1.0)
    """
    if not (isinstance(kernel, type) and issubclass(kernel, AbstractKernel)):
        raise TypeError(
            f"kernel must be a class of kernels such as parzax.kernels.AitchisonAitken, got {kernel!r}."
        )
    estimator = GridEstimator() if estimator is None else estimator
    known = checked_counts("counts", counts)
    _checks.vectors(counts=known)
    if known.shape[0] == 0:
        raise ValueError("counts must have at least one cell, got shape (0,).")
    dtype = known.dtype if jnp.issubdtype(known.dtype, jnp.floating) else jnp.result_type(float)
    n_cells = None if n_cells is None else jnp.asarray(n_cells)
    return density_of(known, n_cells, kernel, estimator, dtype)


def density_of(
    counts: Shaped[Array, " g"],
    n_cells: Int[Array, ""] | None,
    kernel: type[AbstractKernel],
    estimator: GridEstimator,
    dtype: jnp.dtype,
) -> Float[Array, " g"]:
    """`grid_density` of checked counts."""
    matrix = kernel.on_grid(counts, estimator.bandwidth, n_cells, dtype)
    prior = kernel.prior_on_grid(len(counts), n_cells, dtype)
    weight, shares = jnp.asarray(estimator.prior_weight, dtype), counts.astype(dtype)
    size = cell_sum(shares) + weight
    density = (matrix.smooth(shares) + weight * prior) / jnp.where(size > 0, size, 1)
    return in_grid(density + jnp.asarray(estimator.floor, dtype), n_cells)


def checked_counts(name: str, counts: Any) -> Array:
    """Counts or weights as an array: of integers for whole numbers whose sum they hold, else of floats."""
    traced = _checks.is_traced(counts)
    host = counts if traced else _checks.unmasked(name, counts)
    floating, wide = jnp.issubdtype(host.dtype, jnp.floating), host.dtype.itemsize > 4
    if not floating and host.dtype.kind not in "iub":
        raise TypeError(f"{name} must hold real numbers, got dtype {host.dtype}.")
    if traced and floating:
        return jnp.where((host >= 0) & (host < jnp.inf), host, jnp.nan)
    if traced:  # sums of bytes would wrap round
        return jnp.maximum(host.astype(host.dtype if wide else jnp.int32), 0)
    bad = np.argwhere(~((host >= 0) & (host < np.inf)))
    if len(bad):
        raise ValueError(
            f"{name}: entry {bad[0].tolist()} is {host[tuple(bad[0])]!r}; counts are at least 0 and finite."
        )
    if floating:
        return counts if isinstance(counts, jax.Array) else jnp.asarray(host)
    whole = jnp.result_type(int) if wide else jnp.dtype(jnp.int32)
    total = host.astype(object).sum() if wide else host.sum(dtype=np.float64)
    return jnp.asarray(host, whole if total <= jnp.iinfo(whole).max else float)
