"""Configurations on the kernel axes: regimes, unit coordinates, numbers of values; on host or device."""

import math
from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax.kernels import Axis, kernel_axis
from parzax.space import INACTIVE, Between, Categorical, Condition, Domain, In, Ordinal, Recorded, Space
from parzax.space.dependencies import condition_holds


class Points(eqx.Module):
    """Configurations as kernels see them; every array is finite, whatever the native values were.

    Attributes:
        regime: (..., d) which domain applies, -1 = inactive.
        unit: (..., d) position on the regime's axis, 1/2 where there is none.
        index: (..., d) number of the value on a stepped axis, code of a category, else 0.
        log_jacobian: (..., d) log |d unit / d native|.
        valid: (..., d) whether the value is in the regime's domain, or absent and the parameter inactive.
    """

    regime: Int[Array, "... d"]
    unit: Float[Array, "... d"]
    index: Int[Array, "... d"]
    log_jacobian: Float[Array, "... d"]
    valid: Bool[Array, "... d"]

    def __getitem__(self, rows: Any) -> "Points":
        return Points(*(getattr(self, name)[rows] for name in POINT_FIELDS))


POINT_FIELDS = ("regime", "unit", "index", "log_jacobian", "valid")


class Slot(NamedTuple):
    """One regime of one parameter."""

    parameter: int
    regime: int
    axis: Axis
    always: bool  # whether it applies at every point


@lru_cache(maxsize=256)
def slots(space: Space) -> tuple[Slot, ...]:
    """All regimes of all parameters.

    Raises:
        ValueError: where a condition is `Recorded`: a density needs to know when a parameter is active.
    """
    for name, domains in zip(space.names, space.domains, strict=True):
        if any(isinstance(c, Recorded) for domain in domains for c in domain.conditions):
            raise ValueError(
                f"space: {name!r} is active where the log says so (Recorded), so a density cannot know when; "
                "give it conditions (In, Between), or leave it out."
            )
    return tuple(
        Slot(j, i, kernel_axis(domain), not domains[0].conditions)
        for j, domains in enumerate(space.domains)
        for i, domain in enumerate(domains)
    )


def check_dtype(space: Space, dtype: Any, *, native: bool, arrays: bool = True) -> None:
    """Raise ValueError for a domain whose values a dtype cannot tell apart.

    Args:
        space: the search space.
        dtype: of the kernels, or with ``native`` of an array of native values.
        native: whether values come as numbers of that dtype; else they were encoded in float64.
        arrays: whether NumPy arrays would be encoded in float64, so that giving them helps.
    """
    for slot in slots(space):
        if not slot.axis.resolved(dtype, native):
            domain = space.domains[slot.parameter][slot.regime]
            helps = arrays and slot.axis.resolved(dtype, False)
            hint = "give NumPy arrays, or use" if helps else "use Float or"
            raise ValueError(
                f"space: {jnp.dtype(dtype).name} cannot tell the values of {space.names[slot.parameter]!r} "
                f"apart ({domain!r}); {hint} jax.enable_x64(True)."
            )


def points(space: Space, x: Any) -> Points:
    """Encode native values, (..., d), NaN where inactive, categories as codes.

    NumPy arrays are encoded in float64 on the host, JAX arrays in their dtype where they are.
    """
    xp = np if isinstance(x, np.ndarray) else jnp
    if xp is jnp:
        check_dtype(space, x.dtype, native=True)
    shape, dtype = x.shape, x.dtype
    regime = [xp.full(shape[:-1], INACTIVE, dtype=xp.int32)] * len(space)
    unit = [xp.full(shape[:-1], 0.5, dtype=dtype)] * len(space)
    index = [xp.zeros(shape[:-1], dtype=xp.int32)] * len(space)
    log_jacobian = [xp.zeros(shape[:-1], dtype=dtype)] * len(space)
    valid = [xp.isnan(x[..., j]) for j in range(len(space))]
    own, columns = slots(space), [x[..., j] for j in range(len(space))]
    for name in space.order:
        j = space.index(name)
        # The first domain whose conditions hold applies, so it is written last.
        for slot in reversed([slot for slot in own if slot.parameter == j]):
            domain = space.domains[j][slot.regime]
            here = applies(space, domain, regime, index, columns, xp)
            value = _safe(x[..., j], slot.axis, xp)
            regime[j] = xp.where(here, slot.regime, regime[j])
            unit[j] = xp.where(here, slot.axis.unit(value, xp), unit[j])
            index[j] = xp.where(here, slot.axis.index(value, xp), index[j])
            log_jacobian[j] = xp.where(here, slot.axis.log_jacobian(value, xp), log_jacobian[j])
            valid[j] = xp.where(here, slot.axis.holds(x[..., j], xp), valid[j])
    stacked: list[Any] = [xp.stack(part, axis=-1) for part in (regime, unit, index, log_jacobian, valid)]
    return Points(*stacked)


