"""ConfigSpace: spaces as `parzax.Space`, configurations as observations, ask and tell with configurations."""

from parzax.adapters.configspace.optimizer import Optimizer
from parzax.adapters.configspace.translation import observations, space

__all__ = ["Optimizer", "observations", "space"]
