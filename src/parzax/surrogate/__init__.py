"""A Gaussian process on the logarithm of regret, and what draws from its posterior say about the space."""

from parzax.surrogate.effects import Effects, effects, surface
from parzax.surrogate.importances import importances
from parzax.surrogate.process import Draw, GaussianProcess, Posterior
from parzax.surrogate.region import Region, region

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
