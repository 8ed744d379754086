"""Loops for twenty drawn statements, from the texts alone, in NumPy and SciPy; one of them times Optuna.

Each gives a verdict, by a criterion that was fixed before it ran, and its numbers in words. A criterion that
`audit.py` applies to numbers of the library too is a function of its own, "judge_...".
"""

import json
import math
import timeit
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import logsumexp, ndtr, ndtri

from benchmarks.studies.papers import data
from benchmarks.studies.papers.rows import Verdict, standard_error
from benchmarks.studies.papers.runs import Arrays

AGREES, DIFFERS, APART = Verdict.AGREES, Verdict.DIFFERS, Verdict.NOT_TOLD_APART
Said = tuple[Verdict, str]


def run(name: str) -> Arrays:
    """A unit: the verdict and the numbers of a loop."""
    verdict, numbers = globals()[name]()
    return {"verdict": np.array(str(verdict)), "numbers": np.array(numbers)}


def _judged(agrees: Any, differs: Any) -> Verdict:
    return DIFFERS if differs else AGREES if agrees else APART


def _exact(holds: Any) -> Verdict:
    return AGREES if holds else DIFFERS


def _folder() -> Path:
    folder = data.folder()
    assert folder is not None, "units that need tables are left out without PARZAX_DATA"
    return folder


def _best(f: np.ndarray, level: float, rounded: Callable[[float], int] = math.floor) -> np.ndarray:
    """Rows up to the loss of the floor(level n)-th, or ceil, ties included."""
    step = 1e-9 if rounded is math.floor else -1e-9
    return f <= np.sort(f)[max(rounded(level * len(f) + step), 1) - 1]


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
    of_c, of_x = (c, np.zeros(1000), [(0.0, 1.0)]), (u, np.where(left, 0, -1), [x])
    return [of_c, of_x, (v, np.where(left, -1, 0), [y])], np.where(left, u, v)


disjoint = partial(_activation, x=(-5, -2), y=(2, 5))
overlap = partial(_activation, x=(-5, 2), y=(-2, 5))


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
    folder, n, foreign, without, inactive, drawn = _folder() / "yahpo", 0, 0, 0, 0, set()
    header = json.loads((folder / "rbv2_super2021.space.json").read_text(encoding="utf-8"))
    choices = next(own["choices"] for own in header["parameters"] if own["name"] == "learner_id")
    for log in map(np.load, (folder / f"rbv2_super2021_{task}.npz" for task in (1053, 15))):
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
    texts = f"{n} rows: {foreign} entries of another learner, {without} rows without any of their own"
    return _exact(holds), f"{texts}; {len(drawn)} learners"


# From 0.5 outward, both ways.
LEVELS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])


def growing(n_seeds: int = 40) -> list[list[Problem]]:
    """Logs of the moving problem, and of the disjoint one, where x and y are not always active."""
    seeds = [[[4000 + seed, k] for seed in range(n_seeds)] for k in (0, 1)]
    return [
        [draw(np.random.default_rng(seed)) for seed in own]
        for draw, own in zip((moving, disjoint), seeds, strict=True)
    ]


def moving_grow() -> Said:
    return judge_steps(*(np.array([_shares(log, LEVELS) for log in own]) for own in growing()))


def judge_steps(a: np.ndarray, b: np.ndarray) -> Said:
    """Importances (seeds, levels, parameters) of the two problems of `growing`."""
    paths = [(j, path) for j in (1, 2) for path in ([5, 4, 3, 2, 1, 0], [5, 6, 7, 8, 9, 10])]
    steps = [a[:, after, j] - a[:, before, j] for j, path in paths for before, after in pairwise(path)]
    rises = [a[:, path[-1], j] - a[:, path[0], j] for j, path in paths]
    down = [d.mean() for d in steps if d.mean() < -2 * standard_error(d)]
    own, other = a.mean(axis=0), b.mean(axis=0)
    unlike = bool(max(other[1:5, 2].max(), other[6:10, 1].max()) < 0.01 < own[[1, 9], 1:].min())
    grows = all(d.mean() > max(2 * standard_error(d), 0.05) for d in rises)
    fails = any(d < -0.01 for d in down) or any(d.mean() < 2 * standard_error(d) for d in rises)
    at = ", ".join(f"{x:.3f}" for x in own[[0, 1, 5, 9, 10], 1])
    falls = ", ".join(f"{d:.3f}" for d in down) or "none"
    texts = f"x at 0.05, 0.1, 0.5, 0.9, 0.95: {at}; steps down, of 20: {falls}"
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
        i = int(rng.choice(np.array([len(cuts) - 1, rng.integers(len(cuts))])))
        j = int(rng.choice(np.array([i, 0, rng.integers(0, i + 1)])))
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


