"""ConfigSpace: spaces as `parzax.Space`, configurations as observations, ask and tell with configurations."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace

from parzax.adapters.configspace.optimizer import Evaluated, Optimizer
from parzax.adapters.configspace.translation import native_rows, space
from parzax.observations import Observations
from parzax.space import INACTIVE

__all__ = ["Evaluated", "Optimizer", "observations", "space"]


def observations(
    cs: ConfigurationSpace, configs: Sequence[Configuration], objectives: Any, **options: Any
) -> Observations:
    """Observations from n configurations of ``cs``; a parameter is inactive where its configuration says so.

    Args:
        cs: the configuration space, see `space`.
        configs: n configurations.
        objectives: (n,) or (n, m).
        **options: ``direction``, ``constraints``, ``weight``, ``failed``, as in `Observations.from_arrays`.

    Raises:
        TypeError: an entry of ``configs`` is not a Configuration.
        ValueError: a configuration of another space, or what `space` or `Observations.from_arrays` raises.
    """
    target = space(cs)
    values = native_rows(cs, target, configs)
    regime = np.where(np.isnan(values), INACTIVE, 0)
    return Observations.from_arrays(target, values, objectives, regime=regime, **options)
