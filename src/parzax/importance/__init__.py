"""Importance as pure functions of arrays: encode, estimate, resample, shuffle; see docs/arrays.md."""

import sys
from types import ModuleType
from typing import Any, NoReturn

from parzax.importance.counts import Counts as Counts
from parzax.importance.encode import Encoded as Encoded
from parzax.importance.encode import encode as encode
from parzax.importance.estimate import Importance as Importance
from parzax.importance.estimate import estimate as estimate
from parzax.importance.interactions import Interactions as Interactions
from parzax.importance.interactions import interactions as interactions
from parzax.importance.layout import Grid as Grid
from parzax.importance.layout import cell_starts as cell_starts
from parzax.importance.objectives import chebyshev as chebyshev
from parzax.importance.objectives import pareto_losses as pareto_losses
from parzax.importance.objectives import weighted_sum as weighted_sum
from parzax.importance.of_function import of_function as of_function
from parzax.importance.resample import resample as resample
from parzax.importance.resample import shuffle as shuffle
from parzax.importance.variance import importance as importance
from parzax.importance.variance import within_regime_variance as within_regime_variance


class _Module(ModuleType):
    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("parzax.importance is a module; write parzax.cond_ped_anova(obs) for a log.")


sys.modules[__name__].__class__ = _Module