def extended_marginals() -> Said:
    rng, wrong, n, absent, off = np.random.default_rng(20), 0, 0, 0, 0.0
    for _ in range(1000):
        n_rows, inactive = int(rng.integers(5, 501)), rng.random(rng.integers(1, 6)) < 0.3
        regime, values, f = _conditional(rng, n_rows, inactive, bool(rng.integers(2)))
        outer = rng.choice([1.0, rng.random()])
        inner = rng.choice([outer * rng.random(), outer, 1e-9])
        regimes, (q, p) = _atoms(regime, values, _best(f, outer, math.ceil), _best(f, inner, math.ceil))
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
        regimes, (q, p) = _atoms(regime, values, _best(f, outer, math.ceil), _best(f, inner, math.ceil))
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
                k, mass = np.arange(len(laws[i])), laws[i] if same else rng.dirichlet(np.ones(len(laws[i])))
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
        outer = int(rng.choice(np.array([1000, rng.integers(2, 1001)])))
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
    ours, mdi, anova = (timeit.timeit(own, number=1) for own in methods)
    levels, errors, right = np.arange(1, 20) * 0.05, [], []
    for own in (disjoint, overlap, moving):
        truth = np.array([_exact_shares(own, level) for level in levels])
        found = np.array([_shares(own(np.random.default_rng(seed)), levels) for seed in range(41001, 41011)])
        errors.append(np.abs(found - truth).mean(axis=(1, 2)))
        order = np.sort(truth, axis=1)
        clear = order[:, -1] - order[:, -2] > 0.1
        right.append(float((found.argmax(axis=2) == truth.argmax(axis=1))[:, clear].mean()))
    error, fast = max(e.mean() for e in errors), anova >= 10 * ours and mdi > ours
    wrong = any(e.mean() - 2 * standard_error(e) > 0.05 for e in errors) or min(right) < 0.85
    texts = f"{anova / ours:.0f} times as fast as f-ANOVA ({n_rows} rows); error of importances {error:.3f}, "
    texts += f"first parameter right in {min(right):.2f}"
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
        n, spread = len(x), x.std(axis=0, ddof=1) if len(x) > 1 else np.zeros(2)
        width = np.maximum(1.059 * spread * n ** (-1 / 6), 1.0 if n < 10 else 0.1)
        self.centre, self.width = np.vstack([x, [[0, 0]]]), np.vstack([np.tile(width, (n, 1)), [[10.0] * 2]])
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


