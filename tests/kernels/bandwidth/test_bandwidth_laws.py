"""Laws that every bandwidth rule of a mixture keeps, and each rule against a plain loop."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import bandwidth as loops

from parzax.kernels import bandwidth
from parzax.kernels.bandwidth.scott import quartiles

RULES = {
    "scott": bandwidth.Scott(),
    "normal reference": bandwidth.NormalReference(),
    "magic scott": bandwidth.Scott(consider_magic_clip=True, discrete_minimum=None),
    "neighbours": bandwidth.Neighbours(),
    "ends": bandwidth.Neighbours(consider_endpoints=True, consider_magic_clip=False),
    "constant": bandwidth.Constant(0.07),
}
# Rules for which a row of weight 2 equals two rows; a neighbour rule gives two equal rows two scales.
BY_FREQUENCY = ("scott", "normal reference", "magic scott", "constant")
CAPACITY = 16
# Each rule compiles anew, for a second or more: these are fast, and each rule has its peers and its loop.
FAST = ("scott", "neighbours")


def _names(*names):
    return [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in names]


def _call(rule, position, weight, prior_position=0.5, n_values=None):
    return rule(position, weight, prior_position=prior_position, n_parameters=3, n_values=n_values)


# One compiled function for all rules and settings: a rule is an argument.
_jitted = jax.jit(_call)


def _compiled(*arguments):
    """Scales in NumPy, whose indices compile nothing."""
    return np.asarray(_jitted(*arguments))


def _rows(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.uniform(size=n) < 0.6, rng.uniform(size=n), rng.normal(0.3, 0.02, n)).clip(0, 1)


def _padded(rows, weight=None, capacity=CAPACITY, filler=1e30):
    """Rows at random places among absent ones, and where they are."""
    place = np.sort(np.random.default_rng(9).permutation(capacity)[: len(rows)])
    position, frequency = np.full(capacity, filler), np.zeros(capacity)
    position[place], frequency[place] = rows, 1 if weight is None else weight
    dtype = jnp.result_type(float)
    return jnp.asarray(position, dtype), jnp.asarray(frequency, dtype), place


@pytest.mark.parametrize("name", _names(*RULES))
def test_positive_and_finite(name, x64):
    """No row, one, all equal, the prior absent, a discrete domain; and the dtype is the positions'."""
    for rows in ([], [0.3], [0.0], [1.0], [0.5] * 9, [0.25] * 16, _rows(12)):
        for prior in (0.5, None):
            for n_values in (0, 1, 7):
                position, weight, _ = _padded(rows)
                scale = _compiled(RULES[name], position, weight, prior, n_values)
                assert scale.dtype == position.dtype == jnp.result_type(float)
                assert scale.shape == (CAPACITY,)
                assert np.isfinite(scale).all(), (rows, prior, n_values)
                assert (scale > 0).all(), (rows, prior, n_values)


@pytest.mark.parametrize("name", _names(*RULES))
def test_padding_and_masks(name, x64):
    """What stands in absent rows does not matter, nor how many they are, nor bool for float."""
    rows = _rows(11)
    plain = _compiled(RULES[name], jnp.asarray(rows, jnp.result_type(float)), jnp.ones(11))
    for filler in (0.0, -1e30, np.nan, np.inf):
        position, weight, place = _padded(rows, filler=filler)
        np.testing.assert_allclose(_compiled(RULES[name], position, weight)[place], plain, rtol=1e-5)
    if name == "scott":
        mask = _compiled(RULES[name], position, weight > 0)
        np.testing.assert_array_equal(mask, _compiled(RULES[name], position, weight))


