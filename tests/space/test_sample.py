"""Random configurations: on the axes, by the conditions, under transformations; and names that were meant."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import parzax as px

SPACE = px.Space(
    {
        "c": px.Float(0, 1),
        "eta": px.Float(1e-4, 1, log=True),
        "units": px.Ordinal([1, 10, 100, 1000], log=True),
        "kind": px.Categorical(["a", "b", "c"]),
        "n": px.Int(1, 4, when=px.In("kind", ["a"])),
        "x": (
            px.Float(-7, -2, when=px.Between("c", high=0.5)),
            px.Float(2, 7, when=px.Between("c", low=0.7)),
        ),
        "moving": px.Varying(1, 3),
    }
)
N = 4000


@pytest.fixture(scope="module")
def rows():
    return np.asarray(SPACE.sample(jax.random.key(0), N), np.float64)


def test_samples_are_configurations(rows):
    """Catches a child that is drawn without its parent, and a value between the domains."""
    assert rows.shape == (N, len(SPACE))
    assert SPACE.frame().encode(rows).valid.all()
    named = dict(zip(SPACE.names, rows.T, strict=True))
    np.testing.assert_array_equal(np.isnan(named["n"]), named["kind"] != 0)
    np.testing.assert_array_equal(np.isnan(named["x"]), (named["c"] >= 0.5) & (named["c"] < 0.7))


def test_samples_are_uniform_on_the_axes(rows):
    """Catches draws on the linear axis of a log domain, and values that are drawn by the width of cells."""
    named = dict(zip(SPACE.names, rows.T, strict=True))
    below, above = (named["x"][mask(named["c"])] for mask in (lambda c: c < 0.5, lambda c: c >= 0.7))
    continua = {
        "c": named["c"],
        "eta": np.log10(named["eta"]) / 4 + 1,
        "moving": (named["moving"] - 1) / 2,
        "below": (below + 7) / 5,
        "above": (above - 2) / 5,
    }
    for name, place in continua.items():
        assert stats.kstest(place, "uniform").pvalue > 1e-4, name
    for name, n_values in {"units": 4, "kind": 3, "n": 4}.items():
        values, counts = np.unique(named[name][~np.isnan(named[name])], return_counts=True)
        assert len(values) == n_values, name
        assert stats.chisquare(counts).pvalue > 1e-4, name


def test_samples_under_transformations():
    """One program and a batch of keys give what single calls give."""
    keys = jax.random.split(jax.random.key(1), 3)
    batch = jax.jit(jax.vmap(lambda key: SPACE.sample(key, 5)))(keys)
    np.testing.assert_array_equal(batch, np.stack([SPACE.sample(key, 5) for key in keys]))
    assert SPACE.sample(keys[0], 0).shape == (0, len(SPACE))
    with jax.enable_x64(True):
        assert SPACE.sample(jax.random.key(0), 2).dtype == jnp.float64


def test_samples_are_refused():
    with pytest.raises(TypeError, match="key"):
        SPACE.sample(0, 3)
    with pytest.raises(ValueError, match="n must be a whole number of at least 0"):
        SPACE.sample(jax.random.key(0), -1)
    with pytest.raises(ValueError, match="float32 cannot tell the values of 'a' apart"):
        px.Space({"a": px.Int(2**40, 2**40 + 3, step=1)}).sample(jax.random.key(0), 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: px.Float(min=0, max=1), "Float has no argument 'min'; did you mean 'low'?"),
        (lambda: px.Int(0, upper=1), "Int has no argument 'upper'; did you mean 'high'?"),
        (lambda: px.Float(0, 1, logg=True), "Float has no argument 'logg'; did you mean 'log'?"),
        (lambda: px.Categorical(options=["a"]), "'options'; did you mean 'choices'?"),
        (lambda: px.Ordinal(choices=[1, 2]), "'choices'; did you mean 'values'?"),
        (
            lambda: px.Float(0, 1, bounds=3),
            "Float has no argument 'bounds'; it has when, low, high, log, step, periodic.",
        ),
    ],
)
def test_arguments_that_were_meant(call, message):
    with pytest.raises(TypeError) as error:
        call()
    assert message in str(error.value)


def test_parameters_that_were_meant():
    space = {"learning_rate": px.Float(0, 1), "x": px.Float(0, 1)}
    with pytest.raises(KeyError, match=r"no parameter 'learning_rat'; did you mean 'learning_rate'\?"):
        px.Space(space)["learning_rat"]
    with pytest.raises(ValueError, match=r"depends on 'learningrate', .*; did you mean"):
        px.Space(space | {"y": px.Float(0, 1, when=px.Between("learningrate", high=0.5))})
