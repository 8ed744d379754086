"""A component of one's own: every density of a sampler with a share of the uniform one mixed into it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from extending.runs import SPACE, gain_of_compiled_runs, rows, told, with_part


class WithUniform(px.density.AbstractMixture):
    """(1 - share) p(x) + share u(x), for each density p."""

    densities: px.density.AbstractMixture
    share: float

    def log_prob(self, basis, at):
        uniform = basis.frame.log_uniform(at) + jnp.log(self.share)
        return jnp.logaddexp(self.densities.log_prob(basis, at) + jnp.log1p(-self.share), uniform)

    def sample(self, key, basis, n):
        first, second = jax.random.split(key)
        drawn = self.densities.sample(first, basis, n)
        levels = jax.random.uniform(second, (len(drawn), basis.n_slots + 1), drawn.unit.dtype)
        uniform = basis.frame.drawn(levels[:, 1:])
        own = levels[:, :1] >= self.share
        return jax.tree.map(lambda a, b: jnp.where(own, a, b), drawn, uniform)

    @property
    def below(self):
        return WithUniform(self.densities.below, self.share)


class Defensive(px.density.AbstractSmoothing):
    """Another smoothing's densities, made `WithUniform`."""

    smoothing: px.density.AbstractSmoothing
    share: float

    def basis(self, space, dtype):
        return self.smoothing.basis(space, dtype)

    def fit(self, basis, state, split):
        densities, gamma = self.smoothing.fit(basis, state, split)
        return WithUniform(densities, self.share), gamma


def test_scores_are_those_of_a_loop():
    """Catches a share that is not mixed in, or into one group alone."""
    plain = px.paper_tpe(SPACE)
    sampler = with_part(px.paper_tpe, smoothing=Defensive(plain.smoothing, 0.3))
    state, at = told(sampler), jnp.asarray(rows(20, seed=1))

    @jax.jit
    def logs_of_plain(state, at):
        basis = plain.smoothing.basis(SPACE, at.dtype)
        densities, _ = plain.smoothing.fit(basis, state, plain.split(state))
        return densities.log_prob(basis, basis.frame.encode(at))

    logs = np.asarray(logs_of_plain(state, at), np.float64)
    # Uniform: a density of 1 of the number, 1 / 10 of each whole number, 1 / 3 of each choice.
    below, above = (np.log(0.7 * np.exp(one) + 0.3 / 30) for one in logs[0])
    np.testing.assert_allclose(sampler.score_of(state, at), below - above, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_a_compiled_run_improves():
    assert gain_of_compiled_runs(with_part(smoothing=Defensive(px.tpe(SPACE).smoothing, 0.1))) > 2