def _relative(gamma: Any, ratio: Any) -> Any:
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

    def variation(counts: np.ndarray) -> float:
        shares = counts.sum(axis=1) / counts.sum(axis=(1, 2))[:, None]
        return 0.5 * float(np.abs(shares[0] - shares[1]).sum())

    def corrected(counts: np.ndarray, times: int) -> float:
        """Less what runs of one method, by exchange of the methods' names, have."""
        swaps = (rng.random(n)[:, None] < 0.5 for _ in range(times))
        chance = [variation(np.where(swap, counts, counts[::-1])) for swap in swaps]
        return variation(counts) - float(np.mean(chance))

    for middle in (0.5, 2.3):
        counts = np.zeros((2, n, 100))
        for i, naive in np.ndindex(n, 2):
            start = np.random.default_rng([8000 + i, 99, int(middle * 10)]).uniform(-5, 5, (10, 2))
            own = np.random.default_rng([8000 + i, int(middle * 10), naive])
            x = _two_discs(own, start, middle, bool(naive))
            counts[naive, i] = np.histogram2d(x[:, 0], x[:, 1], 10, [[-5, 5]] * 2)[0].ravel()
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
        is_mlp = "valid_mse" in arrays
        self.losses = arrays["valid_mse" if is_mlp else "valid_error"].astype(float)
        self.n_seeds, self.index = (~np.isnan(self.losses)).sum(axis=1), arrays["index"]
        size, runtime = (
            np.broadcast_to(arrays[own].astype(float).reshape(len(self.index), -1), self.losses.shape)
            for own in ("n_params" if is_mlp else "size_mb", "runtime")
        )
        self.constraints = np.stack([size, runtime], axis=-1)
        self.limits = [header["constraints"][own]["thresholds"] for own in ("size", "runtime")]
        self.shape = sizes = np.array(header["shape"])
        self.ends = np.cumsum([0, *sizes])
        self.parameter = d = np.repeat(np.arange(len(sizes)), sizes)
        is_ordinal = np.array([own["kind"] == "ordinal" for own in header["hyperparameters"]])
        value = np.arange(len(d)) - self.ends[d]
        self.other, self.is_ordinal = d[:, None] != d, is_ordinal[d]
        self.distance = np.where(self.other, np.inf, (value[:, None] - value) / (sizes[d] - 1))
        self.of_category = np.where(self.other, 0, np.where(np.eye(len(d)), 0.8, 0.2 / (sizes[d] - 1)))
        self.one_hot = (self.index[:, d] == value).astype(float)

    def density(self, rows: np.ndarray) -> tuple[np.ndarray, ...]:
        """Rows, kernels (value, centre), and their logs at the rows."""
        n, d = len(rows), len(self.shape)
        spread = (self.index[rows] / (self.shape - 1)).std(axis=0, ddof=1) if n > 1 else np.zeros(d)
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
        own, values = self.index[rows[np.minimum(chosen, len(rows) - 1)]], []
        for d, size in enumerate(self.shape):
            block = slice(self.ends[d], self.ends[d + 1])
            p = np.where(chosen == len(rows), 1 / size, kernel[block, block][:, own[:, d]])
            values.append(np.minimum((p.cumsum(axis=0) < rng.random(n)).sum(axis=0), size - 1))
        return np.asarray(np.ravel_multi_index(values, self.shape))

    def search(self, limits: list[float], augmented: bool, seed: int, n: int) -> np.ndarray:
        """(n,) best feasible losses so far of c-TPE; with 200 known sizes if it is augmented."""
        start, rng = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2, int(augmented)])
        rows, f, c = start.integers(0, len(self.index), 10).tolist(), np.zeros(n), np.zeros((n, len(limits)))
        known = start.integers(0, len(self.index), 200 * augmented)
        for i in range(n):
            if i >= 10:
                x = np.array(rows)
                groups = [(x, _groups(f[:i], np.all(c[:i] <= limits, axis=1)))]
                for k, limit in enumerate(limits):
                    more = known[: 0 if k else None]
                    own, amount = np.r_[x, more], np.r_[c[:i, k], self.constraints[more, 0, k]]
                    groups.append((own, amount <= max(limit, amount.min())))
                below, score = [self.density(own[low]) for own, low in groups], 0.0
                candidates = np.concatenate([self.sample(own, rng, 24) for own in below])
                for (own, low), density in zip(groups, below, strict=True):
                    if not low.all():
                        ratio = self.at(density, candidates) / self.at(self.density(own[~low]), candidates)
                        score = score + np.log(_relative(low.mean(), ratio))
                rows.append(int(candidates[np.argmax(score)]))
            trained = rng.integers(self.n_seeds[rows[i]])
            f[i], c[i] = self.losses[rows[i], trained], self.constraints[rows[i], trained, : len(limits)]
        return np.minimum.accumulate(np.where((c <= limits).all(axis=1), f, np.inf))

    def bad(self, limits: list[float]) -> float:
        """The 90 % quantile of the feasible losses."""
        feasible = (self.constraints[..., : len(limits)] <= limits).all(axis=-1)
        return float(np.nanquantile(self.losses[feasible], 0.9))


