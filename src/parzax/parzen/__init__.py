"""Densities of mixtures of kernels: `ParzenEstimator`, and `Smoothing`, those of a sampler's groups."""

from parzax.parzen.densities import AbstractDensities as AbstractDensities
from parzax.parzen.estimator import ParzenEstimator as ParzenEstimator
from parzax.parzen.smoothing import AbstractSmoothing as AbstractSmoothing
from parzax.parzen.smoothing import Smoothing as Smoothing
