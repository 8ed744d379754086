"""Functions of the host that are called while JAX traces: an error names the value and the remedy."""

import jax
import numpy as np
import pytest

import parzax as px

SPACE = px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)})
_X = np.random.default_rng(0).uniform(size=(20, 2))
OBS = px.Observations.from_arrays(SPACE, _X, np.stack([_X[:, 0], 1 - _X[:, 1]], axis=1))
QUICK = {"grid": px.Grid(max_cells=4), "divergence": px.divergence.Pearson()}
CALLS = [
    ("the answer", lambda _: px.cond_ped_anova(OBS, objective=[0.5, 0.5], **QUICK, n_resamples=0)),
    ("the answer", lambda _: px.interactions(OBS, n_draws=0)),
    ("a source task", lambda _: px.lens.similarity.task_similarity([OBS])),
    ("the suggestion", lambda _: px.adapters.Session(px.tpe(SPACE)).ask(0)),
    ("keep", lambda t: OBS.select(np.full(20, True) & (t > 0))),
    ("weight", lambda t: OBS.with_weight(t * np.ones(20, np.float32))),
    ("levels", lambda t: px.cond_ped_anova(OBS, t, n_resamples=0)),
]


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_host_functions_under_jit(name, call):
    """Catches JAX's own error, and an error that does not say what is traced."""
    message = f"^{name} is traced, but its values are needed: make this call outside jax.jit"
    with pytest.raises(TypeError, match=message):
        jax.eval_shape(lambda t: (call(t), 0)[1], np.float32(0.3))
