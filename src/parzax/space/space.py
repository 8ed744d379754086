"""Search spaces: named parameters, the regimes of each, and the conditions that choose among them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax._mesh import jit_on_meshes, jit_or_host
from parzax.space.choice import Choice
from parzax.space.conditions import Between, Condition, In, Recorded, choice_key, common_intervals
from parzax.space.domains import Categorical, Domain
from parzax.space.frame import INACTIVE, Frame, Points
from parzax.space.serialization import space_from_json, space_to_json
from parzax.space.valid import Forbidden, Holds, as_rules, bind_rules

Parameters: TypeAlias = Mapping[str, Domain | Sequence[Domain]]
# Rows whose regimes the host derives together.
_BLOCK = 1 << 14
# The number of random configurations that say which share is valid, and the least share to draw from.
_N_DRAWN, _LEAST_SHARE = 1 << 16, 1e-4


class Slot(NamedTuple):
    """One regime of one parameter."""

    parameter: int
    regime: int
    domain: Domain


class Space:
    """A search space: each parameter has one domain, or several, of which the first that applies is used.

    A domain of a parameter is one of its *regimes*. If no domain's conditions hold, the parameter is
    inactive, which is a regime too. A condition on an inactive parent fails.

    Attributes:
        names: parameter names, in the order of the columns of ``values``.
        domains: the domains of each parameter, in the order of `names`.
        generations: lists of names, parents in earlier lists than their children.
        order: names with parents before children.
        slots: every regime of every parameter.
        valid: the rules and functions that say which configurations are valid.

    Args:
        parameters: name -> domain, or a tuple of domains. Conditions name other parameters of the
            space, in any order of declaration, without cycles.
        valid: which configurations are valid: a rule of `parzax.valid`, a function, or a list of these, which
            must all hold. A function gets what `unflatten` gives for one configuration, and returns one bool.
            It is pure, and JAX traces it. It is static, equal by identity, and has no JSON form. Draws, and
            the suggestions of samplers, are valid. Rows that were evaluated need not be, and densities and
            importances of rows ignore rules.
        structure: a pytree of the names, in which `unflatten` gives values (`from_tree` makes it); None for a
            dict.

    Raises:
        ValueError: for unknown or cyclic parents, conditions a parent cannot meet, an unreachable
            domain, or a mix of categorical and numeric domains in one parameter; for a rule about parameters
            that the space does not have, and, when configurations are drawn, if hardly any is valid.
        TypeError: a function of ``valid`` that JAX cannot trace, or that returns no bool.

    >>> import parzax as px
    >>> space = px.Space({
    ...     "booster": px.Categorical(["tree", "linear"]),
    ...     "depth": px.Int(1, 9, when=px.In("booster", ["tree"])),
    ... })
    >>> space.names
    ('booster', 'depth')
    >>> space.as_dict([1, float("nan")])
    {'booster': 'linear'}
    """

    def __init__(self, parameters: Parameters, valid: Any = None, *, structure: Any = None) -> None:
        _checks.instance("parameters", parameters, Mapping, "a mapping of names to domains")
        if not parameters:
            raise ValueError("parameters must not be empty.")
        self._domains = {name: _as_domains(name, domain) for name, domain in parameters.items()}
        self.generations = _generations(self._domains)
        self.names, self.domains = tuple(self._domains), tuple(self._domains.values())
        self.order = tuple(name for names in self.generations for name in names)
        self.slots = tuple(Slot(j, i, d) for j, ds in enumerate(self.domains) for i, d in enumerate(ds))
        self.structure = structure
        self._columns = {name: j for j, name in enumerate(self._domains)}
        self.valid = as_rules(valid)
        for rule in self.valid:
            if not callable(rule):
                about = rule.conditions if isinstance(rule, Forbidden) else tuple(map(Between, rule.names))
                _parents(f"valid: {rule!r}", about, self._domains)
        self.bind_rules(np.float64)
        # The hash is stored, because caches need it at every call.
        self._hash = hash((*self._domains.items(), *self.valid))

    def __len__(self) -> int:
        return len(self._domains)

    def __contains__(self, name: object) -> bool:
        return name in self._domains

    def __iter__(self) -> Iterator[str]:
        return iter(self._domains)

    def __getitem__(self, name: str) -> tuple[Domain, ...]:
        if name not in self._domains:
            raise KeyError(f"no parameter {name!r}; {_checks.suggest(name, self.names)}")
        return self._domains[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space) or not self.agrees_with(other) or self.valid != other.valid:
            return False
        # `unflatten` differs between structures, so compiled programs must not mix them up.
        return jax.tree.structure(self.structure) == jax.tree.structure(other.structure)

    def agrees_with(self, other: "Space") -> bool:
        """Whether both have the same parameters in the same order; structures and ``valid`` may differ."""
        return (self.names, self.domains) == (other.names, other.domains)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild on loading, since hashes of text differ between processes."""
        return partial(type(self), structure=self.structure), (self._domains, self.valid)

    def __repr__(self) -> str:
        bodies = [domains[0] if len(domains) == 1 else domains for domains in self.domains]
        lines = [f"    {name!r}: {body!r}," for name, body in zip(self.names, bodies, strict=True)]
        rules = self.rule_texts()
        end = f"}}, valid=[{', '.join(rules)}])" if rules else "})"
        return "\n".join(["Space({", *lines, end])

    def describe(self) -> dict[str, Any]:
        """The parameters, and the rules of `valid` as texts, in JSON, for files of this space."""
        domains = json.loads(space_to_json(self._domains))["parameters"]
        parameters = {f"parameter {domain.pop('name')}": domain for domain in domains}
        return parameters | ({"valid": self.rule_texts()} if self.valid else {})

    def rule_texts(self) -> list[str]:
        """The rules of `valid` as texts; a function by its name."""
        return [getattr(rule, "__name__", repr(rule)) for rule in self.valid]

    def index(self, name: str) -> int:
        """Column of parameter ``name``."""
        self[name]
        return self._columns[name]

    def parents(self, name: str) -> tuple[str, ...]:
        """Names of the parameters that parameter ``name`` depends on directly."""
        conditions = (c for domain in self[name] for c in domain.conditions)
        return tuple(dict.fromkeys(c.parent for c in conditions if not isinstance(c, Recorded)))

    def frame(self, dtype: Any = None) -> Frame:
        """The space as arrays, made once: for JAX arrays with floats of ``dtype``, or for NumPy arrays.

        The frame for NumPy arrays (``dtype`` None) broadcasts axes over columns in float64.
        """
        return Frame.of(self, dtype)

    def bind_rules(self, dtype: Any) -> tuple[Holds, ...]:
        """The rules of ``valid`` as functions of points with floats of ``dtype``; see `Frame.allowed`."""
        return bind_rules(self.valid, self, dtype)

    def allows(self, x: Any) -> Any:
        """Which configurations are valid: their values are in their domains, and all rules of ``valid`` hold.

        Args:
            x: (..., d) native values, NaN where inactive, categories as codes.

        Returns:
            (...,) booleans. With JAX arrays it is a pure function.
        """
        x = self._columns_of(x)
        return _located(x.reshape(-1, len(self)), self).valid.all(axis=-1).reshape(x.shape[:-1])

    @cached_property
    def valid_share(self) -> float:
        """The share of 65,536 random configurations that are valid."""
        frame, levels = self.frame(), np.random.default_rng(0).random((_N_DRAWN, len(self.slots)))
        return float(frame.allowed(frame.drawn(levels)).mean())

    def check_valid(self) -> None:
        """Raise ValueError if hardly any random configuration is valid, so that drawing one is hopeless."""
        if self.valid and self.valid_share < _LEAST_SHARE:
            raise ValueError(
                f"valid allows {self.valid_share * _N_DRAWN:.0f} of {_N_DRAWN:,} random configurations, "
                "too few to draw from; narrow the domains, use conditions (when=), or leave out a parameter "
                "that follows from the others."
            )

    def check_dtype(self, dtype: Any, *, native: bool, arrays: bool = True) -> None:
        """Raise ValueError for a domain whose values a dtype cannot tell apart.

        If ``native``, values are given in that dtype; else they were encoded in float64, and only their
        places are in that dtype. With ``arrays`` the error suggests NumPy arrays, which are encoded in
        float64.
        """
        for slot in self.slots:
            axis = slot.domain.axis
            if not axis.resolved(dtype, native):
                helps = arrays and axis.resolved(dtype, False)
                hint = "give NumPy arrays, or use" if helps else "use Float or"
                raise ValueError(
                    f"space: {np.dtype(dtype).name} cannot tell the values of {self.names[slot.parameter]!r} "
                    f"apart ({slot.domain!r}); {hint} jax.enable_x64(True)."
                )

    def check_bounded(self, what: str) -> None:
        """Raise ValueError for a domain with an infinite bound; ``what`` is what needs the bounds."""
        for slot in self.slots:
            if slot.domain.axis.is_open:
                name = self.names[slot.parameter]
                raise ValueError(f"space: {what}, but {name!r} is {slot.domain!r}; give finite bounds.")

    def derive_regimes(self, values: np.ndarray) -> np.ndarray:
        """Regime of every parameter in every row, from the conditions.

        Args:
            values: (..., d) native values, NaN where inactive, categories as codes.

        Returns:
            (..., d) int16: index of the first domain whose conditions hold, -1 where none does.

        Raises:
            ValueError: if a parameter has several `Recorded` domains.
        """
        _checks.on_host("values", values)
        return self.classify(np.asarray(values, dtype=np.float64))[0]

    def classify(self, values: Any, recorded: np.ndarray | None = None) -> tuple[Any, Any]:
        """Regimes as in `derive_regimes`, and which values are in their domains, or NaN where inactive.

        ``recorded`` are (..., d) regimes to take for parameters with `Recorded` domains.
        With JAX arrays it is a pure function.
        """
        xp, rows, given = values.__array_namespace__(), values.reshape(-1, len(self.names)), None
        frame = self.frame(None if xp is np else values.dtype)
        by_log = np.array([any(isinstance(c, Recorded) for c in s.domain.conditions) for s in self.slots])
        if by_log.any():
            if recorded is not None:
                given = frame.spread(recorded.reshape(rows.shape)) == frame.regime
            else:
                for slot in (slot for slot, of_log in zip(self.slots, by_log, strict=True) if of_log):
                    if len(self.domains[slot.parameter]) > 1:
                        problem = "cannot be derived from the conditions; pass regime=."
                        raise ValueError(f"the regime of {self.names[slot.parameter]!r} {problem}")
                given = frame.spread(~xp.isnan(rows))
            given = given | ~by_log[None]
        # On the host column by column, of some rows at a time that stay in the cache.
        size, column_major = (_BLOCK, np.asfortranarray) if xp is np else (max(len(rows), 1), jnp.asarray)
        at = []
        for start in range(0, max(len(rows), 1), size):
            block, of_block = (None if a is None else a[start : start + size] for a in (rows, given))
            points = frame.encode(column_major(block), of_block, places=False)
            at.append((points.regime.astype(np.int16), points.valid))
        return tuple(xp.concatenate(arrays).reshape(values.shape) for arrays in zip(*at, strict=True))

    def sample(self, key: PRNGKeyArray, n: int) -> Float[Array, "{n} d"]:
        """n random configurations: (n, d) native values, NaN where inactive, categories as codes.

        A value is uniform on its axis (the logarithm, if the domain has ``log``), or uniform over the values
        of a discrete domain. Every parameter of every regime is drawn, and the conditions choose which of
        them apply, parents before children. A `Varying` domain is drawn between its ``low`` and ``high``, and
        a `Recorded` one always applies. What ``valid`` does not allow is drawn again. Pure; `jax.jit` (with a
        static ``n``) and `jax.vmap` over keys apply.

        Raises:
            TypeError, ValueError: for a key that is not one typed key, for n below 0, and for a domain whose
                values JAX's default float type cannot tell apart; and if hardly anything is valid.

        >>> import parzax as px
        >>> space = px.Space({"lr": px.Float(1e-4, 1.0, log=True), "units": px.Int(8, 64)})
        >>> space.sample(jax.random.key(0), 3).shape
        (3, 2)
        """
        _checks.check_key(key)
        self.check_bounded("uniform values need bounds")
        dtype = np.dtype(jnp.result_type(float))
        self.check_dtype(dtype, native=True, arrays=False)
        self.check_valid()
        return _sample(key, self.frame(dtype), n=_checks.whole_number("n", n, 0), dtype=dtype)

    def as_dict(self, x: Any) -> dict[str, Any]:
        """Name the values of one configuration: choices for codes, ints for Int, inactive ones left out.

        Args:
            x: (d,) native values, NaN where inactive, categories as codes.
        """
        x = _checks.float_array("x", x)
        _checks.check_shape("x", x, len(self), hint="; name one row at a time, such as x[0]")
        several = any(len(d) > 1 for d in self.domains)
        regimes = self.derive_regimes(x) if several else np.where(np.isnan(x), INACTIVE, 0)
        named = {}
        for name, value, regime in zip(self.names, x, regimes, strict=True):
            if regime == INACTIVE or np.isnan(value):
                continue
            domain = self._domains[name][regime]
            if domain.outside(value):
                raise ValueError(f"x: {name} = {value!r} is outside {domain!r}.")
            named[name] = domain.interpret(value)
        return named

    def as_row(self, params: Mapping[str, Any]) -> Float[np.ndarray, " d"]:
        """The inverse of `as_dict`: (d,) native values from values by name; parameters left out are NaN.

        KeyError for a name that the space does not have, ValueError for a value outside its domain.

        >>> import parzax as px
        >>> space = px.Space({"lr": px.Float(0, 1), "kind": px.Categorical(["a", "b"])})
        >>> space.as_row({"lr": 0.5, "kind": "b"})
        array([0.5, 1. ])
        """
        for name in params:
            self[name]  # raises for a name that is not in the space
        x = np.full(len(self), np.nan)
        for name in (name for name in self.order if name in params):
            value, j, domains = params[name], self.index(name), self[name]
            domain = domains[self.derive_regimes(x)[j] if len(domains) > 1 else 0]
            x[j] = domain.codes.get(choice_key(value), np.nan) if isinstance(domain, Categorical) else value
            if domain.outside(x[j]):
                raise ValueError(f"params: {name} = {value!r} is outside {domain!r}.")
        return x

    def unflatten(self, x: Any) -> Any:
        """The values of configurations by name, such as for a function that trains a network.

        Pure, under `jax.jit` and `jax.vmap` too; NumPy arrays give NumPy arrays.

        Args:
            x: (..., d) native values, NaN where inactive, categories as codes.

        Returns:
            A dict of arrays (...,), or the pytree that `from_tree` was given. Integers (`Int`, and `Ordinal`
            of integers) have an integer dtype, unless a value is too large for it. A categorical parameter is
            a `parzax.space.Choice`, which compares with its choices. An inactive parameter has the lowest
            value, or the first choice, of its first domain instead of NaN, so computing with it gives no NaN.

        Raises:
            ValueError: x does not have one column per parameter; a category has several `Recorded` domains.

        >>> import jax.numpy as jnp
        >>> import parzax as px
        >>> space = px.Space({"lr": px.Float(1e-4, 1.0, log=True), "units": px.Int(8, 64)})
        >>> space.unflatten(jnp.array([0.1, 32.0]))["units"]
        Array(32, dtype=int32)
        """
        x = self._columns_of(x)
        xp, values = x.__array_namespace__(), {}
        integer = xp.asarray(0).dtype
        for j, (name, (inactive_value, largest)) in enumerate(self._fillers.items()):
            column = x[..., j]
            value = xp.where(xp.isnan(column), xp.asarray(inactive_value, column.dtype), column)
            values[name] = xp.round(value).astype(integer) if largest <= np.iinfo(integer).max else value
            if isinstance(self.domains[j][0], Categorical):
                values[name] = self._choice(j, x, values[name])
        return self._in_structure(values)

    def flatten(self, values: Any) -> Any:
        """The inverse of `unflatten`: (..., d) native values, NaN where the conditions make one inactive.

        A category may be a `parzax.space.Choice` or its code. (`parzax.Observations.from_dataframe` reads
        choices as they are written, and `parzax.Observations.to_state` tells its rows.)
        Values outside the domains stay as they are.

        Raises:
            TypeError, ValueError: names or a structure other than those of the space, values that are not
                numbers, and arrays whose shapes do not fit together.
        """
        given = [value.code if isinstance(value, Choice) else value for value in self._values_of(values)]
        on_device = any(isinstance(value, jax.Array) for value in given)
        xp, dtype = (jnp, jnp.result_type(float)) if on_device else (np, np.float64)
        check = _checks.real_array if on_device else _checks.float_array
        columns = [check(f"params: {name}", value) for name, value in zip(self.names, given, strict=True)]
        with _checks.explain(f"params must have shapes that broadcast, in the order {', '.join(self)}"):
            shape = np.broadcast_shapes(*map(np.shape, columns))
        x = xp.stack([xp.broadcast_to(column, shape).astype(dtype) for column in columns], axis=-1)
        regime = _located(x.reshape(-1, len(self)), self).regime.reshape(x.shape)
        return xp.where(regime == INACTIVE, xp.asarray(np.nan, x.dtype), x)

    def active(self, x: Any) -> Any:
        """Which parameters are active, (...,) booleans in the structure that `unflatten` gives."""
        x = self._columns_of(x)
        active = ~x.__array_namespace__().isnan(x)
        return self._in_structure({name: active[..., j] for j, name in enumerate(self)})

    @cached_property
    def _fillers(self) -> dict[str, tuple[float, float]]:
        """Per parameter: its value while inactive, and its largest absolute value; inf if not an integer."""
        fillers = {}
        for name, domains in self._domains.items():
            ends = np.array([domain.ends() for domain in domains])
            is_integer = all(d.has_integers or isinstance(d, Categorical) for d in domains)
            fillers[name] = ends[0, 0], np.abs(ends).max() if is_integer else np.inf
        return fillers

    def _columns_of(self, x: Any) -> Any:
        """Native values as floats, (..., d); JAX arrays stay where they are."""
        x = _checks.floats("x", x)
        _checks.check_shape("x", x, "...", len(self), hint="; give one column per parameter")
        return x

    def _choice(self, column: int, x: Any, code: Any) -> Choice:
        """The choices of a categorical parameter; which of several domains a code belongs to depends on x."""
        domains: Any = self.domains[column]
        if len(domains) > 1:
            xp, regime = x.__array_namespace__(), self.classify(x)[0][..., column]
            starts = np.cumsum([0, *(len(domain.choices) for domain in domains[:-1])])
            code = code + xp.asarray(starts, code.dtype)[xp.maximum(regime, 0)]
        return Choice(self.names[column], domains, code)

    def _in_structure(self, values: dict[str, Any]) -> Any:
        return values if self.structure is None else jax.tree.map(values.__getitem__, self.structure)

    def _values_of(self, params: Any) -> list[Any]:
        """The values in the order of the columns; raises for names or a structure other than the space's."""
        if self.structure is None:
            _checks.instance("params", params, dict, "a dict by parameter name")
            if params.keys() != set(self.names):
                wanted, given = (", ".join(map(repr, names)) for names in (self.names, params))
                raise ValueError(f"params must have the names {wanted}, got {given}.")
            return [params[name] for name in self.names]
        values, structure = jax.tree.flatten(params, is_leaf=lambda value: isinstance(value, Choice))
        wanted = jax.tree.structure(self.structure)
        if structure != wanted:
            raise ValueError(f"params must have the structure {wanted}, got {structure}.")
        return values

    @classmethod
    def from_tree(cls, tree: Any, valid: Any = None) -> "Space":
        """A space from a pytree of domains, such as nested dicts; `unflatten` returns the same structure.

        Names are paths, such as "optimizer.lr", which conditions use. A plain tuple of domains is one
        parameter with several domains, but a list is a branch of the tree. A dict of domains gives
        ``Space(tree, valid)``; else parameters come in the order of `jax.tree.leaves`. `to_json` does not
        keep the structure.

        >>> import parzax as px
        >>> px.Space.from_tree({"optimizer": {"lr": px.Float(0, 1)}, "units": px.Int(8, 64)}).names
        ('optimizer.lr', 'units')
        """
        if isinstance(tree, dict) and all(map(_is_parameter, tree.values())):
            return cls(tree, valid)
        flat, structure = jax.tree_util.tree_flatten_with_path(tree, is_leaf=_is_parameter)
        names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in flat]
        if not names or "" in names:
            raise TypeError(
                f"a space must be a parzax.Space or a dict or other pytree of domains, got {tree!r}."
            )
        if len(set(names)) < len(names):
            raise ValueError(f"two parameters of the tree have the same name: {', '.join(sorted(names))}.")
        domains = {name: domain for name, (_, domain) in zip(names, flat, strict=True)}
        return cls(domains, valid, structure=jax.tree.unflatten(structure, names))

    def to_json(self) -> str:
        """The space as JSON text, which `from_json` reads; ValueError for a function in ``valid``."""
        return space_to_json(self._domains, self.valid)

    @classmethod
    def from_json(cls, source: str | Mapping[str, Any]) -> "Space":
        """A space from JSON text, or the mapping that it stands for; refuses misspelt and repeated keys."""
        return cls(*space_from_json(source))