@pytest.mark.parametrize("name", _names(*RULES))
def test_order_and_mirror(name, double):
    """Permuted rows permute the scales, and the mirror x -> 1 - x changes none."""
    rows, order = _rows(CAPACITY), np.random.default_rng(1).permutation(CAPACITY)
    ones = jnp.ones(CAPACITY)
    scale = np.asarray(_compiled(RULES[name], jnp.asarray(rows), ones))
    np.testing.assert_allclose(
        _compiled(RULES[name], jnp.asarray(rows[order]), ones), scale[order], rtol=1e-12
    )
    np.testing.assert_allclose(_compiled(RULES[name], jnp.asarray(1 - rows), ones), scale, rtol=1e-10)


@pytest.mark.parametrize("name", _names(*BY_FREQUENCY))
@pytest.mark.parametrize("prior", [0.5, pytest.param(None, marks=pytest.mark.slow)])
def test_duplicate_is_weight_two(name, prior, double):
    """A row of weight w equals w rows: catches a quartile or a ddof that counts rows."""
    rows, times = _rows(6, seed=2), np.array([1, 3, 1, 2, 4, 1])
    position, weight, _ = _padded(rows, times)
    repeated, ones, _ = _padded(np.repeat(rows, times))
    heavy = _compiled(RULES[name], position, weight, prior, 12)
    light = _compiled(RULES[name], repeated, ones, prior, 12)
    np.testing.assert_allclose(heavy[0], light[0], rtol=1e-12)


@pytest.mark.parametrize("name", _names(*RULES))
def test_vmap_is_a_loop(name, double):
    """Over sets of rows, and over domains of which some are discrete; 0 values mean what None means."""
    sets = jnp.asarray(np.stack([_rows(CAPACITY, seed) for seed in range(3)]))
    weight = jnp.asarray(np.random.default_rng(4).integers(0, 3, sets.shape), float)
    values = jnp.array([0, 7, 100])
    batch = jax.jit(jax.vmap(lambda x, w, m: _call(RULES[name], x, w, n_values=m)))(sets, weight, values)
    for i, n_values in enumerate((0, 7, 100)):
        alone = _compiled(RULES[name], sets[i], weight[i], 0.5, n_values or None)
        np.testing.assert_allclose(batch[i], alone, rtol=1e-12)


@pytest.mark.slow
def test_settings_are_leaves(double):
    """A rule can be made of traced settings, and another number does not compile again."""
    x, ones = jnp.asarray(_rows(CAPACITY)), jnp.ones(CAPACITY)
    minima = jnp.array([0.01, 0.2, 0.3])
    batch = jax.vmap(lambda minimum: _call(bandwidth.Scott(minimum), x, ones))(minima)
    for scale, minimum in zip(batch, (0.01, 0.2, 0.3), strict=True):
        np.testing.assert_allclose(scale, bandwidth.Scott(minimum)(x, ones), rtol=1e-14)
    traces = []

    @jax.jit
    def counted(rule):
        traces.append(rule)
        return _call(rule, x, ones)

    for minimum in (0.01, 0.1, 0.2):
        assert float(counted(bandwidth.Neighbours(minimum))[0]) >= minimum
    assert len(traces) == 1


# One program for all rules, as above.
_slopes = jax.jit(jax.grad(lambda x, rule, w: _call(rule, x, w).sum()))


@pytest.mark.parametrize("name", _names(*RULES))
def test_gradients_are_finite(name, x64):
    """At ties, clips, one row and none; 0 in absent rows, even where NaN stands: catches sqrt at 0."""
    for rows in ([], [0.5], [0.25] * 16, [0.0, 0.0, 1.0, 1.0], _rows(12)):
        position, weight, place = _padded(rows, filler=np.nan)
        found = np.asarray(_slopes(position, RULES[name], weight))
        assert np.isfinite(found).all(), rows
        absent = np.setdiff1d(np.arange(CAPACITY), place)
        np.testing.assert_array_equal(found[absent], 0)


