"""A Gaussian process on the logarithm of regret, and what draws from its posterior say about the space."""

from parzax.surrogate.effects import Effects as Effects
from parzax.surrogate.effects import effects as effects
from parzax.surrogate.effects import surface as surface
from parzax.surrogate.process import Draw as Draw
from parzax.surrogate.process import GaussianProcess as GaussianProcess
from parzax.surrogate.process import Posterior as Posterior
from parzax.surrogate.region import Region as Region
from parzax.surrogate.region import region as region
