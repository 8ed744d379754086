"""Loops for twenty drawn statements, from the texts alone, in NumPy and SciPy; one of them times Optuna.

Each gives a verdict, by a criterion that was fixed before it ran, and its numbers in words.
"""

import json
import math
import timeit
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import logsumexp, ndtr, ndtri

from benchmarks.studies.papers import data
from benchmarks.studies.papers.rows import Verdict
from benchmarks.studies.papers.runs import Arrays

AGREES, DIFFERS, APART = Verdict.AGREES, Verdict.DIFFERS, Verdict.NOT_TOLD_APART
Said = tuple[Verdict, str]


def run(name: str) -> Arrays:
    """A unit: the verdict and the numbers of a loop."""
    verdict, numbers = globals()[name]()
    return {"verdict": np.array(str(verdict)), "numbers": np.array(numbers)}


def _judged(agrees: bool, differs: bool) -> Verdict:
    return DIFFERS if differs else AGREES if agrees else APART


def _exact(holds: bool) -> Verdict:
    return AGREES if holds else DIFFERS


def _folder() -> Path:
    folder = data.folder()
    assert folder is not None, "units that need tables are left out without PARZAX_DATA"
    return folder


def _standard_error(x: np.ndarray) -> float:
    return float(x.std(ddof=1) / math.sqrt(len(x)))


def _best(f: np.ndarray, level: float) -> np.ndarray:
    """Rows up to the loss of the floor(level n)-th, ties included."""
    return f <= np.sort(f)[max(math.floor(level * len(f) + 1e-9), 1) - 1]


def _pearson(p: np.ndarray, q: np.ndarray) -> float:
    seen = q > 0
    return float(np.sum(q[seen] * (p[seen] / q[seen] - 1) ** 2))


# --- the paper's estimator of importance: densities on 50 points, Scott's width, one wide kernel -----------
# A parameter is its values, its regime in each row (-1 where it is inactive), and the domains of the regimes.
Parameter = tuple[np.ndarray, np.ndarray, list[tuple[float, float]]]
Problem = tuple[list[Parameter], np.ndarray]
N_POINTS = 50


