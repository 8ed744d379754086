"""Operations of densities under vmap, scan and on devices; derivatives at weight 0 and of equal rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from devices import run_on_devices
from scipy import stats

import parzax as px

pytestmark = pytest.mark.usefixtures("double")
SPACE = px.Space(
    {"x": px.Float(0, 2), "lr": px.Float(1e-3, 1, log=True), "kind": px.Categorical(["a", "b", "c"])}
)
RULE = px.bandwidth.Constant(0.2)
AT = np.array([[0.3, 0.01, 0], [1.9, 0.5, 2]])
ROWS = np.array([[0.3, 0.01, 1], [1.1, 0.3, 0], [1.1, 0.3, 0], [1.6, 0.02, 2], [0.7, 0.9, 0]])


def fit(rows=ROWS, weight=None):
    return px.ParzenEstimator.fit(SPACE, jnp.asarray(rows), weight, bandwidth=RULE)


def operations(pe: px.ParzenEstimator) -> dict[str, jax.Array]:
    """A number from each operation, smooth in weights and rows."""
    key, other = jax.random.key(0), fit(ROWS[:3])
    number, pair = pe.univariate("x"), pe.marginal("x", "kind")
    return {
        "log_prob": pe.log_prob(AT).sum(),
        "marginal": pe.marginal("lr").log_prob(AT[:, 1:2]).sum(),
        "conditional": pe.conditional({"x": AT[0, 0], "kind": AT[0, 2]}).log_prob(AT[:, 1:2]).sum(),
        "mass": pe.mass({"x": (0.2, 0.9), "kind": ["a", "c"]}),
        "cdf": number.cdf(0.8),
        "quantile": number.quantile(0.7),
        "mean and variance": jnp.stack(number.moments()).sum(),
        "adapted": pe.adapted().log_prob(AT).sum(),
        "prepared": pe.prepared().log_prob(AT).sum(),
        "entropy": px.density.entropy(key, pair).value,
        "kl": px.density.kl(key, pair, other.marginal("x", "kind")).value,
        "jensen_shannon": px.density.jensen_shannon(key, pair, other.marginal("x", "kind")).value,
        "pearson": px.density.pearson(key, pair, other.marginal("x", "kind")).value,
        "mutual_information": px.density.mutual_information(key, pair, "x", "kind").value,
    }


def test_batches_of_estimators():
    """vmap over rows or weights gives a batch, with a leading axis in every array, which methods refuse."""
    rows = jnp.asarray(np.stack([ROWS, ROWS[::-1] * [0.5, 1, 1]]))
    for batch in (jax.vmap(fit)(rows), eqx.filter_vmap(fit)(rows)):
        assert (batch.weight.shape, batch.scale.shape, batch.status.shape) == ((2, 5), (2, 5, 3), (2,))
        assert repr(batch) == "ParzenEstimator(2 estimators, x, lr, kind; room for 5 rows)"
        with pytest.raises(ValueError, match=r"a batch of estimators of shape \(2,\); use jax.vmap"):
            batch.log_prob(AT)
        found = eqx.filter_vmap(lambda pe: pe.log_prob(AT))(batch)
        np.testing.assert_allclose(found, [fit(each).log_prob(AT) for each in rows], rtol=1e-12)
        draws = eqx.filter_vmap(lambda pe, key: pe.sample(key, 3))(
            batch, jax.random.split(jax.random.key(0), 2)
        )
        assert draws.shape == (2, 3, 3)
    twice = jax.vmap(lambda pe: pe.conditional({"x": jnp.array([0.1, 0.2, 0.3])}))(batch)
    assert twice.scale.shape == (2, 3, 5, 2)
    assert repr(twice) == "ParzenEstimator(2 x 3 estimators, lr, kind; room for 5 rows)"


@pytest.mark.slow
def test_scan_is_a_loop():
    weights = jnp.array([[1.0, 1, 1, 1, 1], [2, 0, 1, 0, 0.5], [0, 0, 0, 0, 0]])

    def refit(pe, weight):
        return fit(ROWS, weight), operations(pe)

    found = jax.jit(lambda pe, weights: jax.lax.scan(refit, pe, weights)[1])(fit(), weights)
    one = jax.jit(operations)
    for i, pe in enumerate([fit(), fit(ROWS, weights[0]), fit(ROWS, weights[1])]):
        for name, value in one(pe).items():
            np.testing.assert_allclose(found[name][i], value, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.slow
def test_derivatives_at_weight_zero_and_of_equal_rows():
    """Forward differences of the weight of an absent row, central ones of one of two equal rows."""
    weight = jnp.array([1.0, 1, 1, 0, 1])
    direction = np.zeros_like(ROWS)
    direction[1, :2] = 1.0, 0.1

    def by_weight(step):
        return operations(fit(ROWS, weight.at[3].add(step)))

    def by_row(step):
        return operations(fit(ROWS + step * direction))

    for function, places in ((by_weight, (0, 1, 2)), (by_row, (-1, 0, 1))):
        slope, h, values = jax.jit(jax.jacrev(function))(0.0), 1e-5, jax.jit(function)
        low, middle, high = (values(place * h) for place in places)
        for name, found in slope.items():
            if places[0] == 0:
                wanted = (4 * middle[name] - 3 * low[name] - high[name]) / (2 * h)
            else:
                wanted = (high[name] - low[name]) / (2 * h)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7, err_msg=name)


DEVICES = """
import json, sys
sys.path[:0] = ["tests", "tests/density"]
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
import parzax as px
from test_operations import ROWS, SPACE, fit
apart = jax.sharding.NamedSharding(jax.make_mesh((4,), ("p",)), jax.sharding.PartitionSpec("p"))
weights = jax.random.uniform(jax.random.key(0), (8, 5), float)
values = jnp.linspace(0.1, 1.9, 8)


