"""Degenerate rows, narrow and wide kernels, tails, domains at the ends of the floats.

The right value or an error, never a silent wrong number; `test_bad_inputs` has what is not a configuration.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import log_prob_in
from reference import mixture

import parzax as px

SLOW = pytest.mark.slow
_tried: list[int] = []


@pytest.fixture(autouse=True)
def _single():
    """Most of what goes wrong goes wrong in float32."""
    with jax.enable_x64(False):
        yield


def close(a, b, tolerance):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    _tried.append(1)


@pytest.mark.parametrize(
    "rule",
    [
        "Scott",
        pytest.param("Neighbours", marks=SLOW),
    ],
)
@pytest.mark.slow
def test_degenerate_rows_have_a_finite_density(rule):
    """None, one, all equal, two equal, at the ends; with and without a prior."""
    space = px.Space({"x": px.Float(0.0, 1.0), "k": px.Int(0, 4)})
    bandwidth = getattr(px.bandwidth, rule)()
    cases = [[], [[0.3, 2]], [[0.3, 2]] * 5, [[0.3, 2], [0.3, 2]], [[0, 0], [1, 4], [0, 0], [1, 4]]]
    at = np.array([[0.3, 2], [0, 0], [1, 4]])
    for rows in cases:
        for prior_weight in (1.0, 0.0):
            own = np.array(rows, float).reshape(-1, 2)
            pe = px.ParzenEstimator.fit(space, own, bandwidth=bandwidth, prior_weight=prior_weight)
            found = np.asarray(pe.log_prob(at))
            assert np.isfinite(found).all(), (rows, prior_weight, found)
            _tried.append(1)


def _against_loops(space, rows, at, scale, tolerance, form=None, **options):
    parameters = mixture.parameters_of(space)
    oracle = mixture.fit(parameters, rows, rule=mixture.constant(scale), **options)
    wanted = [mixture.log_density(parameters, oracle, x) for x in at]
    pe = px.ParzenEstimator.fit(space, rows, bandwidth=px.bandwidth.Constant(scale), **options)
    found = np.asarray(log_prob_in(form, pe, at), float)
    assert (np.abs(found - wanted) <= tolerance * np.maximum(1, np.abs(wanted))).all(), (found, wanted)
    _tried.append(1)
    return wanted


def column(*values):
    return np.array(values, float)[:, None]


@pytest.mark.parametrize(
    ("form", "double"),
    [
        ("product", False),
        ("pairwise", True),
        pytest.param("product", True, marks=SLOW),
        pytest.param("pairwise", False, marks=SLOW),
    ],
)
def test_quantised_tail(form, double):
    """A kernel at 0 with sigma 0.01, seen from 1: about -4.5e3 where others stop at log(1e-300)."""
    space = px.Space({"x": px.Float(0.0, 1.0, step=0.1)})
    with jax.enable_x64(double):
        tolerance = 1e-12 if double else 1e-5
        (wanted,) = _against_loops(
            space, column(0.0), column(1.0), 0.01 / 1.1, tolerance, form, prior_weight=0.0
        )
        assert -4.6e3 < wanted < -4.5e3


@pytest.mark.parametrize("scale", [1e-6, *(pytest.param(scale, marks=SLOW) for scale in (1e-10, 30.0, 1e6))])
def test_widths_and_tails(scale):
    """Kernels far narrower and wider than the domain, at their centres, at ends and a long way off."""
    with jax.enable_x64(True):
        at = column(0.3, 0.3 + 2 * scale if scale < 1 else 0.5, 0.0, 1.0, 0.9)
        space = px.Space({"x": px.Float(0.0, 1.0)})
        _against_loops(space, column(0.3, 0.0, 1.0), at, scale, 1e-6 if scale < 1e-8 else 1e-10, "pairwise")
        if scale > 1:
            _against_loops(space, column(0.3, 0.0, 1.0), at, scale, 1e-10, "product")


def test_narrow_kernels_by_default():
    """At a width of 1e-10 the matrix product is off by 22 in the logarithm, at 1e-6 by 5e-6."""
    with jax.enable_x64(True):
        space = px.Space({"x": px.Float(0.0, 1.0)})
        _against_loops(space, column(0.3, 0.0, 1.0), column(0.3, 0.0, 1.0), 1e-10, 1e-6)


EXTREME = {
    "a domain of nearly all floats": (px.Float(-8e307, 8e307), column(0, 4e307, -1e307)),
    "a domain 1e-300 wide": (px.Float(0.0, 1e-300), column(0, 4e-301, 1e-301)),
    "a narrow domain far from 0": (px.Float(1e6, 1e6 + 1e-3), column(1e6, 1e6 + 1e-3, 1e6 + 2e-4)),
    "a log domain down to 1e-300": (px.Float(1e-300, 1.0, log=True), column(1e-300, 1e-20, 1.0)),
    "2^20 integers": (px.Int(0, 2**20 - 1), column(0, 2**19 + 1, 2**20 - 1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXTREME)
def test_extreme_domains(name):
    """Right in float64, and in float32 from NumPy rows; native float32 is refused where it is too coarse."""
    domain, values = EXTREME[name]
    space = px.Space({"x": domain})
    # Edges of 2^20 cells lie 8 roundings apart in float32; widths are known better.
    _against_loops(space, values, values, 0.1, 0.02 if name == "2^20 integers" else 1e-5)
    with jax.enable_x64(True):
        _against_loops(space, values, values, 0.1, 1e-9)
        host = px.ParzenEstimator.fit(space, values)
        device = px.ParzenEstimator.fit(space, jnp.asarray(values))
        close(device.log_prob(jnp.asarray(values)), host.log_prob(values), 1e-9)
        assert device.status == 0
        drawn = np.asarray(host.sample(jax.random.key(0), 16))
        assert np.isfinite(host.log_prob(drawn)).all()
    if name != "2^20 integers":
        coarse = jnp.zeros((2, 1), jnp.float32)
        pe = px.ParzenEstimator.fit(space, values)
        for attempt in (
            lambda: px.ParzenEstimator.fit(space, coarse),
            lambda: jax.jit(lambda x: px.ParzenEstimator.fit(space, x).status)(coarse),
            lambda: jax.vmap(lambda x: px.ParzenEstimator.fit(space, x).status)(coarse[None]),
            lambda: pe.log_prob(coarse),
            lambda: pe.sample(jax.random.key(0)),
        ):
            with pytest.raises(ValueError, match="float32 cannot tell the values of 'x' apart"):
                attempt()
            _tried.append(1)


@pytest.mark.slow
@pytest.mark.parametrize("double", [False, True])
def test_integers_near_the_end_of_float64(double):
    """The same as integers near 0; their half steps are no floats."""
    with jax.enable_x64(double):
        far, near = px.Space({"k": px.Int(2**53 - 10, 2**53)}), px.Space({"k": px.Int(0, 10)})
        values = column(0, 3, 10)
        found = px.ParzenEstimator.fit(far, values + (2**53 - 10)).log_prob(values + (2**53 - 10))
        close(found, px.ParzenEstimator.fit(near, values).log_prob(values), 1e-12)
    with (
        jax.enable_x64(False),
        pytest.raises(ValueError, match="float32 cannot tell the values of 'k' apart"),
    ):
        px.ParzenEstimator.fit(far, jnp.zeros((2, 1), jnp.float32))


@pytest.mark.slow
def test_underflow_of_a_mixture():
    """Log densities of -5000 without a prior: no form that sums exponentials as they are."""
    space = px.Space({"x": px.Float(0.0, 1.0)})
    for double in (False, True):
        with jax.enable_x64(double):
            at = column(1.0, 0.5)
            for form in (None, "product", "pairwise"):
                tolerance = 1e-10 if double else 1e-5
                _against_loops(space, column(0, 0.01), at, 0.01, tolerance, form, prior_weight=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["pairwise", pytest.param("product", marks=SLOW)])
def test_last_values_of_a_long_log_axis(form):
    """Cells as wide as one rounding of a float32: catches a mass of 0, or off by the rounding of its ends."""
    space = px.Space({"n": px.Int(1, 10**6, log=True)})
    rows, at = column(1, 10, 10**6), column(10**6, 10**6 - 1, 10**6 - 100, 5 * 10**5, 1)
    with jax.enable_x64(True):
        wanted = np.asarray(px.ParzenEstimator.fit(space, rows).log_prob(at))
    pe = px.ParzenEstimator.fit(space, rows)
    for points in (at, jnp.asarray(at, jnp.float32)):
        close(log_prob_in(form, pe, points), wanted, 0.02)


def test_report(record_property):
    """Last in the file: says how many cases were tried."""
    record_property("tried", f"extreme inputs to densities: {sum(_tried)} cases tried")


@pytest.mark.slow
def test_a_bound_on_a_step_is_decided_by_its_number():
    """Draws and densities agree on which side of a condition's bound a stepped parent lies."""
    space = px.Space(
        {"p": px.Float(0, 0.2, step=0.01), "y": px.Float(0, 1, when=px.Between("p", low=0.05, high=0.15))}
    )
    pe = px.ParzenEstimator.fit(space, np.zeros((0, 2)))
    draws = np.asarray(pe.sample(jax.random.key(0), (2000,)))
    step = np.round(draws[:, 0] * 100).astype(int)
    assert {5, 14, 15} <= set(step.tolist())
    np.testing.assert_array_equal(np.isnan(draws[:, 1]), (step < 5) | (step >= 15))
    assert np.isfinite(pe.log_prob(draws)).all()
    assert px.ParzenEstimator.fit(space, draws).status == 0


