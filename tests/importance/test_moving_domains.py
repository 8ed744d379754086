"""Domains whose bounds move: pools of rows with like bounds, places between them, and what cannot be told."""

import functools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from compilations import compilations
from conftest import OPTUNA
from reference import grid, moving

import parzax as px
from parzax import Status as S
from parzax.lens.results.result import good_text

LEVELS = [0.1, 0.5]
# How the range of a row follows from two uniform numbers, what is declared, and what the pools are of.
CASES = {
    "upper": (lambda a, b: (0 * a, 0.1 + a), {}, "width"),
    "lower": (lambda a, b: (-1 - a, 0 * a), {}, "width"),
    "shifted": (lambda a, b: (a, a + 0.25), {}, "middle"),
    "centred": (lambda a, b: (-0.1 - a, 0.1 + a), {}, "width"),
    "both": (lambda a, b: (-0.1 - a, 0.1 + b), {}, "both"),
    "log": (lambda a, b: (1e-4 + 0 * a, 10 ** (-3 * a)), {"log": True}, "width"),
    "from 0": (lambda a, b: (0 * a, a), {}, "width"),
    "whole": (lambda a, b: (1 + 0 * a, np.floor(2 + 40 * a)), {"step": 1}, "width"),
    "whole, log": (lambda a, b: (1 + 0 * a, np.floor(2 + 99 * a)), {"step": 1, "log": True}, "width"),
    "steps": (lambda a, b: (np.floor(9 * a), 12 + 0 * a), {"step": 0.5}, "width"),
    "few": (lambda a, b: (0 * a, 1 + np.floor(3 * a)), {}, "width"),
}


def _rows(case: str, n: int, seed: int = 0):
    """Bounds, values between them, whose places are uniform, another parameter, and a loss of all."""
    rng = np.random.default_rng(seed)
    low, high = CASES[case][0](rng.uniform(size=n), rng.uniform(size=n))
    log, step = CASES[case][1].get("log", False), CASES[case][1].get("step")
    u, y = rng.uniform(size=(2, n))
    if step is None:
        x = low ** (1 - u) * high**u if log else low + u * (high - low)
    else:
        x = low + step * np.minimum(np.floor(u * ((high - low) / step + 1)), (high - low) / step)
    x = np.clip(x, low, high)
    return (
        low,
        high,
        np.stack([x, y], axis=-1),
        x / np.abs(high - low).max() + 0.3 * y + 0.1 * rng.normal(size=n),
    )


def _space(case: str, low, high) -> px.Space:
    return px.Space({"x": px.Varying(low.min(), high.max(), **CASES[case][1]), "y": px.Float(0, 1)})


def _expected(case, low, high, x, losses, weight=None, region=1.0, estimator="default", uniform=False):
    """By loops: each pool is a fixed domain [0, 1] of places, rows of a single value are one of their own."""
    own, how = CASES[case][1], CASES[case][2]
    weight = np.ones(len(x)) if weight is None else weight
    place = [moving.place(*row, **own) for row in zip(x[:, 0], low, high, strict=True)]
    counted = grid.level_set(losses, weight, region, "ceil") & ~np.isnan(place)
    rows = np.flatnonzero(counted)
    ranges = [moving.ends(low[i], high[i], **own) for i in rows]
    regimes = np.zeros((len(x), 2), int)
    regimes[rows, 0] = 1 + np.array(moving.pools(ranges, weight[rows].tolist(), how))
    unit = {"kind": "float", "low": 0.0, "high": 1.0}
    single = {"kind": "float", "low": 0.0, "high": 0.0}
    space = {"parameters": [{"name": "x", "regimes": [single, *[unit] * 8]}, {"name": "y", **unit}]}
    values = np.stack([np.where(counted, place, 0.0), x[:, 1]], axis=-1)
    return grid.analyse(
        space,
        values,
        losses,
        LEVELS,
        region,
        weight=weight,
        regimes=regimes,
        estimator=estimator,
        uniform=uniform,
    )


