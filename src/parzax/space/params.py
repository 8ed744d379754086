"""Named values of configurations: from the columns of native values to dicts and other pytrees, and back.

``space`` is a `parzax.Space`, whose methods these functions are.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parzax import _checks
from parzax._numerics import namespace
from parzax.space.domains import Categorical, Domain, Numeric
from parzax.space.walk import INACTIVE


def is_parameter(node: Any) -> bool:
    """Whether a node is one parameter: a domain, or a plain tuple of domains. A NamedTuple is a branch."""
    several = type(node) is tuple and bool(node) and all(isinstance(part, Domain) for part in node)
    return isinstance(node, Domain) or several


def named_domains(tree: Any) -> tuple[dict[str, Any], Any]:
    """The domains of a pytree by their paths, such as "optimizer.lr", and the tree of these names."""
    flat, structure = jax.tree_util.tree_flatten_with_path(tree, is_leaf=is_parameter)
    names = [".".join(_part(key) for key in path) for path, _ in flat]
    if len(set(names)) < len(names):
        raise ValueError(f"two parameters of the tree have the same name: {', '.join(sorted(names))}.")
    domains = {name: domain for name, (_, domain) in zip(names, flat, strict=True)}
    return domains, jax.tree.unflatten(structure, names)


def unflatten(space: Any, x: Any) -> Any:
    """See `parzax.Space.unflatten`."""
    x = _columns(space, x)
    xp, values = namespace(x), {}
    integer = xp.asarray(0).dtype
    for j, (name, (inactive_value, largest)) in enumerate(_kinds(space).items()):
        column = x[..., j]
        value = xp.where(xp.isnan(column), xp.asarray(inactive_value, column.dtype), column)
        values[name] = xp.round(value).astype(integer) if largest <= np.iinfo(integer).max else value
    return _in_structure(space, values)


def active(space: Any, x: Any) -> Any:
    """Which parameters are active, in the structure of `unflatten`."""
    x = _columns(space, x)
    return _in_structure(space, {name: ~namespace(x).isnan(x[..., j]) for j, name in enumerate(space.names)})


def as_columns(space: Any, params: Any) -> Any:
    """(..., d) the values of `unflatten` as columns, in JAX where one of them is."""
    values = _values(space, params)
    on_device = any(isinstance(value, jax.Array) for value in values)
    xp, dtype = (jnp, jnp.result_type(float)) if on_device else (np, np.float64)
    check = _checks.real_array if on_device else _checks.float_array
    named = zip(space.names, values, strict=True)
    columns = {name: check(f"params: {name}", value) for name, value in named}
    shapes = {name: np.shape(column) for name, column in columns.items()}
    try:
        shape = np.broadcast_shapes(*shapes.values())
    except ValueError:
        raise ValueError(f"params must have shapes that broadcast, got {shapes}.") from None
    return xp.stack([xp.broadcast_to(column, shape).astype(dtype) for column in columns.values()], axis=-1)


def hide_inactive(x: Any, regime: Any) -> Any:
    """The columns with NaN where a parameter is inactive."""
    xp = namespace(x)
    return xp.where(regime.reshape(x.shape) == INACTIVE, xp.asarray(np.nan, x.dtype), x)


def _values(space: Any, params: Any) -> list[Any]:
    """The values in the order of the columns; raises where names or structure are not those of the space."""
    if space.structure is None:
        _checks.instance("params", params, dict, "a dict by parameter name")
        if params.keys() != set(space.names):
            raise ValueError(
                f"params must have the names {_join_names(space.names)}, got {_join_names(params)}."
            )
        return [params[name] for name in space.names]
    values, structure = jax.tree.flatten(params)
    wanted = jax.tree.structure(space.structure)
    if structure != wanted:
        raise ValueError(f"params must have the structure {wanted}, got {structure}.")
    return values


def _in_structure(space: Any, values: dict[str, Any]) -> Any:
    return values if space.structure is None else jax.tree.map(values.__getitem__, space.structure)


def _columns(space: Any, x: Any) -> Any:
    """Native values as floats, (..., d); JAX arrays stay where they are."""
    x = _checks.floating_array("x", x) if isinstance(x, jax.Array) else _checks.float_array("x", x)
    if not x.ndim or x.shape[-1] != len(space):
        raise ValueError(f"x must have shape (..., {len(space)}), one column per parameter, got {x.shape}.")
    return x


@lru_cache(maxsize=256)
def _kinds(space: Any) -> dict[str, tuple[float, float]]:
    """For each parameter: its value while inactive, and its largest absolute value; inf if not an integer."""
    kinds = {}
    for name, domains in zip(space.names, space.domains, strict=True):
        integers = all(d.has_integers or isinstance(d, Categorical) for d in domains)
        largest = max(abs(bound) for domain in domains for bound in _bounds(domain))
        kinds[name] = _bounds(domains[0])[0], largest if integers else np.inf
    return kinds


def _bounds(domain: Domain) -> tuple[float, float]:
    if isinstance(domain, Numeric):
        return float(domain.low), float(domain.high)
    values = domain.list_values()
    return float(values[0]), float(values[-1])


def _part(key: Any) -> str:
    names = (getattr(key, part, None) for part in ("key", "name", "idx"))
    return str(next(name for name in names if name is not None))


def _join_names(names: Iterable[Any]) -> str:
    return ", ".join(map(repr, names))
