"""Mixtures of kernels as densities: `ParzenEstimator` for users, `Smoothing` for the groups of a sampler."""

from parzax.density.estimator import ParzenEstimator as ParzenEstimator
from parzax.density.mixture import AbstractMixture as AbstractMixture
from parzax.density.mixture import Mixture as Mixture
from parzax.density.smoothing import AbstractSmoothing as AbstractSmoothing
from parzax.density.smoothing import Smoothing as Smoothing
