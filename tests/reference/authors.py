"""The TPE papers' own package, parzen-estimator, without its dependency on torch."""

import pytest
from benchmarks.studies.without_torch import without_torch


def parzen_estimator():
    """The module, or a skipped test where it is not installed."""
    with without_torch():
        return pytest.importorskip("parzen_estimator")