@jit_on_meshes("n", "dtype")
def _sample(key: PRNGKeyArray, frame: Frame, *, n: int, dtype: Any) -> Float[Array, "n d"]:
    return frame.decode(frame.draw(key, n, dtype))


@jit_or_host("space")
def _located(x: Float[Any, "n d"], space: Space) -> Points:
    """Points of native values; those that the rules do not allow are not valid."""
    frame = space.frame(None if isinstance(x, np.ndarray) else x.dtype)
    return frame.restricted(frame.encode(x), x)


def _as_domains(name: Any, domain: Domain | Sequence[Domain]) -> tuple[Domain, ...]:
    if not isinstance(name, str) or not name:
        raise TypeError(f"parameter names must be non-empty strings, got {name!r}.")
    domains: tuple[Any, ...] = tuple(domain) if isinstance(domain, (tuple, list)) else (domain,)
    if not domains or not all(isinstance(d, Domain) for d in domains):
        raise TypeError(
            f"parameter {name!r} must be a domain like parzax.Int(1, 9), or several, got {domain!r}."
        )
    if len({isinstance(d, Categorical) for d in domains}) > 1:
        raise ValueError(f"parameter {name!r} mixes categorical and numeric domains; use two parameters.")
    if any(not d.conditions for d in domains[:-1]):
        hidden = "a domain without conditions hides the domains after it; put it last or add `when`."
        raise ValueError(f"parameter {name!r}: {hidden}")
    return domains


