"""Parzen estimators as priors in NumPyro."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import parzax as px

numpyro = pytest.importorskip("numpyro")


def fitted(domains: dict) -> px.ParzenEstimator:
    space = px.Space(domains)
    return px.ParzenEstimator.fit(space, np.asarray(space.sample(jax.random.key(0), 20)))


@pytest.mark.slow
def test_blackjax_takes_the_step_that_the_page_prints():
    """Catches a block of docs/densities.md that does not run; CI runs none that needs BlackJAX."""
    pytest.importorskip("blackjax")
    page = (Path(__file__).parents[2] / "docs" / "densities.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```py\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    names = {"px": px, "jax": jax, "jnp": jnp, "density": fitted({"lr": px.Float(1e-4, 1, log=True)})}
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        exec(compile(block, "densities.md", "exec"), names)
        (lr,) = np.asarray(names["bounded"](names["one"].position))
    assert 1e-4 < lr < 1


@pytest.mark.slow
def test_posterior():
    """Catches a wrong density or support: NUTS has the mean of a posterior that a quadrature gives."""
    pe = fitted({"a": px.Float(0, 1), "b": px.Float(1e-3, 10, log=True)})

    def model(y):
        theta = numpyro.sample("theta", px.adapters.numpyro.Parzen(pe))
        numpyro.sample("y", numpyro.distributions.Normal(theta[0], 0.2), obs=y)

    mcmc = numpyro.infer.MCMC(numpyro.infer.NUTS(model), num_warmup=300, num_samples=2000, progress_bar=False)
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # NumPyro relies on both
        mcmc.run(jax.random.key(1), 0.9)
    a, b = np.asarray(mcmc.get_samples()["theta"]).T
    grid = (np.arange(2000) + 0.5) / 2000
    posterior = np.asarray(pe.marginal("a").prob(grid[:, None])) * norm.pdf(0.9, grid, 0.2)
    assert abs(a.mean() - grid @ posterior / posterior.sum()) < 0.02
    assert ((b >= 1e-3) & (b <= 10)).all()


def test_mixed_space():
    """Draws and densities of a conditional space; a sampler that needs gradients is refused."""
    pe = fitted({"c": px.Categorical(["a", "b"]), "x": px.Float(0, 1, when=px.In("c", ["a"]))})
    prior = px.adapters.numpyro.Parzen(pe)
    draws = prior.sample(jax.random.key(0), (7,))
    np.testing.assert_array_equal(prior.log_prob(draws), pe.log_prob(draws))
    assert jax.jit(lambda prior: prior.log_prob(draws))(prior).shape == (7,)
    assert numpyro.infer.Predictive(lambda: numpyro.sample("t", prior), num_samples=3)(jax.random.key(1))[
        "t"
    ].shape == (3, 2)
    with pytest.raises(ValueError, match=r"'c' is discrete or conditional.*conditional\("):
        _ = prior.support
    assert jnp.isneginf(prior.log_prob(jnp.array([1.0, 0.5])))
