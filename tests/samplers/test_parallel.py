"""Runs with several evaluations a round: what they evaluate, in which order, and with which programs."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from compilations import compilations
from devices import run_on_devices

import parzax as px
from parzax.samplers import loop
from parzax.samplers.loop import _ALONE, plan_stages

SPACE = px.Space(
    {
        "kind": px.Categorical(["a", "b", "c"]),
        "x": px.Float(0, 1),
        "n": px.Int(1, 9, when=px.In("kind", ["a"])),
    }
)
KEY = jax.random.key(0)


def distance(key, x):
    noise = 0.01 * jax.random.normal(key)
    return (x[1] - 0.3) ** 2 + 0.1 * jnp.where(jnp.isnan(x[2]), x[0], x[2]) + noise


PROBLEM = px.Problem(distance, SPACE)
SAMPLER = px.tpe(SPACE)


def by_hand(n_evaluations, k):
    """The same run as a loop of `ask` and `tell`."""
    state, rows = SAMPLER.init(-(-(n_evaluations + k) // 32) * 32), []
    for row in range(0, n_evaluations, k):
        ask, evaluate = jax.random.split(jax.random.fold_in(KEY, row))
        x = SAMPLER.ask(ask, state, k)
        losses = jnp.stack([PROBLEM(*pair)[0] for pair in zip(jax.random.split(evaluate, k), x, strict=True)])
        state = SAMPLER.tell(state, x, losses)
        rows.append(np.concatenate([x, losses], axis=1))
    return np.concatenate(rows)[:n_evaluations]


@pytest.mark.parametrize(("n_evaluations", "k"), [(22, 4), pytest.param(3, 8, marks=pytest.mark.slow)])
def test_equals_a_loop(n_evaluations, k):
    """Also where the last round is not full."""
    trace = px.optimize(KEY, SAMPLER, PROBLEM, n_evaluations, n_parallel=k)
    wanted = by_hand(n_evaluations, k)
    np.testing.assert_allclose(trace.x, wanted[:, :-1], rtol=1e-5)
    np.testing.assert_allclose(trace.losses, wanted[:, -1:], rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_one_a_round_is_the_default():
    first = px.optimize(KEY, SAMPLER, PROBLEM, 22)
    np.testing.assert_array_equal(first.x, px.optimize(KEY, SAMPLER, PROBLEM, 22, n_parallel=1).x)


@pytest.mark.slow
def test_several_scans():
    """A long run begins in small states; no round is lost where they grow."""
    assert plan_stages(None, 700, 7, _ALONE) == (0, [(256, 252), (704, 700)])
    trace = px.optimize(KEY, SAMPLER, PROBLEM, 700, n_parallel=7)
    np.testing.assert_allclose(trace.x, by_hand(700, 7)[:, :-1], rtol=1e-5)


@pytest.mark.slow
def test_many_runs():
    """Each run of many is that of its key."""
    keys = jax.random.split(KEY, 3)
    many = px.optimize_many(keys, SAMPLER, PROBLEM, 22, n_parallel=4, lanes=3)
    assert many.x.shape == (3, 22, 3)
    for key, x in zip(keys, many.x, strict=True):
        np.testing.assert_allclose(x, px.optimize(key, SAMPLER, PROBLEM, 22, n_parallel=4).x, rtol=1e-5)


def test_another_key_compiles_nothing():
    px.optimize(KEY, SAMPLER, PROBLEM, 22, n_parallel=4)
    other = jax.random.key(3)
    with compilations() as seen:
        px.optimize(other, SAMPLER, PROBLEM, 22, n_parallel=4)
    assert not seen


def in_a_loop(key, x):
    return jax.lax.fori_loop(0, 1000, lambda i, loss: loss + jnp.sin(loss), distance(key, x))


def on_many_numbers(key, x):
    return (jnp.linspace(0, 1, 3000) * x[1]).sum()


@pytest.mark.parametrize(
    ("fn", "k", "light"),
    [
        (distance, 4, True),
        (distance, 1, False),
        (distance, 32, True),
        (on_many_numbers, 4, True),
        (on_many_numbers, 32, False),
        (in_a_loop, 4, False),
    ],
)
def test_few_rounds_of_light_evaluations_compile_fast(fn, k, light):
    setup = loop.check_run(SAMPLER, px.Problem(fn, SPACE), 64, n_parallel=k)
    assert loop.is_light(KEY, setup) == light


def test_the_compiler_is_told_the_size_of_a_run(monkeypatch):
    """By the number of the row alone: the first rounds of a longer run have the program of a short one."""
    capacities = {work: [] for work in loop._advance}

    def advance(work, key, setup, search, last):
        capacities[work].append(search.state.capacity)
        return search

    monkeypatch.setattr(loop, "_advance", {work: partial(advance, work) for work in capacities})
    for n_evaluations in (23, 1400):
        px.optimize(KEY, SAMPLER, PROBLEM, n_evaluations, n_parallel=23)
    assert capacities == {"small": [32, 736], "large": [1024, 1408]}


@pytest.mark.slow
def test_repeats_are_at_the_end():
    """Ten repeats, of which the first three decide about the noise; they are exactly as they were."""
    sampler = adjusted(px.tpe, repeats=False)(SPACE)
    trace = px.optimize(KEY, sampler, PROBLEM, 58, n_parallel=8, n_confirm=10)
    x = np.nan_to_num(np.asarray(trace.x), nan=-1)
    before, last = ({row.tobytes() for row in x[:n]} for n in (48, 56))
    assert len(before) == 48
    # The seventh round has evaluations 48 to 55, the last one 56 to 63, of which two count.
    assert [row.tobytes() in before for row in x[48:56]] == [True] * 3 + [False] * 5
    assert [row.tobytes() in last for row in x[56:]] == [True] * 2


ON_A_MESH = """
import json, jax, jax.numpy as jnp, numpy as np, parzax as px
from jax.sharding import AxisType, Mesh
space = px.Space({"x": px.Float(0, 1), "n": px.Int(1, 9)})
shift = jnp.asarray(0.3)
problem = px.Problem(jax.tree_util.Partial(lambda s, key, x: (x[0] - s) ** 2 + 0.1 * x[1], shift), space)
sampler, key = px.tpe(space), jax.random.key(0)
alone = px.optimize(key, sampler, problem, 22, n_parallel=8)
mesh = Mesh(np.asarray(jax.devices()), ("s",), axis_types=(AxisType.Explicit,))  # test_going_on.py: Auto
trace = px.optimize(key, sampler, problem, 22, n_parallel=8, mesh=mesh)
same = bool(jnp.array_equal(jnp.asarray(np.asarray(trace.x)), alone.x))
try:
    px.optimize(key, sampler, problem, 22, n_parallel=6, mesh=mesh)
except ValueError as error:
    print(json.dumps({"same": same, "error": str(error)}))
"""


@pytest.mark.slow
def test_a_mesh():
    """The k evaluations lie on its devices; the run is the same."""
    printed = run_on_devices(ON_A_MESH)
    assert printed["same"]
    assert printed["error"] == "n_parallel must be a multiple of the 4 devices of mesh, got 6."


@pytest.mark.parametrize("k", [0, 2.5, -1])
def test_refusals(k):
    with pytest.raises((TypeError, ValueError), match="n_parallel"):
        px.optimize(KEY, SAMPLER, PROBLEM, 30, n_parallel=k)
