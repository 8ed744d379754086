"""Samplers of the kernels against their laws, 1e5 draws each; and broken samplers, which must fail.

All checks of this file, in float32 and float64, have a total false-alarm rate of at most 5e-7 (as those of
mixtures in `tests/parzen/test_samplers.py` have); see `reference.frequencies`.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import frequencies, laws, normal
from reference.frequencies import Checks

import parzax as px
from parzax._numerics import open_uniform
from parzax.kernels import AitchisonAitken, TruncatedNormal
from parzax.kernels.bandwidth import OptunaTop
from parzax.space.axes import Cells

N = 100_000
CHECKS = Checks(5e-7, 500)
INF = np.inf

# loc, scale, low, high: of the oracle alone
INTERVALS = [
    (0, 1, 5, 6), (0, 1, 5.5, 5.625), (0, 1, 5, INF), (0, 1, -6, -5), (0, 1, 8, 9),
    (0, 1, 10, 11), (0, 1, 10, 10.0078125), (0, 1, -INF, -10), (0, 1, 38, 39), (0, 1, 38, INF),
    (0, 1, -39, -38), (3, 0.1, 0, 1), (-1.875, 0.05, 0, 1), (4.8, 0.1, 0, 1), (0, 1, 0, 0.001),
    (0, 1, 1, 1.0078125), (0, 1, -40, 40), (0, 1, -INF, INF), (0.25, 30, 0, 1), (1000, 20, 100, 300),
]  # fmt: skip
# loc, scale on the kernel axis [0, 1]
KERNELS = [
    (0.3, 0.2), (0.3, 1e-3), (0, 1e-5), (1, 0.01), (0, 1e-12), (0.5, 1), (0.9, 30), (0.999, 0.5),
]  # fmt: skip
# domain, value at the centre, scale on the kernel axis
GRIDS = [
    (px.Int(0, 9), 3, 0.05), (px.Int(0, 9), 0, 0.3), (px.Int(0, 9), 9, 30), (px.Int(0, 9), 4, 1e-6),
    (px.Float(0, 1, step=0.25), 0.75, 0.2), (px.Float(-3, 3, step=0.1), 2.9, 0.07),
    (px.Int(1, 10, log=True), 2, 0.25), (px.Int(1, 10, log=True), 1, 1),
    (px.Int(1, 1000, log=True), 30, 0.2), (px.Int(1, 1000, log=True), 3, 0.01),
    (px.Int(0, 999), 700, 0.1), (px.Int(0, 299), 299, 1e-3), (px.Int(0, 100_000, step=5), 40, 0.02),
    (px.Ordinal([1, 2, 4, 32]), 4, 0.2), (px.Ordinal([1, 2, 4, 32], log=True), 1, 0.3),
    (px.Ordinal([0.001, 0.5, 0.7]), 0.001, 1),
]  # fmt: skip
# number of choices, own category, probability of the own category
CATEGORIES = [(2, 1, 0.8), (3, 0, 0.8), (5, 4, 0.8), (5, 2, 1.0), (4, 3, 0.25), (17, 16, 0.9), (4, 1, None)]
# Optuna's probability of the own category among 4, for 9 rows and a prior of weight 1, by hand.
OPTUNA = (1 + 1 / 10) / (1 + 4 / 10)


@functools.partial(jax.jit, static_argnames="family")
def draws_of(key, family, place, scale, n_values):
    """Places within one kernel."""
    levels = open_uniform(key, (N,), place.dtype)
    return jax.vmap(lambda level: family.quantile(level, place, scale, n_values))(levels)


def _some(cases: list, fast: tuple[int, ...]) -> list:
    """Numbers of all cases; the slow run takes those that are not fast."""
    return [
        pytest.param(case, id=str(problem), marks=[] if case in fast else [pytest.mark.slow])
        for case, problem in enumerate(cases)
    ]


def _dtype(x64: bool) -> type:
    return np.float64 if x64 else np.float32


def _key(*numbers: int) -> jax.Array:
    return functools.reduce(jax.random.fold_in, numbers, jax.random.key(20))


def _failures(excess: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in excess.items() if not value <= 1}


# --- the checks of each kernel: what draws are worth, as a multiple of what chance explains ------


def interval_excess(draws, loc, scale, low, high, checks) -> dict[str, float]:
    """Against the distribution function in float64; a draw may be off by one rounding of its dtype."""
    assert draws.shape == (N,)
    x = np.asarray(draws, float)
    if not ((x >= low) & (x <= high)).all():
        return {"outside": INF}
    spacing = np.spacing(np.maximum(np.abs(draws), np.finfo(draws.dtype).tiny)).max()
    cdf = functools.partial(laws.truncated_cdf, loc=loc, scale=scale, low=low, high=high)

    def resolution(at):
        return np.spacing(np.abs(at).astype(draws.dtype)).astype(float)

    out = {"line": checks.line(x, cdf, resolution)}
    ends = (max(low, loc - 50 * scale), min(high, loc + 50 * scale))
    if low > loc or high < loc:
        ends = (max(low, high - 50 * scale), min(high, low + 50 * scale))
    cuts = frequencies.quantile_cuts(cdf, *ends)
    if (cdf(cuts + spacing) - cdf(cuts - spacing)).max() < 1e-4:
        # Where rounding moves no more than this across a cut, cells tell a wrong scale apart better.
        masses = np.diff(np.concatenate([[0], cdf(cuts), [1]]))
        out["cells"] = checks.cells(np.bincount(np.searchsorted(cuts, x), minlength=len(masses)), masses)
    return out


def grid_excess(draws, domain, centre, scale, checks) -> dict[str, float]:
    """Against sums over cells in float64."""
    masses = laws.Values(domain).masses(centre, scale)
    return _number_excess(draws, masses, checks)


def category_excess(draws, n_choices, own, top, checks) -> dict[str, float]:
    masses = np.where(np.arange(n_choices) == own, top, (1 - top) / (n_choices - 1))
    return _number_excess(draws, masses, checks)


def _number_excess(draws, masses, checks) -> dict[str, float]:
    number = np.asarray(draws)
    assert number.shape == (N,)
    if not (np.issubdtype(number.dtype, np.integer) and 0 <= number.min() <= number.max() < len(masses)):
        return {"outside": INF}
    return laws.values_excess(number, masses, checks, "value")


# --- the samplers pass ------------------------------------------------------------------------


def _normal_draws(key, place, scale) -> jax.Array:
    dtype = jnp.result_type(place)
    return draws_of(key, TruncatedNormal, *(jnp.asarray(v, dtype) for v in (place, scale)), jnp.int32(0))


@pytest.mark.parametrize("case", _some(KERNELS, (0, 3, 4)))
def test_truncated_normals(x64, case):
    """Catches a kernel that clips at the ends of its axis instead of truncating."""
    problem = [_dtype(x64)(v) for v in KERNELS[case]]
    draws = _normal_draws(_key(1, x64, case), *problem)
    assert draws.dtype == _dtype(x64)
    assert not _failures(interval_excess(np.asarray(draws), *map(float, problem), 0, 1, CHECKS))


def _discrete_draws(key, domain, centre, scale, dtype) -> np.ndarray:
    """Numbers of the values whose cells hold the places."""
    x = np.asarray([float(centre)])
    place = domain.axis.place(x, domain.axis.index(x))
    size = jnp.int32(domain.n_values)
    drawn = draws_of(key, TruncatedNormal, jnp.asarray(place[0], dtype), jnp.asarray(scale, dtype), size)
    frame = px.Space({"x": domain}).frame(np.dtype(dtype))
    return np.asarray(frame.at(drawn[:, None]).index[:, 0])


@pytest.mark.parametrize("case", _some(GRIDS, (0, 6, 13)))
def test_discrete_normals(x64, case):
    """Catches cells of the wrong width, above all the outermost ones and those of a log axis."""
    draws = _discrete_draws(_key(2, x64, case), *GRIDS[case], _dtype(x64))
    assert not _failures(grid_excess(draws, *GRIDS[case], CHECKS))


def _category_draws(key, n_choices, own, top, dtype) -> np.ndarray:
    size = jnp.int32(n_choices)
    if top is None:
        bandwidth = OptunaTop()(jnp.asarray(10, dtype), jnp.asarray(1, dtype), size)
    else:
        bandwidth = jnp.asarray(1 - top, dtype)
    place = jnp.asarray((own + 0.5) / n_choices, dtype)
    drawn = np.asarray(draws_of(key, AitchisonAitken, place, bandwidth, size))
    return np.floor(drawn * n_choices).astype(np.int32)


@pytest.mark.parametrize("case", _some(CATEGORIES, (1, 6)))
def test_categories(x64, case):
    """Catches other categories that include the own one, or leave out the last."""
    n_choices, own, top = CATEGORIES[case]
    draws = _category_draws(_key(3, x64, case), *CATEGORIES[case], _dtype(x64))
    assert not _failures(category_excess(draws, n_choices, own, OPTUNA if top is None else top, CHECKS))


# --- broken samplers fail -----------------------------------------------------------------------
MUTANTS = Checks(CHECKS.total, CHECKS.at_most)


def _scale_off(_):
    draws = _normal_draws(_key(5), jnp.float32(0.3), jnp.float32(0.1 * 1.03))
    return interval_excess(np.asarray(draws), 0.3, 0.1, 0, 1, MUTANTS)


def _cells_by(monkeypatch, problem, index_at):
    """Draws of values that are numbered by another function of the place and the number of values."""

    def at(axis, unit):
        index = index_at(unit, axis.n_values.astype(unit.dtype)).astype(jnp.int32)
        return axis.place(unit, index), index

    monkeypatch.setattr(Cells, "at", at)
    return grid_excess(_discrete_draws(_key(7), *problem, np.float32), *problem, MUTANTS)


def _half_outer_cells(monkeypatch):
    return _cells_by(monkeypatch, GRIDS[1], lambda unit, n: jnp.round(unit * (n - 1)))


def _equal_ordinal_cells(monkeypatch):
    return _cells_by(monkeypatch, GRIDS[13], lambda unit, n: jnp.floor(unit * n))


def _top_off(_):
    draws = _category_draws(_key(8), 3, 0, 0.78, np.float32)
    return category_excess(draws, 3, 0, 0.8, MUTANTS)


@pytest.mark.parametrize("broken", [_scale_off, _half_outer_cells, _equal_ordinal_cells, _top_off])
def test_broken_samplers_fail(broken, monkeypatch):
    """The same checks at the same level notice each of these mistakes."""
    assert _failures(broken(monkeypatch))


# --- the checks themselves ------------------------------------------------------------------------


@pytest.mark.slow
def test_distribution_function():
    """The oracle against mpmath, tails included."""
    for loc, scale, low, high in INTERVALS:
        width = min(high, max(low, loc) + 8 * scale) - max(low, min(high, loc) - 8 * scale)
        for share in (1e-3, 0.01, 0.1, 0.5, 0.9):
            x = max(low, min(high, loc) - 8 * scale) + share * width
            a, b, z = ((normal.mp.mpf(v) - loc) / scale for v in (low, high, x))
            true = normal.mass(a, z) / normal.mass(a, b)
            assert abs(laws.truncated_cdf(x, loc, scale, low, high) - float(true)) < 1e-11


def test_total_false_alarms(record_property):
    """Last: the budget of this file was kept."""
    assert CHECKS.count * CHECKS.level <= 5e-7
    n_cases = len(KERNELS) + len(GRIDS) + len(CATEGORIES)
    assert n_cases >= 30
    record_property("tried", f"{n_cases} kernels: {CHECKS.summary(N)}")