def inside(space: Space, x: np.ndarray) -> np.ndarray:
    """(...,) which rows are configurations of the space: all of `points(space, x).valid`, and no more."""
    regime = [np.full(x.shape[:-1], INACTIVE, dtype=np.int32)] * len(space)
    index, columns = list(regime), [x[..., j] for j in range(len(space))]
    own, valid = slots(space), np.ones(x.shape[:-1], dtype=bool)
    parents = _parents(space)
    for name in space.order:
        j = space.index(name)
        here = np.isnan(columns[j])
        for slot in reversed([slot for slot in own if slot.parameter == j]):
            holds = slot.axis.holds(columns[j], np)
            if slot.always:
                applied, here = True, holds
            else:
                applied = applies(space, space.domains[j][slot.regime], regime, index, columns, np)
                here = np.where(applied, holds, here)
            if j in parents:
                value = _safe(columns[j], slot.axis, np)
                regime[j] = np.where(applied, slot.regime, regime[j])
                index[j] = np.where(applied, slot.axis.index(value, np), index[j])
        valid &= here
    return valid


@lru_cache(maxsize=256)
def _parents(space: Space) -> frozenset[int]:
    """Columns on which a condition of the space depends."""
    conditions = (c for domains in space.domains for domain in domains for c in domain.conditions)
    return frozenset(space.index(c.parent) for c in conditions if not isinstance(c, Recorded))


def applies(space: Space, domain: Domain, regime: list, index: list, value: list, xp: ModuleType) -> Any:
    """Where all conditions of ``domain`` hold, from the parents' regimes, numbers and native values.

    An inactive parent fails.
    """
    holds = None
    for condition in domain.conditions:
        assert not isinstance(condition, Recorded)
        j = space.index(condition.parent)
        met = xp.zeros(regime[j].shape, dtype=bool)
        for i, parent in enumerate(space[condition.parent]):
            met = met | ((regime[j] == i) & _met(condition, parent, index[j], value[j], xp))
        holds = met if holds is None else holds & met
    return xp.ones(regime[0].shape, dtype=bool) if holds is None else holds


def _met(condition: Condition, parent: Domain, index: Any, value: Any, xp: ModuleType) -> Any:
    axis = kernel_axis(parent)
    if axis.kind in ("stepped", "categorical"):
        # By number, decided in float64: a value on a bound may be rounded to either side of it.
        if isinstance(condition, Between):
            first, last = _between(condition, parent)
            return (index >= first) & (index < last)
        assert isinstance(condition, In)
        return xp.isin(index, xp.asarray(_numbers(condition, parent), dtype=xp.int32))
    if isinstance(condition, Between):
        return (value >= condition.low) & (value < condition.high)
    assert isinstance(condition, In)
    if axis.kind == "point":
        only = np.array(0.0 if isinstance(parent, Categorical) else axis.first)
        return xp.full(value.shape, bool(condition_holds(condition, parent, only)))
    slack = 64 * float(np.finfo(value.dtype).eps)
    allowed = [float(v) for v in condition.values]
    return xp.any(xp.stack([xp.abs(value - v) <= slack * abs(v) for v in allowed]), axis=0)


@lru_cache(maxsize=1024)
def _between(condition: Between, parent: Domain) -> tuple[int, int]:
    """The first of the parent's values within the bounds, and the first beyond them."""
    axis = kernel_axis(parent)

    def first_from(bound: float) -> int:
        """Number of the first value >= bound; the values ascend."""
        if math.isinf(bound):
            return 0 if bound < 0 else axis.n_values
        low, high = 0, axis.n_values
        while low < high:
            middle = (low + high) // 2
            value = float(axis.native(np.asarray([middle]), np.dtype(np.float64), np)[0])
            low, high = (middle + 1, high) if value < bound - 1e-9 * abs(bound) else (low, middle)
        return low

    return first_from(condition.low), first_from(condition.high)


@lru_cache(maxsize=1024)
def _numbers(condition: In, parent: Domain) -> tuple[int, ...]:
    """Numbers of the parent's values that meet the condition."""
    if isinstance(parent, Categorical):
        every = np.arange(parent.n_values, dtype=np.float64)
        return tuple(np.flatnonzero(condition_holds(condition, parent, every)).tolist())
    axis = kernel_axis(parent)
    wanted = np.asarray(list(condition.values), dtype=np.float64)
    known = wanted[~parent.outside(wanted)]
    if isinstance(parent, Ordinal):
        return tuple(parent.rank(known).tolist())
    return tuple(axis.index(known, np).tolist())


def _safe(value: Any, axis: Axis, xp: ModuleType) -> Any:
    """Finite and, on a log axis, positive; what it replaces is not valid or of another regime."""
    if axis.kind != "continuous":
        return xp.where(xp.isfinite(value), value, 0)
    anywhere = axis.native_at(xp.full(value.shape, 0.5, dtype=value.dtype), xp)
    usable = xp.isfinite(value) & (value > 0) if axis.log else xp.isfinite(value)
    return xp.where(usable, value, anywhere)


def on_device(at: Points, dtype: Any) -> Points:
    """Points with floats of ``dtype``."""
    return jax.tree.map(lambda a: jnp.asarray(a, dtype if a.dtype == np.float64 else a.dtype), at)
