"""A space as densities see it: its regimes by how their kernels are evaluated, as a few stacked arrays."""

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
from parzax.kernels import AbstractKernel, AbstractProductKernel, AitchisonAitken, TruncatedNormal
from parzax.parzen.forms import Form, form_for_many
from parzax.space import AbstractCells, Categorical, Domain, Frame, Points, Recorded, Space
from parzax.space.frame import axis_shape, frame_of, stack_axes

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
    whole: bool = eqx.field(static=True)  # whether they are the parameters of the space, one by one
    n_always: int = eqx.field(static=True)  # how many always apply

    def columns(self, x: Shaped[Any, "j d"]) -> Shaped[Any, "j k"]:
        """What the parameters have, as that of their regimes."""
        return x if self.whole else x[:, self.parameter]

    def by_regime(self, x: Shaped[Array, "n d"]) -> Shaped[Array, "k n"]:
        """The same, by regime first: of rows that long processors take many entries at once."""
        return x.T[self.parameter]

    def here(self, at: Points) -> Bool[Any, "j k"]:
        """Which of them apply at points."""
        return self.columns(at.regime) == self.regime[None]

    def __len__(self) -> int:
        return len(self.parameter)


class Values(Regimes):
    """Regimes of few values, f in all, one after the other."""

    of: Int[Any, " f"]  # the regime of each value
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
        own = jnp.where(self.here(at), self.columns(at.index), -1)
        return self.repeated(own.astype(self.place.dtype)) == self.number.astype(self.place.dtype)[None]

    def repeated(self, x: Float[Any, "n k"]) -> Float[Array, "n f"]:
        """Columns once for every value, by a product: a look-up is slower, and made anew for every use."""
        return jnp.matmul(x, jnp.asarray(self.repeat), precision="highest")


class Many(Regimes):
    """Regimes of many values, whose numbers are within a power of four."""

    axis: AbstractCells  # theirs, stacked
    most: int = eqx.field(static=True)  # a bound on their numbers of values


class Basis(eqx.Module):
    """What densities on a space have in common; regimes of a single value are in none of the parts."""

    frame: Frame  # the space as arrays
    products: tuple[Regimes, ...]  # continua of product kernels, those of one family together
    pairs: tuple[Regimes, ...]  # continua of other kernels
    values: tuple[Values, ...]
    many: tuple[Many, ...]
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
        products = tuple(replace(part, n_always=0) for part in self.products)
        return replace(self, products=products, values=tuple(replace(v, n_always=0) for v in self.values))


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
    given = dict(families)
    parts: dict[Any, list[int]] = {}
    by_family: dict[type[AbstractKernel], list[int]] = {}
    regimes = [s for s, slot in enumerate(space.slots) if slot.domain.n_values != 1]
    for s in regimes:
        domain, name = space.slots[s].domain, space.names[space.slots[s].parameter]
        family = given.get(name, usual_family(domain))
        parts.setdefault((family, *_part(domain, family)), []).append(s)
        by_family.setdefault(family, []).append(s)

    def made(kind: str, build: Callable[..., Any]) -> tuple[Any, ...]:
        return tuple(build(space, which, key[0], dtype) for key, which in parts.items() if key[1] == kind)

    products, pairs = made("products", _regimes), made("pairs", _regimes)
    n_continuous = sum(map(len, (*products, *pairs)))
    categories = [s for s in regimes if isinstance(space.slots[s].domain, Categorical)]
    numeric = [s for s in regimes if s not in categories]
    return Basis(
        frame=frame_of(space, dtype),
        products=products,
        pairs=pairs,
        values=made("values", _values),
        many=made("many", _many),
        numeric=_regimes(space, numeric, TruncatedNormal),
        categories=_regimes(space, categories, AitchisonAitken),
        families=tuple(_regimes(space, which, family) for family, which in by_family.items()),
        free_continuum=any(part.n_always for part in (*products, *pairs)),
        form=form_for_many(space, dtype, n_continuous, smallest, safe_prior and not pairs),
    )


def basis_for(arrays: Any, *settings: Any) -> Basis:
    """`basis_of` for use with some arrays: its leaves are NumPy's where these are traced, else JAX's."""
    if _checks.is_traced(arrays):
        return basis_of(*settings)
    return _basis_on(jax.config.jax_default_device, *settings)


@lru_cache(maxsize=256)
def _basis_on(_: Any, *settings: Any) -> Basis:
    """`basis_of`, put on the default device once and not in every call."""
    with jax.ensure_compile_time_eval():
        return jax.device_put(basis_of(*settings))


