"""Mixtures of kernels as densities: `ParzenEstimator` for users, `Smoothing` for the groups of a sampler."""

from parzax.density.densities import AbstractDensities as AbstractDensities
from parzax.density.estimator import ParzenEstimator as ParzenEstimator
from parzax.density.smoothing import AbstractSmoothing as AbstractSmoothing
from parzax.density.smoothing import Smoothing as Smoothing
