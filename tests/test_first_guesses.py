"""Calls of samplers as a new user would type them, and errors that name what was probably meant."""

import copy
import math
import os
import re
import traceback
from inspect import signature

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

SPACE = px.Space({"x": px.Float(0, 1), "k": px.Categorical(["a", "b"])})
KEY = jax.random.key(0)
X = np.stack([np.linspace(0.02, 0.98, 30), np.arange(30) % 2], axis=1)


def loss(key, x):
    return (x[0] - 0.3) ** 2 + x[1]


@pytest.fixture(scope="module")
def trace():
    return px.optimize(KEY, px.tpe(SPACE), loss, 30)


def test_a_plain_function_of_a_number(trace):
    assert trace.losses.shape == (30, 1)
    assert set(trace.best_params()) == {"x", "k"}
    np.testing.assert_array_equal(px.optimize(KEY, px.tpe(SPACE), px.Problem(loss), 30).x, trace.x)
    np.testing.assert_array_equal(px.optimize(KEY, px.tpe(SPACE), px.Problem(loss, SPACE), 30).x, trace.x)


def test_the_key_comes_first():
    with pytest.raises(TypeError, match=r"key must be a typed key .*the key comes first"):
        px.optimize(px.tpe(SPACE), loss, KEY, 5)  # pyright: ignore
    with pytest.raises(TypeError, match=r"keys must be typed, .*and come first"):
        px.optimize_many(px.tpe(SPACE), loss, KEY[None], 5)  # pyright: ignore


def test_random_search_and_importance(trace):
    """Random configurations, and importances of arrays and of a log, with levels, a region and directions."""
    x = SPACE.sample(KEY, 60)
    assert x.shape == (60, 2)
    losses = x[:, 0] ** 2
    encoded = px.encode(SPACE, x, losses, levels=[0.1, 0.2], region=0.9)
    assert px.importance.estimate(encoded).importance.shape == (2, 2)
    obs = px.Observations.from_arrays(SPACE, x, losses, directions="minimize")
    result = px.cond_ped_anova(obs, levels=[0.1, 0.2], region=0.9, n_resamples=0, key=KEY)
    assert (result.levels.tolist(), result.region) == ([0.1, 0.2], 0.9)
    assert result.importance[0].argmax() == 0
    assert px.Observations.from_trace(trace).values.shape == (30, 2)


def test_presets_take_the_same_values():
    """What `tpe` takes in its order, at most eleven, each a value; rules are classes by their names."""
    names = list(signature(px.tpe).parameters)
    assert len(names) <= 11
    for preset in (px.c_tpe, px.mo_tpe, px.optuna_tpe, px.papers.tpe, px.papers.c_tpe, px.papers.mo_tpe):
        assert list(signature(preset).parameters) == names
    assert px.c_tpe(SPACE, 1, 2).n_constraints == 2
    smoothing = px.density.Smoothing(bandwidth=px.bandwidth.Scott())
    sampler = px.tpe(SPACE, split=px.Split(gamma=px.gamma.Linear(0.1)), smoothing=smoothing)
    assert (sampler.split.gamma.beta, sampler.smoothing.bandwidth) == (0.1, px.bandwidth.Scott())


@pytest.mark.parametrize(("guess", "meant"), [("Observation", "Observations"), ("optimise", "optimize")])
def test_unknown_names(guess, meant):
    with pytest.raises(AttributeError, match=f"no attribute '{guess}'; did you mean '{meant}'"):
        getattr(px, guess)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("TPESampler", r"px\.tpe\(space\), or px\.adapters\.optuna\.TPESampler\(\)"),
        ("PedAnovaImportanceEvaluator", r"px\.adapters\.optuna\.CondPedAnovaImportanceEvaluator\(\)"),
        ("get_param_importances", r"px\.cond_ped_anova\("),
        ("fmin", r"px\.minimize\("),
        ("plot", r"px\.plotting, such as px\.plotting\.importance_bars\(result\)"),
    ],
)
def test_names_of_other_libraries(name, line):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; write {line}"):
        getattr(px, name)


def test_the_module_of_importances_is_no_function():
    with pytest.raises(TypeError, match=r"is a module; write parzax\.cond_ped_anova\(obs\)"):
        px.importance(SPACE)  # pyright: ignore


