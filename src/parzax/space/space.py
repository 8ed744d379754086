"""Search spaces: named parameters, the regimes of each, and the conditions that choose among them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax._html import table
from parzax._words import plural
from parzax.space import params
from parzax.space.conditions import Recorded
from parzax.space.domains import Categorical, Domain
from parzax.space.frame import Frame
from parzax.space.serialization import parameters_from_json, parameters_to_json
from parzax.space.walk import INACTIVE, Slot, Walk, generations


class Space:
    """A search space: each parameter has one domain, or several, of which the first that applies is used.

    A domain of a parameter is one of its *regimes*. If no domain's conditions hold, the parameter is
    inactive, which is a regime too. A condition on an inactive parent fails.

    Attributes:
        names: parameter names, in the order of the columns of ``values``.
        domains: the domains of each parameter, in the order of `names`.
        order: names with parents before children.
        slots: every regime of every parameter.
        walk: computes which slots apply; None if all slots always apply.
        structure: the names in the pytree that `from_tree` was given; else None.

    Args:
        parameters: name -> domain, or a tuple of domains. Conditions name other parameters of the
            space, in any order of declaration, without cycles.

    Raises:
        ValueError: for unknown or cyclic parents, conditions a parent cannot meet, an unreachable
            domain, or a mix of categorical and numeric domains in one parameter.

    >>> import parzax as px
    >>> space = px.Space({
    ...     "booster": px.Categorical(["tree", "linear"]),
    ...     "depth": px.Int(1, 9, when=px.In("booster", ["tree"])),
    ... })
    >>> space.names, space.n_regimes
    (('booster', 'depth'), 2)
    >>> space.as_dict([1, float("nan")])
    {'booster': 'linear'}
    """

    def __init__(self, parameters: Mapping[str, Domain | Sequence[Domain]]) -> None:
        _checks.instance("parameters", parameters, Mapping, "a mapping of names to domains")
        if not parameters:
            raise ValueError("parameters must not be empty.")
        self._domains = {name: _as_domains(name, domain) for name, domain in parameters.items()}
        in_order = generations(self._domains)
        self.names, self.domains = tuple(self._domains), tuple(self._domains.values())
        self.order = tuple(name for names in in_order for name in names)
        self.slots = tuple(Slot(j, i, d) for j, ds in enumerate(self.domains) for i, d in enumerate(ds))
        self.structure: Any = None
        self._columns = {name: j for j, name in enumerate(self._domains)}
        self.walk = Walk.of(self.slots, self._columns, len(in_order))
        # The hash is stored, because caches need it at every call.
        self._hash = hash(tuple(self._domains.items()))

    @property
    def n_regimes(self) -> int:
        """The largest number of domains of a parameter, plus one for "inactive"."""
        return max(len(domains) for domains in self.domains) + 1

    @property
    def is_conditional(self) -> bool:
        """Whether some parameter has several domains or can be inactive."""
        return any(len(domains) != 1 or bool(domains[0].conditions) for domains in self.domains)

    def __len__(self) -> int:
        return len(self._domains)

    def __contains__(self, name: object) -> bool:
        return name in self._domains

    def __iter__(self) -> Iterator[str]:
        return iter(self._domains)

    def __getitem__(self, name: str) -> tuple[Domain, ...]:
        if name not in self._domains:
            raise KeyError(f"no parameter {name!r}; the space has {', '.join(map(repr, self.names))}.")
        return self._domains[name]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space) or not self.agrees_with(other):
            return False
        # `unflatten` differs between structures, so compiled programs must not mix them up.
        return jax.tree.structure(self.structure) == jax.tree.structure(other.structure)

    def agrees_with(self, other: "Space") -> bool:
        """Whether both have the same parameters in the same order; their structures may differ."""
        return (self.names, self.domains) == (other.names, other.domains)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild on loading, since hashes of text differ between processes."""
        return type(self), (self._domains,), {"structure": self.structure}

    def __repr__(self) -> str:
        bodies = [domains[0] if len(domains) == 1 else domains for domains in self.domains]
        lines = [f"    {name!r}: {body!r}," for name, body in zip(self.names, bodies, strict=True)]
        return "\n".join(["Space({", *lines, "})"])

    def _repr_html_(self) -> str:
        rows = [["parameter", "domain"]]
        rows += [[self.names[slot.parameter], repr(slot.domain)] for slot in self.slots]
        return table(f"Space of {plural(len(self), 'parameter')}", rows, left=(0, 1))

    def index(self, name: str) -> int:
        """Column of parameter ``name``."""
        self[name]
        return self._columns[name]

    def parents(self, name: str) -> tuple[str, ...]:
        """Names of the parameters that parameter ``name`` depends on directly."""
        conditions = (c for domain in self[name] for c in domain.conditions)
        return tuple(dict.fromkeys(c.parent for c in conditions if not isinstance(c, Recorded)))

    def derive_regimes(self, values: np.ndarray, recorded: np.ndarray | None = None) -> np.ndarray:
        """Regime of every parameter in every row, from the conditions.

        Args:
            values: (..., d) native values, NaN where inactive, categories as codes.
            recorded: (..., d) regimes to take for parameters with `Recorded` domains.

        Returns:
            (..., d) int16: index of the first domain whose conditions hold, -1 where none does.

        Raises:
            ValueError: if a parameter has several `Recorded` domains and ``recorded`` is not given.
        """
        _checks.on_host("values", values)
        return self.classify(np.asarray(values, dtype=np.float64), recorded)[0]

    def classify(
        self, values: np.ndarray, recorded: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Regimes as in `derive_regimes`, and which values are in their domains, or NaN where inactive."""
        rows, given = values.reshape(-1, len(self)), None
        for s, slot in enumerate(self.slots):
            if not any(isinstance(c, Recorded) for c in slot.domain.conditions):
                continue
            given = np.ones((len(rows), len(self.slots)), bool) if given is None else given
            if recorded is not None:
                given[:, s] = recorded.reshape(rows.shape)[:, slot.parameter] == slot.regime
            elif len(self.domains[slot.parameter]) > 1:
                problem = "cannot be derived from the conditions; pass regime=."
                raise ValueError(f"the regime of {self.names[slot.parameter]!r} {problem}")
            else:
                given[:, s] = ~np.isnan(rows[:, slot.parameter])
        regimes, valid = host_frame(self).classify(rows, given)
        regimes = np.zeros(rows.shape, np.int16) if regimes is None else regimes
        return regimes.reshape(values.shape), valid.reshape(values.shape)

    def as_dict(self, x: Any) -> dict[str, Any]:
        """Name the values of one configuration: choices for codes, ints for Int, inactive ones left out.

        Args:
            x: (d,) native values, NaN where inactive, categories as codes.
        """
        x = _checks.float_array("x", x)
        _checks.check_shape("x", x, len(self))
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

    def unflatten(self, x: Any) -> Any:
        """The values of configurations by name, such as for a function that trains a network.

        Pure, under `jax.jit` and `jax.vmap` too; NumPy arrays give NumPy arrays.

        Args:
            x: (..., d) native values, NaN where inactive, categories as codes.

        Returns:
            A dict of arrays (...,), or the pytree that `from_tree` was given. Integers (`Int`, and `Ordinal`
            of integers) have an integer dtype, unless a value is too large for it, and so have the codes of
            categories. An inactive parameter has the lowest value of its first domain instead of NaN, so
            computing with it gives no NaN.

        Raises:
            ValueError: x does not have one column per parameter.

        >>> import jax.numpy as jnp
        >>> import parzax as px
        >>> space = px.Space({"lr": px.Float(1e-4, 1.0, log=True), "units": px.Int(8, 64)})
        >>> space.unflatten(jnp.array([0.1, 32.0]))["units"]
        Array(32, dtype=int32)
        """
        return params.unflatten(self, x)

    def flatten(self, values: Any) -> Any:
        """The inverse of `unflatten`: (..., d) native values, NaN where the conditions make one inactive.

        Values outside the domains stay as they are.

        Raises:
            TypeError, ValueError: names or a structure other than those of the space, values that are not
                numbers, and arrays whose shapes do not fit together.
        """
        x = params.as_columns(self, values)
        frame = frame_of(self, x.dtype) if isinstance(x, jax.Array) else host_frame(self)
        return params.hide_inactive(x, frame.encode(x.reshape(-1, len(self))).regime)

    def active(self, x: Any) -> Any:
        """Which parameters are active, (...,) booleans in the structure that `unflatten` gives."""
        return params.active(self, x)

    @classmethod
    def from_tree(cls, tree: Any) -> "Space":
        """A space from a pytree of domains, such as nested dicts; `unflatten` returns the same structure.

        Names are paths, such as "optimizer.lr", which conditions use. A plain tuple of domains is one
        parameter with several domains, but a list is a branch of the tree. A dict of domains gives
        ``Space(tree)``; else parameters come in the order of `jax.tree.leaves`. `to_json` does not keep the
        structure.

        >>> import parzax as px
        >>> px.Space.from_tree({"optimizer": {"lr": px.Float(0, 1)}, "units": px.Int(8, 64)}).names
        ('optimizer.lr', 'units')
        """
        if isinstance(tree, dict) and all(map(params.is_parameter, tree.values())):
            return cls(tree)
        domains, structure = params.named_domains(tree)
        if not domains or "" in domains:
            raise TypeError(
                f"a space must be a parzax.Space or a dict or other pytree of domains, got {tree!r}."
            )
        space = cls(domains)
        space.structure = structure
        return space

    def to_json(self, path: str | Path | None = None) -> str:
        """The space as JSON text (also written to ``path`` when given)."""
        text = parameters_to_json(self._domains)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | Path | Mapping[str, Any]) -> "Space":
        """Read a space from JSON text, a path or its mapping; misspelt or repeated keys are refused."""
        return cls(parameters_from_json(source))


@lru_cache(maxsize=1024)
def frame_of(space: Space, dtype: Any) -> Frame:
    """The frame of a space for JAX arrays with floats of ``dtype``; None gives `host_frame`."""
    return Frame.of(space.slots, len(space), space.walk, dtype)


def host_frame(space: Space) -> Frame:
    """The frame of a space for NumPy arrays in float64, which broadcasts axes over columns."""
    return frame_of(space, None)


def _as_domains(name: Any, domain: Domain | Sequence[Domain]) -> tuple[Domain, ...]:
    if not isinstance(name, str) or not name:
        raise TypeError(f"parameter names must be non-empty strings, got {name!r}.")
    domains: tuple[Any, ...] = tuple(domain) if isinstance(domain, (tuple, list)) else (domain,)
    if not domains or not all(isinstance(d, Domain) for d in domains):
        raise TypeError(f"parameter {name!r} must be a domain or a tuple of domains, got {domain!r}.")
    if len({isinstance(d, Categorical) for d in domains}) > 1:
        raise ValueError(f"parameter {name!r} mixes categorical and numeric domains; use two parameters.")
    if any(not d.conditions for d in domains[:-1]):
        hidden = "a domain without conditions hides the domains after it; put it last or add `when`."
        raise ValueError(f"parameter {name!r}: {hidden}")
    return domains