def _generations(domains: Mapping[str, tuple[Domain, ...]]) -> list[list[str]]:
    """Lists of names, parents in earlier lists than their children; ValueError for impossible parents."""
    parents = {
        name: {p for d in regimes for p in _parents(f"parameter {name!r}", d.conditions, domains)}
        for name, regimes in domains.items()
    }
    in_order = []
    while parents:
        ready = [name for name, above in parents.items() if parents.keys().isdisjoint(above)]
        if not ready:
            raise ValueError(f"the conditions of {', '.join(map(repr, parents))} form a cycle.")
        in_order.append(ready)
        parents = {name: above for name, above in parents.items() if name not in ready}
    return in_order


def _parents(
    owner: str, conditions: Sequence[Condition], domains: Mapping[str, tuple[Domain, ...]]
) -> Iterable[str]:
    """Names of the parents of conditions; raise if one never holds, or never together with the others."""
    by_parent: dict[str, list[In | Between]] = {}
    for condition in conditions:
        if isinstance(condition, Recorded):
            continue
        if condition.parent not in domains:
            missing = f"{condition.parent!r}, which is not in the space"
            raise ValueError(f"{owner} depends on {missing}; {_checks.suggest(condition.parent, domains)}")
        _check_condition(owner, condition, domains[condition.parent])
        by_parent.setdefault(condition.parent, []).append(condition)
    for parent, tests in by_parent.items():
        if not any(common_intervals([c.intervals(d) for c in tests]) for d in domains[parent]):
            together = " and ".join(map(repr, tests))
            raise ValueError(f"{owner}: {together} never hold together.")
    return by_parent


def _check_condition(owner: str, condition: In | Between, parent: tuple[Domain, ...]) -> None:
    if isinstance(condition, In):
        for value in condition.values:
            if all(domain.key(value) is None for domain in parent):
                raise ValueError(f"{owner}: {condition.parent!r} never has the value {value!r}.")
    elif isinstance(parent[0], Categorical):
        raise ValueError(
            f"{owner}: {condition.parent!r} has choices, not numbers; use In (in a rule, Forbidden)."
        )
    elif not any(condition.intervals(domain) for domain in parent):
        domains = " or ".join(map(repr, parent))
        raise ValueError(f"{owner}: {condition!r} never holds, since the parent is {domains}.")


def _is_parameter(node: Any) -> bool:
    """Whether a node is one parameter: a domain, or a plain tuple of domains. A NamedTuple is a branch."""
    several = type(node) is tuple and bool(node) and all(isinstance(part, Domain) for part in node)
    return isinstance(node, Domain) or several
