"""The regimes of a space as a few stacked arrays, grouped by how their kernels are evaluated."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from parzax import _checks
from parzax._numerics import to_device
from parzax.density.forms import Form, form_for_many
from parzax.kernels import AbstractKernel, AbstractProductKernel, AitchisonAitken, TruncatedNormal
from parzax.space import AbstractCells, Categorical, Domain, Frame, Points, Recorded, Space, frame_of
from parzax.space.axes import Steps
from parzax.space.frame import axis_shape, stack_axes

# A discrete domain with at most this many values has one column per value in the matrix product. For larger
# domains it is faster to read rows of a table.
_INDICATORS = 16
# Values are numbered in int32, so a domain has at most this many.
_MOST_VALUES = 2**31 - 1

Families = tuple[tuple[str, type[AbstractKernel]], ...]


class Regimes(eqx.Module):
    """k regimes that are evaluated together. Regimes that always apply come first."""

    parameter: Int[Any, " k"]
    regime: Int[Any, " k"]
    slot: Int[Any, " k"]  # index of each regime among all regimes of the space
    n_values: Int[Any, " k"]  # 0 for a continuous domain
    family: type[Any] = eqx.field(static=True)  # an `AbstractKernel`
    is_every_parameter: bool = eqx.field(static=True)  # whether regime i is parameter i, for all i
    n_always: int = eqx.field(static=True)  # number of regimes that always apply

    def columns(self, x: Shaped[Any, "j d"]) -> Shaped[Any, "j k"]:
        """Columns of the k regimes, taken from the columns of the d parameters."""
        return x if self.is_every_parameter else x[:, self.parameter]

    def by_regime(self, x: Shaped[Array, "n d"]) -> Shaped[Array, "k n"]:
        """`columns` transposed: the long axis comes last, because processors vectorise over the last axis."""
        return x.T[self.parameter]

    def here(self, at: Points) -> Bool[Any, "j k"]:
        """Mask of the regimes that apply at each of j points."""
        return self.columns(at.regime) == self.regime[None]

    def __len__(self) -> int:
        return len(self.parameter)


class SmallDiscrete(Regimes):
    """Discrete regimes with few values. Their values, f in total, are concatenated regime by regime."""

    regime_of: Int[Any, " f"]  # index of the value's regime among the k regimes
    repeat: Float[Any, "k f"]  # [i, v] is 1 if value v belongs to regime i, else 0
    number: Int[Any, " f"]  # number of the value within its regime
    lower: Float[Any, " f"]  # ends of the value's cell
    upper: Float[Any, " f"]
    place: Float[Any, " f"]  # centre of the value's cell
    pair_of: Int[Any, " p"]  # all p pairs of values of one regime: index of the first value among all f
    pair_with: Int[Any, " p"]  # index of the second value
    pairs_from: Int[Any, " f"]  # index of the first pair of the value's regime

    def has(self, at: Points) -> Bool[Any, "j f"]:
        """Mask of the value that each of j points has, in each regime that applies."""
        index = jnp.where(self.here(at), self.columns(at.index), -1)
        return self.repeated(index.astype(self.place.dtype)) == self.number.astype(self.place.dtype)[None]

    def repeated(self, x: Float[Any, "n k"]) -> Float[Array, "n f"]:
        """Columns of the regimes, repeated for each value. A product is faster than indexing here."""
        return jnp.matmul(x, jnp.asarray(self.repeat), precision="highest")


class LargeDiscrete(Regimes):
    """Discrete regimes with many values; their numbers of values have the same upper bound."""

    axis: AbstractCells  # axes of the regimes, stacked
    most: int = eqx.field(static=True)  # upper bound on the number of values of each regime

    @property
    def on_lattice(self) -> bool:
        """Whether the kernels are truncated normals and all cells of a regime have the same width."""
        return self.family is TruncatedNormal and isinstance(self.axis, Steps) and not self.axis.log


class Basis(eqx.Module):
    """The arrays of a space that all its densities share.

    ``products``, ``pairs``, ``small`` and ``large`` together hold each regime once, except regimes with a
    single value: their kernels are constant.
    """

    frame: Frame  # the space as arrays
    products: tuple[Regimes, ...]  # continuous regimes with product kernels, one entry per kernel family
    pairs: tuple[Regimes, ...]  # continuous regimes with other kernels, one entry per kernel family
    small: tuple[SmallDiscrete, ...]
    large: tuple[LargeDiscrete, ...]
    numeric: Regimes  # regimes whose scales come from a bandwidth rule for numbers
    categories: Regimes  # regimes whose scales come from a rule for categories
    families: tuple[Regimes, ...]  # all regimes, one entry per kernel family
    # Whether some continuous parameter is always active; if so, two draws are never equal.
    free_continuum: bool = eqx.field(static=True)
    form: Form = eqx.field(static=True)  # how densities are evaluated at many points

    @property
    def n_parameters(self) -> int:
        """d, the number of parameters of the space."""
        return len(self.frame.first)

    @property
    def n_slots(self) -> int:
        """s, the number of regimes of the space."""
        return len(self.frame.parameter)

    @property
    def n_continuous(self) -> int:
        """Number of continuous regimes."""
        return sum(map(len, (*self.products, *self.pairs)))

    def with_any_left_out(self) -> "Basis":
        """This basis for points that may leave parameters out, so that no parameter is always active."""
        products, small = ([replace(x, n_always=0) for x in parts] for parts in (self.products, self.small))
        return replace(self, products=tuple(products), small=tuple(small))


@lru_cache(maxsize=256)
def basis_of(
    space: Space, dtype: Any, families: Families = (), smallest: float | None = None, safe_prior: bool = False
) -> Basis:
    """The basis of a space for floats of ``dtype``; its leaves are NumPy arrays.

    Parameters that ``families`` does not name have truncated normal kernels if they are numeric, and
    Aitchison-Aitken kernels if they are categorical. ``smallest`` and ``safe_prior`` decide on the form; see
    `form_for_many`. Raises ValueError if the space does not say when a parameter is active, and if a domain
    has more values than an int32 can number.
    """
    for slot in space.slots:
        name = space.names[slot.parameter]
        if any(isinstance(condition, Recorded) for condition in slot.domain.conditions):
            raise ValueError(
                f"space: {name!r} is active where the log says so (Recorded), so a density cannot know when; "
                "give it conditions (In, Between), or leave it out."
            )
        if (slot.domain.n_values or 0) > _MOST_VALUES:
            remedy = f"more than kernels can number ({slot.domain!r}); use Float, or a larger step"
            raise ValueError(f"space: {name!r} has {slot.domain.n_values} values, {remedy}.")
    given, domains = dict(families), [slot.domain for slot in space.slots]
    family = [given.get(space.names[s.parameter], usual_family(s.domain)) for s in space.slots]
    slots = [s for s, domain in enumerate(domains) if domain.n_values != 1]
    parts = _grouped(slots, lambda s: (family[s], *_part(domains[s], family[s])))

    def build(kind: str, stack: Callable[..., Any]) -> tuple[Any, ...]:
        return tuple(stack(space, part, key[0], dtype) for key, part in parts.items() if key[1] == kind)

    n_continuous = sum(domains[s].n_values is None for s in slots)
    products, pairs = build("products", _regimes), build("pairs", _regimes)
    by_rule = _grouped(slots, lambda s: isinstance(domains[s], Categorical))
    by_family = _grouped(slots, lambda s: family[s])
    return Basis(
        frame=frame_of(space, dtype),
        products=products,
        pairs=pairs,
        small=build("small", _small_discrete),
        large=build("large", _large_discrete),
        numeric=_regimes(space, by_rule.get(False, []), TruncatedNormal),
        categories=_regimes(space, by_rule.get(True, []), AitchisonAitken),
        families=tuple(_regimes(space, group, one) for one, group in by_family.items()),
        free_continuum=any(part.n_always for part in (*products, *pairs)),
        form=form_for_many(space, dtype, n_continuous, smallest, safe_prior and not pairs),
    )


def basis_for(arrays: Any, *settings: Any) -> Basis:
    """`basis_of` with NumPy leaves if ``arrays`` are traced, else with JAX leaves."""
    basis = basis_of(*settings)
    return basis if _checks.is_traced(arrays) else device_copy(basis)


class _Identity:
    """A dictionary key that compares its value by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value


