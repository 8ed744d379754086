"""Space: named parameters, the regimes each can have, and the conditions that choose among them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax.space.conditions import Recorded
from parzax.space.dependencies import condition_holds, topological_order
from parzax.space.domains import Domain
from parzax.space.listed import Categorical, Ordinal

INACTIVE = -1


class Space:
    """A search space: for each parameter one domain, or several of which the first that applies counts.

    A domain of a parameter is one of its *regimes*; where no domain's conditions hold the parameter is
    inactive, which is a regime too. A condition on an inactive parent fails.

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
        if not isinstance(parameters, Mapping):
            raise TypeError(f"parameters must map names to domains, got {type(parameters).__name__}.")
        if not parameters:
            raise ValueError("parameters must not be empty.")
        self._domains = {name: _as_domains(name, domain) for name, domain in parameters.items()}
        self._order = topological_order(self._domains)
        # Looked up in caches at every call.
        self._hash = hash(tuple(self._domains.items()))

    # --- what there is -------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, in the order of the columns of ``values``."""
        return tuple(self._domains)

    @property
    def domains(self) -> tuple[tuple[Domain, ...], ...]:
        """The domains of each parameter, in the order of `names`."""
        return tuple(self._domains.values())

    @property
    def order(self) -> tuple[str, ...]:
        """Names with parents before children."""
        return self._order

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

    def __iter__(self) -> Iterator[str]:
        return iter(self._domains)

    def __contains__(self, name: object) -> bool:
        return name in self._domains

    def __getitem__(self, name: str) -> tuple[Domain, ...]:
        if name not in self._domains:
            raise KeyError(f"no parameter {name!r}; the space has {', '.join(map(repr, self.names))}.")
        return self._domains[name]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Space) and list(self._domains.items()) == list(other._domains.items())

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        lines = []
        for name, domains in self._domains.items():
            body = repr(domains[0]) if len(domains) == 1 else f"({', '.join(map(repr, domains))})"
            lines.append(f"    {name!r}: {body},")
        return "\n".join(["Space({", *lines, "})"])

    def index(self, name: str) -> int:
        """Column of parameter ``name``."""
        self[name]
        return self.names.index(name)

    # --- regimes and values --------------------------------------------------------------------

    def derive_regimes(self, values: np.ndarray, recorded: np.ndarray | None = None) -> np.ndarray:
        """Regime of every parameter in every row, from the conditions.

        Args:
            values: (..., d) native values, NaN where inactive, categories as codes.
            recorded: (..., d) regimes to take for parameters with `Recorded` domains.

        Returns:
            (..., d) int16: index of the first domain whose conditions hold, -1 where none does.

        Raises:
            ValueError: if a parameter with several `Recorded` domains makes the answer unknowable.
        """
        values = np.asarray(values, dtype=np.float64)
        regimes = np.zeros(values.shape, dtype=np.int16)
        for name in self._order:
            domains, column = self._domains[name], self.index(name)
            if len(domains) == 1 and not domains[0].conditions:
                continue
            if recorded is not None and any(isinstance(c, Recorded) for d in domains for c in d.conditions):
                regimes[..., column] = recorded[..., column]
                continue
            regime = np.full(values.shape[:-1], INACTIVE, dtype=np.int16)
            for i, domain in reversed(list(enumerate(domains))):
                regime[self._applies(name, domain, values, regimes)] = i
            regimes[..., column] = regime
        return regimes

    def _applies(self, name: str, domain: Domain, values: np.ndarray, regimes: np.ndarray) -> np.ndarray:
        holds = np.ones(values.shape[:-1], dtype=bool)
        for condition in domain.conditions:
            if isinstance(condition, Recorded):
                if len(self._domains[name]) > 1:
                    raise ValueError(
                        f"the regime of {name!r} cannot be derived from the conditions; pass regime=."
                    )
                holds &= ~np.isnan(values[..., self.index(name)])
                continue
            parent = self.index(condition.parent)
            active = np.zeros_like(holds)
            for i, parent_domain in enumerate(self._domains[condition.parent]):
                here = regimes[..., parent] == i
                active |= here & condition_holds(condition, parent_domain, values[..., parent])
            holds &= active
        return holds

    def as_dict(self, x: Any) -> dict[str, Any]:
        """Name the values of one configuration: choices for codes, ints for Int, inactive ones left out.

        Args:
            x: (d,) native values, NaN where inactive, categories as codes.
        """
        x = _checks.float_array("x", x)
        if x.shape != (len(self),):
            raise ValueError(f"x must have shape ({len(self)},), got {x.shape}.")
        several = any(len(d) > 1 for d in self.domains)
        regimes = self.derive_regimes(x) if several else np.where(np.isnan(x), INACTIVE, 0)
        named = {}
        for name, value, regime in zip(self.names, x, regimes, strict=True):
            if regime == INACTIVE or np.isnan(value):
                continue
            domain = self._domains[name][regime]
            if domain.outside(value):
                raise ValueError(f"x: {name} = {value!r} is outside {domain!r}.")
            if isinstance(domain, Categorical):
                named[name] = domain.choices[int(value)]
            elif domain.kind == "int" or (isinstance(domain, Ordinal) and isinstance(domain.values[0], int)):
                named[name] = round(value)
            else:
                named[name] = float(value)
        return named

    # --- JSON ----------------------------------------------------------------------------------

    def to_json(self, path: str | Path | None = None) -> str:
        """The space as JSON text (also written to ``path`` when given)."""
        from parzax.space.serialization import space_to_json

        text = space_to_json(self)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | Path | Mapping[str, Any]) -> "Space":
        """Read a space from JSON text, a path, or the parsed mapping; unknown keys beside it are ignored."""
        from parzax.space.serialization import parameters_from_json

        return cls(parameters_from_json(source))


def _as_domains(name: Any, domain: Domain | Sequence[Domain]) -> tuple[Domain, ...]:
    if not isinstance(name, str) or not name:
        raise TypeError(f"parameter names must be non-empty strings, got {name!r}.")
    domains = (domain,) if isinstance(domain, Domain) else tuple(domain)
    if not domains or not all(isinstance(d, Domain) for d in domains):
        raise TypeError(f"parameter {name!r} must be a domain or a tuple of domains, got {domain!r}.")
    if len({isinstance(d, Categorical) for d in domains}) > 1:
        raise ValueError(f"parameter {name!r} mixes categorical and numeric domains; use two parameters.")
    if any(not d.conditions for d in domains[:-1]):
        raise ValueError(
            f"parameter {name!r}: a domain without conditions hides those after it; "
            "put it last or add `when`."
        )
    return domains