def test_what_is_no_log_is_answered_with_the_line_that_reads_it(tmp_path, trace):
    """A frame, records, a study, a trace and a path, in every function that takes a log."""
    optuna, pandas = pytest.importorskip("optuna"), pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    records = [{"lr": lr, "width": int(n), "loss": (lr - 5) ** 2} for lr, n in rng.uniform(1, 9, (40, 2))]
    table = r"px\.Observations\.from_dataframe\(df, target=\.\.\.\)"
    logs = {
        table: [pandas.DataFrame(records), records, records[0]],
        r"px\.adapters\.optuna\.observations\(study\)": [optuna.create_study()],
        r"px\.Observations\.from_trace\(trace\)": [trace],
        r".*\('a\.db', target=.*px\.adapters\.optuna\.observations\('a\.db'\)": ["a.db"],
    }
    functions = (
        px.cond_ped_anova,
        px.interactions,
        px.compare,
        lambda log: px.report(log, tmp_path / "r.html"),
    )
    for line, given in logs.items():
        for log in given:
            for function in functions:
                with pytest.raises(
                    TypeError, match=f"must be parzax.Observations, got .*; read it with {line}"
                ):
                    function(log)  # pyright: ignore
    obs = px.Observations.from_dataframe(records, target="loss", warn=False)
    assert (obs.space.names, obs.n) == (("lr", "width"), 40)
    result = px.cond_ped_anova(obs, [0.1, 0.5], n_resamples=0)
    np.testing.assert_array_equal(result.importance["lr"], result.importance[:, 0])
    with pytest.raises(ValueError, match="the parameter must be one of 'lr', 'width', got 'rate'"):
        result.importance["rate"]  # pyright: ignore


def test_a_pair_of_objectives_is_no_constraint():
    with pytest.raises(ValueError, match=r"for constraints, but n_constraints is 0.*jnp.stack\(\[a, b\]\)"):
        px.optimize(KEY, px.tpe(SPACE, 2), lambda key, x: (x[0], 1 - x[0]), 5)


# Functions of named values as somebody may write them, and what the last line of the error must name.
SLIPS = {
    "if": (lambda key, p: 1.0 if p["x"] > 0.5 else 2.0, "jnp.where"),
    "if of a category": (lambda key, p: 1.0 if p["k"] == "a" else 2.0, "jnp.where"),
    "max": (lambda key, p: max(p["x"], 0.5), "jnp.where"),
    "in": (lambda key, p: 1.0 * (p["k"] in ("a", "b")), "jnp.where"),
    "range": (lambda key, p: sum(p["x"] for _ in range(p["n"])), "jax.lax.fori_loop"),
    "shape": (lambda key, p: jnp.ones(p["n"]).sum(), "the largest and a mask"),
    "numpy": (lambda key, p: np.log(p["x"]), r"those of JAX \(jnp\.\)"),
    "math": (lambda key, p: math.log(p["x"]), r"functions of JAX \(jnp\.\)"),
    "float": (lambda key, p: float(p["x"]), "Leave out float"),
    "a number as a key": (lambda key, p: {1: 0.5}[p["n"]], "JAX traces fn"),
    "a category as a number": (lambda key, p: 0.1 * p["k"], r"parzax\.choose.*\.code"),
    "a category as an index": (lambda key, p: jnp.ones(2)[p["k"]], r"parzax\.choose.*\.code"),
    "a category as a key": (lambda key, p: {"a": 1.0}[p["k"]], r"parzax\.choose.*\.code"),
    "a category as an array": (lambda key, p: p["k"].astype(float), r"parzax\.choose.*\.code"),
    "a misspelt choice": (lambda key, p: 1.0 * (p["k"] == "A"), r"'k' has no choice 'A'; it has a, b\."),
    "an attribute": (lambda key, p: p.x, r'write params\["name"\]'),
    "branches without names": (
        lambda key, p: px.choose(p["k"], jnp.sin, jnp.cos),  # pyright: ignore
        # Where annotations are checked, as in the stage `checked` of CI, that check comes first.
        "positional arguments" if os.environ.get("PARZAX_CHECKED") else "Name the choices",
    ),
    "no key": (lambda p: p["x"], r"Write def fn\(key, x\).*or def fn\(key, params\)"),
    "another order": (lambda p, key: p["x"], r"Write def fn\(key, x\)"),
    "one argument more": (lambda key, p, mask: p["x"], r"Write def fn\(key, x\)"),
    "a dict of losses": (lambda key, p: {"loss": p["x"]}, "losses of fn must be numbers, got dict"),
    "nothing": (lambda key, p: None, "losses of fn must be numbers, got NoneType"),
    "a pair": (
        lambda key, p: (p["x"], p["n"]),
        r"n_constraints is 0.*jnp\.stack\(\[a, b\]\), for .*directions=",
    ),
    "two losses": (lambda key, p: jnp.ones(2), r"so return one number, or .*directions=\[\"minimize\", "),
}
NAMED = {"x": px.Float(0, 1), "k": px.Categorical(["a", "b"]), "n": px.Int(1, 9)}


@pytest.mark.parametrize("slip", SLIPS)
def test_the_last_line_of_an_error_says_what_to_write(slip):
    """And the user's own line is in the traceback."""
    fn, remedy = SLIPS[slip]
    with pytest.raises((TypeError, ValueError)) as caught:
        px.optimize(KEY, px.tpe(px.Space(NAMED)), px.Problem.from_params(fn, NAMED), 3)
    lines = "".join(traceback.format_exception(caught.value)).strip().split("\n")
    assert re.search(remedy, lines[-1])
    if "\n" in str(caught.value) and "positional argument" not in str(caught.value):
        assert f"line {fn.__code__.co_firstlineno}, in <lambda>" in "".join(lines)


