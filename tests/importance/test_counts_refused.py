"""Arguments of the array functions: counts beyond int32, negative and complex ones, and what is no flag."""

import jax.numpy as jnp
import numpy as np
import pytest
from conftest import coarse_method

import parzax as px
from parzax import importance
from parzax.importance import variance

LARGE = np.array([2**40, 3])


def test_counts_beyond_int32():
    """Catches counts that wrap round on their way to the device."""
    found = px.importance.within_regime_variance(np.array([1.0, 2.0]), LARGE, LARGE, np.array(2**41))
    np.testing.assert_allclose(found, 0.5, rtol=1e-6)
    share = variance.inter_regime_variance(LARGE, LARGE, dtype=jnp.dtype(jnp.float32))
    assert float(share) == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: px.importance.within_regime_variance(np.ones(1), [-1], [3], 3),
            ValueError,
            "n_target: entry",
        ),
        (
            lambda: px.importance.within_regime_variance(np.ones(1) * 1j, [1], [3], 3),
            TypeError,
            "must hold real",
        ),
        (
            lambda: px.divergence.pearson_divergence(np.array([1j]), np.ones(1)),
            TypeError,
            "p must hold real numbers",
        ),
        (
            lambda: importance.importance(np.ones(2), uniform_when_undefined="no"),
            TypeError,
            "uniform_when_undefined must be True or False",
        ),
        (lambda: px.bandwidth.Neighbours(consider_endpoints="no"), TypeError, "must be True or False"),
    ],
)
def test_refused(as_installed, call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_names_do_not_reach_the_terminal_raw():
    x = np.random.default_rng(0).uniform(size=(60, 2))
    space = px.Space({"a\x1b[2J": px.Float(0, 1), "z": px.Float(0, 1)})
    obs = px.Observations.from_arrays(space, x, x[:, 0])
    shown = str(px.cond_ped_anova(obs, [0.1, 0.25, 0.5], **coarse_method(False), n_resamples=0))
    assert r"a\x1b[2J" in shown
    assert "\x1b" not in shown
