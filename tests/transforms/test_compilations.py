"""How often the sweep is compiled and dispatched."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest
from compilations import compilations
from conftest import QUICK, synthetic_observations

import parzax as px
from parzax.importance.encode import without_values
from parzax.importance.estimate import estimate_seeds
from parzax.lens.results import analysis as _module


@pytest.mark.slow
def test_few_compilations_over_fifty_sizes():
    """n over 50 sizes from 1 to 4096: at most 4 compilations, with the answer's size right each time."""
    space = px.Space({"x": px.Float(0, 1), "k": px.Int(0, 4)})
    rng = np.random.default_rng(0)
    # A grid of its own, so that no other test has compiled these shapes.
    estimator = {"grid": px.Grid(max_cells=5)}
    sizes = sorted(
        {1, 64, 65, 256, 257, 1024, 1025, 4095, 4096, *np.geomspace(2, 4000, 41).astype(int).tolist()}
    )
    while len(sizes) < 50:
        sizes.append(int(rng.integers(1, 4097)))
    before = _module.sweep.n_compiled
    for n in sizes:
        values = np.stack([rng.uniform(size=n), rng.integers(0, 5, n)], axis=-1)
        result = px.cond_ped_anova(
            px.Observations.from_arrays(space, values, rng.normal(size=n)),
            [0.1, 0.5],
            **estimator,
            n_resamples=0,
        )
        assert result.n_region == n
        assert result.n_target[0] == -(-n // 10)
    compiled = _module.sweep.n_compiled - before
    print(f"\n{len(sizes)} sizes, {compiled} compilations")
    assert len(sizes) == 50
    assert 1 <= compiled <= 4


def _n_equations(jaxpr) -> int:
    """Equations of a program, those of the functions within it included."""
    inner = [x for equation in jaxpr.eqns for x in jax.tree.leaves(list(equation.params.values()))]
    inner = [getattr(x, "jaxpr", x) for x in inner]
    return len(jaxpr.eqns) + sum(_n_equations(x) for x in inner if hasattr(x, "eqns"))


@pytest.mark.parametrize(
    ("space", "most"), [pytest.param("plain", 950, marks=pytest.mark.slow), ("mixed", 2650)]
)
def test_equations_of_the_program(space, most):
    """What XLA has to compile for 99 levels does not grow; the oldest JAX counts 35 and 105 more."""
    mixed = {
        "c": px.Float(0, 1),
        "x": (
            px.Float(-5, -2, when=px.Between("c", high=0.3)),
            px.Int(1, 9, when=px.Between("c", 0.3, 0.7)),
            px.Float(1e-3, 1, log=True, when=px.Between("c", low=0.7)),
        ),
        "b": px.Categorical(["a", "b", "c"]), "d": px.Int(1, 20, when=px.In("b", ["a"])),
        "u": px.Ordinal([16, 32, 64]), "k": px.Int(1, 200, log=True), "r": px.Float(0, 1),
        "l": px.Float(1e-5, 1, log=True), "m": px.Categorical(list("abcdefg")), "n": px.Int(1, 4),
        "o": px.Float(0, 1, step=0.25), "p": px.Categorical(["x", "y"]), "q": px.Int(0, 1000),
    }  # fmt: skip
    domains = mixed if space == "mixed" else {name: px.Float(0, 1) for name in "abc"}
    space_of = px.Space(domains)
    x = np.asarray(space_of.sample(jax.random.key(0), 1024), np.float64)
    one = px.encode(space_of, x, np.arange(1024.0), np.arange(1, 100) / 100)
    log = jax.tree.map(lambda a: a[None], replace(without_values(one), rank=None))
    how = (px.divergence.Explained(), "region", True, False)
    n = _n_equations(jax.make_jaxpr(partial(estimate_seeds, how=how))(log).jaxpr)
    print(f"\n{space}: {n} equations")
    assert 100 < n <= most


def test_one_dispatch_of_the_whole_sweep(monkeypatch):
    """99 levels x 10 seeds x all parameters: one call of one compiled function, and no other compilation.

    Catches a loop over levels, seeds or parameters, and stray eager arithmetic around the call.
    """
    calls = []
    original = _module.sweep

    def counted(*args, **kwargs):
        calls.append(args[0].codes.shape)
        return original(*args, **kwargs)

    monkeypatch.setattr(_module, "sweep", counted)
    obs = synthetic_observations("activation-disjoint")
    levels = np.arange(1, 100) / 100
    estimator = QUICK | {"grid": px.Grid(max_cells=5)}
    before = original.n_compiled
    result = px.cond_ped_anova(obs, levels, **estimator, n_resamples=0)
    assert original.n_compiled - before == 1
    assert len(calls) == 1
    assert calls[0][:2] == (10, 3)
    assert result.importance.shape == (10, 99, 3)
    np.testing.assert_allclose(result.importance.sum(axis=-1), 1, rtol=1e-5)
    # A second call compiles nothing at all, in the sweep or around it.
    with compilations() as seen:
        again = px.cond_ped_anova(obs, levels, **estimator, n_resamples=0)
    assert not seen
    np.testing.assert_array_equal(again.variance, result.variance)


def test_data_are_traced():
    """New data of the same shape compile nothing: catches data used as static arguments."""
    space = px.Space({"x": px.Float(0, 1), "k": px.Int(0, 4)})
    estimator = QUICK | {"grid": px.Grid(max_cells=6)}
    rng = np.random.default_rng(0)

    def run(weight):
        values = np.stack([rng.uniform(size=50), rng.integers(0, 5, 50)], axis=-1)
        obs = px.Observations.from_arrays(space, values, rng.normal(size=50), weight=weight)
        levels = np.sort(rng.uniform(0.05, 0.9, 2))
        return px.cond_ped_anova(obs, levels, region=0.95, **estimator, n_resamples=0)

    before = _module.sweep.n_compiled
    for _ in range(3):
        run(None)
    assert _module.sweep.n_compiled == before + 1
    for _ in range(3):
        run(rng.integers(0, 3, 50))
    # Weights are another argument type, once.
    assert _module.sweep.n_compiled == before + 2
