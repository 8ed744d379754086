"""Acquisition functions of the TPE family, computed from log densities.

A sampler takes an `AbstractAcquisition`: `Ratio` (TPE), `Relative` (c-TPE) or `Naive` (the ablation of
c-TPE). The same formulas are array functions: `log_ratio`; `constrained_score`, whose factors are
`log_relative_ratio`; `naive_product`.
"""

from parzax.acquisition.acquisition import AbstractAcquisition as AbstractAcquisition
from parzax.acquisition.naive import Naive as Naive
from parzax.acquisition.naive import naive_product as naive_product
from parzax.acquisition.ratio import Ratio as Ratio
from parzax.acquisition.ratio import log_ratio as log_ratio
from parzax.acquisition.relative import Relative as Relative
from parzax.acquisition.relative import constrained_score as constrained_score
from parzax.acquisition.relative import log_relative_ratio as log_relative_ratio