def device_copy(basis: Basis) -> Basis:
    """A basis with its arrays on the default device; only the first call transfers them."""
    config: Any = jax.config
    return _device_copy(_Identity(basis), config.jax_default_device)


@lru_cache(maxsize=256)
def _device_copy(basis: _Identity, _: Any) -> Basis:
    with jax.ensure_compile_time_eval():
        return to_device(basis.value)


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
    return AitchisonAitken if isinstance(domain, Categorical) else TruncatedNormal


def check_name(argument: str, name: Any, space: Space) -> None:
    """Raise ValueError if the space has no parameter of this name."""
    if name not in space:
        raise ValueError(f"{argument}no parameter {name!r}; the space has {', '.join(space.names)}.")


def _grouped(slots: list[int], key: Callable[[int], Any]) -> dict[Any, list[int]]:
    """Lists of slots with equal keys, in the order of the slots."""
    groups: dict[Any, list[int]] = {}
    for s in slots:
        groups.setdefault(key(s), []).append(s)
    return groups


def _part(domain: Domain, family: type[AbstractKernel]) -> tuple[Any, ...]:
    """Key of a regime: the field of `Basis` that holds it, and for large domains bound and axis shape."""
    n = domain.n_values
    if n is None:
        return ("products" if issubclass(family, AbstractProductKernel) else "pairs",)
    return ("small",) if n <= _INDICATORS else ("large", _most(n), axis_shape(domain.axis))


