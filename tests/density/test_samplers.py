"""Samples of mixtures against laws enumerated in NumPy, 1e5 draws each.

Every case is checked in each parameter (per regime), in the frequencies of regimes, and in joint cells of all
parameters: the parameters are dependent through the component alone. All checks of this file, in float32 and
float64, have a total false-alarm rate of at most 5e-7 (as those of kernels in
`tests/kernels/test_kernel_samplers.py` have); see `reference.frequencies`. That broken samplers fail is
tested in `test_broken_samplers`.
"""

import numpy as np
import pytest
from mixture_cases import CASES, N, excess, failures, given, key, sample
from reference.frequencies import Checks

CHECKS = Checks(5e-7, 500)
# Every space compiles anew, for up to seconds. float64 takes the same way, so these stand for all.
FAST = ("narrow", "unequal weights", "log integers", "tree", "tree, no prior")


def _cases():
    return [
        pytest.param(
            name,
            x64,
            id=f"{name}, {'float64' if x64 else 'float32'}",
            marks=[] if name in FAST and not x64 else [pytest.mark.slow],
        )
        for x64 in (False, True)
        for name in CASES
        if name in FAST or not x64
    ]


@pytest.mark.parametrize(("name", "x64"), _cases(), indirect=["x64"])
@pytest.mark.some(2)
def test_mixtures(name, x64):
    """Catches weights, priors, conditions, regimes and the dependence among parameters gone wrong."""
    case = CASES[name]
    case, pe = (case, case.fit()) if case.given is None else given(case)
    draws = sample(pe, key(x64, list(CASES).index(name)))
    assert draws.dtype == (np.float64 if x64 else np.float32)
    assert not failures(excess(case, pe, draws, CHECKS))


def test_total_false_alarms(record_property):
    """Last: the budget of this file was kept."""
    assert CHECKS.count * CHECKS.level <= 5e-7
    record_property("tried", f"{len(CASES)} mixtures: {CHECKS.summary(N)}")