@pytest.mark.slow
def test_gradient_of_scott(double):
    """Against finite differences where a spread, not a clip, decides."""
    x, ones, rule, step = jnp.asarray(_rows(CAPACITY)), jnp.ones(CAPACITY), bandwidth.Scott(1e-6, 10.0), 1e-6
    found = np.asarray(_slopes(x, rule, ones)) / CAPACITY
    for i in range(0, CAPACITY, 5):
        up, down = (_compiled(rule, x.at[i].add(s), ones)[0] for s in (step, -step))
        assert float(found[i]) == pytest.approx(float((up - down) / (2 * step)), abs=1e-8)


LOOPS = {
    "scott": lambda rows, prior: loops.scott(rows, prior),
    "magic scott": lambda rows, prior: loops.scott(rows, prior, magic=True),
    "neighbours": lambda rows, prior: loops.neighbours(rows, prior),
    "ends": lambda rows, prior: loops.neighbours(rows, prior, True, False),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("prior", [0.5, pytest.param(None, marks=pytest.mark.slow)])
@pytest.mark.some(3)
def test_against_the_loop(name, prior, double):
    """Every size up to 16, with ties and rows at the centre and the ends."""
    for n in range(CAPACITY + 1):
        for rows in (_rows(n, n), _rows(n, n).round(1)):
            position, weight, place = _padded(rows)
            found = _compiled(RULES[name], position, weight, prior)[place]
            np.testing.assert_allclose(found, np.broadcast_to(LOOPS[name](rows, prior), n), rtol=1e-12)


def test_fractional_weights(double):
    """Quartiles vary continuously with the weights, and 1.5 lies between 1 and 2; no jump at whole ones."""
    rule = bandwidth.Scott(1e-6, 10.0)
    x, base = _rows(CAPACITY), np.ones(CAPACITY)
    for w in (1.0, 1.5, 2.0):
        weights = [np.where(np.arange(CAPACITY) == 3, w + e, 1.0) for e in (-1e-9, 1e-9)]
        near = [float(_compiled(rule, x, weight, None)[0]) for weight in weights]
        assert near[0] == pytest.approx(near[1], rel=1e-7)
    assert np.isfinite(_compiled(rule, x, 0.01 * base, None)).all()


def test_scott_of_weights_beyond_float32_integers():
    """2^24 rows per value: running weights are rounded, the spread is still that of the values."""
    with jax.enable_x64(False):
        x = jnp.linspace(0.1, 0.9, 64)
        for each in (1.0, 2.0**24):
            first, third = jax.jit(quartiles)(x, jnp.full(64, each, jnp.float32))
            assert float(third - first) == pytest.approx(0.4, abs=0.02)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bandwidth.Scott(minimum=0.0), "Scott: minimum"),
        (lambda: bandwidth.Scott(minimum=0.6), "must not exceed"),
        (lambda: bandwidth.Neighbours(maximum=-1.0), "Neighbours: maximum"),
        (lambda: bandwidth.Neighbours(minimum=float("nan")), "Neighbours: minimum"),
        (lambda: bandwidth.Scott(maximum=float("inf")), "Scott: maximum"),
        (lambda: bandwidth.Constant(0), "Constant: scale"),
        (lambda: bandwidth.Constant(jnp.asarray(-1.0)), "Constant: scale"),
        (lambda: bandwidth.Scott(np.asarray(0.6)), "must not exceed"),
        (lambda: RULES["scott"](jnp.zeros(3), jnp.ones(2)), "vectors of one length"),
        (lambda: bandwidth.Scott("0.1"), "minimum must be a number"),
    ],
)
def test_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize("n", [5, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2, 64, 65, 200))])
def test_neighbours_with_and_without_an_order(n):
    """Catches pairs of rows that see another neighbour than the sorted ones, among equal and absent rows."""
    rng, rule = np.random.default_rng(n), jax.jit(bandwidth.Neighbours())
    for _ in range(10):
        x, present = (rng.integers(0, 12, n) / 12).astype(np.float32), rng.random(n) < rng.random()
        given = np.asarray(rule(x, present, order=np.argsort(x, stable=True)))
        assert np.array_equal(np.asarray(rule(x, present))[present], given[present])
