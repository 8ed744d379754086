"""Probabilities of events under a mixture: values in a box, and a parameter being active.

The values of each parameter are cut where a condition or the event begins or ends. Within the pieces nothing
else depends on the value. So an event is a set of combinations of pieces, and under a product kernel its
probability is the sum over them of products of masses.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, product
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import weighted_logsumexp
from parzax.density.basis import Basis, check_name
from parzax.density.log_kernels import finite, kernels_of
from parzax.density.mixture import Mixture
from parzax.space import INACTIVE, Categorical, Domain, Frame, In, Points, Space

# Largest number of combinations of pieces of parameters that depend on each other.
_MOST_COMBINATIONS = 1 << 14
# What stands for the ends of open axes where a value between two ends is needed.
_FAR = 2.0**120


class Range(NamedTuple):
    """Both ends are inside. On a circle ``low`` may be above ``high``: the range goes across the seam."""

    low: float
    high: float


# What a parameter must do: have one of several values or one in a range, be in a regime, be inactive (None).
Wanted = In | Range | int | None


class Pieces(NamedTuple):
    """Ranges of values of slots, followed by one without values for inactive parameters."""

    slot: Int[Any, " p"]
    lower: Float[Any, " p"]  # ends in unit coordinates
    upper: Float[Any, " p"]
    width: Float[Any, " p"]


class Combinations(NamedTuple):
    """Combinations of pieces of some of the d parameters of a space."""

    number: Int[Any, "c d"]  # of the pieces; 0 for inactive and for other parameters
    regime: Int[Any, "c d"]  # below -1 for other parameters
    x: Float[Any, "c d"]  # a value in each piece, NaN elsewhere

    def put_into(self, x: Float[Any, "j d"]) -> Float[Any, "jc d"]:
        """Configurations with the values of each combination."""
        xp = x.__array_namespace__()
        inside = xp.asarray(self.x, dtype=x.dtype)[None]
        return xp.where(xp.isnan(inside), x[:, None], inside).reshape(-1, x.shape[1])

    def are_possible(self, at: Points, is_given: Any = False) -> Bool[Any, "j c"]:
        """Whether the conditions allow points with the values of combinations, and given values are valid."""
        n = len(at.regime) // len(self.x) if len(self.x) else 1
        regime, valid = (a.reshape(n, *self.x.shape) for a in (at.regime, at.valid))
        wanted, given = self.regime[None], np.asarray(is_given).reshape(1, 1, -1)
        others = wanted < INACTIVE
        return ((others | (regime == wanted)) & (valid | (others & ~given))).all(axis=-1)


def box_of(space: Space, values: Mapping[str, Any]) -> dict[str, Wanted]:
    """The event that parameters have values in a box, see `parzax.ParzenEstimator.mass`."""
    _checks.instance("values", values, Mapping, "a mapping of names to ranges or values")
    box: dict[str, Wanted] = {}
    for name, given in values.items():
        check_name("values: ", name, space)
        if given is None:
            box[name] = None
        elif isinstance(given, tuple) and len(given) == 2 and not isinstance(space[name][0], Categorical):
            about, infinite = f"values: {name}", (-math.inf, math.inf)
            box[name] = Range(*(x if x in infinite else _checks.real_number(about, x) for x in given))
        else:
            box[name] = In(name, list(given) if isinstance(given, (list, tuple)) else [given])
            for value in given if isinstance(given, (list, tuple)) else [given]:
                if all(domain.key(value) is None for domain in space[name]):
                    domains = " or ".join(map(repr, space[name]))
                    raise ValueError(f"values: {name!r} cannot be {value!r}; it is {domains}.")
    return box


def log_masses(
    space: Space, basis: Basis, mixture: Mixture, event: Mapping[str, Wanted]
) -> Float[Array, " n1"]:
    """log probability of an event under each kernel, and under the prior, with `finite` stand-ins.

    ``space`` has the parameters of the event and all that they depend on, and no others.
    """
    pieces, of_name = pieces_of(space, space.names, event, mixture.scale.dtype)
    combined = [
        _possible(space, basis.frame, {name: of_name[name] for name in each}) for each in _components(space)
    ]
    return _summed(basis, mixture, pieces, combined)


def pieces_of(
    space: Space, names: Iterable[str], event: Mapping[str, Wanted], dtype: Any
) -> tuple[Pieces, dict[str, list[tuple[int, int, float]]]]:
    """The pieces of parameters that an event allows, and for each parameter number, regime and a value."""
    pieces: list[tuple[float, ...]] = [(0, 0.0, 1.0)]  # the first stands for inactive parameters
    of_name: dict[str, list[tuple[int, int, float]]] = {}
    for name in names:
        of_name[name] = []
        for regime, value, *piece in _pieces(space, name, event):
            of_name[name].append((len(pieces) if piece else 0, regime, value))
            pieces += [tuple(piece)] if piece else []
    slot, lower, upper = np.array(pieces).T
    return Pieces(slot.astype(np.int32), *(x.astype(dtype) for x in (lower, upper, upper - lower))), of_name


@compiled
def _summed(
    basis: Basis, mixture: Mixture, pieces: Pieces, combined: list[tuple[Int[Any, "_ _"], Bool[Any, " _"]]]
) -> Float[Array, " n1"]:
    """Sum over combinations of products of masses, multiplied over the lists of combinations."""
    masses = piece_masses(basis, mixture, pieces)
    total = jnp.zeros(masses.shape[1], masses.dtype)
    for each, possible in combined:
        logs = weighted_logsumexp(masses[each].sum(axis=1).T, possible.astype(masses.dtype))
        total = total + finite(logs, basis.n_slots)
    return total


def piece_masses(basis: Basis, mixture: Mixture, pieces: Pieces) -> Float[Array, "p n1"]:
    """log mass of each piece under each kernel and the prior, 0 for the first, with `finite` stand-ins."""
    rows, scale = mixture.kernels()
    masses = jnp.zeros((len(pieces.slot), len(rows)), scale.dtype)
    for part in basis.groups:
        kernels, here = kernels_of(part, rows, scale), pieces.slot[:, None] == jnp.asarray(part.slot)[None]
        which = here.argmax(axis=1)
        of_piece = jax.tree.map(lambda a, which=which: a[which], kernels)
        by_row = jax.vmap(lambda one, *cell: one.log_mass_of_cell(*cell), in_axes=(0, None, None, None))
        logs = jax.vmap(by_row)(of_piece, *pieces[1:])
        is_here = here.any(axis=1) & (jnp.arange(len(masses)) > 0)
        masses = jnp.where(is_here[:, None], finite(logs, basis.n_slots), masses)
    return masses


def _pieces(space: Space, name: str, event: Mapping[str, Wanted]) -> Iterator[tuple[Any, ...]]:
    """The pieces of a parameter that an event allows: regime, a value, slot and ends in unit coordinates."""
    tests, domains, wanted = space.frame().tests, space[name], event.get(name)
    for slot, (parameter, regime, domain) in enumerate(space.slots):
        if parameter != space.index(name) or (name in event and wanted is None):
            continue
        axis: Any = domain.axis
        float64 = np.dtype(np.float64)
        lowest, highest = (0, axis.n_values.item()) if axis.discrete else domain.ends().tolist()
        allowed: Any = [(lowest, highest)] if wanted in (None, regime) else []
        if isinstance(wanted, (In, Range)):
            allowed = wanted.intervals(domain) if isinstance(wanted, In) else _keys(wanted, domain)
        cuts = {lowest, highest, *(end for ends in allowed for end in ends)}
        if tests is not None:
            cuts |= {*tests.low[tests.tested == slot].tolist(), *tests.high[tests.tested == slot].tolist()}
        if isinstance(domain, Categorical):
            cuts = set(range(highest + 1))
        for low, high in pairwise(sorted(min(max(cut, lowest), highest) for cut in cuts)):
            if low == high or not any(first <= low and high <= last for first, last in allowed):
                continue
            if axis.discrete:
                first, last = np.array(int(low)), np.array(int(high) - 1)
                ends = axis.cell(first, float64)[0], axis.cell(last, float64)[1]
                yield regime, float(axis.value(first, float64)), slot, *map(float, ends)
            else:
                ends = (float(axis.place(np.array(end), 0)) for end in (low, high))
                middle = sum(min(max(end, -_FAR), _FAR) for end in (low, high)) / 2
                yield regime, middle, slot, *ends
    if domains[0].conditions and wanted is None:
        yield INACTIVE, math.nan


def _keys(within: Range, domain: Domain) -> list[tuple[float, float]]:
    """Keys (`parzax.space.conditions`) of the values of a domain in a range."""
    axis: Any = domain.axis
    if within.low > within.high and domain.periodic:
        parts = within._replace(high=math.inf), within._replace(low=-math.inf)
        return [keys for part in parts for keys in _keys(part, domain)]
    ends = np.clip(np.array(within, np.float64), *domain.ends())
    if within.low > ends[1] or within.high < ends[0]:
        return []
    if not axis.discrete:
        return [tuple(ends.tolist())]
    index = axis.index(ends)
    outside = ~axis.has(ends, index) & ((axis.value(index, ends.dtype) - ends) * [-1, 1] > 0)
    first, last = (index + outside * [1, -1]).tolist()
    return [(first, last + 1)]


def _components(space: Space) -> list[tuple[str, ...]]:
    """The parameters in groups that do not depend on each other."""
    groups: list[set[str]] = []
    for name in space.names:
        linked = {name, *space.parents(name)}
        apart = [group for group in groups if not group & linked]
        groups = [*apart, linked.union(*(group for group in groups if group & linked))]
    return [tuple(name for name in space.names if name in group) for group in groups]


def combinations(space: Space, pieces: Mapping[str, list[tuple[int, int, float]]]) -> Combinations:
    """All combinations of pieces of parameters."""
    if math.prod(map(len, pieces.values())) > _MOST_COMBINATIONS:
        raise ValueError(f"values: {', '.join(pieces)} have too many combinations; estimate from draws.")
    listed = list(product(*pieces.values()))
    combined = np.full((3, len(listed), len(space)), np.array([0, INACTIVE - 1, np.nan])[:, None, None])
    for j, name in enumerate(pieces):
        combined[:, :, space.index(name)] = np.array([each[j] for each in listed]).T
    return Combinations(combined[0].astype(np.int32), combined[1].astype(np.int32), combined[2])


def _possible(
    space: Space, frame: Frame, pieces: Mapping[str, list[tuple[int, int, float]]]
) -> tuple[Int[Any, "c k"], Bool[Any, " c"]]:
    """Numbers of the pieces in each combination, and which combinations the conditions allow.

    The others are left out, unless given values decide on them.
    """
    each, on_host = combinations(space, pieces), frame.permitted is None
    x = each.x if on_host else jnp.asarray(each.x, jnp.result_type(float))
    at = (space.frame() if on_host else frame).encode(x)
    number, possible = each.number[:, [space.index(name) for name in pieces]], each.are_possible(at)[0]
    return (number[possible], possible[possible]) if on_host else (number, possible)
