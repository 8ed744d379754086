"""Mixtures of product kernels as one matrix product over features.

The log of a product kernel is linear in functions of the point: c^2 and c of a continuous coordinate, one
indicator per value of a short list. So the logs of all kernels at all points are one matrix product. What
is multiplied is log kernel minus log of the regime's wide kernel, the anchor: a kernel whose regime the
point does not share stands for the prior there, which is the anchor itself unless the user gave another.

Longer lists are added to the product: rows of a table of all kernels, or, where a table would be larger than
the pairs of point and kernel, each pair for itself.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from parzax._numerics import in_two_rounds, log_normal_mass, log_unit_mass
from parzax.kernels import AitchisonAitken, DiscreteNormal, TruncatedNormal
from parzax.parzen.points import Points, Slot
from parzax.parzen.prior import NativePrior, Prior, wide_kernel, wide_normal

# Domains of up to this many values are columns of the product: beyond, rows of a table are faster to read.
INDICATORS = 16
# Entries that the table of one parameter may have: 32 MiB in float64.
_TABLE = 1 << 22
# This share of the largest float stands for the log of 0, where -inf would turn 0 * -inf into NaN.
_LOWEST = 0.125


def kernels_of(slot: Slot, kernels: Points, scale: Float[Array, "n d"]) -> Any:
    """The kernels of all rows in one regime, as one module of (n,) arrays."""
    j, axis = slot.parameter, slot.axis
    if axis.kind == "categorical":
        return AitchisonAitken(kernels.index[:, j], scale[:, j], axis.n_values)
    if axis.kind == "stepped":
        return DiscreteNormal(kernels.unit[:, j], scale[:, j], axis)
    return TruncatedNormal(kernels.unit[:, j], scale[:, j])


def position(slot: Slot, points: Points) -> Array:
    """What a kernel of the slot takes: unit coordinates, or numbers of values; (j,)."""
    return (points.unit if slot.axis.kind == "continuous" else points.index)[..., slot.parameter]


def here(slot: Slot, points: Points) -> Array:
    """Which points are in the regime, (j,)."""
    return points.regime[..., slot.parameter] == slot.regime


def is_discrete(slot: Slot) -> bool:
    """Whether the slot has values to count."""
    return slot.axis.kind in ("categorical", "stepped")


def is_indicated(slot: Slot) -> bool:
    """Whether the slot has one column of the product per value."""
    return is_discrete(slot) and slot.axis.n_values <= INDICATORS


def has_table(slot: Slot, n_points: int, n_kernels: int) -> bool:
    """Whether the log masses of all values are computed beforehand, for every kernel."""
    c = slot.axis.n_values
    if is_indicated(slot) or slot.axis.kind != "stepped":
        return is_indicated(slot)
    return c <= n_points and c * n_kernels <= _TABLE


class Shared(NamedTuple):
    """What all forms of evaluation take from the kernels, once for all points.

    Attributes:
        log_normaliser: (n, s) of the continuous slots, in their order.
        tables: per slot the (n, c) log masses of every value, or None.
    """

    log_normaliser: Float[Array, "n s"]
    tables: tuple[Float[Array, "n c"] | None, ...]


def shared(own: tuple[Slot, ...], kernels: Points, scale: Float[Array, "n d"], n_points: int) -> Shared:
    """Normalisers and tables of all slots; the normal's masses in one expression, which compiles once."""
    n, dtype = len(scale), scale.dtype
    continuous = _continuous(own)[0]
    normals = TruncatedNormal(kernels.unit[:, continuous], scale[:, continuous])
    tabled = [slot for slot in own if has_table(slot, n_points, n)]
    steps = [slot for slot in tabled if slot.axis.kind == "stepped"]
    masses = iter(())
    if steps:
        sizes = [slot.axis.n_values for slot in steps]
        cells = [slot.axis.cell(np.arange(slot.axis.n_values), np.float64, np) for slot in steps]
        lower, upper = (
            jnp.asarray(np.concatenate(ends), dtype)[:, None] for ends in zip(*cells, strict=True)
        )
        columns = np.array([slot.parameter for slot in steps])
        repeated = jnp.asarray(np.repeat(np.eye(len(steps)), sizes, axis=1).T, dtype)

        def of_kernels(centre_and_scale: tuple[Array, Array]) -> Array:
            repeat = partial(jnp.matmul, repeated, precision="highest")
            loc, width = map(repeat, centre_and_scale)
            whole = repeat(log_unit_mass(*centre_and_scale))
            return log_normal_mass((lower - loc) / width, (upper - loc) / width) - whole

        inside = in_two_rounds(of_kernels, (kernels.unit[:, columns].T, scale[:, columns].T), -1).T
        masses = iter(jnp.split(inside, np.cumsum(sizes)[:-1], axis=-1))
    tables: list[Array | None] = []
    for slot in own:
        if slot not in tabled:
            tables.append(None)
        elif slot.axis.kind == "stepped":
            tables.append(next(masses))
        else:
            tables.append(jax.vmap(lambda k: k.log_masses())(kernels_of(slot, kernels, scale)))
    return Shared(normals.log_normaliser(), tuple(tables))