def test_zero_density_is_minus_infinity_with_several_parameters():
    """One impossible factor among several."""
    space = px.Space({name: px.Categorical(["a", "b"]) for name in "xyz"})
    pe = px.ParzenEstimator.fit(space, np.zeros((3, 3)), top=1.0, prior_weight=0)
    for form in ("pairwise", "product"):
        assert np.isneginf(log_prob_in(form, pe, np.array([0.0, 0.0, 1.0])))


@pytest.mark.parametrize("zero", [0, 0.0, np.float64(0), np.int64(0)])
def test_no_prior_is_no_prior_whatever_its_type(zero):
    space, rows = px.Space({"x": px.Float(0, 1)}), np.array([[0.1], [0.4], [0.5], [0.9]])
    pe = px.ParzenEstimator.fit(space, rows, prior_weight=zero)
    expected = px.ParzenEstimator.fit(space, rows, prior_weight=0)
    np.testing.assert_array_equal(pe.scale, expected.scale)


def test_slope_at_the_bounds_is_that_beside_them():
    space = px.Space({"x": px.Float(0, 1)})
    pe = px.ParzenEstimator.fit(space, np.array([[0.1], [0.4], [0.5], [0.9]]))
    slope = jax.grad(lambda x: pe.log_prob(x[None]))
    at, beside = ([float(slope(jnp.float32(x))) for x in pair] for pair in ((0.0, 1.0), (1e-4, 0.9999)))
    # The slope itself changes by a ten-thousandth over so short a way; clip's would be a quarter.
    np.testing.assert_allclose(at, beside, rtol=1e-3)


