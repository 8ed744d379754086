"""The score at candidates against loops over rows, on random and on degenerate tables."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import mixture
from reference import tpe as oracle

from .tables import DATA, FAMILY, SPACE_OF, candidates, score_of, table, told

# Absolute, for logs of ratios of order 1 to 30. float64: the product form of a density loses eps / (8 s^2),
# 3e-13 at the smallest bandwidth, per parameter. float32: 2e-4 of each log density, as in
# tests/parzen/test_mixture.py, and a score has two per group.
TOLERANCE = {True: 1e-11, False: 1e-3}

# Each sampler on a space compiles anew, for seconds; all tables share that. `test_bad_inputs` compares the
# scores of c-TPE in a conditional space.
FAST = {("categories", "c_tpe", False), ("categories", "mo_tpe, constrained", True)}
# Families whose groups are others than those of "tpe" and "c_tpe", but not their densities, weights and sums:
# what float32 and other spaces cost is known from these two, and `test_groups` finds all groups in float32.
# In a space of categories alone densities are sums of weights, which "mixed" has too.
SAME_BUT_FOR_GROUPS = {
    "c_tpe of none", "c_tpe of one", "c_tpe, every minimum", "mo_tpe", "mo_tpe, constrained",
    "mo_tpe, hypervolume", "mo_tpe, constrained, hypervolume", "mo_tpe of three, hypervolume",
    "tpe, constrained", "tpe of two", "tpe of two, constrained",
}  # fmt: skip
CASES = [
    pytest.param(*case, marks=[] if case in FAST else [pytest.mark.slow])
    for case in ((s, f, double) for s in SPACE_OF for f in FAMILY for double in (True, False))
    if case in FAST
    or (case[1] in SAME_BUT_FOR_GROUPS and case[0] == "mixed" and case[2])
    or (case[1] not in SAME_BUT_FOR_GROUPS and (case[2] or case[0] != "categories"))
]


def _data(c: int) -> tuple[str, ...]:
    only_constrained = ("nothing feasible", "little feasible", "all feasible", "extra")
    return DATA if c else tuple(data for data in DATA if data not in only_constrained)


@functools.cache
def _wanted(space: str, family: str, data: str) -> np.ndarray:
    _, m, c, settings = FAMILY[family]
    return oracle.scores(settings, SPACE_OF[space], table(space, data, m, c), candidates(space))


@pytest.mark.parametrize(("space", "family", "double"), CASES)
def test_scores(space, family, double, record_property):
    """Catches a row in the wrong group, a share, a scale, a weight, a density or a sum gone wrong."""
    make, m, c, _ = FAMILY[family]
    worst = {}
    with jax.enable_x64(double):
        sampler = make(SPACE_OF[space])
        at = jnp.asarray(candidates(space))
        assert at.dtype == (jnp.float64 if double else jnp.float32)
        for data in _data(c):
            found = np.asarray(score_of(sampler, told(sampler, table(space, data, m, c)), at), float)
            wanted = _wanted(space, family, data)
            assert np.isfinite(wanted).all()
            worst[data] = np.abs(found - wanted).max()
    assert max(worst.values()) <= TOLERANCE[double], worst
    record_property("tried", f"scores, {space}, {family}: {len(worst)} tables, {max(worst.values()):.1e}")


FAST_GROUPS = ("c_tpe", "c_tpe, every minimum", "mo_tpe, constrained", "optuna_tpe", "tpe, constrained")


@pytest.mark.parametrize(
    "family", [pytest.param(f, marks=[] if f in FAST_GROUPS else [pytest.mark.slow]) for f in FAMILY]
)
@pytest.mark.some(1)
def test_groups(family):
    """Masks and shares of all groups, row by row."""
    make, m, c, settings = FAMILY[family]
    sampler = make(SPACE_OF["categories"])
    split = jax.jit(lambda state: sampler.split(state))
    for data in _data(c):
        if data == "few values" and settings.ties == "hypervolume":
            continue  # where the worst loss is 0, gains of 1e-12 are ties to the loops, which allow for that
        for seed in (1, 2, 3):
            own = table("categories", data, m, c, seed)
            found = split(told(sampler, own))
            for k, group in enumerate(
                oracle.groups(settings, own.x, own.losses, own.constraints, own.constraint_only)
            ):
                below, above = (np.flatnonzero(mask[k]).tolist() for mask in (found.below, found.above))
                assert (below, above) == (group.below, group.above), (data, seed, k)
                assert float(found.gamma[k]) == pytest.approx(group.gamma, abs=1e-7), (data, seed, k)


def test_outside_the_space():
    """-inf there, and the neighbours in the batch are not touched."""
    make, m, c, _ = FAMILY["c_tpe"]
    sampler = make(SPACE_OF["categories"])
    state = told(sampler, table("categories", "random", m, c))
    at = np.array([[0, 0], [2, 0], [0, 1.5], [np.nan, 1], [-1, 1], [np.inf, 1], [1, 2.0]])
    inside = np.array([True, False, False, False, False, False, True])
    found = np.asarray(score_of(sampler, state, jnp.asarray(at, jnp.float32)))
    assert np.isneginf(found[~inside]).all()
    alone = np.asarray(
        score_of(sampler, state, jnp.asarray(np.repeat(at[[0, -1]], 4, axis=0)[:7], jnp.float32))
    )
    np.testing.assert_array_equal(found[inside], alone[[0, 4]])


def test_the_loops_own_kernels():
    """The oracle's float64 kernels against mpmath's, near and far, on points and cells."""
    for scale in (0.01, 1.0):
        for centre in (0.0, 0.3):
            for lower, upper in ((0.31, 0.31), (0.25, 0.5), (0.0, 0.125), (0.9, 1.0)):
                exact = float(mixture.log_kernel(centre, lower, upper, scale))
                found = oracle.log_kernel(centre, lower, upper, scale)
                assert found == pytest.approx(exact, rel=1e-11) or exact < -700