def _continuous(own: tuple[Slot, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of the continuous slots: parameters, regimes, and which apply at every point."""
    found = [slot for slot in own if slot.axis.kind == "continuous"]
    parameter, regime = ([getattr(slot, name) for slot in found] for name in ("parameter", "regime"))
    return np.array(parameter, int), np.array(regime, int), np.array([slot.always for slot in found], bool)


def anchor_log_prob(own: tuple[Slot, ...], points: Points) -> Float[Array, " j"]:
    """log density of the wide kernels in unit coordinates; 0 for inactive parameters and single values."""
    out = jnp.zeros(points.unit.shape[:-1], points.unit.dtype)
    for slot in own:
        if slot.axis.kind != "point":
            wide = wide_kernel(slot.axis, out.dtype).log_prob(position(slot, points))
            out = out + jnp.where(here(slot, points), wide, 0)
    return out


def prior_ratio(own: tuple[Slot, ...], priors: tuple[Prior, ...], points: Points) -> Float[Array, " j"]:
    """log prior - log anchor: 0 but for the parameters with a prior of the user's."""
    out = jnp.zeros(points.unit.shape[:-1], points.unit.dtype)
    for slot, prior in zip(own, priors, strict=True):
        if isinstance(prior, NativePrior):
            out = out + _prior_ratio(slot, prior, points, len(own))
    return out


def features(own: tuple[Slot, ...], priors: tuple[Prior, ...], points: Points) -> Float[Array, "j f"]:
    """Functions of the points, (j, f); the last column is 1."""
    dtype = points.unit.dtype
    j, regime, always = _continuous(own)
    inside = points.regime[:, j] == regime
    squares, centred = TruncatedNormal.features(points.unit[:, j])
    columns = [jnp.where(inside, squares, 0), jnp.where(inside, centred, 0)]
    columns.append(inside[:, ~always].astype(dtype))
    for slot, prior in zip(own, priors, strict=True):
        if is_indicated(slot):
            one_hot = position(slot, points)[:, None] == jnp.arange(slot.axis.n_values)
            columns.append((one_hot & here(slot, points)[:, None]).astype(dtype))
        if isinstance(prior, NativePrior):
            columns.append(_prior_ratio(slot, prior, points, len(own))[:, None])
    columns.append(jnp.ones((len(points.unit), 1), dtype))
    return jnp.concatenate(columns, axis=-1)


def coefficients(
    own: tuple[Slot, ...],
    priors: tuple[Prior, ...],
    kernels: Points,
    scale: Float[Array, "n d"],
    parts: Shared,
    constant: Float[Array, " n"],
) -> Float[Array, "n f"]:
    """What multiplies the features, (n, f): log kernel - log anchor, plus a constant per kernel."""
    dtype = scale.dtype
    j, regime, always = _continuous(own)
    inside = kernels.regime[:, j] == regime
    normals = TruncatedNormal(kernels.unit[:, j], scale[:, j])
    square, linear, own_constant = (
        jnp.where(inside, term - anchor, 0)
        for term, anchor in zip(
            normals.coefficients(parts.log_normaliser), wide_normal(dtype).coefficients(), strict=True
        )
    )
    # The constants of parameters that are always active are one of the kernel's.
    constant = constant + own_constant[:, always].sum(axis=-1)
    columns = [square, linear, own_constant[:, ~always]]
    for slot, prior, table in zip(own, priors, parts.tables, strict=True):
        if is_indicated(slot):
            columns.append(_differences(slot, kernels, table, len(own)))
        if isinstance(prior, NativePrior):
            # Kernels of other regimes stand for the prior.
            columns.append((~here(slot, kernels)[:, None]).astype(dtype))
    columns.append(constant[:, None])
    return jnp.concatenate(columns, axis=-1)


def _differences(
    slot: Slot, kernels: Points, table: Float[Array, "n c"] | None, n_slots: int
) -> Float[Array, "n c"]:
    """log kernel - log anchor of every value; 0 for kernels of other regimes."""
    assert table is not None
    anchor = wide_kernel(slot.axis, table.dtype)
    assert not isinstance(anchor, TruncatedNormal)
    return jnp.where(here(slot, kernels)[:, None], _finite(table - anchor.log_masses(), n_slots), 0)


def lookups(
    own: tuple[Slot, ...], kernels: Points, parts: Shared, factor: float
) -> tuple[Float[Array, "c n"] | None, ...]:
    """Per slot whose table is not in the product: a row per value, times ``factor``."""
    rows = []
    for slot, table in zip(own, parts.tables, strict=True):
        if table is None or is_indicated(slot):
            rows.append(None)
        else:
            rows.append(factor * _differences(slot, kernels, table, len(own)).T)
    return tuple(rows)


def added(
    own: tuple[Slot, ...],
    looked_up: tuple[Float[Array, "c n"] | None, ...],
    kernels: Points,
    scale: Float[Array, "n d"],
    points: Points,
    factor: float,
) -> Float[Array, "j n"] | float:
    """``factor`` times log kernel - log anchor, summed over the slots that the product leaves out."""
    out: Any = 0.0
    for slot, rows in zip(own, looked_up, strict=True):
        if not is_discrete(slot) or is_indicated(slot):
            continue
        number, inside = position(slot, points), here(slot, points)
        if rows is not None:
            out = out + jnp.where(inside[:, None], rows[number], 0)
            continue
        anchor = wide_kernel(slot.axis, scale.dtype).log_prob(number[:, None])
        own_kernels = kernels_of(slot, kernels, scale)
        pairs = in_two_rounds(lambda k, own=own_kernels: own.log_prob(k[:, None]), number, 0)
        both = inside[:, None] & here(slot, kernels)
        out = out + jnp.where(both, factor * _finite(pairs - anchor, len(own)), 0)
    return out


def log_of_zero(dtype: Any) -> float:
    """A number so low that its exponential is 0, which sums and products leave finite."""
    return -_LOWEST * float(jnp.finfo(dtype).max)


def _prior_ratio(slot: Slot, prior: NativePrior, points: Points, n_slots: int) -> Float[Array, " j"]:
    place = position(slot, points)
    difference = prior.log_prob(place) - wide_kernel(slot.axis, points.unit.dtype).log_prob(place)
    return jnp.where(here(slot, points), _finite(difference, n_slots), 0)


def _finite(x: Float[Array, "..."], n_slots: int) -> Float[Array, "..."]:
    """`log_of_zero` shared among the slots in place of -inf."""
    return jnp.where(jnp.isneginf(x), log_of_zero(x.dtype) / n_slots, x)


def prior_log_prob(own: tuple[Slot, ...], priors: tuple[Prior, ...], points: Points) -> Float[Array, " j"]:
    """log density of the prior in unit coordinates; 0 for inactive parameters and single values."""
    out = jnp.zeros(points.unit.shape[:-1], points.unit.dtype)
    for slot, prior in zip(own, priors, strict=True):
        if prior is not None:
            out = out + jnp.where(here(slot, points), prior.log_prob(position(slot, points)), 0)
    return out


def kernel_log_prob(
    own: tuple[Slot, ...],
    priors: tuple[Prior, ...],
    kernels: Points,
    scale: Float[Array, "n d"],
    parts: Shared,
    points: Points,
) -> Float[Array, "j n"]:
    """log of every product kernel at every point, one parameter after the other (the difference form)."""
    out = jnp.zeros((len(points.unit), len(scale)), scale.dtype)
    normaliser = iter(parts.log_normaliser.T)
    for slot, prior, table in zip(own, priors, parts.tables, strict=True):
        if prior is None:
            continue
        place = position(slot, points)[:, None]
        if slot.axis.kind == "continuous":
            around = kernels_of(slot, kernels, scale).log_prob(place, next(normaliser))
        elif table is not None:
            around = table.T[jnp.clip(place[:, 0], 0, slot.axis.n_values - 1)]
        else:
            around = kernels_of(slot, kernels, scale).log_prob(place)
        factor = jnp.where(here(slot, kernels), around, prior.log_prob(place))
        out = out + jnp.where(here(slot, points)[:, None], factor, 0)
    return out