TABLES = (
    "hpolib/slice_localization", "hpolib/naval_propulsion", "hpolib/parkinsons_telemonitoring",
    "nasbench201/cifar10", "nasbench201/imagenet16_120",
)  # fmt: skip


def augmentation(n_seeds: int = 8) -> Said:
    found = []
    for table, level, n_limits in product(map(Table, TABLES), ("0.1", "0.5", "0.9"), (1, 2)):
        limits, n = [own[level] for own in table.limits[:n_limits]], 100 if level == "0.1" else 200
        runs = [[table.search(limits, own, seed, n) for seed in range(n_seeds)] for own in (True, False)]
        found.append((np.array(runs)[..., 49::50], table.bad(limits)))
    return judge_augmentation(found)


def judge_augmentation(found: list[tuple[np.ndarray, float]]) -> Said:
    """Best feasible losses (with and without, seeds, budgets), two budgets at 0.1 and four at 0.5 and 0.9.

    Beside them the loss that counts where no row is feasible.
    """
    wins, logs = [], []  # (settings, seeds with, seeds without, budgets), (settings, 2, seeds, budgets)
    for best, bad in found:
        if best.shape[-1] == 2:
            wins.append(0.5 * ((best[0][:, None] < best[1]) + 1.0 - (best[0][:, None] > best[1])))
        else:
            logs.append(np.log(np.minimum(best, bad)))
    n_seeds = found[0][0].shape[1]
    won, log, rng, drawn = np.array(wins), np.array(logs), np.random.default_rng(13), []
    for _ in range(1000):
        i, j = rng.integers(0, n_seeds, (2, len(log), n_seeds, 1))
        k = np.arange(len(log))[:, None, None]
        ratio = np.exp((log[k, 0, i] - log[k, 1, j]).mean(axis=(0, 1, 2)))
        k, i, j = k[: len(won)], i[: len(won)], j[: len(won)].swapaxes(1, 2)
        drawn.append([*won[k, i, j].mean(axis=(0, 1, 2)), *ratio])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    number = np.r_[won.mean(axis=(0, 1, 2)), np.exp((log[:, 0] - log[:, 1]).mean(axis=(0, 1)))]
    worse = ((number[2:] > 1.15) & (low[2:] > 1)).any()
    holds, fails = low[:2].min() > 0.5 and high[2:].max() <= 1.15, high[:2].max() < 0.55 or worse
    cells = [f"{x:.2f} ({a:.2f}, {b:.2f})" for x, a, b in zip(number, low, high, strict=True)]
    texts = f"{n_seeds} seeds; at 0.1 it wins with probability {', '.join(cells[:2])} after 50, 100; ratio "
    texts += f"of losses at 0.5 and 0.9 together {', '.join(cells[2:])} after 50, 100, 150, 200"
    return _judged(bool(holds), bool(fails)), texts


def slopes() -> Said:
    rng, n, n_equal, n_one, wrong, off = np.random.default_rng(17), 0, 0, 0, 0, 0.0
    for case in range(20_000):
        size, kind = int(rng.integers(2, 7)), rng.random()
        r, gamma = 10 ** rng.uniform(-3, 3, size), rng.random(size).clip(1e-9, 1 - 1e-9)
        i, j = rng.choice(size, 2, replace=False)
        if kind < 0.3:
            gamma[j], r[j] = (1.0, r[j]) if kind < 0.15 else (gamma[i], r[i])
        elif kind < 0.4:
            gamma[rng.integers(size)] = 1.0
        elif kind < 0.5:
            r[j] = r[i] * rng.uniform(1, 3)
        i, j = (j, i) if gamma[i] > gamma[j] else (i, j)
        slope = _relative(gamma, r).prod() * (1 - gamma) / r**2 * _relative(gamma, r)
        for k in (i, j) if case < 4000 else ():  # a complex step
            z = r + 1e-30j * (np.arange(size) == k)
            step = _relative(gamma, z).prod().imag / 1e-30
            off = max(off, abs(step - slope[k]) / (abs(slope[k]) or 1))
        with np.errstate(divide="ignore"):
            bounds = r + gamma / (1 - gamma) * r**2
        if bounds[i] <= bounds[j]:
            n, n_one, same = n + 1, n_one + (gamma[j] == 1), gamma[i] == gamma[j] and r[i] == r[j]
            wrong += slope[i] < slope[j] * (1 - 1e-12) or slope[j] < 0
            wrong += (slope[j] == 0) != (gamma[j] == 1)
            n_equal, wrong = n_equal + same, wrong + (same and abs(slope[i] - slope[j]) > 1e-12 * slope[i])
    texts = f"{wrong} exceptions in {n} cases, {n_equal} of them with equal slopes, {n_one} with gamma_j = 1"
    return _exact(wrong == 0 and off <= 1e-10), texts


