"""Bandwidth rules for `parzax.ParzenEstimator`, and Scott's rule on a grid for importance.

Rules for numbers: `Scott` (the papers' TPE), `Neighbours` (Optuna 5), `NormalReference` (statsmodels),
`Constant`. `parzax.ParzenEstimator.tuned` scales their widths by the leave-one-out likelihood.
Rules for categories: `FixedTop` and `OptunaTop`. The importance densities use `scott_on_grid`.
A setting that is not positive, or a minimum above the maximum, raises ValueError.
"""

from parzax.kernels.bandwidth.categorical import CategoricalBandwidth as CategoricalBandwidth
from parzax.kernels.bandwidth.categorical import FixedTop as FixedTop
from parzax.kernels.bandwidth.categorical import OptunaTop as OptunaTop
from parzax.kernels.bandwidth.constant import Constant as Constant
from parzax.kernels.bandwidth.neighbours import Neighbours as Neighbours
from parzax.kernels.bandwidth.normal_reference import NormalReference as NormalReference
from parzax.kernels.bandwidth.rule import AbstractBandwidth as AbstractBandwidth
from parzax.kernels.bandwidth.scott import Scott as Scott
from parzax.kernels.bandwidth.scott import scott_on_grid as scott_on_grid
