"""Mixtures of kernels as densities: `ParzenEstimator` for users, `Smoothing` for the groups of a sampler."""

from parzax.parzen.densities import AbstractDensities as AbstractDensities
from parzax.parzen.estimator import ParzenEstimator as ParzenEstimator
from parzax.parzen.smoothing import AbstractSmoothing as AbstractSmoothing
from parzax.parzen.smoothing import Smoothing as Smoothing
