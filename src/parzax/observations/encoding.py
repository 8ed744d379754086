"""From native values to grid codes and unit coordinates, in float64 on the host."""

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax.observations.grid import GridSpec, grid_axis, nearest_cells
from parzax.observations.layout import layout
from parzax.observations.observations import Observations
from parzax.space import INACTIVE, Categorical, Domain, Numeric, Ordinal, Space

# Rows are encoded in blocks that stay in the second-level cache.
_BLOCK = 65536


def grid_codes(obs: Observations, grid: GridSpec, rows: int | None = None) -> np.ndarray:
    """Codes of all rows, column-major: (s, d, rows), of the narrowest unsigned type that fits.

    Args:
        obs: the log, of s seeds (1 without a seed axis).
        grid: the cells.
        rows: number of rows to pad to; padding has the code of "inactive".
    """
    n_parameters, n = len(obs.space), obs.n
    shape = (math.prod(obs.batch_shape), n, n_parameters)
    values, regimes = obs.values.reshape(shape), obs.regime.reshape(shape)
    plan = _plan(obs.space, grid)
    codes = np.empty((shape[0], n_parameters, n if rows is None else rows), dtype=plan.dtype)
    codes[...] = plan.inactive
    with np.errstate(invalid="ignore", divide="ignore"):
        for seeds, block in _blocks(*shape):
            native = values[seeds, block].swapaxes(1, 2)
            own = regimes[seeds, block].swapaxes(1, 2)
            for regime, part in enumerate(plan.regimes):
                position = np.array(native[:, part.columns], order="C")
                for j, transform in part.transforms:
                    position[:, j] = transform(position[:, j])
                cell = nearest_cells(position, part.low, part.spacing).astype(plan.dtype)
                cell += part.step
                # A product with 0 or 1 is several times faster than an assignment under a mask, and
                # clears whatever came of NaN and of other regimes' values.
                cell *= np.ascontiguousarray(own[:, part.columns] == regime).view(np.uint8)
                codes[seeds, part.columns, block] += cell
    return codes


class _Regime(NamedTuple):
    """What it takes to encode the i-th regime of all parameters that have one, as columns (d', 1)."""

    columns: Any
    transforms: tuple[tuple[int, Callable[[np.ndarray], np.ndarray]], ...]
    low: np.ndarray
    spacing: np.ndarray
    step: np.ndarray


class _Plan(NamedTuple):
    dtype: Any
    inactive: np.ndarray
    regimes: tuple[_Regime, ...]


@lru_cache(maxsize=256)
def _plan(space: Space, grid: GridSpec) -> _Plan:
    where, parameters = layout(space, grid), space.domains
    dtype = np.uint8 if where.n_codes <= 256 else np.uint16 if where.n_codes <= 2**16 else np.uint32
    regimes = []
    for regime in range(where.n_regimes - 1):
        slots = [slot for slot in where.slots if slot.regime == regime]
        axes = [grid_axis(parameters[slot.parameter][regime], grid) for slot in slots]
        everywhere = len(slots) == len(parameters)
        # From "inactive" to the regime's first cell; unsigned, so a step back wraps round.
        steps = np.array([slot.start - where.inactive[slot.parameter] for slot in slots]).astype(dtype)
        regimes.append(
            _Regime(
                columns=slice(None) if everywhere else [slot.parameter for slot in slots],
                transforms=tuple((j, axis.transform) for j, axis in enumerate(axes) if axis.transform),
                low=np.array([[axis.low] for axis in axes]),
                spacing=np.array([[axis.spacing] for axis in axes]),
                step=steps[:, None],
            )
        )
    inactive = np.array(where.inactive) - np.array(where.offsets)
    return _Plan(dtype, inactive.astype(dtype)[:, None], tuple(regimes))


def _blocks(n_seeds: int, n_rows: int, n_parameters: int) -> Iterator[tuple[slice, slice]]:
    size = max(1, _BLOCK // n_parameters)
    seeds, rows = max(1, size // max(n_rows, 1)), max(1, min(n_rows, size))
    for seed in range(0, n_seeds, seeds):
        for row in range(0, n_rows, rows):
            yield slice(seed, seed + seeds), slice(row, min(row + rows, n_rows))


def unit_coordinates(obs: Observations) -> np.ndarray:
    """Unit coordinate of every value in its regime's domain, (..., n, d); 0 where inactive.

    Numeric domains map to [0, 1] on their (log) axis; ordinal ones by value (log value if ``log``);
    a categorical value is its code.
    """
    unit = np.zeros(obs.values.shape)
    for j, domains in enumerate(obs.space.domains):
        for i, domain in enumerate(domains):
            here = obs.regime[..., j] == i
            unit[..., j][here] = _unit(domain, obs.values[..., j][here])
    return unit


def _unit(domain: Domain, values: np.ndarray) -> np.ndarray:
    if isinstance(domain, Categorical):
        return values
    if isinstance(domain, Ordinal):
        low, high, position = domain.values[0], domain.values[-1], values
        if domain.log:
            low, high, position = math.log(low), math.log(high), np.log(values)
    else:
        assert isinstance(domain, Numeric)
        low, high = domain.position_bounds
        position = domain.to_position(values)
    return np.clip((position - low) / (high - low), 0.0, 1.0) if high > low else np.zeros_like(values)


def capacity(n: int) -> int:
    """Padded number of rows: 64, 256, 1024, 4096, then doubling, so that few shapes are compiled."""
    for size in (64, 256, 1024, 4096):
        if n <= size:
            return size
    return 1 << (n - 1).bit_length()


class Encoded(eqx.Module):
    """Observations on the device, padded to a capacity ``n``.

    Attributes:
        unit: (..., n, d) unit coordinate in the regime's domain (code of a category), 0 where absent.
        regime: (..., n, d) int16, -1 = inactive.
        codes: (..., d, n) unsigned grid codes: column of (regime, cell) within the parameter.
        losses: (..., n, m) in JAX's default float type; for ranking use the host's float64.
        weight: (..., n) frequency weights, 0 for padding and failed rows.
        mask: (..., n) whether the row counts.
    """

    unit: Float[Array, "... n d"]
    regime: Int[Array, "... n d"]
    codes: Int[Array, "... d n"]
    losses: Float[Array, "... n m"]
    weight: Float[Array, "... n"]
    mask: Bool[Array, "... n"]


def encode(obs: Observations, grid: GridSpec) -> Encoded:
    """Encode and pad; absent values and padding are finite (0) so that they cannot poison gradients."""
    size = capacity(obs.n)
    extra = size - obs.n
    weight = np.ones((*obs.batch_shape, obs.n)) if obs.weight is None else obs.weight
    weight = np.where(np.isnan(obs.losses).all(axis=-1), 0.0, weight)

    def rows(array: np.ndarray, axis: int = -2, fill: float = 0) -> np.ndarray:
        width = [(0, 0)] * array.ndim
        width[axis] = (0, extra)
        return np.pad(array, width, constant_values=fill)

    codes = grid_codes(obs, grid, size).reshape(*obs.batch_shape, -1, size)
    padded = rows(weight, axis=-1)
    return Encoded(
        unit=jnp.asarray(rows(unit_coordinates(obs)), dtype=float),
        regime=jnp.asarray(rows(obs.regime, fill=INACTIVE)),
        codes=jnp.asarray(codes),
        losses=jnp.asarray(
            rows(np.nan_to_num(obs.losses, nan=0.0, posinf=np.inf, neginf=-np.inf)), dtype=float
        ),
        weight=jnp.asarray(padded, dtype=float),
        mask=jnp.asarray(padded > 0),
    )
