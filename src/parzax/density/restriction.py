"""Marginals and conditionals of a mixture: remove some parameters from it, or fix their values."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import to_device, weighted_logsumexp
from parzax.density import events
from parzax.density.basis import Basis, Families, basis_of, check_name, on_device
from parzax.density.cut import CutRows
from parzax.density.log_kernels import finite, restored
from parzax.density.mixture import Mixture
from parzax.space import (
    INACTIVE,
    Categorical,
    ConditionTests,
    Domain,
    Frame,
    Given,
    Points,
    Space,
    choice_key,
    holds,
)
from parzax.space.checks import check_regimes
from parzax.space.conditions import among, common_intervals
from parzax.status import Status

# Largest log of a factor of a kernel of weight 0, as a fraction of the log of the largest float.
_LARGEST_FACTOR = 0.45


def marginal(
    space: Space, mixture: Mixture, permitted: Bool[Array, " s"] | None, names: tuple[str, ...]
) -> tuple[Space, Mixture, Bool[Array, " s"] | None]:
    """See `parzax.ParzenEstimator.marginal`."""
    kept = {name: range(len(space[name])) for name in with_ancestors(space, names)}
    part = Space({name: space[name] for name in kept})
    columns = {space.index(name): domains for name, domains in kept.items()}
    return part, select_columns(mixture, columns), _permitted(space, permitted, part, kept)


def _permitted(
    space: Space, permitted: Bool[Array, " s"] | None, part: Space, kept: Mapping[str, Iterable[int]]
) -> Bool[Array, " s"] | None:
    """Which slots can apply of a part of a space, whose domains were the ``kept`` ones; None is all."""
    if permitted is None or not any(Given() in slot.domain.conditions for slot in part.slots):
        return None
    names = [space.names[slot.parameter] for slot in space.slots]
    slots = [s for s, name in enumerate(names) if space.slots[s].regime in kept.get(name, ())]
    return permitted[np.array(slots)]


def conditional(
    space: Space,
    fitted: tuple[Mixture, Int[Array, ""], Bool[Array, " s"] | None],
    families: Families,
    values: Mapping[str, Any],
) -> tuple[Space, tuple[Mixture, Int[Array, "*j"], Bool[Array, "*j s"] | None]]:
    """See `parzax.ParzenEstimator.conditional`.

    ``fitted`` are the mixture, the status, and which slots earlier values allow. The result has those of the
    other parameters; the status gets a bit if the values have no density. Arrays of j values give j results.
    """
    mixture, status, permitted = fitted
    given, dtype = given_values(space, values), mixture.scale.dtype
    regimes = fixed_regimes(space, given, permitted is not None)
    part, kept, owners = given_rest(space, given, regimes)
    if part is None:
        raise ValueError("values: no other parameter can be active; use log_prob for the given values.")
    missing, of_parents = _missing_parents(space, given, owners), None
    row = [given[name][0] if name in given else np.nan for name in space.names]
    batch = np.broadcast_shapes(*map(np.shape, row))
    on_host = permitted is None and not any(isinstance(value, jax.Array) for value in row)
    xp, dtype_of_row = (np, np.dtype(np.float64)) if on_host else (jnp, dtype)
    columns = [xp.broadcast_to(xp.asarray(value, dtype_of_row), batch).ravel() for value in row]
    x, is_given = xp.stack(columns, axis=-1), tuple(name in given for name in space.names)
    tests = ConditionTests.of(space, owners, dtype_of_row) if any(owners) else None
    frame = replace(space.frame(None if on_host else dtype), permitted=permitted)
    if missing:
        pieces, of_name = events.pieces_of(space, missing, {}, dtype)
        parents = events.combinations(space, of_name)
        if on_host:
            combined = with_codes(space, frame, parents.put_into(x), given)
            possible = parents.are_possible(frame.encode(combined), is_given)
            if not possible.any(axis=1).all():
                raise ValueError(f"values: no values of {', '.join(missing)} allow {dict(values)!r}.")
            parents = jax.tree.map(lambda a: a[possible.any(axis=0) | (len(x) == 0)], parents)
        x, of_parents = parents.put_into(x), (pieces, parents)
    x = with_codes(space, frame, x, given)
    at = to_device(_encoded(frame, tests, x), dtype) if on_host else (frame, tests, x)
    permitted = _permitted(space, permitted, part, kept)
    basis = replace(on_device(basis_of(space, dtype, families), fitted, x), pairwise=True)
    which = {space.index(name): domains for name, domains in kept.items()}
    fixed = is_given, which, bool(batch)
    return part, _conditioned(basis, mixture, status, permitted, at, of_parents, *fixed)


def _missing_parents(space: Space, given: Mapping[str, Any], owners: list[tuple[Any, ...]]) -> list[str]:
    """The parameters without values that given ones depend on; ValueError where no mixture is the answer.

    Numbers and choices meet a condition whatever their domain is; but a code may stand for several choices.
    """
    missing = [name for name in with_ancestors(space, given) if name not in given]
    for condition in (c for owner in owners for c in owner if isinstance(space[c.parent][0], Categorical)):
        domains: Any = space[condition.parent]
        parents = [name for name in with_ancestors(space, [condition.parent]) if name in missing]
        codes = given.get(condition.parent)
        if codes is None or isinstance(codes[0], jax.Array):
            codes = [np.arange(max(len(domain.choices) for domain in domains))] * len(domains)
        met = np.stack([holds(condition, domain, codes[i]) for i, domain in enumerate(domains)])
        unmet = np.stack([~domain.outside(codes[i]) for i, domain in enumerate(domains)]) & ~met
        if parents and (met.any(axis=0) & unmet.any(axis=0)).any():
            reason = f"a code of {condition.parent!r} stands for several choices"
            raise ValueError(f"values: {reason}; give the choice, or {', '.join(parents)} too.")
    return missing


def with_codes(
    space: Space, frame: Frame, x: Float[Any, "n d"], given: Mapping[str, Any]
) -> Float[Any, "n d"]:
    """Configurations where given choices have their codes in the domains that apply, see `given_values`."""
    xp = x.__array_namespace__()
    for name in (name for name in space.order if len(given.get(name, ())) > 1):
        codes, column = np.stack(given[name], axis=-1).reshape(-1, len(given[name])), space.index(name)
        row = np.arange(len(x)) * len(codes) // max(len(x), 1)
        # The regime depends on the values of the parents alone.
        code = xp.asarray(codes, dtype=x.dtype)[row, frame.encode(x).regime[:, column]]
        x = xp.where(np.arange(len(space)) == column, code[:, None], x)
    return x


def _encoded(
    frame: Frame, tests: ConditionTests | None, x: Float[Any, "j d"]
) -> tuple[Points, Bool[Any, "j s"] | None]:
    """Points of given values, and which slots of the other parameters they allow; None is all."""
    at = frame.encode(x)
    return at, None if tests is None else frame.meets(tests, at, x)


@compiled
def _conditioned(
    basis: Basis,
    mixture: Mixture,
    status: Int[Array, ""],
    earlier: Bool[Array, " s"] | None,
    at: Any,
    of_parents: tuple[events.Pieces, events.Combinations] | None,
    is_given: tuple[bool, ...],
    columns: Mapping[int, tuple[int, ...]],
    is_batch: bool,
) -> Any:
    """The mixtures over the parameters ``columns``, given the values of others at points, see `conditional`.

    ``at`` has the results of `_encoded`, or its arguments; ``earlier`` are the slots of earlier values. With
    ``of_parents`` the points have j values in each of c combinations of pieces of parents without values.
    """
    at, permitted = at if len(at) == 2 else _encoded(*at)
    given = np.array(is_given)[None]
    possible = (at.valid | ~given).all(axis=-1)[:, None]
    if of_parents is not None:
        possible = of_parents[1].are_possible(at, given)
    # Only the factors of the given parameters enter the weights; outside a domain there is no density.
    at = replace(at, regime=jnp.where(given, at.regime, INACTIVE))
    logs = mixture.log_kernels(basis, len(at))[0](at)
    logs = finite(jnp.where(possible.reshape(-1, 1), logs, -jnp.inf), basis.n_slots)
    if of_parents is not None:
        masses = events.piece_masses(basis, mixture, of_parents[0])[of_parents[1].number].sum(axis=1)
        # The domains of a given parameter may have different units.
        logs = logs + basis.frame.log_jacobian(at)[:, None]
        logs = (logs.reshape(-1, *masses.shape) + masses[None]).reshape(-1, masses.size)
        logs = jnp.pad(logs, ((0, 0), (0, 1)))  # for a prior without weight
        mixture = _cut(basis, mixture, *of_parents)
        if permitted is not None:
            permitted = permitted.reshape(*possible.shape, permitted.shape[-1])
            permitted = (permitted & possible[..., None]).any(axis=1)
    if earlier is not None:
        earlier = jnp.broadcast_to(earlier, (len(logs), *earlier.shape))
        permitted = earlier if permitted is None else permitted & earlier

    def rest(logs: Float[Array, " n1"], permitted: Any) -> Any:
        weighted, bits = reweighted(mixture, status, logs, basis.n_slots)
        return select_columns(weighted, columns), bits, permitted

    if is_batch:
        return jax.vmap(rest)(logs, permitted)
    return rest(*jax.tree.map(lambda a: a[0], (logs, permitted)))


def _cut(basis: Basis, mixture: Mixture, pieces: events.Pieces, parents: events.Combinations) -> Mixture:
    """The mixture with each kernel, and the prior, once in each combination of pieces of parents."""
    rows, scale = mixture.kernels()
    # Cells next to a piece stay outside of it, however their ends are rounded.
    rounding = jnp.where(basis.frame.counted[pieces.slot], 4 * jnp.finfo(scale.dtype).eps, 0)
    lower, upper = (pieces.lower + rounding).at[0].set(-jnp.inf), (pieces.upper - rounding).at[0].set(jnp.inf)
    lower, upper = (jnp.repeat(ends[parents.number], len(rows), axis=0) for ends in (lower, upper))
    rows, scale = jax.tree.map(lambda a: jnp.tile(a, (len(parents.x), 1)), (rows, scale))
    if isinstance(rows, CutRows):
        lower, upper = jnp.maximum(lower, rows.lower), jnp.minimum(upper, rows.upper)
    rows = CutRows(rows.regime, rows.unit, rows.index, rows.valid, lower, upper)
    weight = jnp.tile(jnp.append(mixture.weight, mixture.prior_weight), len(parents.x))
    none = jnp.zeros_like(mixture.prior_weight)
    return replace(mixture, rows=rows, scale=scale, weight=weight, prior_weight=none)


@compiled
def log_total(mixture: Mixture, logs: Float[Array, " n1"], n_slots: int) -> Float[Array, ""]:
    """log density of an event, from its ``logs`` under each kernel and the prior, see `finite`."""
    weights = jnp.append(mixture.weight, mixture.prior_weight)
    return restored(weighted_logsumexp(logs[None], weights)[0], n_slots)


@compiled
def reweighted(
    mixture: Mixture, status: Int[Array, ""], logs: Float[Array, " n1"], n_slots: int
) -> tuple[Mixture, Int[Array, ""]]:
    """The kernels given an event (see `log_total`), and the status."""
    weights, total = jnp.append(mixture.weight, mixture.prior_weight), log_total(mixture, logs, n_slots)
    factors = logs - jnp.where(jnp.isfinite(total), total, 0)
    # A kernel of weight 0 keeps weight 0, even if its factor is infinite.
    most = _LARGEST_FACTOR * math.log(float(jnp.finfo(weights.dtype).max))
    weights = weights * jnp.exp(jnp.where(weights > 0, factors, jnp.minimum(factors, most)))
    # The prior's weight may now be as small as its factor at the given values.
    mixture = replace(mixture, weight=weights[:-1], prior_weight=weights[-1], anchored=False)
    return mixture, status | jnp.where(total > -jnp.inf, 0, jnp.int32(Status.IMPOSSIBLE_EVENT))


def select_columns(mixture: Mixture, columns: Mapping[int, Iterable[int]]) -> Mixture:
    """The mixture over some parameters: ``columns`` maps their indices to the indices of kept domains."""
    kept = [list(domains) for domains in columns.values()]
    # New numbers by old ones; the last is that of inactive parameters.
    old = range(max(map(max, kept)) + 2)
    new = np.array([[domains.index(i) if i in domains else INACTIVE for i in old] for domains in kept])
    return _selected(mixture, np.array(list(columns)), new.astype(np.int32))


@compiled
def _selected(mixture: Mixture, which: Int[Any, " k"], new: Int[Any, "k r"]) -> Mixture:
    of_rows = mixture.rows, mixture.scale, mixture.wide
    rows, scale, wide = jax.tree.map(lambda a: a[..., which], of_rows)
    regime = jnp.asarray(new).at[np.arange(len(which)), rows.regime].get(mode="fill", fill_value=INACTIVE)
    rows = replace(rows, regime=regime)
    return replace(mixture, rows=rows, scale=scale, wide=wide, tables=None, coefficients=None)


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


def given_values(space: Space, values: Mapping[str, Any]) -> dict[str, list[Num[Any, "*j"]]]:
    """Checked native values by name: the codes of choices in each domain; None is NaN.

    A single array, of numbers or of JAX, stands for all domains.
    """
    _checks.instance("values", values, Mapping, "a mapping of names to values")
    if not values:
        raise ValueError("values: at least one parameter must be given.")
    out = {}
    for name, value in values.items():
        check_name("values: ", name, space)
        if isinstance(value, (list, tuple)) or np.ndim(value) > 1:
            remedy = "give one value, or an array (n,) of values; use jax.vmap for more axes"
            raise ValueError(f"values: {name!r} is {value!r}; {remedy}.")
        if _checks.is_traced(value) or (isinstance(value, jax.Array) and value.ndim):
            out[name] = [value]
            continue
        domains = space[name] if isinstance(space[name][0], Categorical) else space[name][:1]
        each = value.tolist() if isinstance(value, np.ndarray) and value.ndim else [value]
        by_domain = ([_number(space, name, one, domain) for one in each] for domain in domains)
        out[name] = [np.array(numbers, np.float64).reshape(np.shape(value)) for numbers in by_domain]
    return out


def _number(space: Space, name: str, value: Any, domain: Any) -> float:
    """One value as a number: a choice as its code in a domain, -1 if that lacks it; None as NaN."""
    domains: Any = space[name]
    if isinstance(domain, Categorical) and any(choice_key(value) in each.codes for each in domains):
        code = domain.codes.get(choice_key(value), -1)
        other = not isinstance(value, (str, type(None))) and value != code
        if other and not domain.outside(np.asarray(value, np.float64)):
            raise ValueError(
                f"values: {name!r} = {value!r} is ambiguous: it is one choice and the code of another. "
                f"Use strings as choices, or compute the conditional from log_prob at arrays of codes."
            )
        return code
    if isinstance(value, (str, bytes)):
        raise ValueError(f"values: {name!r} = {value!r} is not one of its choices.")
    return math.nan if value is None else float(value)


def fixed_regimes(space: Space, values: Mapping[str, Any], on_device: bool) -> dict[str, tuple[int, float]]:
    """Regimes and numbers of the single values that are concrete, and do not depend on others that are not.

    ValueError for values that cannot be given. With ``on_device`` all regimes depend on arrays of the device.
    """
    checked: list[str] = []
    for name in (name for name in space.order if name in values):
        has_parents = all(parent in checked for parent in space.parents(name))
        if has_parents and not isinstance(values[name][0], jax.Array):
            checked.append(name)
    if on_device or not checked:
        return {}
    given = Space({name: space[name] for name in checked})
    columns = np.broadcast_arrays(*(values[name][0] for name in checked))
    rows = np.stack(columns, axis=-1).reshape(-1, len(checked))
    rows = with_codes(given, given.frame(), rows, values)
    regimes = check_regimes(given, rows, None, np.ones(len(rows), bool))
    fixed: dict[str, tuple[int, float]] = {}
    for name, regime, number in zip(checked, regimes.T, rows.T, strict=True):
        if not values[name][0].ndim and all(parent in fixed for parent in space.parents(name)):
            fixed[name] = int(regime[0]), number[0]
    return fixed


def given_rest(
    space: Space, values: Mapping[str, Any], fixed: Mapping[str, tuple[int, float]]
) -> tuple[Space | None, dict[str, tuple[int, ...]], list[tuple[Any, ...]]]:
    """The space of the other parameters when some have given native values (NaN = inactive).

    Conditions that values with ``fixed`` regimes meet are removed, and so are domains that cannot apply.
    Conditions on other given values become `Given`. The space is None if no parameter is left. The second
    result has, for each parameter, the old indices of its kept domains; the third has, for each kept domain,
    its conditions on the other given values.
    """
    left: dict[str, dict[int, Domain]] = {}
    by_value: dict[tuple[str, int], tuple[Any, ...]] = {}

    def is_met(condition: Any) -> bool:
        # A parent that is neither given nor kept cannot be active.
        regime, number = fixed.get(condition.parent, (INACTIVE, np.nan))
        return regime != INACTIVE and holds(condition, space[condition.parent][regime], number)

    for name in (name for name in space.order if name not in values):
        possible: dict[int, Domain] = {}
        for i, domain in enumerate(space[name]):
            conditions: Any = domain.conditions  # none of a density is `Recorded`
            varying = tuple(
                c for c in conditions if c != Given() and c.parent in values and c.parent not in fixed
            )
            undecided = tuple(c for c in conditions if c == Given() or c.parent in left)
            when = _narrowed(undecided, left)
            if when is not None and all(is_met(c) for c in conditions if c not in (*varying, *undecided)):
                when = tuple(dict.fromkeys((*when, *(Given() for _ in varying))))
                possible[i], by_value[name, i] = replace(domain, when=when), varying
                if not when:
                    break
        if possible:
            left[name] = possible
    left = {name: left[name] for name in space.names if name in left}
    rest = Space({name: tuple(domains.values()) for name, domains in left.items()}) if left else None
    owners = [by_value[name, i] for name, domains in left.items() for i in domains]
    return rest, {name: tuple(domains) for name, domains in left.items()}, owners


def _narrowed(
    conditions: tuple[Any, ...], left: Mapping[str, Mapping[int, Domain]]
) -> tuple[Any, ...] | None:
    """Conditions without values that no domain ``left`` of a parent has; None if they cannot hold."""
    by_parent: dict[str, list[Any]] = {}
    for condition in (c for c in conditions if c != Given()):
        by_parent.setdefault(condition.parent, []).append(among(condition, left[condition.parent].values()))
    for parent, together in by_parent.items():
        domains = left[parent].values()
        if None in together or not any(common_intervals([c.intervals(d) for c in together]) for d in domains):
            return None
    given = tuple(c for c in conditions if c == Given())
    return given + tuple(c for together in by_parent.values() for c in together)