def conditionals(x):
    return jax.vmap(lambda one: one.prob(ROWS[:, 1:]))(fit().conditional({"x": x}))


def bootstrap(x):
    return px.density.resample(jax.random.key(0), SPACE, x, 4).weight


def several(weight):
    pe = fit(ROWS, weight).prepared()
    entropy = px.density.entropy(jax.random.key(0), pe.marginal("x")).value
    return pe.mass({"x": (0.2, 0.9)}), pe.univariate("x").quantile(0.7), entropy


worst, cases = {}, (
    (jax.jit(jax.vmap(several)), weights),
    (jax.jit(conditionals), values),
    (bootstrap, jnp.asarray(np.tile(ROWS, (8, 1)))),
)
for i, (function, x) in enumerate(cases):
    together, parts = map(jax.tree.leaves, (function(x), function(jax.device_put(x, apart))))
    worst[i] = max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in zip(together, parts))
print(json.dumps(worst))
"""


@pytest.mark.slow
def test_four_devices():
    assert max(run_on_devices(DEVICES).values()) < 1e-9


class Replay(np.random.Generator):
    """A generator whose integers are the rows of given samples."""

    rows: np.ndarray

    def integers(self, *_args, size=None, **_kwargs):
        assert self.rows.shape == size
        return self.rows


def test_bands_are_those_of_scipy_on_the_same_samples():
    """Quantiles over a batch equal `scipy.stats.bootstrap` of a mixture in NumPy with the same rows."""
    space, n = px.Space({"x": px.Float(0, 1)}), 40
    x = np.random.default_rng(0).beta(2, 5, 30)
    batch = px.density.resample(jax.random.key(1), space, x[:, None], n, bandwidth=px.bandwidth.Constant(0.1))
    counts = np.rint(np.asarray(batch.weight)[:, : len(x)] * (len(x) + 1)).astype(int)
    np.testing.assert_array_equal(counts.sum(axis=1), len(x))
    assert len(np.unique(counts, axis=0)) == n
    at = 0.4

    def density(rows, axis):
        kernels = stats.truncnorm.pdf(at, -rows / 0.1, (1 - rows) / 0.1, rows, 0.1).sum(axis=axis)
        return (kernels + stats.truncnorm.pdf(at, -0.5, 0.5, 0.5, 1)) / (rows.shape[axis] + 1)

    generator = Replay(np.random.PCG64(0))
    generator.rows = np.stack([np.repeat(np.arange(len(x)), each) for each in counts])
    options = {"n_resamples": n, "method": "percentile", "confidence_level": 0.8, "rng": generator}
    wanted = stats.bootstrap((x,), density, vectorized=True, axis=-1, **options).confidence_interval
    prob = jax.vmap(lambda pe: pe.prob(np.array([[at]])))(batch)
    found = jnp.quantile(prob, jnp.array([0.1, 0.9]), axis=0)[:, 0]
    np.testing.assert_allclose(found, [wanted.low, wanted.high], rtol=1e-10)


@pytest.mark.slow
def test_weights_and_options_of_a_bootstrap():
    """A row of weight 2 is two rows: as many draws, and twice as likely; what is invalid has a status."""
    weight = jnp.array([2.0, 0, 1, 3, 1])
    resample = jax.jit(lambda rows, weight: px.density.resample(jax.random.key(0), SPACE, rows, 600, weight))
    batch = resample(jnp.asarray(ROWS), weight)
    counts = np.asarray(batch.weight) * 8
    np.testing.assert_allclose(counts.sum(axis=1), 7, rtol=1e-12)
    error = np.sqrt(np.asarray(weight) * (1 - np.asarray(weight) / 7) / 600)
    assert (np.abs(counts.mean(axis=0) - np.asarray(weight)) <= 4.5 * error).all()
    assert not batch.status.any()
    assert (
        resample(jnp.asarray(ROWS), weight.at[0].set(jnp.nan)).status == int(px.Status.INVALID_ROWS)
    ).all()
    assert (resample(jnp.asarray(ROWS), 0 * weight).status == int(px.Status.NO_DATA)).all()
    assert (
        px.density.resample(jax.random.key(0), SPACE, ROWS[:1], 3, prior_weight=3.0).prior_weight[0] == 0.75
    )
    with pytest.raises(ValueError, match="is outside"):
        px.density.resample(jax.random.key(0), SPACE, np.full((2, 3), 9.0), 3)
