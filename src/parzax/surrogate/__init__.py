"""A Gaussian process on the logarithm of regret, and what draws from its posterior say of the space.

It needs the packages of the extra ``surrogate``: tinygp and optax.
"""

from parzax.surrogate.effects import Effects, effects, surface
from parzax.surrogate.importances import importances
from parzax.surrogate.narrow import Region, region
from parzax.surrogate.process import Draw, GaussianProcess, Posterior

__all__ = [
    "Draw",
    "Effects",
    "GaussianProcess",
    "Posterior",
    "Region",
    "effects",
    "importances",
    "region",
    "surface",
]
