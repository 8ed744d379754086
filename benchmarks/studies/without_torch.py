"""The TPE papers' own package, parzen-estimator, where torch is not installed."""

import importlib
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import special


class _Tensor(np.ndarray):
    """What the package asks of a tensor: the way back to NumPy."""

    def cpu(self) -> "_Tensor":
        return self

    def detach(self) -> "_Tensor":
        return self

    def numpy(self) -> np.ndarray:
        return np.asarray(self)


def _wrap(function: Any) -> Any:
    return lambda x, **options: np.asarray(function(np.asarray(x), **options)).view(_Tensor)


@contextmanager
def without_torch() -> Iterator[None]:
    """Four functions of torch from NumPy and SciPy, where it is not installed.

    The package needs no others, and they save a download of gigabytes:
    ``pip install --no-deps parzen-estimator``.
    """
    if find_spec("torch") is not None:
        yield
        return
    # The package's own dependency looks for torch too, and must not find this one.
    importlib.import_module("ConfigSpace")
    module: Any = types.ModuleType("torch")
    module.as_tensor = _wrap(lambda x: x)
    module.erf, module.exp, module.log = map(_wrap, (special.erf, np.exp, np.log))
    module.logsumexp = _wrap(special.logsumexp)
    sys.modules["torch"] = module
    try:
        yield
    finally:
        del sys.modules["torch"]
