"""A rule of task weights of one's own: sources count until the target has so many rows, and then no more."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px


class AtFirst(px.meta.AbstractTaskWeights):
    """Equal weights up to ``n_rows`` rows of the target, which then stands alone."""

    n_rows: int = eqx.field(static=True)

    def __call__(self, smoothing, sources, basis, state, split, group):
        has_rows = jnp.concatenate([jnp.ones(1, bool), sources.has_rows(group)]).astype(state.x.dtype)
        alone = (jnp.arange(len(has_rows)) == 0).astype(state.x.dtype)
        weight = jnp.where(split.n_measured[group] > self.n_rows, alone, has_rows / has_rows.sum())
        return jnp.stack([weight, weight]), split.gamma[group]


@pytest.mark.slow
def test_scores_are_those_without_sources_later():
    """Catches a sampler that weighs tasks by itself, and a state that is not seen."""
    space, rng = px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)}), np.random.default_rng(0)
    rows, x, at = rng.uniform(size=(3, 40, 2))
    source = px.Observations.from_arrays(space, rows, rows.sum(axis=1))
    ours = adjusted(px.papers.authors_meta_learn_tpe, n_samples=50)(space, [source], task_weights=AtFirst(30))
    plain = px.mo_tpe(space, 1)
    state, y = plain.init(), ((x - 0.3) ** 2).sum(axis=1)
    for rows, same in ((slice(20), False), (slice(20, 40), True)):
        state = plain.tell(state, x[rows], y[rows])
        scores = [sampler.score_of(state, at) for sampler in (ours, plain)]
        assert np.allclose(*scores, atol=1e-5) == same
