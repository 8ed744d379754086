"""Marginals and conditionals of a mixture: remove some parameters from it, or fix their values."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import to_device, weighted_logsumexp
from parzax.density.basis import Basis, Families, basis_of, check_name, on_device
from parzax.density.log_kernels import restored
from parzax.density.mixture import Mixture
from parzax.space import INACTIVE, Categorical, Domain, Points, Space, choice_key, holds
from parzax.space.checks import check_regimes
from parzax.status import Status

# Largest log of a factor of a kernel of weight 0, as a fraction of the log of the largest float.
_LARGEST_FACTOR = 0.45


def marginal(space: Space, mixture: Mixture, names: tuple[str, ...]) -> tuple[Space, Mixture]:
    """See `parzax.ParzenEstimator.marginal`."""
    kept = with_ancestors(space, names)
    part = Space({name: space[name] for name in kept})
    return part, _select_columns(mixture, {space.index(name): range(len(space[name])) for name in kept})


def conditional(
    space: Space, mixture: Mixture, status: Int[Array, ""], families: Families, values: Mapping[str, Any]
) -> tuple[Space, Mixture, Int[Array, ""]]:
    """See `parzax.ParzenEstimator.conditional`. The status gets a bit if the values have no density."""
    given, dtype = given_values(space, values), mixture.scale.dtype
    part, kept = given_rest(space, given)
    if part is None:
        raise ValueError("values: no other parameter can be active; use log_prob for the given values.")
    row = [given.get(name, np.nan) for name in space.names]
    if _checks.is_traced(row):
        at = space.frame(dtype).encode(jnp.stack([jnp.asarray(value, dtype) for value in row])[None])
    else:
        at = to_device(space.frame().encode(np.array(row)[None]), dtype)
    basis = on_device(basis_of(space, dtype, families), mixture, row)
    is_given = tuple(name in given for name in space.names)
    columns = {space.index(name): domains for name, domains in kept.items()}
    return part, *_conditioned(replace(basis, pairwise=True), mixture, status, at, is_given, columns)


@compiled
def _conditioned(
    basis: Basis, mixture: Mixture, status: Array, at: Points, is_given: Any, columns: Any
) -> tuple[Mixture, Int[Array, ""]]:
    """The mixture over the parameters ``columns``, given the values of others at a single point."""
    # Only the factors of the given parameters enter the weights.
    is_inside = (at.valid | ~np.array(is_given)[None]).all()
    at = replace(at, regime=jnp.where(np.array(is_given)[None], at.regime, INACTIVE))
    logs = mixture.log_kernels(basis, 1)[0](at)[0]
    rest, possible = reweighted(mixture, logs, basis.n_slots, columns)
    return rest, status | jnp.where(is_inside & possible, 0, jnp.int32(Status.IMPOSSIBLE_EVENT))


def reweighted(
    mixture: Mixture, logs: Float[Array, " n1"], n_slots: int, columns: Mapping[int, Iterable[int]]
) -> tuple[Mixture, Bool[Array, ""]]:
    """The mixture over the parameters ``columns`` given an event, and whether it has a probability.

    ``logs`` are logs of the event's density under each kernel and the prior, with `finite` stand-ins.
    """
    weights = jnp.append(mixture.weight, mixture.prior_weight)
    total = restored(weighted_logsumexp(logs[None], weights)[0], n_slots)
    factors = logs - jnp.where(jnp.isfinite(total), total, 0)
    # A kernel of weight 0 keeps weight 0, even if its factor is infinite.
    most = _LARGEST_FACTOR * math.log(float(jnp.finfo(weights.dtype).max))
    weights = weights * jnp.exp(jnp.where(weights > 0, factors, jnp.minimum(factors, most)))
    rest = _select_columns(mixture, columns)
    # The prior's weight may now be as small as its factor at the given values.
    rest = replace(rest, weight=weights[:-1], prior_weight=weights[-1], anchored=False)
    return rest, total > -jnp.inf


def _select_columns(mixture: Mixture, columns: Mapping[int, Iterable[int]]) -> Mixture:
    """The mixture over some parameters: ``columns`` maps their indices to the indices of kept domains."""
    which = np.array(list(columns))
    rows = jax.tree.map(lambda a: a[:, which], mixture.rows)
    kept = [(j, new, old) for j, domains in enumerate(columns.values()) for new, old in enumerate(domains)]
    regime = jnp.full_like(rows.regime, INACTIVE)
    for j, new, old in kept:
        regime = regime.at[:, j].set(jnp.where(rows.regime[:, j] == old, new, regime[:, j]))
    by_regime = {(prior.parameter, prior.regime): prior for prior in mixture.priors}
    priors = [
        replace(by_regime[which[j], old], slot=slot, parameter=j, regime=new)
        for slot, (j, new, old) in enumerate(kept)
        if (which[j], old) in by_regime
    ]
    rows = replace(rows, regime=regime)
    scale, wide = mixture.scale[:, which], jax.tree.map(lambda a: a[which], mixture.wide)
    changed = {"rows": rows, "scale": scale, "wide": wide, "priors": tuple(priors)}
    return replace(mixture, **changed, tables=None, coefficients=None)


def with_ancestors(space: Space, names: Iterable[str]) -> tuple[str, ...]:
    """The parameters ``names`` and all parameters that they depend on, in the order of the space."""
    wanted = set()
    for name in names:
        _checks.instance("names", name, str, "strings, one argument each")
        wanted.add(name)
        check_name("", name, space)
    for name in reversed(space.order):
        if name in wanted:
            wanted |= set(space.parents(name))
    if not wanted:
        raise ValueError("at least one parameter must be named.")
    return tuple(name for name in space.names if name in wanted)


def given_values(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """Checked native values by name, with choices as codes and None as NaN; traced values are unchanged."""
    _checks.instance("values", values, Mapping, "a mapping of names to values")
    if not values:
        raise ValueError("values: at least one parameter must be given.")
    out = {}
    for name, value in values.items():
        check_name("values: ", name, space)
        if _checks.is_traced(value):
            out[name] = value
            continue
        domain = space[name][0]
        if isinstance(domain, Categorical) and choice_key(value) in domain.codes:
            code = domain.codes[choice_key(value)]
            other = not isinstance(value, (str, type(None))) and value != code
            if other and not domain.outside(np.asarray(value, np.float64)):
                raise ValueError(
                    f"values: {name!r} = {value!r} is ambiguous: it is one choice and the code of another. "
                    f"Use strings as choices, or compute the conditional from log_prob at arrays of codes."
                )
            value = code
        if isinstance(value, (str, bytes)):
            raise ValueError(f"values: {name!r} = {value!r} is not one of its choices.")
        out[name] = math.nan if value is None else float(value)
    return out


def given_regimes(space: Space, values: Mapping[str, Any]) -> dict[str, int]:
    """Regimes of the concrete values among the given ones. ValueError for values that cannot be given."""
    concrete = [name for name in space.names if name in values and not _checks.is_traced(values[name])]
    for name in space.names:
        for parent in space.parents(name):
            if name in values and parent not in values:
                raise ValueError(f"values: {name!r} is given, so {parent} must be too.")
            if parent in values and parent not in concrete:
                remedy = "so its value must be concrete: it decides on the space of the result"
                raise ValueError(f"values: {name!r} depends on {parent!r}, {remedy}.")
    if not concrete:
        return {}
    row = np.array([[values[name] for name in concrete]])
    given = Space({name: space[name] for name in concrete})
    return dict(zip(concrete, check_regimes(given, row, None, np.ones(1, bool))[0].tolist(), strict=True))


def given_rest(space: Space, values: Mapping[str, Any]) -> tuple[Space | None, dict[str, tuple[int, ...]]]:
    """The space of the other parameters when some have given native values (NaN = inactive).

    Conditions that the given values meet are removed, and so are domains that cannot apply. The space is None
    if no parameter is left. The second result has, for each parameter, the old indices of its kept domains.
    """
    regimes = given_regimes(space, values)
    left: dict[str, dict[int, Domain]] = {}

    def is_met(condition: Any) -> bool:
        # A parent that is neither given nor kept cannot be active.
        parent, regime = condition.parent, regimes.get(condition.parent, INACTIVE)
        return regime != INACTIVE and holds(condition, space[parent][regime], np.float64(values[parent]))

    for name in (name for name in space.order if name not in values):
        possible: dict[int, Domain] = {}
        for i, domain in enumerate(space[name]):
            conditions: Any = domain.conditions  # none of a density is `Recorded`
            undecided = tuple(condition for condition in conditions if condition.parent in left)
            if all(is_met(condition) for condition in conditions if condition not in undecided):
                possible[i] = replace(domain, when=undecided)
                if not undecided:
                    break
        if possible:
            left[name] = possible
    left = {name: left[name] for name in space.names if name in left}
    rest = Space({name: tuple(domains.values()) for name, domains in left.items()}) if left else None
    return rest, {name: tuple(domains) for name, domains in left.items()}
