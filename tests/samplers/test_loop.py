"""Runs as programs: how often they are compiled, what may be batched, and what is shown meanwhile."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from compilations import compilations
from jax.tree_util import Partial

import parzax as px
from parzax._progress import progress_bar

# One discrete parameter: the smallest program, and a trace that no rounding changes.
SPACE = px.Space({"k": px.Categorical(["a", "b", "c", "d"])})
N = 12


def _distance(target, key, x):
    return jnp.abs(x[0] - target)


def problem(target=2.0):
    return px.Problem(Partial(_distance, jnp.asarray(target)), SPACE)


def plain(key, x):
    """No `px.Problem`: a function alone."""
    return jnp.abs(x - 2.0), jnp.zeros(0)


def sampler(top=0.8):
    return adjusted(px.papers.tpe, n_startup=4, top=jnp.asarray(top))(SPACE)


KEYS = jax.random.split(jax.random.key(0), 6)


def test_another_key_compiles_nothing():
    """Nor do other numbers in the problem and the sampler; catches a body of the scan that is made anew."""
    px.optimize(KEYS[0], sampler(), problem(), N)
    key, other, setting = KEYS[1], problem(1.0), sampler(0.7)
    with compilations() as seen:
        trace = px.optimize(key, setting, other, N)
    assert not seen
    assert trace.x.shape == (N, 1)
    np.testing.assert_array_equal(trace.losses, np.abs(np.asarray(trace.x) - 1))


@pytest.mark.slow
def test_functions_are_known_by_identity():
    """A bare function is found again; another one of the same name is another problem."""
    first = px.optimize(KEYS[0], sampler(), plain, N)
    with compilations() as seen:
        px.optimize(KEYS[1], sampler(), plain, N)
    assert not seen
    other = px.optimize(KEYS[0], sampler(), lambda key, x: (jnp.abs(x - 1.0), jnp.zeros(0)), N)
    np.testing.assert_array_equal(first.losses, np.abs(np.asarray(first.x) - 2))
    np.testing.assert_array_equal(other.losses, np.abs(np.asarray(other.x) - 1))


@dataclass
class _Changing:
    """Compared by value, so Python gives it no hash."""

    target: float

    def __call__(self, key, x):
        return jnp.abs(x - self.target), jnp.zeros(0)


@pytest.mark.slow
def test_a_problem_without_a_hash():
    """It may change between calls, and then counts as it is."""
    own = _Changing(2.0)
    for own.target in (2.0, 1.0):
        trace = px.optimize(KEYS[0], sampler(), own, N)
        np.testing.assert_array_equal(trace.losses, np.abs(np.asarray(trace.x) - own.target))


@pytest.mark.slow
def test_a_batch_over_keys_problems_and_settings():
    """As one by one; eagerly too, where the second batch compiles nothing."""
    targets, *settings = map(
        jnp.array, ([0.0, 1.0, 3.0], [0.6, 0.8, 0.9], [0.1, 0.25, 0.5], [0.01, 0.1, 0.2])
    )

    def run(key, target, top, quantile, floor):
        parts = {"gamma": px.gamma.Linear(quantile), "bandwidth": px.bandwidth.Scott(floor)}
        with_settings = adjusted(px.papers.tpe, n_startup=4, top=top, **parts)(SPACE)
        return px.optimize(key, with_settings, problem(target), N).x

    together = jax.vmap(run)(KEYS[:3], targets, *settings)
    inputs = jax.device_put((KEYS[3:], targets, *settings))
    with compilations() as seen:
        jax.vmap(run)(*inputs)
    assert not seen
    for i in range(3):
        np.testing.assert_array_equal(together[i], run(KEYS[i], targets[i], *(a[i] for a in settings)))


@pytest.mark.slow
def test_a_batch_over_what_a_function_refers_to():
    """What is traced outside may be in a closure, not only among the leaves."""

    def run(key, target):
        own = px.Problem(lambda key, x: jnp.abs(x[0] - target), SPACE)
        return px.optimize(key, sampler(), own, N)

    targets = jnp.array([0.0, 1.0, 3.0])
    for transformed in (jax.vmap(run), jax.jit(jax.vmap(run))):
        trace = transformed(KEYS[:3], targets)
        np.testing.assert_array_equal(trace.losses[..., 0], np.abs(trace.x[..., 0] - targets[:, None]))


@pytest.mark.slow
def test_lanes_round_but_do_not_choose():
    """Chunks of another size are another program: close, and the same choices of a discrete space."""
    both = [px.optimize_many(KEYS, sampler(), problem(), N, lanes=n, progress=False) for n in (1, 4)]
    for one, other in zip(*map(jax.tree.leaves, both), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    np.testing.assert_array_equal(both[0].x[0], px.optimize(KEYS[0], sampler(), problem(), N).x)


def test_best_is_of_an_objective_that_there_is():
    trace = px.samplers.Trace(
        jnp.zeros((3, 1)),
        jnp.array([[2.0, 5.0], [3.0, 4.0], [1.0, 6.0]]),
        jnp.zeros((3, 0)),
        ("minimize", "minimize"),
    )
    assert trace.best_losses(1).tolist() == [5.0, 4.0, 4.0]
    for objective in (2, -1, 0.5):
        with pytest.raises(ValueError, match=r"objective must be a whole number from 0 to 1"):
            trace.best_losses(objective)


# --- the bar -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_bar_of_many_runs(capsys):
    """Only when asked for, as this is no terminal; the last line is whole, and alone."""
    px.optimize_many(KEYS, sampler(), problem(), N, lanes=4)
    assert capsys.readouterr() == ("", "")
    px.optimize_many(KEYS, sampler(), problem(), N, lanes=4, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.endswith("\n")
    lines = err[:-1].split("\r")
    assert lines[-1].startswith("runs: 100%")
    assert "| 6/6 [" in lines[-1]
    px.optimize_many(KEYS[:0], sampler(), problem(), N, progress=True)
    assert capsys.readouterr().err == ""


def test_the_bar_of_interrupted_work(capsys):
    """What was finished stays on the screen, on a line of its own."""

    def work():
        with progress_bar(40, "runs") as update:
            update(10)
            update(20)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    err = capsys.readouterr().err
    assert "| 20/40 [" in err.split("\r")[-1]
    assert err.endswith("\n")


def test_a_run_as_observations():
    """Directions, constraints and runs come along; values that float32 rounded out of their domain fit."""
    space = px.Space({"x": px.Float(0.1, 0.7), "k": px.Ordinal([0.1, 0.7])})
    x, objectives = np.float32([[[0.1, 0.1], [0.7, 0.7]]] * 3), np.float32([[[1.0], [2.0]]] * 3)
    trace = px.samplers.Trace(x, objectives, objectives - 1.5, ("maximize",), space)
    obs = px.Observations.from_trace(trace)
    assert obs.batch_shape == (3,)
    np.testing.assert_allclose(obs.values[0], [[0.1, 0.1], [0.7, 0.7]], rtol=1e-6)
    np.testing.assert_array_equal(obs.values[..., 1], [[0.1, 0.7]] * 3)
    np.testing.assert_array_equal(obs.losses[0, :, 0], [-1, -2])
    np.testing.assert_array_equal(obs.constraints[0, :, 0], [-0.5, 0.5])
    pooled = px.Observations.from_trace(trace, pooled=True)
    assert pooled.batch_shape == ()
    np.testing.assert_array_equal(pooled.values, obs.values.reshape(-1, 2))
    np.testing.assert_array_equal(pooled.losses, obs.losses.reshape(-1, 1))
    np.testing.assert_array_equal(pooled.constraints, obs.constraints.reshape(-1, 1))
    one = px.optimize(KEYS[0], sampler(), problem(), N)
    assert px.Observations.from_trace(one).constraints is None
    np.testing.assert_array_equal(px.Observations.from_trace(one).values, one.x)
    assert px.optimize_many(KEYS[:0], sampler(), problem(), N).space == SPACE
    with pytest.raises(ValueError, match="this trace has no space"):
        px.Observations.from_trace(px.samplers.Trace(x, objectives, objectives, ("minimize",)))
    with pytest.raises(TypeError, match="a run is traced, but its values are needed"):
        jax.eval_shape(
            lambda key: px.Observations.from_trace(px.optimize(key, sampler(), problem(), N)).n, KEYS[0]
        )


def test_the_best_parameters_by_name():
    """Of each run; None where no row is feasible or all failed, and never the last row."""
    space = px.Space({"x": px.Float(0, 1), "act": px.Categorical(["relu", "tanh"])})
    x = np.float32([[[0.25, 1], [0.5, 0], [0.75, 1]]] * 3)
    objectives = np.float32([[[2.0], [1.0], [3.0]], [[2.0], [1.0], [3.0]], [[np.nan]] * 3])
    constraints = np.float32([[[0.0], [1.0], [-1.0]], [[1.0]] * 3, [[0.0]] * 3])
    trace = px.samplers.Trace(x, objectives, constraints, ("minimize",), space)
    assert [run.best_params() for run in trace.runs()] == [{"x": 0.25, "act": "tanh"}, None, None]
    with pytest.raises(ValueError, match=r"for one run, got runs of shape \(3,\); use \[run.best_params"):
        trace.best_params()
    assert jax.tree.map(lambda a: a[0], trace).best_params() == {"x": 0.25, "act": "tanh"}
    assert jax.tree.map(lambda a: a[1], trace).best_params() is None
    assert jax.tree.map(lambda a: a[0, :0], trace).best_params() is None
    rounded = px.Space({"x": px.Float(0.1, 0.3)})  # 0.3 in float32 is above 0.3
    edge = px.samplers.Trace(np.float32([[0.3]]), *np.zeros((2, 1, 1)), ("minimize",), rounded)
    assert edge.best_params() == {"x": 0.3}
    highest = px.samplers.Trace(x[0], objectives[0], constraints[0], ("maximize",), space)
    assert highest.best_params() == {"x": 0.75, "act": "tanh"}
    assert jax.tree.map(lambda a: a[:0], trace).runs() == []
    two = px.samplers.Trace(x, np.tile(objectives, 2), constraints, ("minimize",) * 2, space)
    with pytest.raises(ValueError, match=r"best_params is for one objective; sampler\.best gives the front"):
        two.best_params()
    with pytest.raises(TypeError, match="a run is traced, but its values are needed"):
        jax.eval_shape(lambda x: px.samplers.Trace(x, x, x, ("minimize",), space).best_params(), x[..., :1])
