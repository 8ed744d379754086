"""A Gaussian process on the logarithm of regret, and importances of draws from its posterior.

It needs the packages of the extra ``surrogate``: tinygp and optax.
"""

from parzax.surrogate.importances import importances
from parzax.surrogate.process import Draw, GaussianProcess, Posterior

__all__ = ["Draw", "GaussianProcess", "Posterior", "importances"]