def _density(values: np.ndarray, low: float, high: float) -> np.ndarray:
    cells = np.rint((values - low) / (high - low) * (N_POINTS - 1)).astype(int)
    counts = np.bincount(np.clip(cells, 0, N_POINTS - 1), minlength=N_POINTS).astype(float)
    n, at = len(values), np.flatnonzero(counts)
    weight = counts[at]
    spread = math.sqrt((at - at @ weight / n) ** 2 @ weight / max(1, n - 1))
    sums = np.cumsum(weight)
    upper = min(at.size - 1, int(np.searchsorted(sums, n * 3 // 4, side="right")))
    quartiles = (at[upper] - at[np.searchsorted(sums, n // 4)]) / 1.34
    width = max(1.059 * min(quartiles, spread) * n**-0.2, 0.5 / 1.64)
    centre = np.append(at, (N_POINTS - 1) / 2)
    scale = np.append(np.full(at.size, width), float(N_POINTS))
    edges = ndtr((np.arange(N_POINTS + 1)[:, None] - 0.5 - centre) / scale)
    return np.diff(edges, axis=0) / (edges[-1] - edges[0]) @ np.append(weight, 1.0) / (n + 1)


def _variances(problem: Problem, level: float) -> np.ndarray:
    """Algorithm 1 in the whole space."""
    parameters, f = problem
    target, found = _best(f, level), []
    for values, regime, domains in parameters:
        total = 0.0
        for i, (low, high) in enumerate(domains):
            inside = regime == i
            alpha, beta = (target & inside).sum() / target.sum(), inside.mean()
            if alpha > 0 and inside.sum() > 1:
                densities = (_density(values[rows], low, high) for rows in (target & inside, inside))
                total += alpha**2 / beta * _pearson(*densities)
        found.append(target.mean() ** 2 * total)
    return np.array(found)


def _shares(problem: Problem, levels: np.ndarray) -> np.ndarray:
    """(levels, parameters) importances."""
    variances = np.array([_variances(problem, level) for level in levels])
    return variances / variances.sum(axis=1, keepdims=True)


def _activation(rng: np.random.Generator, x: tuple[float, float], y: tuple[float, float]) -> Problem:
    """Eq. 12: c chooses x or y, which is the loss."""
    c, u, v = rng.uniform(size=1000), rng.uniform(*x, 1000), rng.uniform(*y, 1000)
    left = c < 0.5
    own = [
        (c, np.zeros(1000), [(0.0, 1.0)]),
        (u, np.where(left, 0, -1), [x]),
        (v, np.where(left, -1, 0), [y]),
    ]
    return own, np.where(left, u, v)


def disjoint(rng: np.random.Generator) -> Problem:
    return _activation(rng, (-5, -2), (2, 5))


def overlap(rng: np.random.Generator) -> Problem:
    return _activation(rng, (-5, 2), (-2, 5))


def moving(rng: np.random.Generator, n: int = 1000) -> Problem:
    """Eq. 15 and 16: c chooses the domains of x and y, whose sum is the loss."""
    c = rng.uniform(size=n)
    left = c < 0.5
    x = np.where(left, rng.uniform(-7, -2, n), rng.uniform(2, 7, n))
    y = np.where(left, rng.uniform(-5, -2, n), rng.uniform(2, 5, n))
    i = np.where(left, 0, 1)
    return [(c, 0 * i, [(0, 1)]), (x, i, [(-7, -2), (2, 7)]), (y, i, [(-5, -2), (2, 5)])], x + y


def _exact_shares(problem: Callable, level: float) -> np.ndarray:
    """Importances of c, x and y by quadrature."""
    u = (np.arange(4000) + 0.5) / 4000
    if problem is moving:
        x, y = -7 + 5 * u, -5 + 3 * u
        sums = (x[::8, None] + y[::8]).ravel()
        cut = np.quantile(np.concatenate([sums, -sums]), level)
        p = np.clip([[(cut - x + 5) / 3, (cut + x - 2) / 3], [(cut - y + 7) / 5, (cut + y - 2) / 5]], 0, 1)
        v = np.array([(p[0, 0].mean() - p[0, 1].mean()) ** 2 / 4, *p.var(axis=2).mean(axis=1)])
    else:
        ends = np.array([[-5, -2], [2, 5]] if problem is disjoint else [[-5, 2], [-2, 5]])
        cut = np.quantile(ends[:, :1] + np.diff(ends) * u, level)
        p, q = np.clip((cut - ends[:, 0]) / np.diff(ends)[:, 0], 0, 1)
        v = np.array([(p - q) ** 2 / 4, p * (1 - p) / 2, q * (1 - q) / 2])
    return v / v.sum()


# --- conditional PED-ANOVA ---------------------------------------------------------------------------------


def learner_parameters() -> Said:
    folder, n = _folder() / "yahpo", 0
    foreign = without = inactive = 0
    header = json.loads((folder / "rbv2_super2021.space.json").read_text(encoding="utf-8"))
    choices = next(own["choices"] for own in header["parameters"] if own["name"] == "learner_id")
    drawn = set()
    for task in ("1053", "15"):
        log = np.load(folder / f"rbv2_super2021_{task}.npz")
        names = log["names"].tolist()
        values = log["values"].reshape(-1, len(names))
        learner = np.array(choices)[values[:, names.index("learner_id")].astype(int)]
        prefix = np.array([name.split(".")[0] if name.split(".")[0] in choices else "" for name in names])
        active, own = ~np.isnan(values), learner[:, None] == prefix
        foreign += int((active & ~own)[:, prefix != ""].sum())
        without += int((~(active & own).any(axis=1)).sum())
        inactive += int((~active[:, prefix == ""]).sum())
        n, drawn = n + len(values), drawn | set(learner)
    holds = foreign + without + inactive == 0 and len(drawn) == 6
    texts = f"{n} rows: {foreign} entries of another learner, {without} rows without any of their own learner"
    return _exact(holds), f"{texts}; {len(drawn)} learners"


def moving_grow() -> Said:
    levels = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
    a, b = (
        np.array([_shares(problem(np.random.default_rng([4000 + seed, k])), levels) for seed in range(40)])
        for k, problem in enumerate((moving, disjoint))
    )
    paths = [(j, path) for j in (1, 2) for path in ([5, 4, 3, 2, 1, 0], [5, 6, 7, 8, 9, 10])]
    steps = [a[:, after, j] - a[:, before, j] for j, path in paths for before, after in pairwise(path)]
    rises = [a[:, path[-1], j] - a[:, path[0], j] for j, path in paths]
    down = [d.mean() for d in steps if d.mean() < -2 * _standard_error(d)]
    own, other = a.mean(axis=0), b.mean(axis=0)
    unlike = bool(max(other[1:5, 2].max(), other[6:10, 1].max()) < 0.01 < own[[1, 9], 1:].min())
    grows = all(d.mean() > max(2 * _standard_error(d), 0.05) for d in rises)
    fails = any(d < -0.01 for d in down) or any(d.mean() < 2 * _standard_error(d) for d in rises)
    at = ", ".join(f"{x:.3f}" for x in own[[0, 1, 5, 9, 10], 1])
    texts = f"x at 0.05, 0.1, 0.5, 0.9, 0.95: {at}; steps down, of 20: {', '.join(f'{d:.3f}' for d in down)}"
    return _judged(not down and grows and unlike, fails or not unlike), texts


def _populations(rng: np.random.Generator, empty: float = 0.0) -> Iterator[tuple[np.ndarray, ...]]:
    """Masses of 1000 grids, each with a region and a target in it; a share of values may be empty."""
    for _ in range(1000):
        p = np.ones(())
        for size in rng.integers(2, 10, rng.integers(1, 4)):
            mass = rng.random(size) * (rng.random(size) >= empty)
            mass[0] += 0.1
            p = np.multiply.outer(p, mass / mass.sum())
        f = rng.integers(0, 5, p.shape).astype(float) if rng.integers(2) else rng.normal(size=p.shape)
        cuts = np.sort(f[p > 0])
        i = int(rng.choice([len(cuts) - 1, rng.integers(len(cuts))]))
        j = int(rng.choice([i, 0, rng.integers(0, i + 1)]))
        yield p, f <= cuts[i], f <= cuts[j]


def nested_density() -> Said:
    rng, n, wrong, largest = np.random.default_rng(5), 0, 0, 0.0
    for p, region, target in _populations(rng, empty=0.2):
        for d in range(p.ndim):
            others = tuple(i for i in range(p.ndim) if i != d)
            q, p_d = (p * region).sum(axis=others), (p * target).sum(axis=others)
            n, wrong = n + 1, wrong + int(((q == 0) & (p_d > 0)).any() or (p_d > q + 1e-12 * p_d.sum()).any())
    for case in range(500):
        n_rows = int(rng.integers(10, 1001))
        x, noise = rng.random(n_rows), rng.normal(size=n_rows)
        if case % 5 == 4:  # the best rows are far apart, the others between them
            ends = rng.choice([0.01, 0.99], n_rows) + 0.005 * rng.random(n_rows)
            x = np.where(rng.random(n_rows) < 0.1, ends, 0.5 + 0.02 * noise).clip(0, 1)
        f = (x, (x - 0.5) ** 2, np.sin(9 * x) + 0.3 * noise, noise, -abs(x - 0.5))[case % 5]
        outer = rng.uniform(0.2, 1)
        levels = outer, outer * rng.uniform(0.02, 1)
        of_region, of_target = (_density(x[_best(f, level)], 0, 1) for level in levels)
        largest = max(largest, float((of_target / of_region).max()))
    texts = f"{wrong} exceptions in {n} marginals; ratios of 500 pairs of densities up to {largest:.0f}"
    return _exact(wrong == 0 and math.isfinite(largest)), texts


def _conditional(
    rng: np.random.Generator, n: int, inactive: np.ndarray, continuous: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Regimes, values and losses of a problem with one regime for each entry of ``inactive``."""
    regime, values = rng.integers(0, len(inactive), n), np.zeros(n)
    for i in np.flatnonzero(~inactive):
        rows = regime == i
        choices = rng.integers(0, rng.integers(2, 9), n).astype(float)
        values[rows] = (rng.random(n) * 3 + rng.uniform(-1, 1) if continuous else choices)[rows]
    f = rng.normal(size=n) + 0.7 * values + 2 * rng.normal(size=len(inactive))[regime]
    return regime, values, f.round() if rng.integers(2) else f


def _atoms(regime: np.ndarray, values: np.ndarray, *sets: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Regimes of the pairs (regime, value), and the mass of each pair in each set of rows."""
    pairs, place = np.unique(np.stack([regime, values], axis=1), axis=0, return_inverse=True)
    masses = [np.bincount(place.ravel()[rows], minlength=len(pairs)) / rows.sum() for rows in sets]
    return pairs[:, 0].astype(int), masses


def _ceil_best(f: np.ndarray, level: float) -> np.ndarray:
    return f <= np.sort(f)[max(math.ceil(level * len(f)), 1) - 1]


def extended_marginals() -> Said:
    rng, wrong, n, absent, off = np.random.default_rng(20), 0, 0, 0, 0.0
    for _ in range(1000):
        n_rows, inactive = int(rng.integers(5, 501)), rng.random(rng.integers(1, 6)) < 0.3
        regime, values, f = _conditional(rng, n_rows, inactive, bool(rng.integers(2)))
        outer = rng.choice([1.0, rng.random()])
        inner = rng.choice([outer * rng.random(), outer, 1e-9])
        regimes, (q, p) = _atoms(regime, values, _ceil_best(f, outer), _ceil_best(f, inner))
        wrong, n = wrong + int(((q == 0) & (p > 0)).sum()), n + int((p > 0).sum())
        off = max(off, abs(float(np.sum(p[q > 0])) - 1))
        absent += len(np.unique(regimes[p > 0])) < len(inactive)
    texts = f"{wrong} of {n} atoms without mass in the region; {absent} of 1000 problems lack a regime"
    return _exact(wrong == 0 and off <= 1e-12), texts


def inactive_regime() -> Said:
    rng, n, largest, off = np.random.default_rng(33), 0, 0.0, 0.0
    for _ in range(1000):
        n_rows, n_regimes = int(rng.integers(10, 501)), int(rng.integers(2, 6))
        inactive = rng.permutation(n_regimes) < rng.integers(1, n_regimes + 1)
        regime, values, f = _conditional(rng, n_rows, inactive)
        outer = rng.choice([1.0, rng.uniform(0.2, 1)])
        inner = outer * rng.choice([rng.random(), 1])
        regimes, (q, p) = _atoms(regime, values, _ceil_best(f, outer), _ceil_best(f, inner))
        total, parts = _pearson(p, q), 0.0
        for i in np.unique(regimes[q > 0]):
            own = regimes == i
            alpha, beta = p[own].sum(), q[own].sum()
            between = (alpha - beta) ** 2 / beta
            within = _pearson(p[own] / alpha, q[own] / beta) if alpha > 0 else 0.0
            parts += alpha**2 / beta * within + between
            if inactive[i]:
                n, largest = n + 1, max(largest, within)
                off = max(off, abs(_pearson(p[own], q[own]) - between))
        off = max(off, abs(total - parts) / max(1, total))
    texts = f"{n} inactive regimes: divergence at most {largest:.0e}; terms are off by {off:.0e}"
    return _exact(largest <= 1e-15 and off <= 1e-12), texts


def _means(keys: np.ndarray, mass: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Mean of f among entries of equal key, for every entry."""
    _, place = np.unique(keys, return_inverse=True)
    return (np.bincount(place, mass * f) / np.bincount(place, mass))[place]


def _variance(f: np.ndarray, mass: np.ndarray) -> float:
    return float(np.sum(mass * (f - np.sum(mass * f)) ** 2))


def gating() -> Said:
    rng, largest, seen, n = np.random.default_rng(22), 0.0, 0, 0
    for _ in range(2000):
        n_gates = int(rng.integers(2, 13))
        n_regimes = int(rng.integers(1, min(n_gates, 5) + 1))
        regime_of = rng.permutation(np.r_[:n_regimes, rng.integers(0, n_regimes, n_gates - n_regimes)])
        gate_mass, moved = rng.dirichlet(np.ones(n_gates)), rng.uniform(-0.3, 0.3, n_gates)
        n_values = np.where(rng.random(n_regimes) < 0.3, 1, rng.integers(1, 7, n_regimes))
        wanted = rng.choice([0.0, 1.0], n_regimes) if rng.random() < 0.05 else rng.random(n_regimes)
        laws = [rng.dirichlet(np.ones(size)) for size in n_values]
        for broken in (False, True):
            columns, same = [], rng.integers(2)
            for gate, i in enumerate(regime_of):
                k, mass = np.arange(n_values[i]), laws[i] if same else rng.dirichlet(np.ones(n_values[i]))
                b, to = rng.random(len(k)), np.clip(wanted[i] + broken * moved[gate], 0, 1)
                mean = mass @ b  # which Eq. 37 sets
                b = b * to / mean if to <= mean else 1 - (1 - b) * (1 - to) / (1 - mean)
                columns.append(np.stack([0 * k + gate, 0 * k + i, i * 10 + k, gate_mass[gate] * mass, b]))
            gate, regime, value, mass, b = np.concatenate(columns, axis=1)
            of_values, of_regimes = _means(value, mass, b), _means(regime, mass, b)
            within = float(np.sum(mass * (of_values - of_regimes) ** 2))
            gap = abs(_variance(of_values, mass) - within - _variance(_means(gate, mass, b), mass))
            if not broken:
                largest = max(largest, gap)
            elif n_regimes < n_gates:
                n, seen = n + 1, seen + (gap > 1e-6)
    texts = f"largest gap {largest:.0e} in 2000 populations; above 1e-6 in {seen} of {n} that break Eq. 37"
    return _judged(largest <= 1e-12 and seen > 0.9 * n, largest > 1e-12), texts


def local_variance() -> Said:
    rng, largest, n = np.random.default_rng(29), 0.0, 0
    for p, region, target in _populations(rng):
        whole, best = (p * region).sum(), (p * target).sum()
        for d in range(p.ndim):
            others, of_others = tuple(k for k in range(p.ndim) if k != d), p.sum(axis=d, keepdims=True)
            inside = (region * of_others).sum(axis=others)
            local = (target * of_others).sum(axis=others) / np.where(inside > 0, inside, 1)  # Eq. 2
            mass = (p * region).sum(axis=others) / whole
            left = float(np.sum(mass * (local - best / whole) ** 2))  # Eq. 1 and 3
            right = (best / whole) ** 2 * _pearson((p * target).sum(axis=others) / best, mass)
            largest, n = max(largest, abs(left - right)), n + 1
    for _ in range(400):  # rows
        x = rng.integers(0, rng.integers(2, 9), 1000)
        own = x[np.argsort(rng.normal(size=1000) + x * rng.normal())]
        outer = int(rng.choice([1000, rng.integers(2, 1001)]))
        inner = int(rng.integers(1, outer + 1))
        means = _means(own[:outer], np.ones(outer), np.arange(outer) < inner)
        p, q = (np.bincount(own[:k], minlength=8) / k for k in (inner, outer))
        gap = abs(_variance(means, np.full(outer, 1 / outer)) - (inner / outer) ** 2 * _pearson(p, q))
        largest, n = max(largest, gap), n + 1
    return _exact(largest <= 1e-12), f"largest gap {largest:.0e} in {n} cases"


def fast_and_accurate() -> Said:
    import optuna
    from optuna.distributions import FloatDistribution

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    n_rows, study = 300, optuna.create_study()
    problem = moving(np.random.default_rng(41000), n_rows)
    spaces: dict = {name: FloatDistribution(-end, end) for name, end in (("c", 1), ("x", 7), ("y", 5))}
    for *own, f in zip(*(values for values, *_ in problem[0]), problem[1], strict=True):
        params = dict(zip(spaces, map(float, own), strict=True))
        study.add_trial(optuna.trial.create_trial(params=params, distributions=spaces, value=float(f)))
    f_anova = optuna.importance.FanovaImportanceEvaluator(seed=0)
    forest = optuna.importance.MeanDecreaseImpurityImportanceEvaluator(seed=0)
    methods: list[Callable[[], Any]] = [lambda: _variances(problem, 0.1)]
    methods += [lambda: forest.evaluate(study), lambda: f_anova.evaluate(study)]
    ours, mdi, anova = (
        min(timeit.repeat(own, number=1, repeat=k)) for own, k in zip(methods, (5, 3, 1), strict=True)
    )
    levels, errors, right = np.arange(1, 20) * 0.05, [], []
    for own in (disjoint, overlap, moving):
        truth = np.array([_exact_shares(own, level) for level in levels])
        found = np.array([_shares(own(np.random.default_rng(seed)), levels) for seed in range(41001, 41011)])
        errors.append(np.abs(found - truth).mean(axis=(1, 2)))
        order = np.sort(truth, axis=1)
        clear = order[:, -1] - order[:, -2] > 0.1
        right.append(float((found.argmax(axis=2) == truth.argmax(axis=1))[:, clear].mean()))
    error, fast = max(e.mean() for e in errors), anova >= 10 * ours and mdi > ours
    wrong = any(e.mean() - 2 * _standard_error(e) > 0.05 for e in errors) or min(right) < 0.85
    texts = (
        f"{anova / ours:.0f} times as fast as f-ANOVA ({n_rows} rows); error of importances {error:.3f} at "
    )
    texts += f"most, first parameter right in {min(right):.2f}"
    return _judged(fast and error <= 0.05 and min(right) >= 0.9, wrong or not fast), texts


def reflects_structure() -> Said:
    levels, n = np.arange(101) / 100, 10
    found, apart = np.full((2, n, 101, 3), math.nan), []  # at 0.01 to 0.99
    for k in range(n):
        for own, problem in zip(found, (disjoint, overlap), strict=True):
            own[k, 1:100] = _shares(problem(np.random.default_rng(46001 + k)), levels[1:100])
        parameters, f = disjoint(np.random.default_rng(46001 + k))
        for level in levels[5:96]:  # PED-ANOVA of the rows in which a parameter is active
            v = []
            for values, regime, domains in parameters:
                every, best = values[regime >= 0], _best(f[regime >= 0], level)
                v.append(_pearson(_density(every[best], *domains[0]), _density(every, *domains[0])))
            apart.append(abs(v[1] - v[2]) / sum(v))

    def tests(d: np.ndarray, o: np.ndarray) -> list[bool]:
        first = d[50, 0] >= 0.7, [d[q].argmax() for q in (50, 10, 90)] == [0, 1, 2]
        zero = d[2:46, 2].max() <= 0.05, d[55:96, 1].max() <= 0.05, o[2:19, 2].max() <= 0.05
        both = o[50, 1:].min() >= 0.05 and o[50, 0] < 0.9
        return [*first, *zero, both, o[5, 1] > o[20, 1], o[30:51, 2].max() >= 0.05]

    passed = np.sum([tests(d, o) for d, o in zip(*found, strict=True)], axis=0)
    holds = min(passed) >= 9 and all(tests(*found.mean(axis=1)))
    texts = f"all tests pass in {min(passed)} of {n} logs or more; with filtering x and y are "
    return _exact(holds and np.mean(apart) <= 0.1), f"{texts}{np.mean(apart):.3f} apart"


# --- c-TPE -------------------------------------------------------------------------------------------------


class Plane:
    """Gaussian kernels cut off at [-5, 5]^2, and one wide kernel in the middle."""

    def __init__(self, x: np.ndarray) -> None:
        n = len(x)
        spread = x.std(axis=0, ddof=1) if n > 1 else np.zeros(2)
        width = np.maximum(1.059 * spread * n ** (-1 / 6), 1.0 if n < 10 else 0.1)
        self.centre = np.vstack([x, [[0, 0]]])
        self.width = np.vstack([np.tile(width, (n, 1)), [[10.0, 10.0]]])
        self.below = ndtr((-5 - self.centre) / self.width)
        self.inside = ndtr((5 - self.centre) / self.width) - self.below
        self.height = 1 / (2 * math.pi * (self.width * self.inside).prod(axis=1)) / (n + 1)

    def __call__(self, at: np.ndarray) -> np.ndarray:
        u = (at[:, None, :] - self.centre) / self.width
        return np.exp(-0.5 * (u * u).sum(axis=2)) @ self.height

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        k = rng.integers(0, len(self.centre), n)
        u = self.below[k] + rng.random((n, 2)) * self.inside[k]
        return np.clip(self.centre[k] + self.width[k] * ndtri(u), -5, 5)


def _groups(f: np.ndarray, feasible: np.ndarray) -> np.ndarray:
    """Rows below, of Algorithm 1: up to the ceil(sqrt(n) / 4)-th feasible one."""
    n, wanted, order = len(f), math.ceil(math.sqrt(len(f)) / 4), np.argsort(f, kind="stable")
    places = np.flatnonzero(feasible[order])
    last = places[min(wanted, len(places)) - 1] + 1 if len(places) else wanted
    return np.isin(np.arange(n), order[: min(last, n - 1)])


def _ratio(x: np.ndarray, below: np.ndarray, at: np.ndarray) -> np.ndarray:
    return Plane(x[below])(at) / (1 / 100 if below.all() else Plane(x[~below])(at))


def _relative(gamma: float, ratio: np.ndarray) -> np.ndarray:
    return 1 / (gamma + (1 - gamma) / ratio)


def _two_discs(rng: np.random.Generator, x: np.ndarray, middle: float, naive: bool) -> np.ndarray:
    """The 40 evaluations after those at random, x, in the plane of Figure 3."""
    while len(x) < 50:
        f, excess = (x**2).sum(axis=1), ((x - middle) ** 2).sum(axis=1)
        feasible = excess <= 3
        below = [_groups(f, np.ones(len(f), bool) if naive else feasible)]
        below.append(feasible if feasible.any() else excess == excess.min())
        at = np.vstack([Plane(x[own]).sample(rng, 24) for own in below])
        ratios = [_ratio(x, own, at) for own in below]
        if not naive:
            ratios = [_relative(own.mean(), r) for own, r in zip(below, ratios, strict=True)]
        x = np.vstack([x, at[np.argmax(ratios[0] * ratios[1])]])
    return x[10:]


def large_overlap() -> Said:
    rng, n, found = np.random.default_rng(8), 150, []

    def variation(a: np.ndarray, b: np.ndarray) -> float:
        return 0.5 * float(np.abs(a.sum(axis=0) / a.sum() - b.sum(axis=0) / b.sum()).sum())

    def corrected(counts: np.ndarray, times: int) -> float:
        """Less what runs of one method, by exchange of the methods' names, have."""
        chance = []
        for _ in range(times):
            swapped = rng.random(counts.shape[1])[:, None] < 0.5
            chance.append(variation(np.where(swapped, *counts), np.where(swapped, *counts[::-1])))
        return variation(*counts) - float(np.mean(chance))

    for middle in (0.5, 2.3):
        counts = np.zeros((2, n, 100))
        for seed in range(8000, 8000 + n):
            start = np.random.default_rng([seed, 99, int(middle * 10)]).uniform(-5, 5, (10, 2))
            for naive in (0, 1):
                own = np.random.default_rng([seed, int(middle * 10), naive])
                x = _two_discs(own, start, middle, bool(naive))
                counts[naive, seed - 8000] = np.histogram2d(*x.T, 10, [[-5, 5]] * 2)[0].ravel()
        drawn = [corrected(counts[:, rng.integers(0, n, n)], 5) for _ in range(300)]
        found.append((corrected(counts, 200), np.array(drawn)))
    (large, of_large), (small, of_small) = found
    low, high = np.percentile(of_large, [2.5, 97.5])
    least, most = np.percentile(of_small - of_large, [2.5, 97.5])
    texts = f"total variation {large:.3f} ({low:.3f}, {high:.3f}); with a small overlap {small:.3f}, "
    verdict = _judged(high <= 0.25 and least > 0, low > 0.25 or most < 0)
    return verdict, f"{texts}difference ({least:.3f}, {most:.3f})"


class Table:
    """A table of runs, and densities on its grid: a kernel for each row and a uniform one."""

    def __init__(self, name: str) -> None:
        header = json.loads((_folder() / f"{name}.json").read_text(encoding="utf-8"))
        arrays = np.load(_folder() / f"{name}.npz")
        losses, size = (
            arrays[next(own for own in names if own in arrays)].astype(float)
            for names in (("valid_mse", "valid_error"), ("n_params", "size_mb"))
        )
        runtime = arrays["runtime"].astype(float)
        runtime = runtime if runtime.ndim == 2 else np.repeat(runtime[:, None], losses.shape[1], axis=1)
        self.losses, self.size, self.runtime = losses, size, runtime
        self.n_seeds = (~np.isnan(losses)).sum(axis=1)
        self.index, self.shape, self.limits = arrays["index"], header["shape"], header["constraints"]
        self.ends = np.cumsum([0, *self.shape])
        n_values = self.ends[-1]
        self.parameter = np.repeat(np.arange(len(self.shape)), self.shape)
        ordinal = np.array([own["kind"] == "ordinal" for own in header["hyperparameters"]])
        self.is_ordinal = ordinal[self.parameter]
        sizes = np.array(self.shape)[self.parameter]
        value = (np.arange(n_values) - self.ends[self.parameter]) / (sizes - 1)
        self.other = self.parameter[:, None] != self.parameter
        self.distance = np.where(self.other, np.inf, value[:, None] - value)
        self.of_category = np.where(self.other, 0, np.where(np.eye(n_values) > 0, 0.8, 0.2 / (sizes - 1)))
        self.one_hot = np.zeros((len(self.index), n_values))
        for d in range(len(self.shape)):
            self.one_hot[np.arange(len(self.index)), self.ends[d] + self.index[:, d]] = 1

    def density(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, kernels (value, centre), and their logs at the rows."""
        n, d = len(rows), len(self.shape)
        spread = (self.index[rows] / (np.array(self.shape) - 1)).std(axis=0, ddof=1) if n > 1 else np.zeros(d)
        width = np.maximum(1.059 * spread * n ** (-1 / (4 + d)), 0.1)[self.parameter]
        kernel = np.where(self.is_ordinal, np.exp(-0.5 * (self.distance / width) ** 2), self.of_category)
        kernel /= kernel.sum(axis=0)
        return rows, kernel, np.log(kernel + self.other) @ self.one_hot[rows].T

    def at(self, density: tuple[np.ndarray, ...], candidates: np.ndarray) -> np.ndarray:
        kernels = np.exp(self.one_hot[candidates] @ density[2])
        return (kernels.sum(axis=1) + 1 / len(self.index)) / (len(density[0]) + 1)

    def sample(self, density: tuple[np.ndarray, ...], rng: np.random.Generator, n: int) -> np.ndarray:
        rows, kernel, _ = density
        chosen = rng.integers(0, len(rows) + 1, n)
        is_flat, own = chosen == len(rows), self.index[rows[np.minimum(chosen, len(rows) - 1)]]
        values = np.zeros((len(self.shape), n), int)
        for d, size in enumerate(self.shape):
            block = kernel[self.ends[d] : self.ends[d + 1], self.ends[d] : self.ends[d + 1]]
            p = np.where(is_flat, 1 / size, block[:, own[:, d]])
            values[d] = np.minimum((p.cumsum(axis=0) < rng.random(n)).sum(axis=0), size - 1)
        return np.ravel_multi_index(values, self.shape)

    def search(self, level: str, both: bool, augmented: bool, seed: int, n: int) -> np.ndarray:
        """(n,) best feasible losses so far of c-TPE; with 200 known sizes if it is augmented."""
        start, rng = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2, int(augmented)])
        limits = [self.limits[own]["thresholds"][level] for own in ("size", "runtime")[: 1 + both]]
        rows = start.integers(0, len(self.index), 10).tolist()
        known = start.integers(0, len(self.index), 200 * augmented)
        f, c = np.zeros(n), np.zeros((n, 1 + both))
        for i in range(n):
            if i >= 10:
                x, at_most = np.array(rows), c[:i] <= limits
                groups = [(x, _groups(f[:i], at_most.all(axis=1)))]
                for k, limit in enumerate(limits):
                    own, amount = x, c[:i, k]
                    if k == 0:
                        own, amount = np.r_[x, known], np.r_[amount, self.size[known]]
                    low = amount <= limit
                    groups.append((own, low if low.any() else amount == amount.min()))
                below = [self.density(own[low]) for own, low in groups]
                candidates = np.concatenate([self.sample(own, rng, 24) for own in below])
                score = np.zeros(len(candidates))
                for (own, low), density in zip(groups, below, strict=True):
                    if not low.all():
                        ratio = self.at(density, candidates) / self.at(self.density(own[~low]), candidates)
                        score += np.log(_relative(low.mean(), ratio))
                rows.append(int(candidates[np.argmax(score)]))
            trained = rng.integers(self.n_seeds[rows[i]])
            f[i] = self.losses[rows[i], trained]
            c[i] = [self.size[rows[i]], self.runtime[rows[i], trained]][: 1 + both]
        return np.minimum.accumulate(np.where((c <= limits).all(axis=1), f, np.inf))

    def worst(self, level: str, both: bool) -> float:
        """The 90 % quantile of feasible losses."""
        feasible = np.broadcast_to(
            self.size[:, None] <= self.limits["size"]["thresholds"][level], self.losses.shape
        )
        if both:
            feasible = feasible & (self.runtime <= self.limits["runtime"]["thresholds"][level])
        return float(np.nanquantile(self.losses[feasible], 0.9))


TABLES = (
    "hpolib/slice_localization", "hpolib/naval_propulsion", "hpolib/parkinsons_telemonitoring",
    "nasbench201/cifar10", "nasbench201/imagenet16_120",
)  # fmt: skip


def augmentation(n_seeds: int = 8) -> Said:
    wins, logs = [], []  # (settings, seeds with, seeds without, budgets), (settings, 2, seeds, budgets)
    for table in map(Table, TABLES):
        for level, both in ((level, both) for level in ("0.1", "0.5", "0.9") for both in (False, True)):
            n = 100 if level == "0.1" else 200
            plain, own = (
                np.array([table.search(level, both, augmented, seed, n) for seed in range(n_seeds)])
                for augmented in (False, True)
            )
            if level == "0.1":
                a, b = own[:, None, [49, 99]], plain[None, :, [49, 99]]
                wins.append(0.5 * ((a < b) + 1.0 - (a > b)))
            else:
                budgets = np.minimum([own, plain], table.worst(level, both))[..., [49, 99, 149, 199]]
                logs.append(np.log(budgets))
    won, log = np.array(wins), np.array(logs)
    rng, drawn = np.random.default_rng(13), []
    for _ in range(1000):
        i, j = rng.integers(0, n_seeds, (2, len(log), n_seeds))
        k = np.arange(len(log))[:, None]
        ratio = np.exp((log[k, 0, i].mean(axis=1) - log[k, 1, j].mean(axis=1)).mean(axis=0))
        i, j, k = i[: len(won)], j[: len(won)], k[: len(won)]
        drawn.append([*won[k[..., None], i[:, :, None], j[:, None, :]].mean(axis=(0, 1, 2)), *ratio])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    number = np.r_[won.mean(axis=(0, 1, 2)), np.exp((log[:, 0] - log[:, 1]).mean(axis=(0, 1)))]
    faster, slower = (low[:2] > 0.5).all(), (high[:2] < 0.55).all()
    fine, worse = (high[2:] <= 1.15).all(), ((number[2:] > 1.15) & (low[2:] > 1)).any()
    cells = [f"{x:.2f} ({a:.2f}, {b:.2f})" for x, a, b in zip(number, low, high, strict=True)]
    texts = (
        f"{n_seeds} seeds; at 0.1 it wins with probability {', '.join(cells[:2])} after 50, 100; ratio of "
    )
    texts += f"losses at 0.5 and 0.9 together {', '.join(cells[2:])} after 50, 100, 150, 200"
    return _judged(faster and fine, slower or worse), texts


def slopes() -> Said:
    rng, n, n_equal, n_one, wrong, off = np.random.default_rng(17), 0, 0, 0, 0, 0.0
    for case in range(20_000):
        size = int(rng.integers(2, 7))
        r, gamma = 10 ** rng.uniform(-3, 3, size), rng.random(size).clip(1e-9, 1 - 1e-9)
        i, j = rng.choice(size, 2, replace=False)
        kind = rng.random()
        if kind < 0.15:
            gamma[j] = 1.0
        elif kind < 0.3:
            gamma[j], r[j] = gamma[i], r[i]
        elif kind < 0.4:
            gamma[rng.integers(size)] = 1.0
        elif kind < 0.5:
            r[j] = r[i] * rng.uniform(1, 3)
        i, j = (j, i) if gamma[i] > gamma[j] else (i, j)
        score = _relative_product(r, gamma)
        with np.errstate(divide="ignore"):
            bounds = r + np.where(gamma == 1, np.inf, gamma / (1 - gamma) * r**2)
        slope = score * (1 - gamma) / r**2 / (gamma + (1 - gamma) / r)
        if case < 4000:
            for k in (i, j):
                z = r.astype(complex)
                z[k] += 1e-30j
                step = _relative_product(z, gamma).imag / 1e-30
                off = max(off, abs(step - slope[k]) / (abs(slope[k]) or 1))
        if bounds[i] <= bounds[j]:
            n += 1
            wrong += slope[i] < slope[j] * (1 - 1e-12) or slope[j] < 0
            wrong += (slope[j] == 0) != (gamma[j] == 1)
            n_one += gamma[j] == 1
            if gamma[i] == gamma[j] and r[i] == r[j]:
                n_equal += 1
                wrong += abs(slope[i] - slope[j]) > 1e-12 * slope[i]
    texts = f"{wrong} exceptions in {n} cases, {n_equal} of them with equal slopes, {n_one} with gamma_j = 1"
    return _exact(wrong == 0 and off <= 1e-10), texts


def _relative_product(r: np.ndarray, gamma: np.ndarray) -> Any:
    return np.prod(1 / (gamma + (1 - gamma) / r))


def loose_constraint(n: int = 1000) -> Said:
    axis, rows = np.linspace(-5, 5, 51), []
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    points = np.array([[1.0, 1.0], [-2.0, -2.0]])
    for seed in range(n):
        x = np.random.default_rng(21000 + seed).uniform(-5, 5, (200, 2))
        feasible = ((x - 1) ** 2).sum(axis=1) <= 16
        gammas = _groups(((x + 2) ** 2).sum(axis=1), feasible).mean(), feasible.mean()
        r = _ratio(x, feasible, np.vstack([grid, points]))
        far = np.linalg.norm(grid[np.argmax(r[:-2])] - 1)
        damped = [(1 - gamma) / (gamma * r[-2] + 1 - gamma) for gamma in gammas]
        relative = np.log(_relative(gammas[1], r[-2:]))
        halved = relative[0] - relative[1] <= 0.5 * np.log(r[-2] / r[-1])
        rows.append([*gammas, far, *damped, float(halved)])
    g0, g1, far, by_g0, by_g1, halved = np.array(rows).T
    rng = np.random.default_rng(1)

    def interval(own: np.ndarray) -> np.ndarray:
        return np.percentile([np.median(rng.choice(own, n)) for _ in range(500)], [2.5, 97.5])

    ends = [interval(own) for own in (g0, far, by_g1, by_g0 - by_g1)]
    shares = [float((g1 >= 5 * g0).mean()), float(halved.mean())]
    near = 0.45 <= g1.mean() <= 0.55
    holds = ends[1][1] <= 2 and ends[2][1] <= 0.5 and ends[3][0] >= 0.2 and min(shares) >= 0.9
    fails = ends[0][0] > 0.05 or ends[1][0] > 2 or ends[2][0] > 0.5 or ends[3][1] < 0.2
    fails |= any(share + 2 * math.sqrt(share * (1 - share) / n) < 0.9 for share in shares)
    texts = f"{n} draws: gamma_1 {g1.mean():.2f}, gamma_0 {np.median(g0):.3f} ({ends[0][0]:.3f}, "
    texts += (
        f"{ends[0][1]:.3f}), at most 0.025 in {(g0 <= 0.025).mean():.3f}; slope of the log score in log r_1 "
    )
    texts += f"at the centre {np.median(by_g1):.2f}, with gamma_0 in place of gamma_1 {np.median(by_g0):.2f}"
    return _judged(near and bool(np.median(g0) <= 0.05) and holds, not near or bool(fails)), texts


# --- meta-learning TPE -------------------------------------------------------------------------------------


def own_density() -> Said:
    rng, n, wrong, least = np.random.default_rng(3), 0, 0, math.inf
    for _ in range(600):
        n_rows, n_dims = int(rng.choice([1, 2, 5, 20, 200, 1000])), int(rng.integers(1, 27))
        has_prior, n_at = bool(rng.integers(2)), min(n_rows, 50)
        at = rng.choice(n_rows, n_at, replace=False)
        kernels, own, prior = np.zeros((n_at, n_rows)), np.zeros(n_at), np.zeros(n_at)
        for _ in range(n_dims):
            kind = rng.integers(4)
            with np.errstate(divide="ignore"):
                if kind == 3:  # categories
                    size = int(rng.integers(2, 11))
                    other = rng.choice([0, (size - 1) / size, rng.random() * (size - 1) / size])
                    x = rng.integers(0, size, n_rows)
                    kernels += np.log(np.where(x[at][:, None] == x, 1 - other, other / (size - 1)))
                    own += math.log(1 - other)
                    prior -= math.log(size)
                    continue
                x = rng.random(n_rows) * 2
                x[rng.random(n_rows) < 0.2] = x[0]
                width = 10 ** rng.uniform(-3, 0) * 2
                u = (x[at][:, None] - x) / width
                if kind == 2:
                    kernels += np.log(np.maximum(0.75 * (1 - u * u) / width, 0))
                    own += math.log(0.75 / width)
                else:
                    inside = ndtr((2 - x) / width) - ndtr(-x / width) if kind == 1 else np.ones(n_rows)
                    top = -math.log(width * math.sqrt(2 * math.pi)) - np.log(inside)
                    kernels += top - 0.5 * u * u
                    own += top[at]
                prior -= math.log(2)
        log_p = logsumexp(np.c_[kernels, prior] if has_prior else kernels, axis=1)
        log_p -= math.log(n_rows + has_prior)
        wrong += int((~np.isfinite(log_p) | (log_p < own - math.log(n_rows + 1) - 1e-9)).sum())
        n, least = n + n_at, min(least, float(log_p.min()))
    return _exact(wrong == 0), f"{wrong} of {n} rows without density; least log density {least:.1f}"


def bayes() -> Said:
    rng, of_masses, of_densities = np.random.default_rng(14), 0.0, 0.0
    for _ in range(1000):
        shape = int(rng.integers(2, 41)), int(rng.integers(2, 21)), int(rng.integers(1, 6))
        joint = rng.dirichlet(np.full(math.prod(shape), 10 ** rng.uniform(-1, 1))).reshape(shape)
        joint[rng.random(shape) < 0.1] = 0
        joint /= joint.sum()
        f = np.cumsum(rng.random(shape[0]))
        cut = f[rng.choice([0, shape[0] - 1, rng.integers(shape[0])])]
        of_x, of_f, gain = joint.sum(axis=0), joint.sum(axis=(1, 2)), np.maximum(cut - f, 0)
        left = np.tensordot(gain, joint / np.where(of_x > 0, of_x, 1), 1)
        likelihood = joint / np.where(of_f > 0, of_f, 1)[:, None, None]
        right = np.tensordot(gain, likelihood * of_f[:, None, None], 1) / np.where(of_x > 0, of_x, 1)
        gap = np.abs(left - right)[of_x > 0].max()
        of_masses = max(of_masses, gap / (np.abs(left).max() or 1))
    for _ in range(50):  # mixtures of normals, on a fine grid
        n = int(rng.integers(1, 6))
        weight, (m_f, m_x), (s_f, s_x) = (
            rng.dirichlet(np.ones(n)),
            rng.normal(size=(2, n)),
            rng.uniform(0.3, 1, (2, n)),
        )
        of_task, f, cut = rng.dirichlet(np.ones(3), n), np.linspace(-8, 8, 2001), rng.normal()
        step, gain = f[1] - f[0], np.maximum(cut - f, 0)
        p_f = stats.norm.pdf(f[:, None], m_f, s_f)
        marginal = p_f @ weight
        for x in rng.normal(size=10):
            for part in weight * stats.norm.pdf(x, m_x, s_x) * of_task.T:
                left = np.sum(gain * (p_f @ (part / part.sum()))) * step
                likelihood = p_f @ part / np.maximum(marginal, 1e-300)
                total = np.sum(likelihood * marginal) * step
                right = np.sum(gain * likelihood * marginal) * step / total
                of_densities = max(of_densities, abs(left - right) / max(abs(left), 1e-12))
    texts = f"relative gap {of_masses:.0e} in 1000 joint masses, {of_densities:.0e} in 50 joint densities"
    return _exact(of_masses <= 1e-12 and of_densities <= 1e-6), texts


def both_groups() -> Said:
    grid, found = np.arange(21) / 20, []
    for seed in range(2700, 2720):
        rng = np.random.default_rng(seed)
        moved = rng.uniform(-0.2, 0.2)
        f, of_source = (grid - 0.3 - moved) ** 2, (grid - 0.4 - moved) ** 2
        source = rng.integers(0, 21, 200)
        source = source[np.argsort(of_source[source], kind="stable")]
        rows: list[int] = []
        largest = []
        for n in range(2001):
            if n >= 10:
                order = np.array(rows)[np.argsort(f[rows], kind="stable")]
                k = math.ceil(0.1 * n)
                pairs = (order[:k], source[:20]), (order[k:], source[20:])
                low, high = (_on_grid(grid, *own, n) for own in pairs)
                score = 0.1 * low / (0.1 * low + 0.9 * high)
                if n in (500, 1000, 2000):
                    largest.append(score[np.intersect1d(order[:k], order[k:])].max(initial=0.0))
            if n >= 10 and rng.random() > 0.15:
                candidates = rng.choice(21, 24, p=low / low.sum())
                rows.append(int(candidates[np.argmax(score[candidates])]))
            else:
                rows.append(int(rng.integers(21)))
        found.append(largest)
    n_above = int((np.array(found) >= 0.01).all(axis=1).sum())
    medians = ", ".join(f"{own:.2f}" for own in np.median(found, axis=0))
    verdict = _judged(n_above > 0, np.max(found, axis=0)[2] < 1e-3)
    return verdict, f"in {n_above} of 20 runs above 0.01; medians {medians} after 500, 1000, 2000 rows"


def _on_grid(grid: np.ndarray, rows: np.ndarray, source: np.ndarray, n: int) -> np.ndarray:
    """Density of rows of the target, and of the source with weight 1 / (1 + n) each."""
    kernel = np.exp(-0.5 * ((grid[:, None] - grid) / (0.2 * n**-0.2)) ** 2) + 1e-6
    counts = np.bincount(rows, minlength=21) + np.bincount(source, minlength=21) / (1 + n)
    return kernel / kernel.sum(axis=0) @ (counts / counts.sum())


def _by_rank(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Non-domination ranks and crowding distances."""
    beats = (f[:, None] <= f).all(axis=2) & (f[:, None] < f).any(axis=2)
    rank, distance, left, k = np.zeros(len(f), int), np.zeros(len(f)), np.ones(len(f), bool), 0
    while left.any():
        front = np.flatnonzero(left & ~beats[left].any(axis=0))
        rank[front], k = k, k + 1
        left[front] = False
        for column in f.T:
            order = front[np.argsort(column[front])]
            distance[order[[0, -1]]] = math.inf
            wide = max(float(np.ptp(column[front])), 1e-300)
            distance[order[1:-1]] += (column[order[2:]] - column[order[:-2]]) / wide
    return rank, distance


def good_sets() -> Said:
    rng, of_one, of_many = np.random.default_rng(28), 0.0, 0.0
    for case in range(200):
        normal = rng.normal(size=2000)
        f = (normal, rng.exponential(size=2000), np.where(rng.random(2000) < 0.3, normal, 5 + normal))[
            case % 3
        ]
        gamma = 1.0 if case < 5 else rng.integers(100, 1901) / 2000
        of_one = max(of_one, abs((f <= np.sort(f)[round(gamma * 2000) - 1]).mean() - gamma))
    for case in range(60):
        m = 2 if case < 50 else 3
        turned = rng.normal(size=(m, m))
        f = rng.normal(size=(1000, m))
        rank, distance = _by_rank(f @ turned if case % 2 else np.abs(f) ** 1.5)
        gamma = rng.uniform(0.02, 0.98)
        last = np.lexsort((-distance, rank))[math.ceil(gamma * 1000) - 1]
        inside = (rank < rank[last]) | ((rank == rank[last]) & (distance >= distance[last]))
        of_many = max(of_many, abs(inside.mean() - gamma))
    texts = f"masses are off by {of_one:.0e} with one objective, {of_many:.4f} with two or three"
    return _exact(of_one <= 1e-12 and of_many <= 0.01), texts


def _signs(v: np.ndarray) -> np.ndarray:
    """Order of every pair, 0 up to a relative 1e-9."""
    with np.errstate(invalid="ignore"):
        d = np.nan_to_num(v[:, None] - v, nan=0.0, posinf=math.inf, neginf=-math.inf)
    size = np.maximum(np.abs(v)[:, None], np.abs(v))
    near = np.isfinite(size) & (np.abs(d) <= 1e-9 * np.where(np.isfinite(size), size, 0))
    return np.where(near, 0, np.sign(d))


def shifted_order() -> Said:
    rng, wrong, rounded, n = np.random.default_rng(34001), 0, 0, 0
    for case in range(2000):
        n_tasks, n_points, k = int(rng.integers(1, 6)), 40, int(rng.integers(10, 150))
        f = (np.arange(200) + 0.5) / 200
        low, high = (rng.dirichlet(np.full(n_points, 0.3), n_tasks) for _ in range(2))
        z = rng.integers(0, n_points, 6)
        low[:, z[:2]] = 0
        high[:, z[2:4]] = np.where(low[:, z[2:4]] > 0, 0, high[:, z[2:4]])
        low[:, z[4]], high[:, z[4]] = low[:, z[5]], high[:, z[5]]
        low[(low == 0) & (high == 0)] = 1e-3
        low, high = (p / p.sum(axis=1, keepdims=True) for p in (low, high))
        if case % 2:  # Eq. 14, with a kernel of random similarities
            kernel = rng.random((n_tasks, n_tasks))
            kernel = (kernel + kernel.T) / 2 / n_tasks
            np.fill_diagonal(kernel, 0)
            np.fill_diagonal(kernel, 1 - kernel.sum(axis=1))
            sizes = [rng.integers(*ends, n_tasks) for ends in ((5, 50), (50, 500))]
            low, high = (kernel * m / m.sum() @ p for m, p in zip(sizes, (low, high), strict=True))
        else:
            weight = rng.dirichlet(np.ones(n_tasks))[:, None]
            low, high = weight * low, weight * high
        p_f = rng.dirichlet(np.full(200, rng.choice([0.5, 1, 100])))
        below = f <= k / 200
        gain, p_low, p_high = ((k / 200 - f) * p_f)[below].sum(), p_f[below].sum(), p_f[~below].sum()
        low, high = low.ravel(), high.ravel()
        with np.errstate(divide="ignore"):
            other = _signs(gain * low / (low * p_low + high * p_high)) != _signs(low / high)
        n += low.size * (low.size - 1) // 2
        for i, j in np.argwhere(np.triu(other)):  # floats round large ratios; fractions do not
            rounded += 1
            a, b, g, h = (Fraction(float(own)) for own in (low[i], low[j], high[i], high[j]))
            p, q = Fraction(float(p_low)), Fraction(float(p_high))
            of_ratio, of_gain = a * h - b * g, a * (b * p + h * q) - b * (a * p + g * q)
            wrong += (of_ratio > 0) != (of_gain > 0) or (of_ratio < 0) != (of_gain < 0)
    return _exact(wrong == 0), f"{wrong} of {n} pairs in another order; {rounded} were decided by fractions"


def set_similarity() -> Said:
    rng, largest, other = np.random.default_rng(36001), 0.0, 0.0
    for case in range(3000):
        n_dims = int(rng.integers(1, 4))
        n = max(int(int(rng.integers(50, 4001)) ** (1 / n_dims)) ** n_dims, 27)
        gamma, kind, size = 1.0 if case % 50 == 0 else rng.uniform(0.01, 1), case % 3, rng.integers(1, 4)
        f = rng.normal(size=n)
        if kind == 0:
            noise = rng.normal(size=n)
            g = (noise, f + noise * rng.uniform(0, 2), f, -f)[case // 3 % 4]
        elif kind == 1:  # plateaus, and losses rearranged
            f = np.floor(f * size)
            moved = rng.choice(n, n // 4 if case % 2 else n, replace=False)
            g = f.copy()
            g[moved] = g[np.roll(moved, 1) if case % 2 else rng.permutation(n)]
        else:
            f, g = np.floor(f * size), np.floor(rng.gumbel(size=n) * rng.integers(1, 4))
        a, b = (_ceil_best(own, gamma - 1e-9 / n) for own in (f, g))
        variation = 0.5 * np.abs(a / a.mean() - b / b.mean()).mean()
        gap = abs((a & b).sum() / (a | b).sum() - (1 - variation) / (1 + variation))
        largest, other = (largest, max(other, gap)) if kind == 2 else (max(largest, gap), other)
    texts = f"largest gap {largest:.0e} in 2000 pairs of sets; up to {other:.2f} in 1000 with another p(f)"
    return _exact(largest < 1e-10), texts


def two_integrals() -> Said:
    rng, largest, n, of_draws = np.random.default_rng(42001), 0.0, 200_000, 0.0
    for case in range(500):
        kind, jumps = int(rng.integers(0, 4)), []
        if kind == 0:
            k = int(rng.integers(1, 5))
            weight = rng.dirichlet(np.ones(k))
            laws = [stats.norm(*own) for own in zip(rng.normal(0, 3, k), rng.uniform(0.3, 2, k), strict=True)]
        elif kind == 1:
            k = int(rng.integers(1, 4))
            weight, jumps = rng.dirichlet(np.ones(k)), list(rng.normal(0, 3, k))
            laws = [stats.uniform(start, rng.uniform(0.5, 4)) for start in jumps]
        else:
            weight, jumps = np.ones(1), [rng.normal()] if kind == 2 else []
            laws = [
                stats.expon(jumps[0], rng.uniform(0.5, 2))
                if kind == 2
                else stats.triang(rng.uniform(0, 1), rng.normal(), rng.uniform(1, 5))
            ]
        low, high = min(own.ppf(1e-9) for own in laws) - 0.1, max(own.ppf(1 - 1e-9) for own in laws) + 0.1
        cut = rng.uniform(low, high)
        if jumps and case % 5 == 0:
            cut = jumps[0]
        elif case % 41 == 0 or case % 43 == 0:
            cut = low - 1 if case % 41 == 0 else high + 1
        truth = sum(w * own.cdf(cut) for w, own in zip(weight, laws, strict=True))
        start, cells = min(low, cut), (np.arange(n) + 0.5) / n
        of_cells = _mixture(weight, laws, start + (cut - start) * cells)
        riemann = of_cells.sum() * (cut - start) / n
        y = low + (high - low) * cells
        heights = np.sort(
            _mixture(weight, laws, y) * (y <= cut)
        )  # measures of sets by the height of p on them
        layers = (np.arange(20_000) + 0.5) / 20_000 * heights[-1]
        above = n - np.searchsorted(heights, layers, side="right")
        lebesgue = above.sum() * (high - low) / n * heights[-1] / 20_000
        largest = max(largest, abs(riemann - truth), abs(lebesgue - truth))
        if case < 20:
            sizes = rng.multinomial(1_000_000, weight)
            drawn = [
                (own.rvs(int(k), random_state=rng) <= cut).sum() for own, k in zip(laws, sizes, strict=True)
            ]
            error = max(1e-6, math.sqrt(truth * (1 - truth) / 1e6))
            of_draws = max(of_draws, abs(sum(drawn) / 1e6 - truth) / error)
    texts = (
        f"both within {largest:.0e} of the distribution function, 500 densities; draws within {of_draws:.1f} "
    )
    return _exact(largest <= 2e-3 and of_draws <= 5), texts + "standard errors"


def _mixture(weight: np.ndarray, laws: list, at: np.ndarray) -> np.ndarray:
    return np.sum([w * own.pdf(at) for w, own in zip(weight, laws, strict=True)], axis=0)