def loose_constraint(n: int = 1000) -> Said:
    gammas, ratios = [], []
    for x, f, excess in discs(n):
        feasible = excess <= 0
        gammas.append([_groups(f, feasible).mean(), feasible.mean()])
        ratios.append(_ratio(x, feasible, PLACES))
    return judge_shares(np.array(gammas), np.array(ratios))


# A grid, and the centres of the constraint and of the objective.
AXIS = np.linspace(-5, 5, 51)
PLACES = np.vstack([list(product(AXIS, AXIS)), [[1.0, 1.0], [-2.0, -2.0]]])


def discs(n: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Draws of 200 rows of the plane, their losses, and how far they are from feasible."""
    for seed in range(n):
        x = np.random.default_rng(21000 + seed).uniform(-5, 5, (200, 2))
        yield x, ((x + 2) ** 2).sum(axis=1), ((x - 1) ** 2).sum(axis=1) - 16


def judge_shares(gammas: np.ndarray, ratios: np.ndarray) -> Said:
    """Shares (draws, 2) of the objective and the constraint, ratios (draws, places) of the constraint."""
    rng, n, (g0, g1), at_centre = np.random.default_rng(1), len(gammas), gammas.T, ratios[:, -2]
    likelihood = [np.log(_relative(g1, own)) for own in ratios[:, -2:].T]
    contrast = (likelihood[0] - likelihood[1]) / np.log(at_centre / ratios[:, -1])
    far = np.linalg.norm(PLACES[ratios[:, :-2].argmax(axis=1)] - 1, axis=1)
    by_g0, by_g1 = ((1 - g) / (g * at_centre + 1 - g) for g in (g0, g1))
    drawn = rng.integers(n, size=(500, n))
    medians = [np.median(own[drawn], axis=1) for own in (g0, far, by_g1, by_g0 - by_g1)]
    ends = [np.percentile(own, [2.5, 97.5]) for own in medians]
    shares = np.array([(g1 >= 5 * g0).mean(), (contrast <= 0.5).mean()])
    likely = shares + 2 * np.sqrt(shares * (1 - shares) / n)
    near = 0.45 <= g1.mean() <= 0.55
    holds = ends[1][1] <= 2 and ends[2][1] <= 0.5 and ends[3][0] >= 0.2 and shares.min() >= 0.9
    fails = ends[1][0] > 2 or ends[2][0] > 0.5 or ends[3][1] < 0.2 or likely.min() < 0.9
    texts = f"{n} draws: gamma_1 {g1.mean():.2f}, median gamma_0 {np.median(g0):.3f} ({ends[0][0]:.3f}, "
    texts += (
        f"{ends[0][1]:.3f}), at most 0.025 in {100 * (g0 <= 0.025).mean():.1f} %; slope of the log score "
    )
    texts += (
        f"in log r_1 at the centre {np.median(by_g1):.2f}, with gamma_0 for gamma_1 {np.median(by_g0):.2f}"
    )
    holds, fails = holds and np.median(g0) <= 0.05, fails or ends[0][0] > 0.05
    return _judged(bool(near and holds), bool(not near or fails)), texts


# --- meta-learning TPE -------------------------------------------------------------------------------------


def own_density() -> Said:
    rng, n, wrong, least = np.random.default_rng(3), 0, 0, math.inf
    for _ in range(600):
        n_rows, has_prior = int(rng.choice([1, 2, 5, 20, 200, 1000])), bool(rng.integers(2))
        at = rng.choice(n_rows, min(n_rows, 50), replace=False)
        logs, tops, prior = np.zeros((len(at), n_rows)), np.zeros(len(at)), np.zeros(len(at))
        for _ in range(rng.integers(1, 27)):
            kind, size, x = rng.integers(4), int(rng.integers(2, 11)), rng.random(n_rows) * 2
            x[rng.random(n_rows) < 0.2] = x[0]
            width, u = 1.0, np.zeros((len(at), n_rows))
            if kind == 3:  # categories
                x, other = (x / 2 * size).astype(int), rng.choice([0, rng.random(), 1]) * (size - 1) / size
                kernel, top = np.where(x[at][:, None] == x, 1 - other, other / (size - 1)), 1 - other
            else:  # normal, normal and cut off, Epanechnikov's
                width = 10 ** rng.uniform(-3, 0) * 2
                u = (x[at][:, None] - x) / width
                inside = ndtr((2 - x) / width) - ndtr(-x / width) if kind == 1 else np.ones(n_rows)
                kernel = np.maximum(1 - u * u, 0) if kind == 2 else np.exp(-0.5 * u * u) / inside
                top = 1 / inside[at]
            with np.errstate(divide="ignore"):
                logs, tops = logs + np.log(kernel / width), tops + np.log(top / width)
            prior -= math.log(size if kind == 3 else 2)
        log_p = np.asarray(logsumexp(np.c_[logs, prior] if has_prior else logs, axis=1))
        log_p -= math.log(n_rows + has_prior)
        wrong += int((~np.isfinite(log_p) | (log_p < tops - math.log(n_rows + 1) - 1e-9)).sum())
        n, least = n + len(at), min(least, float(log_p.min()))
    return _exact(wrong == 0), f"{wrong} of {n} rows without density; least log density {least:.1f}"


def bayes() -> Said:
    rng, off = np.random.default_rng(14), np.zeros(2)
    for case in range(1050):
        if case < 1000:  # masses
            shape = tuple(int(rng.integers(low, high)) for low, high in ((2, 41), (2, 21), (1, 6)))
            joint = rng.dirichlet(np.full(math.prod(shape), 10 ** rng.uniform(-1, 1))).reshape(shape)
            joint[rng.random(shape) < 0.1] = 0
            joint, f, step = joint / joint.sum(), np.cumsum(rng.random(shape[0])), 1.0
            cut = f[rng.choice(np.array([0, shape[0] - 1, rng.integers(shape[0])]))]
        else:  # mixtures of normals, on a fine grid of losses, at ten points
            n, f, step, cut = int(rng.integers(1, 6)), np.linspace(-8, 8, 2001), 16 / 2000, rng.normal()
            weight, of_task = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(3), n)
            means, spreads, x = rng.normal(size=(2, n)), rng.uniform(0.3, 1, (2, n)), rng.normal(size=10)
            of_f, of_x = (stats.norm.pdf(at[:, None], means[i], spreads[i]) for i, at in enumerate((f, x)))
            joint = np.einsum("k,fk,xk,kt->fxt", weight, of_f, of_x, of_task)
        gain, p_x = np.maximum(cut - f, 0), joint.sum(axis=0) * step
        p_f = joint.sum(axis=(1, 2), keepdims=True)
        left = np.tensordot(gain, joint / np.where(p_x > 0, p_x, 1), 1) * step
        likelihood = joint / np.where(p_f > 0, p_f, 1)
        right = np.tensordot(gain, likelihood * p_f, 1) * step / np.where(p_x > 0, p_x, 1)
        gap = np.abs(left - right).max() / (np.abs(left).max() or 1)
        off[case // 1000] = max(off[case // 1000], gap)
    texts = f"relative gap {off[0]:.0e} in 1000 joint masses, {off[1]:.0e} in 50 joint densities"
    return _exact(off[0] <= 1e-12 and off[1] <= 1e-6), texts


def both_groups() -> Said:
    grid, found = np.arange(21) / 20, []
    for seed in range(2700, 2720):
        rng = np.random.default_rng(seed)
        moved = rng.uniform(-0.2, 0.2)
        f, of_source, source = (grid - 0.3 - moved) ** 2, (grid - 0.4 - moved) ** 2, rng.integers(0, 21, 200)
        source = source[np.argsort(of_source[source], kind="stable")]
        rows, largest = rng.integers(0, 21, 10).tolist(), []
        for n in range(10, 2001):
            order = np.array(rows)[np.argsort(f[rows], kind="stable")]
            kernel = np.exp(-0.5 * ((grid[:, None] - grid) / (0.2 * n**-0.2)) ** 2) + 1e-6
            k = math.ceil(0.1 * n)
            pairs = (order[:k], source[:20]), (order[k:], source[20:])
            counts = [np.bincount(a, minlength=21) + np.bincount(b, minlength=21) / (1 + n) for a, b in pairs]
            low, high = (kernel / kernel.sum(axis=0) @ (own / own.sum()) for own in counts)
            score = 0.1 * low / (0.1 * low + 0.9 * high)
            if n in (500, 1000, 2000):
                largest.append(score[np.intersect1d(order[:k], order[k:])].max(initial=0.0))
            candidates = rng.choice(21, 24, p=low / low.sum())
            best = candidates[np.argmax(score[candidates])]
            rows.append(int(rng.integers(21) if rng.random() < 0.15 else best))
        found.append(largest)
    n_above = int((np.array(found) >= 0.01).all(axis=1).sum())
    medians = ", ".join(f"{own:.2f}" for own in np.median(found, axis=0))
    verdict = _judged(n_above > 0, np.max(found, axis=0)[2] < 1e-3)
    return verdict, f"in {n_above} of 20 runs above 0.01; medians {medians} after 500, 1000, 2000 rows"


def _by_rank(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Non-domination ranks and crowding distances."""
    beats = np.asarray((f[:, None] <= f).all(axis=2) & (f[:, None] < f).any(axis=2))
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
        f, gamma = rng.normal(size=2000), 1.0 if case < 5 else rng.integers(100, 1901) / 2000
        f = (f, np.exp(f), np.where(rng.random(2000) < 0.3, f, 5 + f))[case % 3]
        of_one = max(of_one, abs(_best(f, gamma).mean() - gamma))
    for case in range(60):
        m, gamma = 2 if case < 50 else 3, rng.uniform(0.02, 0.98)
        f = rng.normal(size=(1000, m))
        rank, distance = _by_rank(f @ rng.normal(size=(m, m)) if case % 2 else np.abs(f) ** 1.5)
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
    rng, wrong, rounded, n, f = np.random.default_rng(34001), 0, 0, 0, (np.arange(200) + 0.5) / 200
    for case in range(2000):
        n_tasks, k, z = int(rng.integers(1, 6)), int(rng.integers(10, 150)), rng.integers(0, 40, 6)
        low, high = rng.dirichlet(np.full(40, 0.3), (2, n_tasks))
        low[:, z[:2]], high[:, z[2:4]] = 0, np.where(np.isin(z[2:4], z[:2]), high[:, z[2:4]], 0)
        low[:, z[4]], high[:, z[4]] = low[:, z[5]], high[:, z[5]]  # ratios of 0, without end, and equal
        low[(low == 0) & (high == 0)] = 1e-3
        low, high = (p / p.sum(axis=1, keepdims=True) for p in (low, high))
        if case % 2:  # Eq. 14, with a kernel of random similarities
            kernel = np.triu(rng.random((n_tasks, n_tasks)), 1) / n_tasks
            kernel += kernel.T
            np.fill_diagonal(kernel, 1 - kernel.sum(axis=1))
            sizes = rng.integers(5, 50, n_tasks), rng.integers(50, 500, n_tasks)
            low, high = (kernel * m / m.sum() @ p for m, p in zip(sizes, (low, high), strict=True))
        else:
            low, high = rng.dirichlet(np.ones(n_tasks))[:, None] * np.array([low, high])
        p_f, below = rng.dirichlet(np.full(200, rng.choice([0.5, 1, 100]))), f <= k / 200
        gain, p, q = ((k / 200 - f) * p_f)[below].sum(), p_f[below].sum(), p_f[~below].sum()
        low, high, n = low.ravel(), high.ravel(), n + math.comb(low.size, 2)
        with np.errstate(divide="ignore"):
            other = _signs(gain * low / (low * p + high * q)) != _signs(low / high)
        for i, j in np.argwhere(np.triu(other)):  # floats round large ratios; fractions do not
            a, b, g, h, u, v = (Fraction(float(x)) for x in (low[i], low[j], high[i], high[j], p, q))
            of_ratio, of_gain = a * h - b * g, a * (b * u + h * v) - b * (a * u + g * v)
            wrong += (of_ratio > 0) != (of_gain > 0) or (of_ratio < 0) != (of_gain < 0)
            rounded += 1
    return _exact(wrong == 0), f"{wrong} of {n} pairs in another order; {rounded} were decided by fractions"


def set_similarity() -> Said:
    rng, off = np.random.default_rng(36001), np.zeros(3)
    for case in range(3000):
        n_dims, kind, steps = int(rng.integers(1, 4)), case % 3, int(rng.integers(1, 4))
        n = max(int(int(rng.integers(50, 4001)) ** (1 / n_dims)) ** n_dims, 27)
        gamma = 1.0 if case % 50 == 0 else rng.uniform(0.01, 1)
        f, noise = rng.normal(size=(2, n))
        if kind == 0:
            g = (noise, f + noise * rng.uniform(0, 2), f, -f)[case // 3 % 4]
        else:  # plateaus: the same losses rearranged, or others
            f = np.floor(f * steps)
            g = rng.permutation(f) if kind == 1 else np.floor(rng.gumbel(size=n) * rng.integers(1, 4))
        a, b = (_best(own, gamma, math.ceil) for own in (f, g))
        variation = 0.5 * np.abs(a / a.mean() - b / b.mean()).mean()
        gap = abs((a & b).sum() / (a | b).sum() - (1 - variation) / (1 + variation))
        off[kind] = max(off[kind], gap)
    largest = off[:2].max()
    texts = f"largest gap {largest:.0e} in 2000 pairs of sets; up to {off[2]:.2f} in 1000 with another p(f)"
    return _exact(largest < 1e-10), texts


def two_integrals() -> Said:
    rng, off, n, of_draws = np.random.default_rng(42001), 0.0, 200_000, 0.0
    laws: tuple = (stats.norm, stats.uniform, stats.expon, partial(stats.triang, 0.3))
    cells = (np.arange(n) + 0.5) / n
    for case in range(500):
        k = int(rng.integers(1, 5))
        weight, starts = rng.dirichlet(np.ones(k)), rng.normal(0, 3, k)
        law: Any = laws[case % 4](starts, rng.uniform(0.3, 3, k))
        low, high = law.ppf(1e-9).min() - 0.1, law.ppf(1 - 1e-9).max() + 0.1
        cut = starts[0] if case % 5 == 0 else rng.uniform(low, high)  # at a jump, if there is one
        cut = low - 1 if case % 41 == 0 else high + 1 if case % 43 == 0 else cut
        truth, start = law.cdf(cut) @ weight, min(low, cut)
        riemann = (law.pdf((start + (cut - start) * cells)[:, None]) @ weight).mean() * (cut - start)
        y = low + (high - low) * cells
        heights = np.sort(law.pdf(y[:, None]) @ weight * (y <= cut))
        layers = (np.arange(20_000) + 0.5) / 20_000 * heights[-1]  # each with the measure of the set above it
        above = n - np.searchsorted(heights, layers, side="right")
        lebesgue = above.mean() / n * (high - low) * heights[-1]
        off = max(off, abs(riemann - truth), abs(lebesgue - truth))
        if case < 20:
            drawn = law.rvs((1_000_000, k), rng)[np.arange(1_000_000), rng.choice(k, 1_000_000, p=weight)]
            error = max(1e-6, math.sqrt(truth * (1 - truth) / 1e6))
            of_draws = max(of_draws, abs((drawn <= cut).mean() - truth) / error)
    texts = f"both within {off:.0e} of the distribution function, 500 densities; draws within {of_draws:.1f} "
    return _exact(off <= 2e-3 and of_draws <= 5), f"{texts}standard errors"
