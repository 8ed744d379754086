"""Bad inputs to densities, as one table: the right value, a named status, or an error that says what to do.

Every case is tried on the host (NumPy), eagerly on JAX arrays, under jit and under vmap; where NumPy's rows
or weights are refused, so are JAX's, unless they are traced. A silent wrong
number is the one thing that is not allowed.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import parzax as px

S = px.Status
nan, inf = math.nan, math.inf
SPACE = px.Space(
    {
        "x": px.Float(0.0, 1.0),
        "k": px.Int(0, 4),
        "kind": px.Categorical(["a", "b", "c"]),
        "y": px.Float(1.0, 2.0, when=px.In("kind", ["a", "b"])),
    }
)
ROWS = np.array([[0.2, 1, 0, 1.5], [0.7, 3, 2, nan], [0.4, 0, 1, 1.1], [0.9, 4, 0, 2.0]])
GOOD = np.array([0.5, 2, 0, 1.25])
_tried: list[int] = []


@pytest.fixture(autouse=True)
def _single():
    """Most of what goes wrong goes wrong in float32."""
    with jax.enable_x64(False):
        yield


def close(a, b, tolerance=1e-5):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    _tried.append(1)


# --- points ------------------------------------------------------------------------------------
BAD = {
    "category -1": (2, -1.0),
    "category 1.9": (2, 1.9),
    "category 3 of 3": (2, 3.0),
    "category NaN": (2, nan),
    "category inf": (2, inf),
    "integer at 0.5": (1, 0.5),
    "integer below": (1, -1.0),
    "integer above": (1, 5.0),
    "integer NaN": (1, nan),
    "integer 1e30": (1, 1e30),
    "integer 2^32": (1, 2.0**32),
    "float below": (0, -1e-3),
    "float above": (0, 1.001),
    "float NaN": (0, nan),
    "float inf": (0, inf),
    "float -inf": (0, -inf),
    "active value missing": (3, nan),
    "value of another domain": (3, 0.5),
}
BAD_ROWS = {name: np.where(np.arange(4) == j, value, GOOD) for name, (j, value) in BAD.items()}
BAD_ROWS["value of an inactive parameter"] = np.array([0.5, 2, 2, 1.25])
# One of each kind of mistake.
FAST = (
    "category 1.9",
    "integer NaN",
    "float above",
    "active value missing",
    "value of an inactive parameter",
)
NAMES = [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in BAD_ROWS]


@functools.cache
def estimator():
    return px.ParzenEstimator.fit(SPACE, ROWS)


def _density(x):
    return estimator().log_prob(x)


# Each way compiles anew, for seconds: the slow run takes them all.
DENSITIES = {
    "host": _density,
    "JAX": lambda x: _density(jnp.asarray(x)),
    "jit": jax.jit(_density),
    "vmap": jax.jit(jax.vmap(_density)),
}


@pytest.mark.parametrize(
    "way", ["host", *(pytest.param(w, marks=pytest.mark.slow) for w in ("JAX", "jit", "vmap"))]
)
@pytest.mark.parametrize("name", NAMES)
def test_density_is_zero_outside(name, way):
    """-inf wherever the point is not a configuration; its good neighbour in the batch is not touched."""
    both = np.stack([BAD_ROWS[name], GOOD]).astype(np.float32)
    good = _density(np.stack([GOOD, GOOD]))[0]
    assert np.isfinite(good)
    found = DENSITIES[way](both)
    assert np.isneginf(found[0])
    close(found[1], good)


def _fit_density(rows, weight, mixture_weight, prior_weight):
    pe = px.ParzenEstimator.fit(SPACE, rows, weight, mixture_weight=mixture_weight, prior_weight=prior_weight)
    return pe.log_prob(jnp.asarray(ROWS, jnp.float32)), pe.status


_fit_jit, _fit_vmap = jax.jit(_fit_density), jax.jit(jax.vmap(_fit_density))


@pytest.fixture(params=["jit", pytest.param("vmap", marks=pytest.mark.slow)])
def device(request):
    """Densities and status of rows in JAX arrays, under jit or under vmap."""

    def call(rows, weight=None, mixture_weight=None, prior_weight=1.0):
        arguments = [
            jnp.asarray(a, jnp.float32)
            for a in (
                rows,
                np.ones(len(rows)) if weight is None else weight,
                np.ones(len(rows)) if mixture_weight is None else mixture_weight,
                prior_weight,
            )
        ]
        if request.param == "vmap":
            found, status = _fit_vmap(*(jnp.stack([a, a]) for a in arguments))
            return found[1], status[1]
        return _fit_jit(*arguments)

    return call


@functools.cache
def _without():
    """The density of all rows but the fourth."""
    return np.asarray(px.ParzenEstimator.fit(SPACE, ROWS[:3]).log_prob(ROWS))


@pytest.mark.parametrize("name", NAMES)
def test_rows_outside_are_refused_or_left_out(name, device):
    """On the host with row and column named; in compiled code with a status, and without its kernel."""
    rows = np.concatenate([ROWS[:3], BAD_ROWS[name][None]])
    if np.isfinite(BAD_ROWS[name]).all() or name.endswith(("NaN", "missing")) or name.startswith("float"):
        with pytest.raises(ValueError, match=r"row 3, column \d \('\w+'\)"):
            px.ParzenEstimator.fit(SPACE, rows)
        _tried.append(1)
    with pytest.raises(ValueError, match=r"^x: row 3 is not a configuration of the space"):
        px.ParzenEstimator.fit(SPACE, jnp.asarray(rows, jnp.float32))
    _tried.append(1)
    found, status = device(rows)
    assert status == S.INVALID_ROWS
    close(found, _without())
    # With weight 0 it may hold anything.
    close(px.ParzenEstimator.fit(SPACE, rows, [1, 1, 1, 0]).log_prob(ROWS), _without())
    found, status = device(rows, [1, 1, 1, 0])
    assert status == 0
    close(found, _without())


# --- weights -----------------------------------------------------------------------------------
@pytest.mark.parametrize("argument", ["weight", "mixture_weight"])
@pytest.mark.parametrize(
    "bad", [nan, *(pytest.param(bad, marks=pytest.mark.slow) for bad in (-1.0, inf, -inf))]
)
def test_weights_that_are_none(argument, bad, device):
    weight = np.array([1, 1, 1, bad])
    on_device = jnp.asarray(ROWS, jnp.float32), jnp.asarray(weight, jnp.float32)
    for rows, values in (
        (ROWS, weight),
        (on_device[0], weight),
        (ROWS, on_device[1]),
        on_device,
    ):
        with pytest.raises(ValueError, match=f"^{argument}: row 3 is {bad}"):
            px.ParzenEstimator.fit(SPACE, rows, **{argument: values})
        _tried.append(1)
    found, status = device(ROWS, **{argument: weight})
    assert status == S.INVALID_ROWS
    close(found, _without())


@pytest.mark.slow
@pytest.mark.parametrize("argument", ["weight", "mixture_weight"])
def test_all_weights_zero_is_the_prior(argument, device):
    prior = px.ParzenEstimator.fit(SPACE, ROWS[:0])
    assert prior.status == S.NO_DATA
    pe = px.ParzenEstimator.fit(SPACE, ROWS, **{argument: np.zeros(4)})
    assert pe.status == S.NO_DATA
    close(pe.log_prob(ROWS), prior.log_prob(ROWS))
    found, status = device(ROWS, **{argument: np.zeros(4)})
    assert status == S.NO_DATA
    close(found, prior.log_prob(ROWS))
    # Without a prior too, since a density must have some mass.
    for prior_weight in (0.0, jnp.asarray(0.0)):
        pe = px.ParzenEstimator.fit(SPACE, ROWS[:0], prior_weight=prior_weight)
        close(pe.log_prob(ROWS), prior.log_prob(ROWS))
    for rows in (jnp.zeros((0, 4)), np.zeros((0, 4))):
        pe = px.ParzenEstimator.fit(SPACE, rows)
        close(pe.log_prob(ROWS), prior.log_prob(ROWS))
        assert pe.sample(jax.random.key(0), (3,)).shape == (3, 4)


@pytest.mark.parametrize("bad", [-1.0, *(pytest.param(bad, marks=pytest.mark.slow) for bad in (nan, inf))])
def test_prior_weights_that_are_none(bad, device):
    for value in (bad, jnp.asarray(bad)):
        with pytest.raises(ValueError, match=r"prior_weight must be (finite|at least 0)"):
            px.ParzenEstimator.fit(SPACE, ROWS, prior_weight=value)
        _tried.append(1)
    wanted = px.ParzenEstimator.fit(SPACE, ROWS, prior_weight=jnp.asarray(0.0)).log_prob(ROWS)
    found, status = device(ROWS, prior_weight=bad)
    assert status == S.INVALID_ROWS
    close(found, wanted)


# --- what is refused ---------------------------------------------------------------------------
def _fit(x=ROWS, weight=None, space=SPACE, **options):
    return px.ParzenEstimator.fit(space, x, weight, **options)


def _double(attempt):
    with jax.enable_x64(True):
        return attempt()


RECORDED = px.Space({"x": px.Float(0.0, 1.0, when=px.Recorded())})
_ENDS = (px.Float(0.0, 1.0, when=px.Recorded()), px.Float(2.0, 3.0, when=px.Recorded()))
REFUSED = {
    "one row without its axis": (lambda: _fit(ROWS[0]), "x must have shape"),
    "a vector of values": (lambda: _fit(ROWS[:, 0]), r"x\[:, None\]"),
    "scales of other parameters": (
        lambda: _fit(bandwidth=px.bandwidth.Constant(np.array([0.1, 0.2, 0.1]))),
        r"a setting of the bandwidth has shape \(3,\); give a number, or an array \(4,\)",
    ),
    "a batch of tables": (lambda: _fit(ROWS[None]), "use jax.vmap"),
    "a column missing": (lambda: _fit(ROWS[:, :3]), "x must have shape"),
    "a column missing, JAX": (lambda: _fit(jnp.asarray(ROWS[:, :3])), "x must have shape"),
    "labels": (lambda: _fit(np.array([["a", "b", "c", "d"]])), "must hold numbers"),
    "weights of two": (lambda: _fit(weight=np.ones(2)), r"weight must have shape \(4,\)"),
    "weights of two, JAX": (lambda: _fit(jnp.asarray(ROWS), jnp.ones(2)), r"weight must have shape \(4,\)"),
    "mixture weights of two, JAX": (
        lambda: _fit(jnp.asarray(ROWS), mixture_weight=jnp.ones(2)),
        r"mixture_weight must have shape \(4,\)",
    ),
    "no space": (lambda: _fit(space="x"), "space must be"),
    "a number for a rule": (lambda: _fit(bandwidth=0.1), "bandwidth must be a rule"),
    "top 0": (lambda: _fit(top=0.0), "top must lie"),
    "top 1.5": (lambda: _fit(top=1.5), "top must lie"),
    "top NaN": (lambda: _fit(top=nan), "top must lie"),
    "top of words": (lambda: _fit(top="optuna"), "top must be"),
    "prior weight of words": (lambda: _fit(prior_weight="1"), "prior_weight must be a number"),
    "no prior weight": (lambda: _fit(prior_weight=None), "prior_weight must be a number"),
    "conditions of the log": (lambda: _fit(np.array([[0.5]]), space=RECORDED), "Recorded"),
    "regimes of the log": (
        lambda: _fit(np.array([[0.5]]), space=px.Space({"x": _ENDS})),
        "regime of 'x' cannot be derived",
    ),
    "more than 2^31 integers": (
        lambda: _double(lambda: _fit(np.array([[1]]), space=px.Space({"n": px.Int(0, 2**31)}))),
        "number",
    ),
    "2^30 integers in float32": (
        lambda: _fit(np.array([[1]]), space=px.Space({"n": px.Int(0, 2**30)})),
        "float32 cannot tell",
    ),
    "points without a column": (lambda: estimator().log_prob(ROWS[:, :3]), "x must have shape"),
    "a number for a point": (lambda: estimator().log_prob(0.5), "x must have shape"),
    "an unknown measure": (lambda: estimator().log_prob(ROWS, "log"), "measure must be one of"),
    "a marginal of nothing": (lambda: estimator().marginal(), "at least one parameter"),
    "a marginal of a stranger": (lambda: estimator().marginal("z"), "no parameter 'z'"),
    "a marginal of a list": (lambda: estimator().marginal(["x"]), "one argument each"),
    "given a list": (lambda: estimator().conditional([0.5]), "must be a mapping of names to values"),
    "a table without a column": (
        lambda: _fit(pd.DataFrame(ROWS, columns=["x", "k", "kind", "z"])),
        "no column 'y'",
    ),
    "given nothing": (lambda: estimator().conditional({}), "at least one parameter"),
    "given a stranger": (lambda: estimator().conditional({"z": 1}), "no parameter 'z'"),
    "given an unknown choice": (lambda: estimator().conditional({"kind": "d"}), "not one of its choices"),
    "given category 1.5": (lambda: estimator().conditional({"kind": 1.5}), "'kind'.* is outside"),
    "given a value outside": (lambda: estimator().conditional({"x": 3.0}), "'x'.* is outside"),
    "given NaN for an active parameter": (lambda: estimator().conditional({"x": nan}), "missing"),
    "given a value of an inactive parameter": (
        lambda: estimator().conditional({"kind": "c", "y": 1.5}),
        "'y'.* the parameter is inactive",
    ),
    "given everything": (
        lambda: estimator().conditional({"x": 0.5, "k": 1, "kind": "c"}),
        "no other parameter",
    ),
}
TWO = px.Space(
    {
        "c": px.Float(0.0, 1.0),
        "x": (
            px.Float(-7.0, -2.0, when=px.Between("c", high=0.5)),
            px.Float(2.0, 7.0, when=px.Between("c", low=0.5)),
        ),
        "z": px.Float(0.0, 1.0),
    }
)
REFUSED["given a value of another regime"] = (
    lambda: _fit(np.array([[0.3, -3.0, 0.5]]), space=TWO).conditional({"c": 0.3, "x": 5.0}),
    "outside",
)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    attempt, message = REFUSED[name]
    with pytest.raises((ValueError, TypeError, KeyError), match=message):
        attempt()
    _tried.append(1)


def test_columns_of_a_table_go_by_name():
    """A data frame in another order is the same data."""
    table = pd.DataFrame(ROWS, columns=list(SPACE.names))
    turned = table[["y", "kind", "x", "k"]]
    pe = px.ParzenEstimator.fit(SPACE, turned)
    close(pe.log_prob(turned), estimator().log_prob(ROWS))
    observed = px.Observations.from_arrays(SPACE, turned, np.arange(4.0))
    np.testing.assert_array_equal(observed.values, ROWS)


@pytest.mark.slow
def test_an_impossible_event_has_a_status():
    """Without a prior a category that no row has has no density; a value 800 widths away has one, in logs."""
    rows = np.array([[0.1, 0, 0, 1.5], [0.1, 0, 0, 1.6]])
    narrow = px.bandwidth.Constant(1e-3)
    pe = px.ParzenEstimator.fit(SPACE, rows, top=1.0, prior_weight=0.0, bandwidth=narrow)
    for given, status in (({"kind": "a"}, S.OK), ({"x": 0.9}, S.OK), ({"kind": "c"}, S.IMPOSSIBLE_EVENT)):
        assert pe.conditional(given).status == status
        _tried.append(1)
    assert np.isneginf(pe.conditional({"kind": "c"}).log_prob(np.array([0.1, 0])))
    assert np.isfinite(pe.conditional({"x": 0.9}).log_prob(np.array([0, 0, 1.5])))


def test_what_is_warned_of():
    """Legal, and most often a mistake: relative weights."""
    with pytest.warns(UserWarning, match="weight sums to 1"):
        px.ParzenEstimator.fit(SPACE, ROWS, np.full(4, 0.25))
    _tried.append(1)


def test_weights_whose_sum_overflows(device):
    """Flagged, not turned into a density of weight 0."""
    _, status = device(ROWS, np.full(4, 3e38))
    assert status == S.INVALID_ROWS
    _tried.append(1)


# --- E: JAX ------------------------------------------------------------------------------------
def test_same_bucket_bit_for_bit():
    """Rows padded by the library or by hand are the same computation; so is a batch of the same size."""
    rows = np.concatenate([ROWS] * 5)
    by_hand = np.concatenate([rows, np.full((44, 4), nan)])
    found = px.ParzenEstimator.fit(SPACE, rows).log_prob(ROWS)
    other = px.ParzenEstimator.fit(SPACE, by_hand, np.r_[np.ones(20), np.zeros(44)]).log_prob(ROWS)
    np.testing.assert_array_equal(found, other)
    pe, order = estimator(), np.random.default_rng(0).permutation(1000)
    at = np.tile(ROWS, (250, 1))
    np.testing.assert_array_equal(pe.log_prob(at[order]), np.asarray(pe.log_prob(at))[order])
    _tried.append(2)


@pytest.mark.slow
def test_batches_of_one_and_a_thousand(record_property):
    """As close as the form allows: one point takes the differences, a thousand the matrix product."""
    at = np.tile(ROWS, (250, 1))
    for double, tolerance in ((False, 2e-4), (True, 1e-12)):
        with jax.enable_x64(double):
            pe = px.ParzenEstimator.fit(SPACE, ROWS)
            one = np.array([pe.log_prob(row) for row in ROWS])
            worst = np.abs(np.asarray(pe.log_prob(at))[:4] - one).max()
            assert worst < tolerance
            record_property("tried", f"densities, 1 point against 1000, float64 {double}: {worst:.1e} apart")
            _tried.append(1)


@pytest.mark.slow
def test_nan_padding_reaches_no_gradient():
    rows = np.concatenate([ROWS, np.full((4, 4), nan)]).astype(np.float32)
    weight = jnp.asarray(np.r_[np.ones(4), np.zeros(4)], jnp.float32)

    def total(rows, weight):
        return px.ParzenEstimator.fit(SPACE, rows, weight).log_prob(jnp.asarray(ROWS, jnp.float32)).sum()

    value, gradient = jax.jit(jax.value_and_grad(total, (0, 1)))(jnp.asarray(rows), weight)
    alone, own = jax.jit(jax.value_and_grad(total, (0, 1)))(jnp.asarray(ROWS, jnp.float32), weight[:4])
    close(value, alone)
    close(gradient[0][:4], own[0], 1e-4)
    np.testing.assert_array_equal(gradient[0][4:], 0)
    assert np.isfinite(gradient[1]).all()


def test_report(record_property):
    """Last in the file: says how many answers and errors were looked at, each where it came out right."""
    record_property("tried", f"bad inputs to densities: {sum(_tried)} answers and errors checked")
    assert _tried
    assert len(BAD_ROWS) + len(REFUSED) > 50
