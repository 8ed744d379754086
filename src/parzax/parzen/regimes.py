"""Regimes of a space that are evaluated together, as stacked arrays."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from parzax.kernels import AbstractKernel
from parzax.space import AbstractCells, Points, Space
from parzax.space.frame import stack_axes


class Regimes(eqx.Module):
    """k regimes that are evaluated together. Regimes that always apply come first."""

    parameter: Int[Any, " k"]
    regime: Int[Any, " k"]
    slot: Int[Any, " k"]  # index of each regime among all regimes of the space
    n_values: Int[Any, " k"]  # 0 for a continuous domain
    family: type[Any] = eqx.field(static=True)  # an `AbstractKernel`
    is_every_parameter: bool = eqx.field(static=True)  # whether regime i is parameter i, for all i
    is_every_slot: bool = eqx.field(static=True)  # whether regime i is slot i, for all i
    n_always: int = eqx.field(static=True)  # number of regimes that always apply

    def columns(self, x: Shaped[Any, "j d"]) -> Shaped[Any, "j k"]:
        """Columns of the k regimes, taken from the columns of the d parameters."""
        return x if self.is_every_parameter else x[:, self.parameter]

    def by_regime(self, x: Shaped[Array, "n d"]) -> Shaped[Array, "k n"]:
        """`columns` transposed: the long axis comes last, because processors vectorise over the last axis."""
        return x.T if self.is_every_parameter else x.T[self.parameter]

    def slots(self, x: Shaped[Array, "n s"]) -> Shaped[Array, "n k"]:
        """Columns of the k regimes, taken from the columns of all slots."""
        return x if self.is_every_slot else x[:, self.slot]

    def put_slots(self, x: Shaped[Array, "n s"], columns: Shaped[Array, "n k"]) -> Shaped[Array, "n s"]:
        """x, with the columns of the k regimes replaced."""
        return columns.astype(x.dtype) if self.is_every_slot else x.at[:, self.slot].set(columns)

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


def most_values(n: int) -> int:
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
        "is_every_parameter": parameter.tolist() == list(range(len(space))),
        "is_every_slot": slot.tolist() == list(range(len(space.slots))), "n_always": sum(always.values()),
    }  # fmt: skip


def stack_regimes(space: Space, slots: list[int], family: type[AbstractKernel], _: Any = None) -> Regimes:
    """The regimes of some slots; they share a kernel family."""
    return Regimes(**_columns(space, slots, family))


def stack_small(
    space: Space, slots: list[int], family: type[AbstractKernel], dtype: np.dtype
) -> SmallDiscrete:
    """Discrete regimes of some slots, with tables of their values; they share a kernel family."""
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


def stack_large(
    space: Space, slots: list[int], family: type[AbstractKernel], dtype: np.dtype
) -> LargeDiscrete:
    """Discrete regimes of some slots with equal `most_values`; they share a kernel family."""
    columns = _columns(space, slots, family)
    axis: Any = stack_axes([space.slots[s].domain.axis for s in columns["slot"]], dtype)
    return LargeDiscrete(**columns, axis=axis, most=most_values(int(columns["n_values"][0])))
