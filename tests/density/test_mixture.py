"""The mixture density against loops in mpmath, in all its forms, types and degenerate cases."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import N_ROWS, SPACES, log_prob_in, points, rows
from reference import mixture

import parzax as px

FORMS = ("product", "pairwise")
# Of max(1, |true|). float64: what is asked for; it reaches 1e-13. float32: a coordinate is off by up to 3e-8,
# over a bandwidth of 0.01 that is 3e-6 per parameter; the matrix product loses what cancels in
# (u^2 - 2um + m^2) / s^2, up to 1e-7 / 0.01^2 / 8 = 1e-4 per parameter.
TOLERANCE = {("float64", form): 1e-10 for form in FORMS}
TOLERANCE |= {("float32", "product"): 2e-4, ("float32", "pairwise"): 2e-5}
# Each compiles anew, so not all of them for all spaces.
TRIED = {
    "flat": {True: ("product", "pairwise"), False: ("product",)},
    "conditional": {True: FORMS, False: ("product", "pairwise")},
    "many": {True: ("product", "pairwise"), False: ("product",)},
    "long": {True: FORMS, False: ("pairwise",)},
}


def _data(name: str) -> dict[str, dict]:
    own = rows(name)
    junk = np.where(np.arange(N_ROWS)[:, None] % 3 == 0, np.nan, own)
    counts = np.arange(N_ROWS) % 4
    return {
        "random": {"rows": own},
        "weighted": {"rows": own, "weight": counts},
        "mixture weights": {"rows": own, "mixture_weight": np.linspace(0, 2, N_ROWS)},
        "all equal": {"rows": np.repeat(own[:1], N_ROWS, axis=0)},
        "one row": {"rows": own[3:4]},
        "none": {"rows": own[:0]},
        "junk of weight 0": {"rows": junk, "weight": np.arange(N_ROWS) % 3},
        "two points": {"rows": own[[0, 1] * (N_ROWS // 2)]},
    }


@functools.cache
def _wanted(name: str, data: str) -> np.ndarray:
    given = dict(_data(name)[data])
    parameters = mixture.parameters_of(SPACES[name])
    oracle = mixture.fit(parameters, given.pop("rows"), **given)
    wanted = np.array([mixture.log_density(parameters, oracle, x) for x in points(name)])
    assert np.isfinite(wanted).all()
    return wanted


# Each space and type compiles anew, for seconds.
FAST = [
    *(("conditional", True, "product", data) for data in ("random", "weighted", "none", "junk of weight 0")),
    *(("flat", False, "product", data) for data in ("random", "all equal", "one row")),
]
CASES = [
    (name, double, form, data)
    for name in SPACES
    for double in (True, False)
    for form in TRIED[name][double]
    for data in _data(name)
]


@pytest.mark.parametrize(
    ("name", "double", "form", "data"),
    [pytest.param(*case, marks=[] if case in FAST else [pytest.mark.slow]) for case in CASES],
)
@pytest.mark.some(4)
def test_log_prob(name, double, form, data, record_property):
    """Every kind of parameter and regime: catches a factor, a normaliser or a weight gone wrong."""
    given = _data(name)[data]
    observed, wanted = given.pop("rows"), _wanted(name, data)
    with jax.enable_x64(double):
        pe = px.ParzenEstimator.fit(SPACES[name], observed, **given)
        assert bool(pe.status & px.Status.NO_DATA) == (data == "none")
        found = log_prob_in(form, pe, points(name))
    assert found.dtype == (jnp.float64 if double else jnp.float32)
    error = (np.abs(np.asarray(found, float) - wanted) / np.maximum(1, np.abs(wanted))).max()
    assert error <= TOLERANCE[found.dtype.name, form]
    record_property("tried", f"mixture, {name}, {data}: {found.dtype.name} {form} {error:.1e}")
