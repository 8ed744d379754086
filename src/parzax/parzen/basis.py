"""The regimes of a space, grouped by how their kernels are evaluated, as a few stacked arrays."""

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
from parzax.kernels import AbstractKernel, AbstractProductKernel, AitchisonAitken, TruncatedNormal
from parzax.parzen.forms import Form, form_for_many
from parzax.space import AbstractCells, Categorical, Domain, Frame, Points, Recorded, Space, frame_of
from parzax.space.frame import axis_shape, stack_axes

# Domains of up to this many values have a column of the matrix product for each; beyond, rows of a table are
# faster to read.
_INDICATORS = 16
# Values are numbered in int32.
_MOST_VALUES = 2**31 - 1

Families = tuple[tuple[str, type[AbstractKernel]], ...]


class Regimes(eqx.Module):
    """k regimes that are evaluated together, those that always apply first."""

    parameter: Int[Any, " k"]
    regime: Int[Any, " k"]
    slot: Int[Any, " k"]  # numbers among all regimes of the space
    n_values: Int[Any, " k"]  # 0 on a continuum
    family: type[Any] = eqx.field(static=True)  # an `AbstractKernel`
    is_every_parameter: bool = eqx.field(static=True)  # whether they are the space's parameters, one by one
    n_always: int = eqx.field(static=True)  # how many always apply

    def columns(self, x: Shaped[Any, "j d"]) -> Shaped[Any, "j k"]:
        """Columns of the regimes from those of the parameters."""
        return x if self.is_every_parameter else x[:, self.parameter]

    def by_regime(self, x: Shaped[Array, "n d"]) -> Shaped[Array, "k n"]:
        """The same with regimes first: processors take many entries of a long axis at once."""
        return x.T[self.parameter]

    def here(self, at: Points) -> Bool[Any, "j k"]:
        """Which of them apply at points."""
        return self.columns(at.regime) == self.regime[None]

    def __len__(self) -> int:
        return len(self.parameter)


class SmallDiscrete(Regimes):
    """Regimes of few values, f in all, one after the other."""

    regime_of: Int[Any, " f"]  # which of the k regimes has each value
    repeat: Float[Any, "k f"]  # 1 there: repeats a column for every value of its regime
    number: Int[Any, " f"]  # within the regime
    lower: Float[Any, " f"]  # ends of the value's cell
    upper: Float[Any, " f"]
    place: Float[Any, " f"]  # its centre
    pair_of: Int[Any, " p"]  # the values of every pair within a regime, counted among all values
    pair_with: Int[Any, " p"]
    pairs_from: Int[Any, " f"]  # where the pairs of a value's regime begin

    def has(self, at: Points) -> Bool[Any, "j f"]:
        """Which value each point has."""
        index = jnp.where(self.here(at), self.columns(at.index), -1)
        return self.repeated(index.astype(self.place.dtype)) == self.number.astype(self.place.dtype)[None]

    def repeated(self, x: Float[Any, "n k"]) -> Float[Array, "n f"]:
        """Columns once for every value, by a product: a look-up is slower, and made anew for every use."""
        return jnp.matmul(x, jnp.asarray(self.repeat), precision="highest")


class LargeDiscrete(Regimes):
    """Regimes of many values, whose numbers are within a power of four."""

    axis: AbstractCells  # their axes, stacked
    most: int = eqx.field(static=True)  # a bound on their numbers of values


