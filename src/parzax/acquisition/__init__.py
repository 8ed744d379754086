"""Acquisition functions of the TPE family, on the logs of densities: pure array functions.

`log_ratio` is TPE's, `log_relative_ratio` one factor of c-TPE's, `constrained_score` their product over the
objective and the constraints, `naive_product` the product of plain ratios.
"""

from parzax.acquisition.ratios import constrained_score as constrained_score
from parzax.acquisition.ratios import log_ratio as log_ratio
from parzax.acquisition.ratios import log_relative_ratio as log_relative_ratio
from parzax.acquisition.ratios import naive_product as naive_product