def families_of(space: Space, kernels: Mapping[str, type[AbstractKernel]] | None) -> Families:
    """Kernel families by name, hashable; TypeError for what is no family, ValueError for unknown names."""
    kernels = kernels or {}
    for name, family in kernels.items():
        if name not in space:
            raise ValueError(f"kernels: no parameter {name!r}; the space has {', '.join(space.names)}.")
        if not (isinstance(family, type) and issubclass(family, AbstractKernel)):
            raise TypeError(f"kernels: {name!r} must be a class of kernels, got {family!r}.")
    return tuple(sorted(kernels.items(), key=lambda item: item[0]))


def usual_family(domain: Domain) -> type[AbstractKernel]:
    """The family of kernels that a domain has if none is asked for."""
    return AitchisonAitken if isinstance(domain, Categorical) else TruncatedNormal


def _part(domain: Domain, family: type[AbstractKernel]) -> tuple[Any, ...]:
    """Which part of the basis a regime is in; regimes of a family with equal keys are together."""
    n = domain.n_values
    if n is None:
        return ("products" if issubclass(family, AbstractProductKernel) else "pairs",)
    return ("values",) if n <= _INDICATORS else ("many", _most(n), axis_shape(domain.axis))


def _most(n: int) -> int:
    """64, 256, 1024, ...: the least that is not below n. Few, since every one is a part of its own."""
    return 1 << 2 * -(-max((n - 1).bit_length(), 6) // 2)


def _columns(space: Space, which: list[int], family: type[AbstractKernel]) -> dict[str, Any]:
    """What `Regimes` have."""
    always = {s: not space.domains[space.slots[s].parameter][0].conditions for s in which}
    which = sorted(which, key=lambda s: not always[s])
    slots = [space.slots[s] for s in which]
    columns = {
        "parameter": [slot.parameter for slot in slots],
        "regime": [slot.regime for slot in slots],
        "slot": which,
        "n_values": [slot.domain.n_values or 0 for slot in slots],
    }
    arrays = {name: np.array(column, np.int32) for name, column in columns.items()}
    whole = columns["parameter"] == list(range(len(space)))
    return {"family": family, "whole": whole, "n_always": sum(always.values()), **arrays}


def _regimes(space: Space, which: list[int], family: type[AbstractKernel], _: Any = None) -> Regimes:
    return Regimes(**_columns(space, which, family))


def _values(space: Space, which: list[int], family: type[AbstractKernel], dtype: np.dtype) -> Values:
    columns = _columns(space, which, family)
    sizes = columns["n_values"].tolist()
    of, first = np.repeat(np.arange(len(sizes)), sizes), np.cumsum([0, *sizes[:-1]])
    axes: list[Any] = [space.slots[s].domain.axis for s in columns["slot"]]
    numbers, double = [np.arange(n) for n in sizes], np.dtype(np.float64)
    cells = [axis.cell(number, double) for axis, number in zip(axes, numbers, strict=True)]
    centres = [axis.centre(number, double) for axis, number in zip(axes, numbers, strict=True)]
    lower, upper = (np.concatenate(end) for end in zip(*cells, strict=True))
    pairs = [np.stack(np.meshgrid(k + n, k + n, indexing="ij")) for k, n in zip(first, numbers, strict=True)]
    pair_of, pair_with = np.concatenate([own.reshape(2, -1) for own in pairs], axis=1)
    pairs_from = np.cumsum([0, *np.square(sizes)])[of]
    whole = {"of": of, "number": np.concatenate(numbers), "pairs_from": pairs_from}
    whole |= {"pair_of": pair_of, "pair_with": pair_with}
    real = {"repeat": np.arange(len(sizes))[:, None] == of, "place": np.concatenate(centres)}
    real |= {"lower": lower, "upper": upper}
    arrays = {name: x.astype(np.int32) for name, x in whole.items()}
    return Values(**columns, **arrays, **{name: x.astype(dtype) for name, x in real.items()})


def _many(space: Space, which: list[int], family: type[AbstractKernel], dtype: np.dtype) -> Many:
    columns = _columns(space, which, family)
    axis = stack_axes([space.slots[s].domain.axis for s in columns["slot"]], dtype)
    assert isinstance(axis, AbstractCells)
    return Many(**columns, axis=axis, most=_most(int(columns["n_values"][0])))