class Basis(eqx.Module):
    """What densities on a space have in common; regimes of a single value are in none of the parts."""

    frame: Frame  # the space as arrays
    products: tuple[Regimes, ...]  # continua of product kernels, those of one family together
    pairs: tuple[Regimes, ...]  # continua of other kernels
    small: tuple[SmallDiscrete, ...]
    large: tuple[LargeDiscrete, ...]
    numeric: Regimes  # with a bandwidth
    categories: Regimes  # with a rule for categories
    families: tuple[Regimes, ...]  # all regimes, those of one family together
    # Whether a parameter is always active on a continuum, so that draws differ.
    free_continuum: bool = eqx.field(static=True)
    form: Form = eqx.field(static=True)  # how densities are evaluated at many points

    @property
    def n_parameters(self) -> int:
        """d."""
        return len(self.frame.first)

    @property
    def n_slots(self) -> int:
        """s."""
        return len(self.frame.parameter)

    @property
    def n_continuous(self) -> int:
        """Number of regimes on a continuum."""
        return sum(map(len, (*self.products, *self.pairs)))

    def with_any_left_out(self) -> "Basis":
        """The same for points that may leave parameters out: none counts as always active."""
        products, small = ([replace(x, n_always=0) for x in parts] for parts in (self.products, self.small))
        return replace(self, products=tuple(products), small=tuple(small))


@lru_cache(maxsize=256)
def basis_of(
    space: Space,
    dtype: Any,
    families: Families = (),
    smallest: float | None = None,
    safe_prior: bool = False,
) -> Basis:
    """The basis of a space for floats of ``dtype``; its leaves are NumPy's.

    Families of parameters that are not named are the truncated normal of numbers, and Aitchison and Aitken's
    of categories. ``smallest`` and ``safe_prior`` decide on the form, see `form_for_many`. Raises ValueError
    where the space does not say when a parameter is active, and for more values than an int32 can number.
    """
    for slot in space.slots:
        name = space.names[slot.parameter]
        if any(isinstance(condition, Recorded) for condition in slot.domain.conditions):
            raise ValueError(
                f"space: {name!r} is active where the log says so (Recorded), so a density cannot know when; "
                "give it conditions (In, Between), or leave it out."
            )
        if (slot.domain.n_values or 0) > _MOST_VALUES:
            raise ValueError(
                f"space: {name!r} has {slot.domain.n_values} values, more than kernels can number "
                f"({slot.domain!r}); use Float, or a larger step."
            )
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
    """`basis_of` for use with some arrays: its leaves are NumPy's where these are traced, else JAX's."""
    basis = basis_of(*settings)
    return basis if _checks.is_traced(arrays) else device_copy(basis)


class _Identity:
    """A key for a value that is equal to itself alone."""

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
    """Kernel families by name, hashable; TypeError for what is no family, ValueError for unknown names."""
    _checks.instance("space", space, Space, "a parzax.Space")
    kernels = kernels or {}
    for name, family in kernels.items():
        check_name("kernels: ", name, space)
        if not (isinstance(family, type) and issubclass(family, AbstractKernel)):
            raise TypeError(f"kernels: {name!r} must be a class of kernels, got {family!r}.")
    return tuple(sorted(kernels.items(), key=lambda item: item[0]))


def usual_family(domain: Domain) -> type[AbstractKernel]:
    """The family of kernels that a domain has if none is asked for."""
    return AitchisonAitken if isinstance(domain, Categorical) else TruncatedNormal


def check_name(argument: str, name: Any, space: Space) -> None:
    """Raise ValueError for a name that is no parameter."""
    if name not in space:
        raise ValueError(f"{argument}no parameter {name!r}; the space has {', '.join(space.names)}.")


def _grouped(slots: list[int], key: Callable[[int], Any]) -> dict[Any, list[int]]:
    """Slots by key, in their order."""
    groups: dict[Any, list[int]] = {}
    for s in slots:
        groups.setdefault(key(s), []).append(s)
    return groups


def _part(domain: Domain, family: type[AbstractKernel]) -> tuple[Any, ...]:
    """Which part of the basis a regime is in; regimes of a family with equal keys are together."""
    n = domain.n_values
    if n is None:
        return ("products" if issubclass(family, AbstractProductKernel) else "pairs",)
    return ("small",) if n <= _INDICATORS else ("large", _most(n), axis_shape(domain.axis))


def _most(n: int) -> int:
    """64, 256, 1024, ...: the least that is not below n. Few, since every one is a part of its own."""
    return 1 << 2 * -(-max((n - 1).bit_length(), 6) // 2)


def _columns(space: Space, slots: list[int], family: type[AbstractKernel]) -> dict[str, Any]:
    """The fields of `Regimes`."""
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
