"""The regimes of a space as a few stacked arrays, grouped by how their kernels are evaluated."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import register_dataclass
from jaxtyping import Array, Bool, Float, Int, Shaped

from parzax import _checks
from parzax._numerics import to_device
from parzax._numerics.logsumexp import ANCHORED_RANGE
from parzax.kernels import AbstractKernel, AitchisonAitken, TruncatedNormal, WrappedNormal
from parzax.kernels.open_normal import OPEN
from parzax.space import Categorical, Cells, Domain, Frame, Points, Recorded, Space
from parzax.space.frame import axis_shape, stack_axes

# A discrete domain with at most this many values has one column per value in the matrix product.
_FEW_VALUES = 16
# Values are numbered in int32, so a domain has at most this many.
_MOST_VALUES = 2**31 - 1

Families = tuple[tuple[str, type[AbstractKernel]], ...]


@register_dataclass
@dataclass(frozen=True, eq=False)
class Regimes:
    """k regimes whose kernels are of one family and are evaluated together.

    Arrays over regimes have the regimes on their first axis, because processors vectorise over the last axis.
    """

    parameter: Int[Any, " k"]
    regime: Int[Any, " k"]
    slot: Int[Any, " k"]  # index of each regime among all regimes of the space
    n_values: Int[Any, " k"]  # 0 for a continuous domain
    n_always: int = field(metadata={"static": True})  # number of regimes that always apply; they come first
    family: type[Any] = field(metadata={"static": True})  # an `AbstractKernel`
    categorical: bool = field(metadata={"static": True})  # whether the scales come from a rule for categories
    most: int = field(metadata={"static": True})  # upper bound on the numbers of values
    # Discrete regimes with at most v values: the lower and the upper ends of the cells of all values.
    cells: Float[Any, "2 k v"] | None = None
    axis: Cells | None = None  # axes of discrete regimes with more values, stacked

    @property
    def is_lattice(self) -> bool:
        """Whether the kernels are truncated normals and all cells of a regime have the same width."""
        equal = self.axis is not None and self.axis.step is not None and not self.axis.log
        return self.family is TruncatedNormal and equal

    @property
    def is_open(self) -> bool:
        """Whether the axes have no end, or one end."""
        return self.family.ends != (0.0, 1.0)

    def columns(self, x: Shaped[Any, "n d"]) -> Shaped[Any, "k n"]:
        """Columns of the k regimes, taken from the columns of the d parameters."""
        return x.T[self.parameter]

    def here(self, at: Points) -> Bool[Any, "k n"]:
        """Mask of the points at which each regime applies."""
        return self.columns(at.regime) == self.regime[:, None]


@register_dataclass
@dataclass(frozen=True, eq=False)
class Basis:
    """The arrays of a space that all its densities share.

    ``parts`` hold each regime once, except regimes with a single value: their kernels are constant.
    """

    frame: Frame  # the space as arrays
    parts: tuple[Regimes, ...]  # regimes by family, and by how their kernels are evaluated
    groups: tuple[Regimes, ...]  # all regimes, by family and by the kind of their bandwidth rule
    # Whether some continuous parameter is always active; if so, two draws are never equal.
    free_continuum: bool = field(metadata={"static": True})
    # Whether the kernels of continuous regimes are evaluated pair by pair, see `loses_digits`.
    pairwise: bool = field(metadata={"static": True})
    # Whether log(kernel / wide kernel) is within `ANCHORED_RANGE`, so that the prior can anchor a density.
    anchored: bool = field(metadata={"static": True})

    @property
    def for_parts(self) -> "Basis":
        """This basis for points that may leave parameters out, so that no regime always applies."""
        return replace(self, parts=tuple(replace(part, n_always=0) for part in self.parts))

    def onto_axes(self, at: Points, unit: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Coordinates of points, brought back to the axes of their regimes: around a circle, or to an end."""
        for part in self.groups:
            place = part.columns(unit)
            back = place - jnp.floor(place) if part.family.periodic else jnp.clip(place, *part.family.ends)
            unit = unit.at[:, part.parameter].add(jnp.where(part.here(at), back - place, 0).T)
        return unit

    @property
    def n_parameters(self) -> int:
        """d, the number of parameters of the space."""
        return len(self.frame.first)

    @property
    def n_slots(self) -> int:
        """s, the number of regimes of the space."""
        return len(self.frame.parameter)


