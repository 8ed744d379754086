"""Mixtures of kernels as densities: `ParzenEstimator` for users, `Smoothing` for the groups of a sampler."""

from parzax.density.bootstrap import resample as resample
from parzax.density.estimator import ParzenEstimator as ParzenEstimator
from parzax.density.information import Estimate as Estimate
from parzax.density.information import entropy as entropy
from parzax.density.information import jensen_shannon as jensen_shannon
from parzax.density.information import kl as kl
from parzax.density.information import mutual_information as mutual_information
from parzax.density.information import pearson as pearson
from parzax.density.information import total_variation as total_variation
from parzax.density.mixture import AbstractMixture as AbstractMixture
from parzax.density.mixture import Mixture as Mixture
from parzax.density.smoothing import AbstractSmoothing as AbstractSmoothing
from parzax.density.smoothing import Smoothing as Smoothing
