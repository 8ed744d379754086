"""Conditional densities: of one value, of arrays of values and of traced values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_spaces import N_SHAPES, all_configurations, random_space

import parzax as px
from parzax.density import restriction
from parzax.status import Status

from .spaces import SPACE

pytestmark = pytest.mark.usefixtures("double")
N_POINTS = 32


@pytest.fixture(scope="module")
def fitted() -> tuple[px.ParzenEstimator, np.ndarray]:
    with jax.enable_x64(True):
        pe = px.ParzenEstimator.fit(
            SPACE, np.asarray(SPACE.sample(jax.random.key(0), 12)), np.arange(1.0, 13)
        )
        return pe, np.asarray(pe.sample(jax.random.key(1), N_POINTS))


def _check_laws(seed: int, of_one: bool = True) -> None:
    """The density sums to 1, conditional times marginal is joint, a conditional of one value sums to 1."""
    space, rng = random_space(seed), np.random.default_rng(seed)
    rows = np.asarray(space.sample(jax.random.key(seed), 7))
    rule = px.bandwidth.Constant(0.3)
    pe = px.ParzenEstimator.fit(space, rows, rng.uniform(0.5, 2, 7), bandwidth=rule)
    points, weights = all_configurations(space)
    log_prob = np.asarray(pe.log_prob(points))
    np.testing.assert_allclose(weights @ np.exp(log_prob), 1, rtol=1e-10)

    sets = [pe.marginal(name) for name in space.names]
    proper = [one for one in sets if len(one.space) < len(space)]
    marginal = proper[seed % N_SHAPES % len(proper)]
    given = marginal.space.names
    which = rng.choice(len(points), N_POINTS)
    at, rest = points[which], [j for j, name in enumerate(space.names) if name not in given]
    batch = pe.conditional({name: at[:, space.index(name)] for name in given})
    conditional = jax.vmap(lambda one, x: one.log_prob(x))(batch, jnp.asarray(at[:, rest]))
    of_given = marginal.log_prob(at[:, [space.index(name) for name in given]])
    np.testing.assert_allclose(conditional + of_given, log_prob[which], rtol=1e-10, atol=1e-10)

    if not of_one:
        return
    first = int(np.argmin(np.isnan(at[:, rest]).all(axis=1)))  # where some other parameter is active
    one = pe.conditional({name: at[first, space.index(name)] for name in given})
    points, weights = all_configurations(one.space)
    np.testing.assert_allclose(weights @ np.exp(np.asarray(one.log_prob(points))), 1, rtol=1e-10)
    single = one.log_prob(at[first, [space.index(name) for name in one.space.names]])
    np.testing.assert_allclose(single, conditional[first], rtol=1e-10, atol=1e-10)


def _check_any_subset(seed: int) -> bool:
    """Parameters with or without their parents: the conditional is the joint density, normalised."""
    space, rng = random_space(seed), np.random.default_rng([seed, 2])
    rows = np.asarray(space.sample(jax.random.key(seed), 7))
    pe = px.ParzenEstimator.fit(space, rows, rng.uniform(0.5, 2, 7), bandwidth=px.bandwidth.Constant(0.3))
    given = [str(name) for name in rng.permutation(space.names)[: rng.integers(1, len(space))]]
    points, _ = all_configurations(space)
    several = points[rng.integers(len(points), size=3)][:, [space.index(name) for name in given]]
    values = dict(zip(given, several[0], strict=True))
    points, weights = all_configurations(space, values)
    log_prob = np.asarray(pe.log_prob(points))
    wanted = log_prob - np.log(weights @ np.exp(log_prob))
    others = [space.index(name) for name in space.names if name not in given]
    if np.isnan(points[wanted > -np.inf][:, others]).all():
        with pytest.raises(ValueError, match="no other parameter can be active"):
            pe.conditional(values)
        return False
    one = pe.conditional(values)
    assert int(one.status) == 0
    np.testing.assert_allclose(_at(one, space, points), wanted, rtol=1e-10, atol=1e-10)
    if seed < N_SHAPES:
        traced = jax.jit(lambda values, x: _at(pe.conditional(values), space, x))(values, points[:16])
        np.testing.assert_allclose(traced, wanted[:16], rtol=1e-10, atol=1e-10)
        batch = pe.conditional(dict(zip(given, several.T, strict=True)))
        first = jax.vmap(lambda one: _at(one, space, points[:16]))(batch)[0]
        np.testing.assert_allclose(first, wanted[:16], rtol=1e-10, atol=1e-10)
    return True


def _at(one: px.ParzenEstimator, space: px.Space, x) -> jax.Array:
    return one.log_prob(jnp.asarray(x)[:, np.array([space.index(name) for name in one.space.names])])


# Spaces of two shapes compile few programs.
QUICK = [shape + N_SHAPES * i for shape in (2, 7) for i in range(2)]


@pytest.mark.parametrize("seed", QUICK)
def test_laws_on_random_spaces(seed):
    _check_laws(seed, of_one=seed < N_SHAPES)


@pytest.mark.parametrize("seed", [13, 113])
def test_any_subset_of_random_spaces(seed):
    """A given number has two domains, the parent that selects one is not given, and another depends on it."""
    assert _check_any_subset(seed)


@pytest.mark.slow
@pytest.mark.parametrize("shape", range(N_SHAPES))
def test_any_subset_of_300_random_spaces(shape):
    assert sum([_check_any_subset(seed) for seed in range(shape, 300, N_SHAPES)]) >= 11


@pytest.mark.slow
@pytest.mark.parametrize("shape", range(N_SHAPES))
def test_laws_on_300_random_spaces(shape):
    for seed in range(shape, 300, N_SHAPES):
        _check_laws(seed)


def _values(names: str, x):
    return {name: x[..., SPACE.index(name)] for name in names}


def test_traced_values_are_arrays_of_values(fitted):
    """A child with its parents, all traced in one program: the same densities in every regime."""
    pe, draws = fitted
    draws, rest = jnp.asarray(draws), np.array([3, 4])

    def log_prob(pe, x):
        one = pe.conditional(_values("ckx", x))
        return one.log_prob(x[rest]), one.status

    traced, status = jax.jit(jax.vmap(log_prob, (None, 0)))(pe, draws)
    batch = pe.conditional(_values("ckx", np.asarray(draws)))
    wanted = jax.vmap(lambda one, x: one.log_prob(x))(batch, draws[:, rest])
    np.testing.assert_allclose(traced, wanted, rtol=1e-12)
    assert not status.any()
    assert not batch.status.any()
    assert pe.conditional({"k": np.zeros(0)}).status.shape == (0,)


@pytest.mark.slow
def test_every_method_of_a_conditional_of_an_array(fitted):
    """Draws, marginals, masses and further conditionals are those of conditionals of single values."""
    pe, _ = fitted
    batch = pe.conditional({"c": np.array(["a", "d", "b"])})
    assert repr(batch) == "ParzenEstimator(3 estimators, k, x, y, z; room for 64 rows)"

    def ask(one):
        part = one.conditional({"y": 0.2}).marginal("x")
        masses = [one.mass(box) for box in ({"x": (0.01, 0.5)}, {"x": (3, 4)}, {"k": None}, {"k": (4, 7)})]
        at = jnp.array([[5, 0.1], [jnp.nan, 3.0]])
        return part.log_prob(at), jnp.stack(masses), one.univariate("x", 1).status, one.mode(), one

    found = [jax.tree.map(lambda a, i=i: a[i], jax.jit(jax.vmap(ask))(batch)) for i in range(3)]
    for choice, (log_prob, masses, status, mode, one) in zip("adb", found, strict=True):
        single = pe.conditional({"c": choice})
        kept = [j for j, name in enumerate(batch.space.names) if name in single.space]
        at = np.array([3.0]) if choice == "d" else np.array([5, 0.1])
        wanted = single.conditional({"y": 0.2}).marginal("x").log_prob(at)
        np.testing.assert_allclose(log_prob[1 if choice == "d" else 0], wanted, rtol=1e-10)
        assert np.isneginf(log_prob[0 if choice == "d" else 1])
        if choice == "d":
            assert masses[2] == 1
            assert not masses[np.array([0, 3])].any()
            np.testing.assert_allclose(masses[1], single.mass({"x": (3, 4)}), rtol=1e-10)
        else:
            wanted = [single.mass({"x": (0.01, 0.5)}), 0, 0, single.mass({"k": (4, 7)})]
            np.testing.assert_allclose(masses, wanted, rtol=1e-10)
        assert bool(status & Status.IMPOSSIBLE_EVENT) == (choice != "d")
        np.testing.assert_allclose(mode[np.array(kept)], single.mode(), rtol=1e-10)
        x = one.sample(jax.random.key(2), 20)
        assert np.isfinite(one.log_prob(x)).all()
        np.testing.assert_array_equal(np.isnan(x[:, 0]), np.full(20, choice == "d"))


PARENTS = px.Space(
    {
        "c": px.Categorical(["a", "b", "d"]),
        "hour": px.Float(0, 24, periodic=True),
        "z": px.Float(-np.inf, np.inf),
        "k": px.Int(0, 40),
        "x": (px.Float(-3, 3, when=px.In("c", ["a", "b"])), px.Float(0, 9, when=px.Between("k", 8, 20))),
        "y": px.Float(0, 1, when=px.Between("z", low=1)),
        "h": px.Int(0, 9, when=px.Between("hour", low=20)),
    }
)


@pytest.mark.slow
def test_every_method_of_a_conditional_without_parents():
    """Draws, masses, quantiles, modes and further conditionals of parents with cut kernels."""
    rng, n = np.random.default_rng(0), 60
    c, hour, z, k = rng.integers(0, 3, n), rng.uniform(0, 24, n), rng.normal(0, 2, n), rng.integers(0, 41, n)
    x = np.where(c < 2, rng.uniform(-3, 3, n), np.where((k >= 8) & (k < 20), rng.uniform(0, 9, n), np.nan))
    y, h = np.where(z >= 1, rng.uniform(size=n), np.nan), np.where(hour >= 20, rng.integers(0, 10, n), np.nan)
    pe = px.ParzenEstimator.fit(PARENTS, np.stack([c, hour, z, k, x, y, h], axis=1))
    values = {"x": 1.5, "y": 0.2, "h": 3}
    one = pe.conditional(values)
    drawn = np.asarray(one.sample(jax.random.key(0), 4000))
    joint = pe.log_prob(np.concatenate([drawn, np.tile([*values.values()], (4000, 1))], axis=1))
    np.testing.assert_allclose(one.log_prob(drawn) - joint, one.log_prob(drawn[0]) - joint[0], rtol=1e-9)
    assert one.log_prob(one.mode(), "unit") >= one.log_prob(drawn, "unit").max() - 1e-3
    for box in ({"c": "d"}, {"k": (10, 30)}, {"z": (1, 2), "c": ["a", "d"]}, {"hour": (21, 23)}):
        inside = np.ones(4000, bool)
        for name, wanted in box.items():
            of_name = drawn[:, one.space.index(name)]
            if isinstance(wanted, tuple):
                inside &= (of_name >= wanted[0]) & (of_name <= wanted[1])
            else:
                inside &= np.isin(of_name, [["a", "b", "d"].index(choice) for choice in wanted])
        assert abs(inside.mean() - one.mass(box)) < 4 * np.sqrt(0.25 / 4000)
    np.testing.assert_array_equal([one.mass({"z": (-99, 0.9)}), one.mass({"hour": (1, 19)})], 0)
    levels = np.array([0.1, 0.5, 0.99])
    for name in ("z", "hour", "k"):
        of_name = one.univariate(name)
        values_at = np.asarray(of_name.quantile(levels))
        assert (of_name.cdf(values_at) >= levels - 1e-9).all()
        assert (
            np.abs((drawn[:, [one.space.index(name)]] <= values_at).mean(0) - of_name.cdf(values_at)).max()
            < 0.04
        )
    # Parents are cut again where another of their children is given.
    again = pe.conditional({"x": 1.5, "h": 3}).conditional({"y": 0.2})
    np.testing.assert_allclose(again.log_prob(drawn), one.log_prob(drawn), rtol=1e-9)
    entropy = px.density.entropy(jax.random.key(1), one, n=4000)
    assert abs(entropy.value + one.log_prob(drawn).mean()) < 5 * entropy.standard_error

    def total(y):
        return pe.conditional({**values, "y": y}).log_prob(jnp.asarray(drawn[:5])).sum()

    slope, step = jax.jit(jax.grad(total))(0.2), 1e-6
    np.testing.assert_allclose(slope, (total(0.2 + step) - total(0.2 - step)) / (2 * step), rtol=1e-5)


@pytest.mark.slow
def test_derivatives_by_a_given_value_to_the_second_order():
    """By a number whose regime another traced value selects: gradients and second derivatives."""
    rows = np.asarray(SPACE.sample(jax.random.key(0), 12))
    pe = px.ParzenEstimator.fit(SPACE, rows, bandwidth=px.bandwidth.Constant(0.3))
    rest = jnp.array([0.4, jnp.nan])

    def log_prob(x, code):
        k = jnp.where(code == 2, jnp.nan, 5.0)
        return pe.conditional({"c": code, "k": k, "x": x}).log_prob(rest)

    slope = jax.jit(jax.grad(log_prob))
    second = jax.jit(jax.grad(jax.grad(log_prob)))
    for x, code in ((0.02, 0.0), (1e-3, 1.0), (4.0, 2.0)):
        step = 1e-5 * x
        value = jax.jit(log_prob)
        low, high = (max(x - step, 1e-3), x + step) if code < 2 else (x - step, x + step)
        tolerance = 1e-6 if low < x else 1e-3  # a one-sided difference at the bound
        difference = (value(high, code) - value(low, code)) / (high - low)
        np.testing.assert_allclose(slope(x, code), difference, rtol=tolerance)
        difference = (slope(high, code) - slope(low, code)) / (high - low)
        np.testing.assert_allclose(second(x, code), difference, rtol=tolerance)


def test_values_without_density(fitted):
    """Outside a domain, absent, or present where inactive: no density anywhere, and a status."""
    pe, _ = fitted
    impossible = [
        {"c": 3.0, "k": 5.0}, {"c": jnp.nan, "k": 5.0}, {"c": 0.0, "k": 13.0}, {"c": 0.0, "k": jnp.nan},
        {"c": 2.0, "k": 5.0},
    ]  # fmt: skip
    possible = [{"c": 0.0, "k": 12.0}, {"c": 2.0, "k": jnp.nan}]
    values = jax.tree.map(lambda *a: jnp.array(a), *impossible, *possible)
    batch = pe.conditional(values)
    wanted = [int(Status.IMPOSSIBLE_EVENT)] * len(impossible) + [0] * len(possible)
    np.testing.assert_array_equal(batch.status, wanted)
    x = jnp.array([jnp.nan, 0.5, jnp.nan])
    at = jnp.array([x, x.at[0].set(3.0)])
    log_prob = jax.vmap(lambda one: one.log_prob(at))(batch)
    assert np.isneginf(log_prob[: len(impossible)]).all()
    np.testing.assert_array_equal(np.isfinite(log_prob[len(impossible) :]), [[True, False], [False, True]])
    gradient = jax.grad(lambda y: jnp.where(y > 2, 0, pe.conditional({"y": y}).prob(jnp.array(ROW))))
    assert np.isfinite(gradient(1.5))
    assert np.isfinite(gradient(0.5))


ROW = [0.0, 12.0, np.nan, np.nan]
REFUSED = {
    "a list": ({"c": ["a", "b"]}, "one value, or an array"),
    "two axes": ({"y": np.zeros((2, 2))}, "one value, or an array"),
    "an unknown choice in an array": ({"c": np.array(["a", "e"])}, "not one of its choices"),
    "a value outside in an array": ({"y": np.array([0.5, 1.5])}, "'y'.* is outside"),
    "a child of another regime in an array": ({"c": np.array([0, 2]), "k": 5}, "the parameter is inactive"),
    "a value that no parent allows": ({"k": 99}, "no values of c allow {'k': 99}"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(fitted, name):
    values, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        fitted[0].conditional(values)


def test_new_values_compile_nothing(fitted):
    pe, draws = fitted
    draws = draws[~np.isnan(draws[:, SPACE.index("k")])]
    for array, names in ((np.asarray, "ck"), (jnp.asarray, "ck"), (np.asarray, "k")):
        pe.conditional(_values(names, array(draws[:5])))
        before = restriction._conditioned.n_compiled
        pe.conditional(_values(names, array(draws[5:10])))
        assert restriction._conditioned.n_compiled == before


LISTS = px.Space(
    {
        "p": px.Categorical(["u", "v", "w"]),
        "c": (
            px.Categorical(["a", "b"], when=px.In("p", ["u"])),
            px.Categorical(["b", "d"], when=px.In("p", ["v"])),
        ),
        "g": px.Int(0, 2, when=px.In("c", ["b"])),
        "h": px.Int(0, 1, when=px.In("c", ["d"])),
    }
)


def test_choices_of_several_lists():
    """A choice is the same one in each list; a code may be of several choices, without the parent."""
    pe = px.ParzenEstimator.fit(LISTS, np.asarray(LISTS.sample(jax.random.key(0), 8)))
    points, _ = all_configurations(LISTS)
    log_prob, lists = np.asarray(pe.log_prob(points)), np.array([["a", "b"], ["b", "d"], ["", ""]])
    choice = lists[tuple(np.nan_to_num(points[:, :2]).astype(int).T)]
    choice = np.where(np.isnan(points[:, 1]), "inactive", choice)
    x = jnp.asarray(points[:, [0, 2, 3]])
    batch = pe.conditional({"c": np.array(["a", "b", "d", None], dtype=object)})
    of_batch = jax.vmap(lambda one: one.log_prob(x))(batch)
    of_one = pe.conditional({"c": "b"}).log_prob(x)
    np.testing.assert_allclose(of_one, of_batch[1], rtol=1e-10)
    for j, name in enumerate(["a", "b", "d", "inactive"]):
        here = choice == name
        wanted = log_prob[here] - np.log(np.exp(log_prob[here]).sum())
        np.testing.assert_allclose(of_batch[j, here], wanted, rtol=1e-10, atol=1e-10)

    def log_prob_of_g(p, c):
        return pe.conditional({"p": p, "c": c}).log_prob(jnp.array([1.0]))

    traced = jax.jit(lambda p: pe.conditional({"p": p, "c": "b"}).log_prob(jnp.array([1, jnp.nan])))
    for p, code in (("u", 1), ("v", 0)):
        wanted = log_prob_of_g(p, code)
        np.testing.assert_allclose(log_prob_of_g(p, "b"), wanted, rtol=1e-10)
        np.testing.assert_allclose(traced("uv".index(p)), wanted, rtol=1e-10)
    with pytest.raises(ValueError, match="code of 'c' stands for several choices; give the choice, or p too"):
        pe.conditional({"c": 1})
