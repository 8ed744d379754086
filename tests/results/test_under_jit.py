"""Functions of the host that are called while JAX traces: an error names the function and the remedy."""

import jax
import numpy as np
import pytest

import parzax as px

SPACE = px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)})
_X = np.random.default_rng(0).uniform(size=(20, 2))
OBS = px.Observations.from_arrays(SPACE, _X, np.stack([_X[:, 0], 1 - _X[:, 1]], axis=1))
QUICK = {"grid": px.Grid(max_cells=4), "divergence": px.divergence.Pearson()}
INSIDE = "runs on the host, but was called while JAX traces a function: call it outside jax.jit"
CALLS = {
    "cond_ped_anova": lambda _: px.cond_ped_anova(OBS, objective=[0.5, 0.5], **QUICK),
    "interactions": lambda _: px.interactions(OBS, n_draws=0),
    "task_similarity": lambda _: px.lens.similarity.task_similarity([OBS]),
    "ask": lambda _: px.adapters.Session(px.tpe(SPACE)).ask(0),
}
ARGUMENTS = {
    ("keep", "select"): lambda t: OBS.select(np.full(20, True) & (t > 0)),
    ("weight", "with_weight"): lambda t: OBS.with_weight(t * np.ones(20, np.float32)),
    ("levels", "cond_ped_anova"): lambda t: px.cond_ped_anova(OBS, t),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_name_themselves(name):
    """Catches an inner function's name, and JAX's own error."""
    with pytest.raises(TypeError, match=f"^{name} {INSIDE}"):
        jax.eval_shape(lambda t: (CALLS[name](t), 0)[1], np.float32(0.3))


@pytest.mark.parametrize("name", ARGUMENTS, ids="-".join)
def test_arguments_that_are_traced(name):
    with pytest.raises(TypeError, match=f"^{name[0]} is traced, but {name[1]} needs its values: call it"):
        jax.eval_shape(lambda t: (ARGUMENTS[name](t), 0)[1], np.float32(0.3))