@lru_cache(maxsize=256)
def basis_of(space: Space, dtype: Any, families: Families = (), smallest: float | None = None) -> Basis:
    """The basis of a space for floats of ``dtype``; its leaves are NumPy arrays.

    Parameters that ``families`` does not name have truncated normal kernels if they are numeric, and
    Aitchison-Aitken kernels if they are categorical. ``smallest`` is a lower bound on the scales of
    continuous parameters, None if it is unknown. Raises ValueError if the space does not say when a parameter
    is active, if a domain has more values than an int32 can number, and if hardly any configuration is valid.
    """
    for slot in space.slots:
        name = space.names[slot.parameter]
        if Recorded() in slot.domain.conditions:
            raise ValueError(
                f"space: {name!r} is active where the log says so (Recorded), so a density cannot know when; "
                "give it conditions (In, Between), or leave it out."
            )
        if (slot.domain.n_values or 0) > _MOST_VALUES:
            remedy = f"more than kernels can number ({slot.domain!r}); use Float, or a larger step"
            raise ValueError(f"space: {name!r} has {slot.domain.n_values} values, {remedy}.")
    space.check_valid()
    given, domains = dict(families), [slot.domain for slot in space.slots]
    family = [given.get(space.names[s.parameter], usual_family(s.domain)) for s in space.slots]

    def grouped(key: Callable[[int], Any]) -> dict[Any, list[int]]:
        groups: dict[Any, list[int]] = {}
        for s in range(len(domains)):
            groups.setdefault(key(s), []).append(s)
        return groups

    parts = grouped(lambda s: None if domains[s].n_values == 1 else (family[s], *_evaluation(domains[s])))
    groups = grouped(lambda s: (family[s], isinstance(domains[s], Categorical)))
    continuous = [s for s, domain in enumerate(domains) if domain.n_values is None]
    always = [not space.domains[space.slots[s].parameter][0].conditions for s in continuous]
    return Basis(
        frame=space.frame(dtype),
        parts=tuple(_regimes(space, part, key[0], dtype) for key, part in parts.items() if key is not None),
        groups=tuple(_regimes(space, part, family) for (family, _), part in groups.items()),
        free_continuum=any(always),
        pairwise=loses_digits(dtype, len(continuous), smallest),
        anchored=not families
        and _peak(space, smallest) <= ANCHORED_RANGE * float(np.log(jnp.finfo(dtype).max)),
    )


def loses_digits(dtype: Any, n_continuous: int, smallest: float | None) -> bool:
    """Whether log kernels from a matrix product have fewer than two (float32) or nine (float64) decimals.

    The product computes (u - m)^2 / (2 s^2) from squares, with an error of about eps / (8 s^2) for each
    continuous parameter, since |u| and |m| are at most 1/2. If the smallest scale s is unknown, it is assumed
    to be too small for float32.
    """
    info = jnp.finfo(dtype)
    if not n_continuous or smallest is None:
        return bool(n_continuous) and info.bits <= 32
    return n_continuous * float(info.eps) / (8 * smallest**2) > (1e-2 if info.bits <= 32 else 1e-9)


def _peak(space: Space, smallest: float | None) -> float:
    """Upper bound on log(kernel / wide kernel), to which each numeric factor adds log(1 / scale) + 1/2."""
    peak = math.inf if any(slot.domain.axis.is_open for slot in space.slots) else 0.0
    for domains in space.domains:
        widths = [
            axis.narrowest() if isinstance(axis, Cells) else smallest for axis in (d.axis for d in domains)
        ]
        if None in widths:
            return math.inf
        peak += 0.5 - math.log(min(width for width in widths if width is not None))
    return peak


