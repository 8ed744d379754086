"""Tables as problems, against look-ups in NumPy float64."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.load_table import load_table
from reference import tables
from tabular_calls import both_ways, evaluate, keys_of, limits

import parzax as px

pytestmark = pytest.mark.data

each = pytest.mark.parametrize("name", tables.names())
each_constrained = pytest.mark.parametrize("name", tables.names(constrained=True))
SMALL = "generated/small"


@functools.cache
def load(name, objectives=None, quantiles=()):
    objectives = tables.OBJECTIVES[name] if objectives is None else objectives
    return load_table(tables.load(name).path, list(objectives), constraint_quantiles=dict(quantiles))


# --- values --------------------------------------------------------------------------------------


@each
def test_values_of_the_whole_table(name):
    """Every configuration gives the values of one of its seeds, the same for both metrics.

    Catches a wrong order of rows or columns, rounding of native values in float32, and seeds mixed up.
    """
    raw, objectives = tables.load(name), tables.OBJECTIVES[name]
    quantiles = () if name.startswith("nmt") else (("size", 0.1), ("runtime", 0.5))
    problem = load(name, quantiles=quantiles)
    native = raw.native().astype(np.float32)
    values, excess = map(np.asarray, evaluate(problem, keys_of(len(native)), native))
    truth = np.stack([raw.metric(metric) for metric in objectives], axis=-1).astype(np.float32)
    same = (values[:, None] == truth).all(axis=-1)
    if quantiles:
        size, runtime = limits(name, 0.1)["size"], limits(name, 0.5)["runtime"]
        bounds = np.stack([size, runtime], axis=-1)
        near = np.abs(excess[:, None] - bounds) <= 1e-6 * np.abs(bounds)  # of float32
        same &= (near & ((excess[:, None] <= 0) == (bounds <= 0))).all(axis=-1)
    assert same.any(axis=1).all()
    assert problem.n_objectives == 2
    assert problem.n_constraints == excess.shape[1] == len(quantiles)


@each
def test_rows_and_values(name):
    """Native values to rows and back in float32: catches strides, and limits between values."""
    problem, native = load(name), tables.load(name).native()
    rows = np.arange(len(native))
    x, found = both_ways(problem, rows)
    np.testing.assert_array_equal(x, native.astype(np.float32))
    np.testing.assert_array_equal(found, rows)


def test_nearest_ordinal_values():
    """Values off by rounding, and between two values the nearer one, on the log axis where there is one."""
    problem, native = load(SMALL), tables.load(SMALL).native()
    ordinal = np.array([h["kind"] == "ordinal" for h in tables.SPACE])
    for factor in (1 - 1e-4, 1 + 1e-4):
        x = np.where(ordinal, native * factor, native).astype(np.float32)
        np.testing.assert_array_equal(jax.jit(jax.vmap(problem.encode))(x), np.arange(tables.N))
    # rate (log): 0.001 and 0.01 meet at 0.00316; units (log): 64 and 512 at 181; dropout: 0.3, 0.6 at 0.45.
    nearest = jax.jit(lambda x: problem.decode(problem.encode(x)))
    low, high = np.float32([0.0031, 0, 180.0, 0.449]), np.float32([0.0032, 0, 182.0, 0.451])
    np.testing.assert_array_equal(nearest(low), np.float32([0.001, 0, 64, 0.3]))
    np.testing.assert_array_equal(nearest(high), np.float32([0.01, 0, 512, 0.6]))


@each
def test_space(name):
    """The space of the header: kinds, choices and log axes; its values are accepted as observations."""
    problem, raw = load(name), tables.load(name)
    for entry, (domain,) in zip(raw.header["hyperparameters"], problem.space.domains, strict=True):
        assert type(domain).__name__.lower() == entry["kind"]
        assert list(domain.choices if entry["kind"] == "categorical" else domain.values) == entry["values"]
        assert getattr(domain, "log", False) == entry["log"]
    assert problem.name == raw.header["name"]
    px.Observations.from_arrays(problem.space, raw.native()[:50], np.arange(50.0))


def test_seeds_are_uniform():
    """Each existing seed is drawn equally often, whether the first or the last is missing; none gives NaN."""
    loss = tables.load(SMALL).metric("loss")
    problem, native = load(SMALL, objectives=("loss",)), tables.load(SMALL).native()
    n = 3000
    for row in (0, 1, 6):
        values = np.asarray(
            evaluate(problem, keys_of(n, row), np.repeat(native[row : row + 1], n, axis=0))[0]
        )
        there = loss[row][~np.isnan(loss[row])].astype(np.float32)
        drawn, counts = np.unique(values, return_counts=True)
        assert sorted(drawn) == sorted(there)
        # 5 standard deviations of a binomial count.
        share = 1 / len(there)
        assert np.abs(counts - n * share).max() < 5 * np.sqrt(n * share * (1 - share))
    np.testing.assert_array_equal(problem.n_seeds, (~np.isnan(loss)).sum(axis=1))


@each_constrained
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_signs_in_float32(name, level):
    """Each entry is as feasible in the float32 table as in float64: catches rounding at the threshold."""
    problem = load(name, tables.OBJECTIVES[name][:1], (("size", level), ("runtime", level)))
    exists = np.arange(problem.losses.shape[1]) < np.asarray(problem.n_seeds)[:, None]
    assert problem.excess.dtype == np.float32
    for c, bound in enumerate(limits(name, level).values()):
        # Existing seeds come first, in their order.
        there = ~np.isnan(tables.load(name).metric(tables.OBJECTIVES[name][0]))
        np.testing.assert_array_equal(np.asarray(problem.excess[..., c])[exists] <= 0, bound[there] <= 0)


# --- transforms ----------------------------------------------------------------------------------


def test_batches_equal_loops():
    """jit = eager, vmap over keys and over thresholds = loop, as the carry of a scan."""
    problems = [load(SMALL, ("loss",), (("size", q), ("runtime", q))) for q in (0.1, 0.5, 0.9)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *problems)
    x, keys = tables.load(SMALL).native()[40], keys_of(5)
    over = jax.vmap(jax.vmap(lambda p, k: p(k, x), in_axes=(None, 0)), in_axes=(0, None))
    values, excess = jax.jit(over)(batch, keys)
    assert values.shape == (3, 5, 1)
    single = jax.jit(lambda problem, key, x: problem(key, x))
    for one, eager in zip(single(problems[0], keys[0], x), problems[0](keys[0], x), strict=True):
        np.testing.assert_array_equal(one, eager)
    assert excess.shape == (3, 5, 2)
    for i, problem in enumerate(problems):
        for j, key in enumerate(keys):
            one, two = single(problem, key, x)
            np.testing.assert_array_equal(values[i, j], one)
            np.testing.assert_array_equal(excess[i, j], two)

    def step(carry, key):
        losses, constraints = carry(key, x)
        return carry, jnp.concatenate([losses, constraints])

    _, trace = jax.lax.scan(step, problems[1], keys)
    np.testing.assert_array_equal(trace, np.concatenate([values[1], excess[1]], axis=-1))


def test_one_compilation_for_all_thresholds():
    """Thresholds are leaves: another level compiles nothing again."""
    traces = []

    @jax.jit
    def run(problem, key, x):
        traces.append(1)
        return problem(key, x)

    for q in (0.1, 0.5, 0.9):
        run(load(SMALL, ("loss",), (("size", q),)), jax.random.key(0), jnp.zeros(4))
    assert len(traces) == 1


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [[np.nan, 0, 16, 0], [0.001, 3, 16, 0], [0.001, -1, 16, 0], [0.001, 0.5, 16, 0], [0.001, np.nan, 16, 0]],
)
def test_values_that_are_none(x):
    """NaN and codes of no category give NaN, not a neighbour's values."""
    problem = load(SMALL, quantiles=(("size", 0.1),))
    x = jnp.array(x)
    assert int(problem.encode(x)) == -1
    values, excess = jax.jit(problem.__call__)(jax.random.key(0), x)
    assert np.isnan(values).all()
    assert np.isnan(excess).all()