def _most(n: int) -> int:
    """The smallest of 64, 256, 1024, ... that is at least n; few bounds, as each adds a part to the basis."""
    return 1 << 2 * -(-max((n - 1).bit_length(), 6) // 2)


def _columns(space: Space, slots: list[int], family: type[AbstractKernel]) -> dict[str, Any]:
    """Values for the fields of `Regimes`."""
    always = {s: not space.domains[space.slots[s].parameter][0].conditions for s in slots}
    slots = sorted(slots, key=lambda s: not always[s])
    rows = [(*space.slots[s][:2], s, space.slots[s].domain.n_values or 0) for s in slots]
    parameter, regime, slot, n_values = np.array(rows, np.int32).reshape(-1, 4).T
    return {
        "parameter": parameter, "regime": regime, "slot": slot, "n_values": n_values, "family": family,
        "is_every_parameter": parameter.tolist() == list(range(len(space))), "n_always": sum(always.values()),
    }  # fmt: skip


def _regimes(space: Space, slots: list[int], family: type[AbstractKernel], _: Any = None) -> Regimes:
    return Regimes(**_columns(space, slots, family))


def _small_discrete(
    space: Space, slots: list[int], family: type[AbstractKernel], dtype: np.dtype
) -> SmallDiscrete:
    columns = _columns(space, slots, family)
    sizes, axes = columns["n_values"], [space.slots[s].domain.axis for s in columns["slot"]]
    numbers, double = [np.arange(n) for n in sizes], np.dtype(np.float64)
    cells = [(axis.centre(k, double), *axis.cell(k, double)) for axis, k in zip(axes, numbers, strict=True)]
    place, lower, upper = map(np.concatenate, zip(*cells, strict=True))
    regime_of = np.repeat(np.arange(len(sizes)), sizes)
    pair_of, pair_with = np.nonzero(regime_of[:, None] == regime_of)
    arrays = {
        "regime_of": regime_of, "repeat": np.arange(len(sizes))[:, None] == regime_of,
        "number": np.concatenate(numbers), "lower": lower, "upper": upper, "place": place,
        "pair_of": pair_of, "pair_with": pair_with,
        "pairs_from": np.cumsum([0, *np.square(sizes)])[regime_of],
    }  # fmt: skip
    kinds = {name: np.int32 if x.dtype.kind == "i" else dtype for name, x in arrays.items()}
    return SmallDiscrete(**columns, **{name: x.astype(kinds[name]) for name, x in arrays.items()})


def _large_discrete(
    space: Space, slots: list[int], family: type[AbstractKernel], dtype: np.dtype
) -> LargeDiscrete:
    columns = _columns(space, slots, family)
    axis: Any = stack_axes([space.slots[s].domain.axis for s in columns["slot"]], dtype)
    return LargeDiscrete(**columns, axis=axis, most=_most(int(columns["n_values"][0])))