def on_device(basis: Basis, *values: Any, permitted: Bool[Array, " s"] | None = None) -> Basis:
    """The basis for a call with these values: it keeps its NumPy leaves if some are traced.

    Else its arrays are on the default device; only the first call transfers them. ``permitted`` is for its
    frame.
    """
    config: Any = jax.config
    basis = basis if _checks.is_traced(*values) else _device_copy(basis, config.jax_default_device)
    return basis if permitted is None else replace(basis, frame=replace(basis.frame, permitted=permitted))


@lru_cache(maxsize=256)
def _device_copy(basis: Basis, _: Any) -> Basis:
    with jax.ensure_compile_time_eval():
        return to_device(basis)


def families_of(space: Space, kernels: Mapping[str, type[AbstractKernel]] | None) -> Families:
    """Kernel families by parameter name, as a hashable tuple.

    Raises TypeError for a value that is not a kernel class, ValueError for an unknown name.
    """
    _checks.instance("space", space, Space, "a parzax.Space")
    kernels = kernels or {}
    for name, family in kernels.items():
        check_name("kernels: ", name, space)
        if not (isinstance(family, type) and issubclass(family, AbstractKernel)):
            raise TypeError(f"kernels: {name!r} must be a subclass of AbstractKernel, got {family!r}.")
    return tuple(sorted(kernels.items(), key=lambda item: item[0]))


def usual_family(domain: Domain) -> type[AbstractKernel]:
    """The default kernel family of a domain."""
    if isinstance(domain, Categorical):
        return AitchisonAitken
    return WrappedNormal if domain.periodic else OPEN.get(domain.axis.ends, TruncatedNormal)


def check_name(argument: str, name: Any, space: Space) -> None:
    """Raise ValueError if the space has no parameter of this name."""
    if name not in space:
        raise ValueError(f"{argument}no parameter {name!r}; the space has {', '.join(space.names)}.")


def _evaluation(domain: Domain) -> tuple[Any, ...]:
    """Key of regimes that are evaluated together: for large domains, size and axis shape.

    Sizes are the exponents of 64, 256, 1024, ...; there are few of them, as each adds a part to the basis.
    """
    n = domain.n_values
    if n is None or n <= _FEW_VALUES:
        return (n is None,)
    return False, -(-max((n - 1).bit_length(), 6) // 2), axis_shape(domain.axis)


def _regimes(space: Space, slots: list[int], family: type[AbstractKernel], dtype: Any = None) -> Regimes:
    """The regimes of some slots; with ``dtype`` also their cells, or their axes."""
    always = {s: not space.domains[space.slots[s].parameter][0].conditions for s in slots}
    slots = sorted(slots, key=lambda s: not always[s])
    rows = [(*space.slots[s][:2], s, space.slots[s].domain.n_values or 0) for s in slots]
    parameter, regime, slot, n_values = np.array(rows, np.int32).reshape(-1, 4).T
    n = int(max(n_values))
    # Powers of two, so that spaces with similar domains share their compiled programs.
    most, cells, axis = n if n <= _FEW_VALUES else 1 << (n - 1).bit_length(), None, None
    axes: list[Any] = [space.slots[s].domain.axis for s in slots]
    if dtype is not None and n > _FEW_VALUES:
        axis = stack_axes(axes, dtype)
    elif dtype is not None and n:
        ends = [axis.cell(np.minimum(np.arange(n), axis.n_values - 1), np.dtype(np.float64)) for axis in axes]
        cells = np.moveaxis(np.array(ends), 1, 0).astype(dtype)
    categorical = isinstance(space.slots[slots[0]].domain, Categorical)
    n_always = sum(always.values())
    return Regimes(parameter, regime, slot, n_values, n_always, family, categorical, most, cells, axis)