def _check(result, expected):
    for name in ("variance", "inter", "unweighted", "importance"):
        np.testing.assert_allclose(getattr(result, name), expected[name], rtol=1e-8, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.some(4)
def test_result_equals_its_loops(double, case):
    """Catches pools of other sizes or of another bound, places on another axis, a sum that is not Eq. 11."""
    # Of a weight of 300 the pool of the narrowest ranges is halved.
    n, weight = (150, np.full(150, 2.0)) if case == "from 0" else (120, None)
    low, high, x, losses = _rows(case, n)
    obs = px.Observations.from_arrays(
        _space(case, low, high), x, losses, weight=weight, bounds={"x": (low, high)}
    )
    result = px.cond_ped_anova(obs, LEVELS, n_resamples=0)
    _check(result, _expected(case, low, high, x, losses, weight))
    # The divergence of the whole regime is what Eq. 11 has for all of its pools.
    whole = result.regime_target[..., 0] ** 2 / (result.n_region * result.regime_region[..., 0])
    np.testing.assert_allclose(whole * result.divergence[..., 0], result.variance, rtol=1e-10, atol=1e-15)
    assert (result.regime_region[..., 0] == (n if weight is None else weight.sum())).all()


@pytest.mark.slow
def test_weights_region_and_reference_follow_the_loops(double):
    """Catches pools of rows outside the region, or by number instead of weight."""
    low, high, x, losses = _rows("upper", 150, seed=1)
    weight = np.random.default_rng(0).integers(0, 4, 150).astype(float)
    bounds = {"x": (low, high)}
    obs = px.Observations.from_arrays(_space("upper", low, high), x, losses, weight=weight, bounds=bounds)
    result = px.cond_ped_anova(obs, LEVELS, region=0.8, n_resamples=0)
    _check(result, _expected("upper", low, high, x, losses, weight, 0.8))
    obs = px.Observations.from_arrays(_space("upper", low, high), x, losses, bounds=bounds)
    uniform = px.cond_ped_anova(obs, LEVELS, reference="uniform", n_resamples=0)
    _check(uniform, _expected("upper", low, high, x, losses, uniform=True))


@pytest.mark.slow
def test_seeds_are_pooled_one_by_one(double):
    """Catches pools that run over seeds, or the bounds of another seed."""
    logs = [_rows("upper", 90, seed) for seed in range(3)]
    low, high, x, losses = map(np.stack, zip(*logs, strict=True))
    obs = px.Observations.from_arrays(_space("upper", low, high), x, losses, bounds={"x": (low, high)})
    result = px.cond_ped_anova(obs, LEVELS, n_resamples=0)
    for seed, one in enumerate(logs):
        np.testing.assert_allclose(result.variance[seed], _expected("upper", *one)["variance"], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("pooled", ["one pool", "equal bounds"])
@pytest.mark.some(2)
def test_one_pool_is_the_problem_of_places(double, log, pooled):
    """x in [low, c] in one pool is u = (x - low) / (c - low) on [0, 1], to the last digits."""
    rng = np.random.default_rng(3)
    n = 1000
    low = np.full(n, 1e-3)
    high = np.full(n, 0.7) if pooled == "equal bounds" else 0.1 + 0.9 * rng.uniform(size=n)
    u, y = rng.uniform(size=(2, n))
    x = low * (high / low) ** u if log else low + u * (high - low)
    exact = np.log(x / low) / np.log(high / low) if log else (x - low) / (high - low)
    losses = (u - 0.3) ** 2 + 0.1 * y
    estimator = {}
    if pooled == "one pool":
        estimator = {"grid": px.Grid(max_pools=1)}
    moves = px.Space({"x": px.Varying(1e-3, 1, log=log), "y": px.Float(0, 1)})
    fixed = px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)})
    obs = px.Observations.from_arrays(moves, np.stack([x, y], -1), losses, bounds={"x": (low, high)})
    found = px.cond_ped_anova(obs, LEVELS, **estimator, n_resamples=0)
    wanted = px.cond_ped_anova(
        px.Observations.from_arrays(fixed, np.stack([exact, y], -1), losses),
        LEVELS,
        **estimator,
        n_resamples=0,
    )
    for name in ("importance", "variance", "inter", "unweighted", "divergence"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-12, atol=1e-15)
    assert (found.status == wanted.status).all()


