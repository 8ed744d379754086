"""The time that an Optuna study spends in its sampler."""

import time
from collections.abc import Callable
from typing import Any

from optuna.samplers import BaseSampler

_METHODS = (
    "infer_relative_search_space",
    "sample_relative",
    "sample_independent",
    "before_trial",
    "after_trial",
)


class Timed(BaseSampler):
    """A sampler that adds up the time in its methods."""

    def __init__(self, sampler: BaseSampler) -> None:
        self.seconds = 0.0
        for name in _METHODS:
            setattr(self, name, self._timed(getattr(sampler, name)))

    def _timed(self, method: Callable) -> Callable:
        def call(*args: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(*args)
            finally:
                self.seconds += time.perf_counter() - start

        return call

    def infer_relative_search_space(self, study: Any, trial: Any) -> Any: ...
    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> Any: ...
    def sample_independent(self, study: Any, trial: Any, param_name: Any, param_distribution: Any) -> Any: ...
