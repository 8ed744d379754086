"""The overlap of two sets of points: ties, densities that vanish, counts."""

import jax
import numpy as np
import pytest

from parzax.meta import overlap_similarity

INF = np.inf
_overlap = jax.jit(overlap_similarity, static_argnums=2)


def by_definition(p, q, k: int) -> float:
    """Points at least as good as the k-th best, but for those of density 0."""
    first, second = ({i for i, v in enumerate(x) if v > 0 and v >= sorted(x)[-k]} for x in (p, q))
    return len(first & second) / max(len(first | second), 1)


@pytest.mark.parametrize("seed", range(5))
def test_definition(seed):
    # Catches ties broken by the order of the points, and points of density 0 in a set.
    rng = np.random.default_rng(seed)
    p, q = rng.integers(0, 4, (2, 30)) * (rng.random((2, 30)) < 0.4)
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p), np.log(q)
    for k in (1, 3, 10, 30):
        found = [float(_overlap(a, b, k / 30)) for a, b in ((log_p, log_q), (log_q, log_p))]
        assert found == pytest.approx([by_definition(p, q, k)] * 2, abs=1e-6)
        order = rng.permutation(30)
        assert float(_overlap(log_p[order], log_q[order], k / 30)) == pytest.approx(found[0])


def test_disjoint_and_equal_categories():
    """The density is 0 at most points: sets of the first of them were the same for all tasks."""
    codes = np.random.default_rng(0).integers(0, 4, (1000, 5))
    with np.errstate(divide="ignore"):
        low, high = (np.log((part / 2).prod(axis=1)) for part in (codes < 2, codes >= 2))
    assert float(_overlap(low, high)) == 0
    assert float(_overlap(low, low)) == 1
    wide = np.log(np.full(1000, 1 / 1024))
    assert float(_overlap(low, wide)) == pytest.approx(np.isfinite(low).mean())
    assert float(_overlap(np.full(10, -INF), np.full(10, -INF))) == 0
    assert float(_overlap(np.full(10, -INF), np.zeros(10))) == 0


def test_rounding_does_not_tell_equal_densities_apart():
    rng = np.random.default_rng(1)
    p = np.repeat([-700.0, -701.0, -INF], 20).astype(np.float32)
    rounded = (p * (1 + 1e-7 * rng.normal(size=60))).astype(np.float32)
    assert len(np.unique(rounded)) > 6
    assert float(_overlap(p, rounded, 0.1)) == 1
    assert float(_overlap(p, np.roll(rounded, 20), 0.1)) == 0


def test_number_of_points():
    """0.29 of 100 are 29 points, though 0.29 * 100 is below 29."""
    p = np.arange(100.0)
    for quantile, k in ((0.29, 29), (0.57, 57), (0.299, 29), (0.001, 1), (1, 100)):
        q = np.where(p >= 100 - k, p, -INF)
        r = np.where(p >= 101 - k, p, -INF)
        assert float(_overlap(p, q, quantile)) == 1
        assert float(_overlap(p, r, quantile)) == pytest.approx((k - 1) / k)


def test_batches():
    p, q = np.random.default_rng(2).normal(size=(2, 3, 4, 50))
    found = _overlap(p, q)
    assert found.shape == (3, 4)
    assert float(found[1, 2]) == float(_overlap(p[1, 2], q[1, 2]))