def test_laws(double):
    """Order of rows, a row twice, units and the direction of the axis: none makes a difference."""
    low, high, x, losses = _rows("both", 100, seed=2)
    space = _space("both", low, high)

    def found(space, x, losses, low, high, **options):
        obs = px.Observations.from_arrays(space, x, losses, bounds={"x": (low, high)}, **options)
        return px.cond_ped_anova(obs, LEVELS, n_resamples=0).variance

    wanted = found(space, x, losses, low, high)
    order = np.random.default_rng(0).permutation(100)
    np.testing.assert_allclose(
        found(space, x[order], losses[order], low[order], high[order]), wanted, rtol=1e-12
    )
    twice = np.repeat(np.arange(100), 2)
    np.testing.assert_allclose(
        found(space, x[twice], losses[twice], low[twice], high[twice], groups=np.arange(200)),
        found(space, x, losses, low, high, weight=np.full(100, 2.0)), rtol=1e-12,
    )  # fmt: skip
    units = x * [8.0, 1.0]
    np.testing.assert_allclose(
        found(_space("both", 8 * low, 8 * high), units, losses, 8 * low, 8 * high), wanted, rtol=1e-12
    )
    mirrored = x * [-1.0, 1.0]
    np.testing.assert_allclose(
        found(_space("both", -high, -low), mirrored, losses, -high, -low), wanted, rtol=1e-9, atol=1e-13
    )


def test_the_number_of_pools_compiles_nothing():
    """From 70 rows to 250 there are two pools and then three, of one capacity."""

    def run(n):
        low, high, x, losses = _rows("upper", n)
        obs = px.Observations.from_arrays(
            px.Space({"x": px.Varying(0, 2), "y": px.Float(0, 1)}), x, losses, bounds={"x": (low, high)}
        )
        (line,) = [
            fact for fact in px.cond_ped_anova(obs, LEVELS, n_resamples=0).facts if fact.startswith("x: ")
        ]
        return line

    assert "2 pools" in run(70)
    with compilations() as seen:
        assert "3 pools" in run(250)
    assert not seen


class TestStatuses:
    def _result(self, n=100, estimator=None, **options):
        _, _, x, losses = _rows("upper", n)
        space = px.Space({"x": px.Varying(0, 2), "y": px.Float(0, 1)})
        obs = px.Observations.from_arrays(space, x, losses, **options)
        return px.cond_ped_anova(obs, LEVELS, **estimator or {}, n_resamples=0)

    def test_without_bounds_nothing_is_said(self):
        result = self._result()
        assert (result.status[:, 0] & S.UNIDENTIFIABLE).all()
        assert not (result.status[:, 1] & S.UNIDENTIFIABLE).any()
        assert (result.variance[:, 0] == 0).all()
        assert not result.is_defined[:, 0].any()
        assert any(fact.startswith("x: ") and "not given" in fact for fact in result.facts)

    @pytest.mark.parametrize("estimator", [OPTUNA])
    def test_parity_keeps_the_zero(self, estimator):
        low, high, *_ = _rows("upper", 100)
        result = self._result(estimator=estimator, bounds={"x": (low, high)})
        assert (result.status[:, 0] & S.UNIDENTIFIABLE).all()
        assert (result.variance[:, 0] == 0).all()

    @pytest.mark.parametrize(("width", "status"), [(0, S.UNIDENTIFIABLE), (4, S.CONSTANT)])
    def test_bounds_that_leave_one_value_or_one_place_say_nothing(self, width, status):
        x = np.random.default_rng(0).uniform(0.02, 0.25, (100, 2))
        space = px.Space({"x": px.Varying(0, 1), "y": px.Float(0, 1)})
        bounds = {"x": (0, width * x[:, 0]) if width else (x[:, 0], x[:, 0])}
        obs = px.Observations.from_arrays(space, x, x[:, 1], bounds=bounds)
        result = px.cond_ped_anova(obs, LEVELS, n_resamples=0)
        assert (result.status[:, 0] & status).all()
        assert (result.variance[:, 0] == 0).all()
        assert (result.regime_region[0, 0] == 100).all() or width

    def test_rows_with_one_value_are_a_regime_that_adds_nothing(self, double):
        """Catches such rows among those of a pool, or lost from the region."""
        low, high, x, losses = _rows("upper", 150)
        high[:30] = x[:30, 0]
        low[:30] = x[:30, 0]
        obs = px.Observations.from_arrays(_space("upper", low, high), x, losses, bounds={"x": (low, high)})
        result = px.cond_ped_anova(obs, LEVELS, n_resamples=0)
        _check(result, _expected("upper", low, high, x, losses) | {"inter": result.inter})
        assert (result.regime_region[0, 0] == 150).all()
        assert not (result.status[:, 0] & S.UNIDENTIFIABLE).any()

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_few_rows(self, n):
        low, high, *_ = _rows("upper", n)
        result = self._result(n, bounds={"x": (low, high)})
        assert np.isfinite(result.variance).all()
        assert (result.status != 0).all()


