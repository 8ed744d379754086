"""Acquisition functions of the TPE family, on the logs of densities.

`Ratio` is TPE's, `Relative` c-TPE's and `Naive` its ablation: values of an `AbstractAcquisition` for a
sampler. Beside each stands its array function: `log_ratio`, `log_relative_ratio` (one factor of
`constrained_score`), `naive_product`.
"""

from parzax.acquisition.acquisition import AbstractAcquisition as AbstractAcquisition
from parzax.acquisition.naive import Naive as Naive
from parzax.acquisition.naive import naive_product as naive_product
from parzax.acquisition.ratio import Ratio as Ratio
from parzax.acquisition.ratio import log_ratio as log_ratio
from parzax.acquisition.relative import Relative as Relative
from parzax.acquisition.relative import constrained_score as constrained_score
from parzax.acquisition.relative import log_relative_ratio as log_relative_ratio