def test_functions_of_a_vector():
    """The same remedies; values by name are named, and two objectives."""
    for fn, remedy in [
        (lambda key, x: 1.0 if x[0] > 0 else 2.0, "jnp.where"),
        (lambda x: x[0], r"def fn\(key, x\) with a vector"),
        (lambda x, key: jnp.sum(x**2), r"def fn\(key, x\) with a vector"),
        (lambda key, params: params["x"], r"parzax\.Problem\.from_params"),
    ]:
        with pytest.raises(TypeError, match=remedy):
            px.optimize(KEY, px.tpe(SPACE), fn, 3)
    with pytest.raises(ValueError, match=r"n_objectives is 2, so return 2 numbers.*jnp.stack\(\[a, b\]\)"):
        px.optimize(KEY, px.tpe(SPACE, 2), loss, 3)
    with pytest.raises(
        ValueError, match="n_objectives is 1, but the sampler's is 2; give both the same n_obj"
    ):
        px.optimize(KEY, px.tpe(SPACE, 2), px.Problem(loss), 3)


def test_an_error_of_the_users_own_stays_as_it_is():
    def fn(key, params):
        return jnp.ones(3) @ jnp.ones(4)

    with pytest.raises(TypeError, match=r"dot_general requires.*\.$"):
        px.optimize(KEY, px.tpe(px.Space(NAMED)), px.Problem.from_params(fn, NAMED), 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: px.tpe(SPACE, direction="maximize"), 'use directions="maximize"'),  # pyright: ignore
        (lambda: px.tpe(SPACE, maximize=True), 'use directions="maximize"'),  # pyright: ignore
        (lambda: px.tpe(NAMED), r"got dict; write parzax\.Space\(domains\)"),  # pyright: ignore
        (lambda: px.optimize(KEY, px.tpe(SPACE), loss, 3, direction="maximize"),  # pyright: ignore
         r'use px\.tpe\(space, directions="maximize"\)'),
        (lambda: px.optimize_many(KEY[None], px.tpe(SPACE), loss, 3, directions="maximize"),  # pyright: ignore
         r'use px\.tpe\(space, directions="maximize"\)'),
        (lambda: px.Problem.from_params(loss, NAMED, direction="maximize"),  # pyright: ignore
         r'use px\.tpe\(space, directions="maximize"\)'),
        (lambda: px.optimize(KEY, px.tpe(SPACE), loss, n_trials=3), "mean 'n_evaluations'"),  # pyright: ignore
        (lambda: px.optimize(px.tpe(SPACE), loss, 3, seed=0), "did you mean 'key'"),  # pyright: ignore
        (lambda: px.optimize(KEY, loss, px.tpe(SPACE), 3), "sampler must be .*before problem"),  # pyright: ignore
    ],
)  # fmt: skip
def test_arguments_of_other_calls(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("weights", [None, pytest.param(px.meta.Stacking(), marks=pytest.mark.slow)])
def test_ask_of_a_sampler_with_sources_compiles(weights):
    """Catches a sampler with arrays that `jax.jit` refuses."""
    log = px.Observations.from_arrays(SPACE, X, X[:, 0])
    sampler = px.meta_learn_tpe(SPACE, {"log": log}, task_weights=weights)
    state = sampler.init()
    np.testing.assert_array_equal(jax.jit(sampler.ask)(KEY, state), sampler.ask(KEY, state))


def test_settings_may_be_arrays_and_traced():
    def score(weight):
        sampler = px.tpe(SPACE, smoothing=px.density.Smoothing(prior_weight=weight))
        return sampler.score_of(sampler.tell(sampler.init(), X, X[:, 0]), X[:3])

    wanted = score(1.0)
    np.testing.assert_allclose(score(jnp.float32(1)), wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(jax.jit(score)(jnp.float32(1)), wanted, rtol=1e-4, atol=1e-4)


def test_scores_of_any_leading_axes():
    sampler = px.tpe(SPACE)
    state = sampler.tell(sampler.init(), X, X[:, 0])
    flat = np.asarray(sampler.score_of(state, X[:6]))
    np.testing.assert_allclose(sampler.score_of(state, X[:6].reshape(2, 3, 2)), flat.reshape(2, 3), rtol=1e-6)
    np.testing.assert_allclose(sampler.score_of(state, X[0]), flat[0], rtol=1e-6)
    assert sampler.score_of(state, X[:0]).shape == (0,)
    assert sampler.score_of(state, np.zeros((4, 0, 2))).shape == (4, 0)


def test_names_of_a_trace_that_there_are_not(trace):
    """Each error has the name that was probably meant; a copy does not ask for names of its own."""
    meant = {"best": "best_losses and best_params", "best_param": "best_params", "incumbents": "incumbent",
             "objectives": "losses", "loss": "losses"}  # fmt: skip
    for name, hint in meant.items():
        with pytest.raises(AttributeError, match=f"a Trace has no '{name}'; .*{hint}"):
            getattr(trace, name)
    np.testing.assert_array_equal(copy.deepcopy(trace).x, trace.x)
    assert not hasattr(trace, "__jax_array__")