@functools.cache
def _shown() -> px.ImportanceResult:
    low, high, x, _ = _rows("upper", 300)
    losses, bounds = (x[:, 0] / high - 0.3) ** 2, {"x": (low, high)}
    obs = px.Observations.from_arrays(_space("upper", low, high), x, losses, bounds=bounds)
    return px.cond_ped_anova(obs, [0.2, 0.5], n_resamples=0)


class TestWhatIsShown:
    def test_densities_are_of_places(self):
        (density,) = _shown().density("x")
        assert density.values == pytest.approx(np.linspace(0, 1, 96).tolist())
        np.testing.assert_allclose(density.target.sum(axis=-1), 1, rtol=1e-5)
        assert 0.2 < density.values[int(density.target[0].argmax())] < 0.4

    def test_good_values_say_so(self):
        good = _shown().good_values()[0]
        assert good.parameter == "x"
        assert 0.1 < good.values[0] < 0.3 < good.values[1] < 0.5
        assert "of the way between its bounds" in good_text(good, _shown().space["x"])

    def test_report_names_the_pools(self):
        """With their numbers of rows."""
        (line,) = [text for text in _shown().text(verbose=True).splitlines() if text.startswith("x: ")]
        assert "bounds move, values compared by their places between them in 4 pools of rows with" in line
        assert (line.count("100"), line.count("50")) == (2, 2)

    def test_picture_of_values(self):
        from parzax.lens import plotting

        ax = plotting.values(_shown(), "x")
        labels = [a.get_xlabel() for a in ax.figure.axes]
        plt.close(ax.figure)
        assert any("lower bound (0)" in text for text in labels)
        assert not any("no common grid" in t.get_text() for a in ax.figure.axes for t in a.texts)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["x", "x/c", "c"])
def test_shares_are_near_the_integrals(double, loss):
    """x ~ U(0, c), c ~ U(0, 1): mean share of x over 10 logs of 1000, and none where it has no part."""
    losses = {"x": lambda x, c: x, "x/c": lambda x, c: x / c, "c": lambda x, c: c}[loss]
    logs = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        c, u = rng.uniform(size=(2, 1000))
        logs.append((u * c, c))
    x, c = map(np.stack, zip(*logs, strict=True))
    space = px.Space({"x": px.Varying(0, 1), "c": px.Float(0, 1)})
    obs = px.Observations.from_arrays(space, np.stack([x, c], -1), losses(x, c), bounds={"x": (0, "c")})
    share = px.cond_ped_anova(obs, LEVELS, n_resamples=0).importance[..., 0].mean(axis=0)
    wanted = moving.shares(loss, LEVELS)
    print(loss, share.round(4), wanted.round(4))
    assert (abs(share - wanted) <= 0.07).all()
    if loss != "x":
        spurious = share if loss == "c" else 1 - share
        assert (spurious <= 0.01).all()


def test_integrals_are_those_of_the_closed_form():
    """f = x: t (1 - log t) = gamma', E[p^2] = 2 t - t^2."""
    for level, share in zip(LEVELS, moving.shares("x", LEVELS), strict=True):
        t = 0.02
        for _ in range(200):
            t = level / (1 - np.log(t))
        assert share == pytest.approx((level - 2 * t + t * t) / (level * (1 - level)), abs=1e-3)
    np.testing.assert_allclose(moving.shares("c", LEVELS), 0, atol=1e-9)
    np.testing.assert_allclose(moving.shares("x/c", LEVELS), 1, atol=1e-9)
