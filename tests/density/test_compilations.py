"""How often fitting and evaluating are compiled."""

import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.density import fitting, restriction
from parzax.density import rows as host


def _compiled(function) -> int:
    return function.n_compiled


def test_few_compilations_over_fifty_sizes():
    """n over 50 sizes from 1 to 4096: at most 4 compilations of the fit and of the density."""
    # A space of its own, so that no other test has compiled these shapes.
    space = px.Space({"x": px.Float(0.0, 1.25)})
    rng = np.random.default_rng(0)
    sizes = {1, 64, 65, 256, 257, 1024, 1025, 4095, 4096, *np.geomspace(2, 4000, 41).astype(int).tolist()}
    while len(sizes) < 50:
        sizes.add(int(rng.integers(1, 4097)))
    before = _compiled(fitting.fit), _compiled(host.log_prob_at)
    at = np.linspace(0, 1.25, 8)[:, None]
    for n in sorted(sizes):
        rows = rng.uniform(0, 1.25, (n, 1))
        pe = px.ParzenEstimator.fit(space, rows)
        assert np.isfinite(pe.log_prob(at)).all()
        np.testing.assert_allclose(pe.prior_weight, 1 / (n + 1), rtol=1e-6)
    after = _compiled(fitting.fit), _compiled(host.log_prob_at)
    assert len(sizes) >= 50
    assert all(1 <= b - a <= 4 for a, b in zip(before, after, strict=True)), (before, after)


@pytest.mark.slow
def test_few_compilations_over_fifty_numbers_of_points():
    """NumPy points are padded like rows; what is padded does not show."""
    space = px.Space({"x": px.Float(0.0, 1.75), "kind": px.Categorical(["a", "b"])})
    rng = np.random.default_rng(0)
    at = np.stack([rng.uniform(0, 1.75, 4096), rng.integers(0, 2, 4096)], axis=-1)
    # A clip in an array is unknown, so that all numbers of points are evaluated pair by pair.
    pe = px.ParzenEstimator.fit(space, at[:40], bandwidth=px.bandwidth.Scott(np.asarray(0.01)))
    expected = np.asarray(pe.log_prob(at))
    before = _compiled(host.log_prob_at)
    for n in np.unique(np.geomspace(1, 4096, 60).astype(int)):
        found = pe.log_prob(at[:n])
        assert found.shape == (n,)
        np.testing.assert_allclose(found, expected[:n], rtol=1e-5, atol=1e-5)
    assert _compiled(host.log_prob_at) - before <= 3  # 4096 is compiled already
    assert pe.log_prob(at[:0]).shape == pe.log_prob(jnp.asarray(at[:0])).shape == (0,)
    assert pe.log_prob(at[:6].reshape(2, 3, 2)).shape == (2, 3)
    assert [host._bucket(n) for n in (1, 64, 65, 4096, 4097, 9000, 100_000)] == [
        64, 64, 256, 4096, 4608, 9216, 106_496,
    ]  # fmt: skip


def test_bounds_do_not_compile_again():
    """Spaces that differ in names and bounds share programs; so do marginals of other parameters."""
    rng, counts = np.random.default_rng(0), []
    for name, low, step in (("a", 0.0, 1), ("b", -3.5, 2), ("c", 1e3, 7)):
        domains = px.Float(low, low + 1), px.Int(1, 1 + 20 * step, step=step), px.Int(2, 100 + step, log=True)
        space = px.Space({f"{name}{j}": domain for j, domain in enumerate(domains)})
        x = np.stack([low + rng.uniform(size=30), 1 + step * rng.integers(0, 21, 30), np.full(30, 3)], axis=1)
        pe = px.ParzenEstimator.fit(space, x, bandwidth=px.bandwidth.Neighbours())
        assert np.isfinite(pe.log_prob(x)).all()
        assert pe.marginal(space.names[len(counts)]).scale.shape == (64, 1)
        programs = fitting.fit, host.log_prob_at, restriction._selected
        counts.append(tuple(map(_compiled, programs)))
    assert counts[1:] == counts[:1] * 2


def test_values_of_settings_do_not_compile_again():
    """Arrays are traced: other clips, tops, weights and prior weights use what is compiled."""
    space = px.Space({"x": px.Float(0.0, 1.5)})
    before = _compiled(fitting.fit)
    for value in (0.1, 0.2, 0.3):
        setting = np.asarray(value)
        px.ParzenEstimator.fit(
            space,
            np.array([[0.2], [1.0]]),
            np.array([1.0, value]),
            bandwidth=px.bandwidth.Scott(setting),
            prior_weight=setting,
        )
    assert _compiled(fitting.fit) == before + 1