def test_traced_bandwidths_lose_no_digits():
    """What is not known to be wide is evaluated without squares that cancel."""
    space, rng = px.Space({"x": px.Float(0, 1)}), np.random.default_rng(0)
    rows, at = rng.uniform(size=(256, 1)), rng.uniform(size=(100, 1))
    known, traced = (
        px.ParzenEstimator.fit(space, rows, bandwidth=px.bandwidth.Constant(h)).log_prob(at)
        for h in (1e-4, jnp.float32(1e-4))
    )
    np.testing.assert_allclose(traced, known, rtol=1e-5)


@pytest.mark.slow
def test_weights_of_replicates_go_with_rows_of_the_host():
    space = px.Space({"x": px.Float(0, 1)})
    rows = np.array([[0.1], [0.4], [0.5], [0.9]])
    weight = np.array([[1.0, 1, 1, 1], [2, 0, 1, 1]])
    fit = jax.vmap(lambda w: px.ParzenEstimator.fit(space, rows, weight=w).log_prob(jnp.array([0.3])))
    loop = [px.ParzenEstimator.fit(space, rows, weight=w).log_prob(np.array([0.3])) for w in weight]
    np.testing.assert_allclose(fit(jnp.asarray(weight)), loop, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("n_points", [3, *(pytest.param(n, marks=pytest.mark.slow) for n in (30, 120))])
def test_gradients_where_a_parameter_has_lists_of_two_lengths(n_points):
    """Catches NaN from the cell that the number of one list's value would have on the other, shorter one."""
    squares = [float(i * i + 1) for i in range(31)]
    lists = {"x": squares[:17], "y": squares}
    domains = tuple(px.Ordinal(own, when=px.In("m", [m])) for m, own in lists.items())
    space = px.Space({"m": px.Categorical(["x", "y"]), "p": domains})
    x = jnp.asarray([[0, 1.0], [0, 17], [1, 901], [1, 842], [1, 2]] * 8)
    at = jnp.asarray(np.resize(np.array([[1, 901.0], [1, 842], [0, 2]]), (n_points, 2)))

    def total(scale):
        rule = px.bandwidth.Constant(scale)
        return px.ParzenEstimator.fit(space, x, bandwidth=rule).log_prob(at).sum()

    slope = (total(0.102) - total(0.098)) / 0.004
    np.testing.assert_allclose(jax.grad(total)(0.1), slope, rtol=2e-3)
    _tried.append(1)
