"""Bandwidth rules for `parzax.ParzenEstimator`, and Scott's rule on a grid for importance.

Rules for numbers: ``scott`` (the papers' TPE), ``neighbours`` (Optuna 5), ``dimension`` (Optuna 2 to 4),
``hyperopt``, ``constant`` and ``leave_one_out`` (maximum leave-one-out likelihood). Rules for categories:
``fixed_top`` and ``optuna_top``. The importance densities use `scott_on_grid`.
A setting that is not positive, or a minimum above the maximum, raises ValueError.
"""

from parzax.kernels.bandwidth.categorical import CategoricalBandwidth, FixedTop, as_categorical_bandwidth
from parzax.kernels.bandwidth.categorical import FixedTop as fixed_top
from parzax.kernels.bandwidth.categorical import OptunaTop as optuna_top
from parzax.kernels.bandwidth.dimension import Constant as constant
from parzax.kernels.bandwidth.dimension import Dimension as dimension
from parzax.kernels.bandwidth.leave_one_out import LeaveOneOut as leave_one_out
from parzax.kernels.bandwidth.leave_one_out import leave_one_out_log_likelihood
from parzax.kernels.bandwidth.neighbours import Hyperopt as hyperopt
from parzax.kernels.bandwidth.neighbours import Neighbours as neighbours
from parzax.kernels.bandwidth.rule import PRIOR_SCALE, AbstractBandwidth
from parzax.kernels.bandwidth.scott import MINIMUM, scott_on_grid
from parzax.kernels.bandwidth.scott import Scott as scott

__all__ = ["MINIMUM", "PRIOR_SCALE", "AbstractBandwidth", "CategoricalBandwidth", "FixedTop", "constant"]
__all__ += ["as_categorical_bandwidth", "dimension", "fixed_top", "hyperopt", "leave_one_out"]
__all__ += ["leave_one_out_log_likelihood", "neighbours", "optuna_top", "scott", "scott_on_grid"]
