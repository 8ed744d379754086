"""ConfigSpace's configurations as rows of a `parzax.Space`, and back."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace, Constant

from parzax.adapters.configspace_space import raw_choices
from parzax.space import Categorical, Domain, Float, Int, Ordinal, Space


def native_rows(cs: ConfigurationSpace, target: Space, configs: Sequence[Configuration]) -> np.ndarray:
    """Native values (n, d) of n configurations of ``cs``, in the space that `space` makes of it.

    Raises:
        TypeError: an entry of ``configs`` is not a Configuration.
        ValueError: a configuration of another space.
    """
    vectors = np.full((len(configs), len(cs)), math.nan)
    for i, config in enumerate(configs):
        if not isinstance(config, Configuration):
            raise TypeError(f"configs[{i}] must be a ConfigSpace.Configuration, got {type(config).__name__}.")
        if config.config_space is not cs and config.config_space != cs:
            raise ValueError(f"configs[{i}] belongs to another configuration space than cs.")
        vectors[i] = config.get_array()
    values = np.full((len(configs), len(target)), math.nan)
    for column, (name, domains) in enumerate(zip(target.names, target.domains, strict=True)):
        vector = vectors[:, cs.index_of[name]]
        active = ~np.isnan(vector)
        values[active, column] = _native(cs[name], domains[0], vector[active])
    return values


def to_values(cs: ConfigurationSpace, target: Space, row: np.ndarray) -> dict[str, Any]:
    """The values of a native row (d,), as ConfigSpace has them; inactive parameters are left out."""
    out = {}
    for name, domains, value in zip(target.names, target.domains, row.tolist(), strict=True):
        if math.isnan(value):
            continue
        domain = domains[0]
        hp: Any = cs[name]
        if isinstance(domain, Categorical):
            out[name] = raw_choices(hp)[round(value)]
        elif isinstance(domain, Ordinal):
            out[name] = min(hp.sequence, key=lambda v, at=value: abs(v - at))
        else:
            out[name] = round(value) if isinstance(domain, Int) else value
    return out


def _native(hp: Any, domain: Domain, vector: np.ndarray) -> np.ndarray:
    """Native values of the entries of a configuration's vector; its own look-ups round to nine places."""
    if isinstance(domain, (Float, Int)):
        return np.clip(np.asarray(hp.to_value(vector), dtype=np.float64), domain.low, domain.high)
    if isinstance(hp, Constant):
        return np.zeros(vector.shape)
    if isinstance(domain, Ordinal):
        return np.asarray(hp.sequence, dtype=np.float64)[vector.astype(np.int64)]
    return vector
