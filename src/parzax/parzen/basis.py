"""The regimes of a space as a few stacked arrays, grouped by how their kernels are evaluated."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import equinox as eqx
import jax

from parzax import _checks
from parzax._numerics import to_device
from parzax.kernels import AbstractKernel, AbstractProductKernel, AitchisonAitken, TruncatedNormal
from parzax.parzen.forms import Form, form_for_many
from parzax.parzen.regimes import (
    LargeDiscrete,
    Regimes,
    SmallDiscrete,
    most_values,
    stack_large,
    stack_regimes,
    stack_small,
)
from parzax.space import Categorical, Domain, Frame, Recorded, Space, frame_of
from parzax.space.frame import axis_shape

# A discrete domain with at most this many values has one column per value in the matrix product. For larger
# domains it is faster to read rows of a table.
_INDICATORS = 16
# Values are numbered in int32, so a domain has at most this many.
_MOST_VALUES = 2**31 - 1

Families = tuple[tuple[str, type[AbstractKernel]], ...]


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
    space: Space,
    dtype: Any,
    families: Families = (),
    smallest: float | None = None,
    safe_prior: bool = False,
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
    products, pairs = build("products", stack_regimes), build("pairs", stack_regimes)
    by_rule = _grouped(slots, lambda s: isinstance(domains[s], Categorical))
    by_family = _grouped(slots, lambda s: family[s])
    return Basis(
        frame=frame_of(space, dtype),
        products=products,
        pairs=pairs,
        small=build("small", stack_small),
        large=build("large", stack_large),
        numeric=stack_regimes(space, by_rule.get(False, []), TruncatedNormal),
        categories=stack_regimes(space, by_rule.get(True, []), AitchisonAitken),
        families=tuple(stack_regimes(space, group, one) for one, group in by_family.items()),
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
    return ("small",) if n <= _INDICATORS else ("large", most_values(n), axis_shape(domain.axis))
