"""Bandwidth rules: Scott's on a grid for importance, and those of the mixture estimators.

``scott`` (the papers' TPE), ``neighbours`` (Optuna 5), ``dimension`` (Optuna 2 to 4), ``hyperopt``,
``constant`` and ``leave_one_out`` (greatest likelihood) are for `parzax.ParzenEstimator`; ``fixed_top`` and
``optuna_top`` are its rules for categories. `scott_on_grid` serves the importance densities.
A setting that is not positive, or a minimum above the maximum, is a ValueError.
"""

from parzax.kernels.bandwidth.dimension import constant as constant
from parzax.kernels.bandwidth.dimension import dimension as dimension
from parzax.kernels.bandwidth.leave_one_out import leave_one_out as leave_one_out
from parzax.kernels.bandwidth.leave_one_out import (
    leave_one_out_log_likelihood as leave_one_out_log_likelihood,
)
from parzax.kernels.bandwidth.neighbours import hyperopt as hyperopt
from parzax.kernels.bandwidth.neighbours import neighbours as neighbours
from parzax.kernels.bandwidth.rule import PRIOR_SCALE as PRIOR_SCALE
from parzax.kernels.bandwidth.rule import AbstractBandwidth as AbstractBandwidth
from parzax.kernels.bandwidth.scott import MINIMUM as MINIMUM
from parzax.kernels.bandwidth.scott import scott as scott
from parzax.kernels.bandwidth.scott import scott_on_grid as scott_on_grid
from parzax.kernels.bandwidth.top import AbstractTop as AbstractTop
from parzax.kernels.bandwidth.top import FixedTop as FixedTop
from parzax.kernels.bandwidth.top import as_top as as_top
from parzax.kernels.bandwidth.top import fixed_top as fixed_top
from parzax.kernels.bandwidth.top import optuna_top as optuna_top
