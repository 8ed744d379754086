"""Loops for twenty drawn statements, from the texts alone, in NumPy and SciPy; Optuna splits in one of them.

Each gives a verdict, by a criterion that was fixed before it ran, and its numbers in words.
"""

import json
import math
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg, stats
from scipy.special import ndtr, ndtri

from benchmarks.studies.papers import data
from benchmarks.studies.papers.rows import Verdict
from benchmarks.studies.papers.runs import Arrays

AGREES, DIFFERS, APART = Verdict.AGREES, Verdict.DIFFERS, Verdict.NOT_TOLD_APART
Said = tuple[Verdict, str]
BUDGETS = (50, 100, 150, 200)


def run(name: str) -> Arrays:
    """A unit: the verdict and the numbers of a loop."""
    verdict, numbers = globals()[name]()
    return {"verdict": np.array(str(verdict)), "numbers": np.array(numbers)}


def _judged(agrees: bool, differs: bool) -> Verdict:
    return DIFFERS if differs else AGREES if agrees else APART


def _statistic(result: Any) -> float:
    return float(result.statistic)


def _p_value(result: Any) -> float:
    return float(result.pvalue)


def _folder() -> Path:
    folder = data.folder()
    assert folder is not None, "units that need tables are left out without PARZAX_DATA"
    return folder


class Parzen:
    """Product of Gaussian kernels cut off at [low, high]^D; bandwidth 1.06 sd n^(-1/(4 + D)).

    At least ``least`` of the range. With ``prior`` the uniform density has weight 1 / (n + 1).
    """

    def __init__(
        self, x: np.ndarray, low: float, high: float, prior: bool = False, least: float = 1e-3
    ) -> None:
        self.x, self.low, self.high = np.atleast_2d(x), low, high
        n, d = self.x.shape
        spread = self.x.std(0, ddof=1) if n > 1 else np.full(d, (high - low) / math.sqrt(12))
        self.width = np.maximum(1.06 * spread * n ** (-1 / (4 + d)), least * (high - low))
        self.below = ndtr((low - self.x) / self.width)
        self.inside = ndtr((high - self.x) / self.width) - self.below
        self.weight = 1 / (n + 1) if prior else 0.0

    def kernel(self, at: np.ndarray, d: int) -> np.ndarray:
        z = (at[:, None] - self.x[None, :, d]) / self.width[d]
        return np.exp(-0.5 * z * z) / (math.sqrt(2 * math.pi) * self.width[d] * self.inside[:, d])

    def __call__(self, at: np.ndarray, dims: Any = None) -> np.ndarray:
        dims = range(self.x.shape[1]) if dims is None else dims
        p = np.ones((len(at), len(self.x)))
        for d in dims:
            p *= self.kernel(at[:, d], d)
        return (1 - self.weight) * p.mean(1) + self.weight / (self.high - self.low) ** len(dims)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        i = rng.integers(len(self.x), size=n)
        u = self.below[i] + rng.random((n, self.x.shape[1])) * self.inside[i]
        x = np.clip(self.x[i] + self.width * ndtri(u), self.low, self.high)
        is_flat = rng.random(n) < self.weight
        x[is_flat] = rng.uniform(self.low, self.high, (is_flat.sum(), self.x.shape[1]))
        return x


def reasons() -> Arrays:
    """A unit: what was tried after the verdicts, where a loop is weak or no row confirms it, in words."""
    runs = [[_meta_learning(c, 100 + seed, least=0.1) for seed in range(4)] for c in range(5)]
    weights = [float(np.mean(np.median([own[1] for own in of_c], 0)[30:])) for of_c in runs]
    inside = np.mean(_worst_below([own[0] for of_c in runs for own in of_c]) <= 0.1)
    one, out = ([_first_feasible(own, 1000 + k) for k in range(300)] for own in ("best one", "left out"))
    p = _p_value(stats.mannwhitneyu(one, out, alternative="less"))
    texts = {"weights": ", ".join(f"{x:.3f}" for x in weights), "inside": f"{inside:.2f}", "p": f"{p:.0e}"}
    return {name: np.array(text) for name, text in texts.items()}


# --- conditional PED-ANOVA ---------------------------------------------------------------------------------


def _two_branches(seed: int, x: tuple, y: tuple) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eq. 12: c, whether x is active, the loss."""
    rng = np.random.default_rng(seed)
    c, u = rng.random(1000), rng.random(1000)
    left = c < 0.5
    return c, left, np.where(left, x[0] + u * (x[1] - x[0]), y[0] + u * (y[1] - y[0]))


def _binned() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Regime, cell and membership of the target, of x on Eq. 13, for three regions and levels of tenths."""
    _, left, f = _two_branches(0, (-5, -2), (2, 5))
    cell = np.where(left, np.clip(((f + 5) / 3 * 20).astype(int), 0, 19), 0)
    order = np.argsort(f)
    for gamma in (1.0, 0.75, 0.5):
        region = order[: _rows(gamma, 1000)]
        for level in np.arange(1, round(gamma * 10 + 1e-9)) / 10:
            b = np.zeros(1000)
            b[order[: _rows(level, 1000)]] = 1
            yield left[region].astype(int), cell[region], b[region]


def _rows(level: float, n: int) -> int:
    return math.floor(level * n + 1e-9)


def _means(keys: np.ndarray, v: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Weighted mean of v among the rows of equal key, for every row."""
    _, places = np.unique(keys, return_inverse=True)
    return (np.bincount(places, v * w) / np.bincount(places, w))[places]


def _variance(v: np.ndarray, w: np.ndarray) -> float:
    return np.sum(w * (v - np.sum(w * v)) ** 2)


def _relative(a: float, b: float) -> float:
    return abs(a - b) / b if b > 1e-20 else abs(a)


def total_variance() -> Said:
    rng, cases = np.random.default_rng(0), []
    for _ in range(500):
        sizes = rng.integers(1, 9, size=rng.integers(1, 7))
        i = np.repeat(np.arange(len(sizes)), sizes)
        w = rng.random(len(i))
        cases.append((i, rng.random(len(i)), w / w.sum()))
    for i, z, b in _binned():
        w = np.full(len(b), 1 / len(b))
        cases.append((i, _means(i * 100 + z, b, w), w))
    worst = 0.0
    for i, g, w in cases:
        mean = _means(i, g, w)
        parts = np.sum(w * _means(i, (g - mean) ** 2, w)) + _variance(mean, w)
        worst = max(worst, _relative(parts, _variance(g, w)))
    return _judged(worst < 1e-12, worst >= 1e-12), f"relative gap {worst:.1e} in {len(cases)} cases"


def inter_regime() -> Said:
    rng, cases = np.random.default_rng(1), []
    for _ in range(500):
        n, n_regimes = int(rng.integers(50, 501)), int(rng.integers(1, 7))
        i = rng.integers(n_regimes, size=n)
        z = rng.integers(1 + rng.integers(8, size=n_regimes)[i])
        cases.append((i, z, (rng.random(n) < rng.random((n_regimes, 8))[i, z]).astype(float)))
    cases += list(_binned())
    worst = 0.0
    for i, z, b in cases:
        w = np.full(len(b), 1 / len(b))
        of_g, of_b = (_variance(_means(i, v, w), w) for v in (_means(i * 100 + z, b, w), b))
        worst = max(worst, _relative(of_g, of_b))
    return _judged(worst < 1e-12, worst >= 1e-12), f"relative gap {worst:.1e} in {len(cases)} cases"


def regime_by_parents() -> Said:
    cuts = {
        "activation-disjoint": [0.5],
        "activation-overlap": [0.5],
        "regime-dependent-domain": [0.5],
        "nested-conditions": [0.5, 0.75],
        "three-way-branching": [1 / 3, 2 / 3],
    }
    n_groups = n_parameters = wrong = 0
    for path in sorted([*_folder().glob("synthetic/*.npz"), *_folder().glob("yahpo/rbv2_*.npz")]):
        log, name = np.load(path), path.stem
        header = name if name in cuts else "_".join(name.split("_")[:2])
        space = json.loads(path.with_name(f"{header}.space.json").read_text(encoding="utf-8"))["parameters"]
        names = [str(own) for own in log["names"]]
        values = log["values"].reshape(-1, len(names))
        regime = log["regime"].reshape(values.shape) if name in cuts else ~np.isnan(values)
        for own in space:
            conditions = (
                [c for r in own["regimes"] for c in r["conditions"]] if name in cuts else own["conditions"]
            )
            parents = sorted({c["parent"] for c in conditions})
            if not parents:
                continue
            n_parameters += 1
            wrong += own["name"] in parents
            columns = []
            for parent in parents:
                v = values[:, names.index(parent)]
                code = np.searchsorted(cuts[name], v, side="right") if name in cuts else np.nan_to_num(v)
                columns.append(np.where(np.isnan(v), -1, code))
            _, group = np.unique(np.stack(columns, 1), axis=0, return_inverse=True)
            pairs = np.stack([group.ravel(), regime[:, names.index(own["name"])].astype(int)], 1)
            n_groups += group.max() + 1
            wrong += len(np.unique(pairs, axis=0)) - (group.max() + 1)
    return _judged(
        wrong == 0, wrong > 0
    ), f"{wrong} exceptions in {n_groups} groups of {n_parameters} parameters"


def _density(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """On a grid of 50: kernels of Scott's width, and one wide component."""
    at = np.linspace(low, high, 50)
    cell = np.rint((values - low) / (high - low) * 49).astype(int)
    n, x = np.bincount(cell, minlength=50), at[cell]
    spread = x.std(ddof=1) if len(x) > 1 else 0.0
    quartiles = np.subtract(*np.percentile(x, [75, 25])) / 1.34
    width = 1.059 * min(spread, quartiles if quartiles > 0 else spread) * len(x) ** -0.2
    kernels = np.exp(-0.5 * ((at[:, None] - at[None]) / max(width, 0.5 * (high - low) / 49)) ** 2)
    prior = np.exp(-0.5 * ((at - (low + high) / 2) / (high - low)) ** 2)
    return (kernels / kernels.sum(0) @ n + prior / prior.sum()) / (len(x) + 1) + 1e-12


def _importances(parameters: list[list[tuple]], f: np.ndarray, level: float) -> np.ndarray:
    """Eq. 8 and 11 for gamma = 1; of a parameter its regimes: which rows, values, low, high."""
    target, variances = np.zeros(len(f), bool), []
    target[np.argsort(f, kind="stable")[: _rows(level, len(f))]] = True
    for regimes in parameters:
        v = 0.0
        for rows, x, low, high in regimes:
            alpha, beta = (rows & target).sum() / target.sum(), rows.mean()
            if alpha > 0 and rows.sum() > 1:
                p, q = _density(x[rows & target], low, high), _density(x[rows], low, high)
                v += alpha**2 / beta * np.sum(q * (p / q - 1) ** 2)
        variances.append(level**2 * v)
    return np.array(variances) / np.sum(variances)


def c_nonzero_near_one() -> Said:
    near, mirrored = np.arange(95, 100) / 100, np.arange(5, 0, -1) / 100
    verdicts, texts = [], []
    for label, x, y in (("disjoint", (-5, -2), (2, 5)), ("overlapping", (-5, 2), (-2, 5))):
        means = np.zeros((2, 10))
        for seed in range(10):
            c, left, f = _two_branches(seed, x, y)
            parameters = [[(np.ones(1000, bool), c, 0, 1)], [(left, f, *x)], [(~left, f, *y)]]
            for k, levels in enumerate((near, mirrored)):
                means[k, seed] = np.mean([_importances(parameters, f, level)[0] for level in levels])
        gap = means[0] - means[1]
        error = gap.std(ddof=1) / math.sqrt(10)
        differs = means[0].mean() < 0.02 or gap.mean() < -2 * error
        verdicts.append(_judged(gap.mean() > 2 * error, differs))
        texts.append(f"{label} {means[0].mean():.3f}, mirrored {means[1].mean():.3f} ± {error:.3f}")
    exact = np.mean((1 - near) / near)
    verdict = _judged(set(verdicts) == {AGREES}, DIFFERS in verdicts)
    return verdict, "; ".join(texts) + f"; without a KDE {exact:.3f} on both sides"


def c0_highest_at_075() -> Said:
    levels, shares = np.arange(1, 100) / 100, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        c0, c1, u, every = rng.random(1000), rng.random(1000), rng.random(1000), np.ones(1000, bool)
        inner = c0 < 0.75
        first, second = inner & (c1 < 0.5), inner & (c1 >= 0.5)
        f = np.where(first, -7 + 3 * u, np.where(second, -3 + 3 * u, 2 + 3 * u))
        parameters = [[(every, c0, 0, 1)], [(inner, c1, 0, 1)], [(first, f, -7, -4)], [(second, f, -3, 0)]]
        parameters.append([(~inner, f, 2, 5)])
        shares.append([_importances(parameters, f, level) for level in levels])
    mean = np.mean(shares, 0)
    k = int(np.argmax(mean[:, 0]))
    holds = 0.70 - 1e-9 <= levels[k] <= 0.80 + 1e-9 and mean[k, 0] > 0.9 and mean[k].argmax() == 0
    return _judged(holds, not holds), f"at {levels[k]:.2f}, {mean[k, 0]:.3f}"


# --- c-TPE -------------------------------------------------------------------------------------------------


def tpe_split() -> Said:
    import optuna
    from optuna.samplers._tpe.sampler import _split_trials

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng, wrong, study = np.random.default_rng(0), 0, optuna.create_study()
    for case in range(200):
        n, gamma = int(rng.integers(5, 201)), (0.1, 0.15, 0.25, 0.5)[case % 4]
        f = rng.permutation(n) + rng.random(n) * 0.5
        k = math.ceil(gamma * n - 1e-9)
        good = np.flatnonzero(f <= np.sort(f)[k - 1]).tolist()
        trials = [optuna.trial.create_trial(value=float(v)) for v in f]
        for i, trial in enumerate(trials):
            trial.number = i
        below, above = _split_trials(study, trials, k)
        wrong += sorted(trial.number for trial in below) != good or len(good) != k or len(above) != n - k
    return _judged(wrong == 0, wrong > 0), f"{wrong} of 200 logs split otherwise"


def _released() -> dict[str, np.ndarray]:
    """Best losses so far (tables, seeds, 200) of the released runs, by method."""
    log = np.load(_folder() / "papers" / "ctpe_released_runs.npz")
    tables = sorted({name.split("/")[1] for name in log.files})
    methods = dict.fromkeys(name.split("/")[0] for name in log.files)
    return {
        m: np.stack([np.minimum.accumulate(log[f"{m}/{t}"], 1)[:, :200] for t in tables]) for m in methods
    }


def _cells(best: dict[str, np.ndarray], other: str, base: str) -> str:
    """As in Table 3: other is worse, W, or better, B, after each budget, by signed ranks of pairs of runs."""
    cells = []
    for n in BUDGETS:
        d = np.log(best[other][..., n - 1] / best[base][..., n - 1]).ravel()
        worse, better = (_p_value(stats.wilcoxon(d, alternative=side)) for side in ("greater", "less"))
        cells.append("W" if worse < 0.01 else "B" if better < 0.01 else "N")
    return " ".join(cells)


def tpe_better_than_bo() -> Said:
    best = _released()
    cells = {other: _cells(best, other, "tpe") for other in ("turbo1", "turbo5", "cocabo")}
    last = [own[-1] for own in cells.values()]
    texts = ", ".join(f"{other} {own}" for other, own in cells.items())
    return _judged(last.count("W") >= 2 and "B" not in last, "W" not in last), texts


def hyperopt_only_cocabo() -> Said:
    lines = (_folder() / "papers" / "ctpe_table3.csv").read_text(encoding="utf-8").splitlines()[1:]
    printed = [line.split(",") for line in lines]
    ours = [cell for method, versus, _, cell in printed if versus == "our TPE" and method != "our TPE"]
    worse = [
        (m, n) for m, versus, n, cell in printed if versus == "Hyperopt" and cell == "W" and m != "CoCaBO"
    ]
    best = _released()
    released = ", ".join(
        f"{other} {_cells(best, other, 'hyperopt')}" for other in ("turbo1", "turbo5", "cocabo")
    )
    texts = f"Table 3: {ours.count('W')} of {len(ours)} cells W beside its TPE; beside Hyperopt W of others: "
    texts += ", ".join(f"{m} after {n}" for m, n in worse) + f"; released runs: {released}"
    holds = not worse and ours.count("W") * 2 > len(ours)
    return _judged(holds, not holds), texts


def _scores() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """EI, PI and r at 200 points, of 50 logs, by sums over a fine grid of losses."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n, gamma = int(rng.integers(20, 61)), rng.uniform(0.1, 0.4)
        x = rng.random((n, 1))
        f = (x[:, 0] - 0.3) ** 2 * 4 + 0.3 * rng.standard_normal(n)
        width = 1.06 * f.std() * n**-0.2
        grid = np.linspace(f.min() - 12 * width, f.max() + 12 * width, 20001)
        p_f = np.exp(-0.5 * ((grid[:, None] - f) / width) ** 2).mean(1)
        p_f /= np.trapezoid(p_f, grid)
        cdf = np.concatenate([[0], np.cumsum((p_f[1:] + p_f[:-1]) / 2 * np.diff(grid))])
        k = int(np.searchsorted(cdf, gamma))  # f* is grid[k]
        good = f <= np.sort(f)[math.ceil(gamma * n) - 1]
        at = np.linspace(0.0025, 0.9975, 200)[:, None]
        low, high = Parzen(x[good], 0, 1)(at), Parzen(x[~good], 0, 1)(at)
        below = slice(0, k + 1)
        p_x = low * np.trapezoid(p_f[below], grid[below]) + high * np.trapezoid(p_f[k:], grid[k:])
        posterior = low[:, None] * p_f[None, below] / p_x[:, None]
        ei = np.trapezoid((grid[k] - grid[below]) * posterior, grid[below], axis=1)
        yield ei, np.trapezoid(posterior, grid[below], axis=1), low / high


def ei_over_pi() -> Said:
    ratios = np.array([ei / pi for ei, pi, _ in _scores()])
    spread = float((ratios.max(1) / ratios.min(1) - 1).max())
    holds = spread < 1e-9 and ratios.min() > 0 and bool(np.isfinite(ratios).all())
    texts = f"varies by {spread:.1e}; from {ratios.min():.3g} to {ratios.max():.3g} in 50 logs"
    return _judged(holds, not holds), texts


def ei_affine_r() -> Said:
    rest, order = [], []
    for ei, _, r in _scores():
        terms = np.stack([r, np.ones_like(r)], 1)
        residual = ei - terms @ np.linalg.lstsq(terms, ei, rcond=None)[0]
        rest.append(residual.var() / ei.var())
        order.append(_statistic(stats.spearmanr(ei, r)))
    texts = (
        f"1 - R² {np.median(rest):.3f}, at least {min(rest):.2g}; rank correlation at least {min(order):.6f}"
    )
    return _judged(max(rest) < 1e-9, bool(np.mean(np.array(rest) > 1e-3) > 0.5)), texts


def tpe_linear_time() -> Said:
    rng = np.random.default_rng(0)

    def suggestion(x: np.ndarray, f: np.ndarray) -> None:
        order, k = np.argsort(f), math.ceil(math.sqrt(len(f)) / 4)
        low, high = Parzen(x[order[:k]], 0, 1), Parzen(x[order[k:]], 0, 1)
        candidates = low.sample(24, rng)
        np.argmax(low(candidates) / high(candidates))

    def gaussian_process(x: np.ndarray, f: np.ndarray) -> None:
        k = np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(-1) / 0.25) + 1e-2 * np.eye(len(x))
        factor = linalg.cho_factor(k, overwrite_a=True)
        across = np.exp(-0.5 * ((rng.random((24, 1, 6)) - x[None]) ** 2).sum(-1) / 0.25)
        np.dot(across, linalg.cho_solve(factor, f))
        linalg.cho_solve(factor, across.T)

    slopes = []
    steps: list[tuple[Callable, np.ndarray, int]] = [
        (suggestion, 2 ** np.arange(13, 19), 7),
        (gaussian_process, 2 ** np.arange(8, 13), 3),
    ]
    for step, sizes, n_times in steps:
        least = []
        for n in sizes:
            x, f, seconds = rng.random((n, 6)), rng.random(n), []
            for _ in range(n_times):
                start = time.process_time()
                step(x, f)
                seconds.append(time.process_time() - start)
            least.append(min(seconds))
        slopes.append(float(np.polyfit(np.log(sizes), np.log(least), 1)[0]))
    of_tpe, of_gp = slopes
    differs = of_tpe > 1.3 or of_gp <= of_tpe
    return _judged(0.8 <= of_tpe <= 1.2, differs), f"exponent {of_tpe:.2f}, of a Gaussian process {of_gp:.2f}"


def _first_feasible(variant: str, seed: int) -> int:
    """Evaluations until the first feasible one, at most 150, else 151."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-5, 5, (10, 2))
    while ((x - 1) ** 2).sum(1).min() > 0.16:
        if len(x) == 150:
            return 151
        constraint = ((x - 1) ** 2).sum(1)
        every = Parzen(x, -5, 5, prior=True)  # the objective's good group while nothing is feasible; factor 1
        if variant == "left out":
            new = every.sample(24, rng)[:1]
        else:
            order = np.argsort(constraint)
            k = 1 if variant == "best one" else math.ceil(len(x) / 2)
            low, high = (Parzen(x[own], -5, 5, prior=True) for own in (order[:k], order[k:]))
            share = k / len(x)
            candidates = np.concatenate([every.sample(24, rng), low.sample(24, rng)])
            score = 1 / (share + (1 - share) * high(candidates) / low(candidates))
            new = candidates[[np.argmax(score)]]
        x = np.vstack([x, new])
    return int(np.argmax(((x - 1) ** 2).sum(1) <= 0.16)) + 1


def best_one_split() -> Said:
    variants = ("best one", "left out", "best half")
    waits = {own: np.array([_first_feasible(own, seed) for seed in range(40)]) for own in variants}
    p = _p_value(stats.mannwhitneyu(waits["best one"], waits["left out"], alternative="less"))
    step = 1e-6

    def slope(share: float) -> float:
        after, before = (1 / (share + (1 - share) / r) for r in (1 + step, 1 - step))
        return (after - before) / (2 * step)

    more = slope(0.1) > slope(0.5)
    medians = ", ".join(f"{own} {np.median(wait):.0f}" for own, wait in waits.items())
    texts = (
        f"p {p:.1e}; medians {medians}; slopes {slope(0.1):.2f} and {slope(0.5):.2f} for shares 0.1 and 0.5"
    )
    return _judged(p < 0.01 and more, p > 0.5 or not more), texts


# --- meta-learning TPE -------------------------------------------------------------------------------------


def _ellipsoid(x: np.ndarray, c: float) -> np.ndarray:
    return ((x - c) ** 2 * 5.0 ** np.arange(4)).sum(1)


def _meta_learning(c: int, seed: int, least: float = 1e-3) -> tuple[np.ndarray, np.ndarray]:
    """Losses and weights (200,) of Algorithms 1 and 2 on the ellipsoid with c = 0, from one with c."""
    rng = np.random.default_rng([c, seed])
    source = rng.uniform(-5, 5, (100, 4))
    source = source[np.argsort(_ellipsoid(source, c))]
    source_low, source_high = (Parzen(x, -5, 5, least=least) for x in (source[:10], source[10:]))
    at = np.linspace(-5, 5, 101)
    at = (at[1:] + at[:-1]) / 2

    def importances(p: Parzen) -> np.ndarray:
        return np.array([0.01 * np.mean((p.kernel(at, d).mean(1) * 10 - 1) ** 2) for d in range(4)])

    x = source[rng.permutation(5)]
    f, weights, of_source = _ellipsoid(x, 0), np.full(200, np.nan), importances(source_low)
    while len(x) < 200:
        order, k = np.argsort(f), math.ceil(0.1 * len(f) - 1e-9)
        low, high = (Parzen(x[own], -5, 5, least=least) for own in (order[:k], order[k:]))
        n_dims = math.floor(math.log(k) / math.log(2.5) + 1e-12)
        dims = np.argsort(-(importances(low) + of_source) / 2)[:n_dims]
        points = np.concatenate([low.sample(500, rng), source_low.sample(500, rng)])
        p, q = low(points, dims), source_low(points, dims)
        variation = np.mean(np.abs(p - q) / (p + q)) if n_dims else 0.0
        weight = (1 - variation) / (1 + variation) / 2
        if rng.random() <= 0.05:
            new = rng.uniform(-5, 5, 4)
        else:
            candidates = np.concatenate([low.sample(100, rng), source_low.sample(100, rng)])
            good, bad = (
                (n * (1 - weight) * own(candidates) + m * weight * other(candidates)) / (n + m)
                for n, own, m, other in ((k, low, 10, source_low), (len(f) - k, high, 90, source_high))
            )
            new = candidates[np.argmax(good / np.maximum(bad, 1e-300))]
        weights[len(x)] = weight
        x, f = np.vstack([x, new]), np.append(f, _ellipsoid(new[None], 0))
    return f, weights


def weight_by_similarity() -> Said:
    medians = [np.median([_meta_learning(c, seed)[1] for seed in range(12)], 0) for c in range(5)]
    means = [float(np.mean(own[30:])) for own in medians]
    rho = _statistic(stats.spearmanr(range(5), means))
    texts = f"rank correlation {rho:.2f}; weights " + ", ".join(f"{mean:.3f}" for mean in means)
    return _judged(rho <= -0.9 + 1e-9, rho > -0.5), texts


def _worst_below(logs: list[np.ndarray]) -> np.ndarray:
    """The true quantile of the twentieth of 200 losses."""
    x = np.random.default_rng(99).uniform(-5, 5, (1_000_000, 4))
    return np.searchsorted(np.sort(_ellipsoid(x, 0)), [np.sort(f)[19] for f in logs]) / 1e6


def good_group_inside() -> Said:
    worst = _worst_below([_meta_learning(c, 100 + seed)[0] for c in range(5) for seed in range(4)])
    share = float(np.mean(worst <= 0.1))
    holds = share >= 0.95 and np.median(worst) < 0.05
    texts = f"inside in {share:.2f} of 20 runs; median quantile of the worst row {np.median(worst):.4f}"
    return _judged(bool(holds), share < 0.5), texts


def sign_sin() -> Said:
    t = ((np.arange(1000) + 0.5) / 1000 * 2 - 1) * math.pi
    f = np.sign(t)[:, None] * np.sin(t)[None]
    main = max(float(f.mean(axis).var()) for axis in (0, 1))
    total = min(float(f.var(axis).mean()) for axis in (0, 1))
    holds = main < 1e-12 and total > 0.1
    return _judged(holds, not holds), f"main effects at most {main:.1e}, total effects at least {total:.2f}"


def quantile_uniform() -> Said:
    def branin(u: np.ndarray) -> np.ndarray:
        a, b = u[:, 0] * 15 - 5, u[:, 1] * 15
        valley = (b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6) ** 2
        return valley + 10 * (1 - 1 / (8 * math.pi)) * np.cos(a) + 10

    functions: list[Callable] = [
        lambda u: (u[:, 0] - 0.3) ** 2,
        lambda u: np.sin(8 * u[:, 0]) + u[:, 0],
        lambda u: np.exp(3 * u[:, 0]),
        branin,
        lambda u: np.maximum(u[:, 0], 0.5),  # with a plateau; not judged
    ]
    rng, distances, counts = np.random.default_rng(0), [], []
    for function in functions:
        every = np.sort(function(rng.random((1_000_000, 2))))
        q = np.searchsorted(every, function(rng.random((1_000_000, 2))), side="right") / 1e6
        distances.append(_statistic(stats.kstest(q, "uniform")))
        counts.append(np.histogram(q, 20, (0, 1))[0])
    apart = float((np.max(counts[:4], 0) / np.min(counts[:4], 0) - 1).max())
    holds = max(distances[:4]) < 0.005 and apart < 0.05
    texts = f"at most {max(distances[:4]):.4f} from uniform; densities within {apart:.3f}; "
    return _judged(holds, not holds), texts + f"with a plateau {distances[4]:.2f}"


def conditional_shift() -> Said:
    rng, groups = np.random.default_rng(0), []
    for c in (0.0, 2.0):
        x = rng.uniform(-5, 5, (20000, 4))
        order = np.argsort(_ellipsoid(x, c))
        groups.append((x[order[:2000]], x[order[2000:]]))
    p = [
        min(_p_value(stats.ks_2samp(one[:, d], other[:, d])) for d in range(4))
        for one, other in zip(*groups, strict=True)
    ]
    return _judged(min(p) > 0.01, min(p) < 1e-6), f"p {p[0]:.1e} below, {p[1]:.1e} above"


def l1_converges() -> Said:
    errors = []
    for n in (100, 1000, 10_000, 100_000):
        of_seeds = []
        for seed in range(5):
            rng, densities = np.random.default_rng([n, seed]), []
            for centre in (0.30, 0.36):
                x = rng.uniform(0, 1, 10 * n)
                x = x[np.argsort(np.abs(x - centre))[:n]]
                width = 1.06 * x.std(ddof=1) * n**-0.2
                counts = np.bincount((x * 20000).astype(int), minlength=20000) / n
                reach = int(6 * width * 20000) + 1
                kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / 20000 / width) ** 2)
                densities.append(np.convolve(counts, kernel / kernel.sum(), "same") * 20000)
            of_seeds.append(abs(np.mean(np.abs(densities[0] - densities[1])) - 1.2))
        errors.append(float(np.mean(of_seeds)))
    falls = all(after < before for before, after in pairwise(errors))
    differs = errors[-1] >= errors[0] or errors[-1] > 0.12
    texts = "errors " + ", ".join(f"{error:.4f}" for error in errors)
    return _judged(falls and errors[-1] < 0.024, differs), texts


def eps_greedy_bound() -> Said:
    wrong, n_cases, least, n_equal, settings = 0, 0, math.inf, 0, []
    for k in range(1, 6):
        for d in range(1, 4):
            n = (k + 1) ** d
            for m in range(1, n):
                for epsilon in (0.05, 0.25, 0.5, 0.75, 0.95):
                    gamma, sizes = m / n, np.arange(m, n)
                    bound = epsilon * gamma + (1 - epsilon) * np.minimum(1, gamma * n / sizes)
                    wrong += int(np.sum(bound <= gamma))
                    n_cases += len(sizes)
                    least = min(least, float((bound - gamma).min()))
                    n_equal += abs(epsilon * gamma + (1 - epsilon) * gamma - gamma) < 1e-12
                    settings.append((n, m, epsilon))
    rng, off = np.random.default_rng(0), 0
    for n, m, epsilon in [settings[i] for i in rng.choice(len(settings), 50, replace=False)]:
        size = int(rng.integers(m, n))
        is_random = rng.random(200_000) < epsilon
        x = np.where(is_random, rng.integers(n, size=200_000), rng.integers(size, size=200_000))
        p = epsilon * m / n + (1 - epsilon) * m / size
        off += abs(np.mean(x < m) - p) > 4 * math.sqrt(p * (1 - p) / 200_000) + 1e-12
    texts = (
        f"{wrong} of {n_cases} bounds not above gamma, by {least:.1e} at least; {off} of 50 simulations off; "
    )
    texts += f"gamma itself in {n_equal} of {len(settings)} where all configurations are below"
    return _judged(wrong + off == 0, wrong + off > 0), texts


def eps_greedy_subset() -> Said:
    grid = np.stack(np.meshgrid(np.arange(11) / 10, np.arange(11) / 10), -1).reshape(-1, 2)
    n_grid, inside = len(grid), []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        if seed < 5:
            f = ((grid - [0.33, 0.62]) ** 2).sum(1) + 1e-9 * rng.random(n_grid)
        else:
            f = rng.permutation(n_grid).astype(float)
        best = np.argsort(f)[: math.ceil(0.1 * n_grid)]
        rows = list(rng.integers(n_grid, size=10))
        while len(rows) < 3000:
            order = np.array(rows)
            order = order[np.argsort(f[order], kind="stable")]
            k = math.ceil(0.1 * len(order))
            if rng.random() < 0.1:
                rows.append(int(rng.integers(n_grid)))
                continue
            low, high = (
                (1 - len(own) ** -0.5) * np.bincount(own, minlength=n_grid) / len(own)
                + len(own) ** -0.5 / n_grid
                for own in (order[:k], order[k:])
            )
            candidates = rng.choice(n_grid, 24, p=low / low.sum())
            rows.append(int(candidates[np.argmax(low[candidates] / high[candidates])]))
        below = sorted(rows, key=lambda i: f[i])[: math.ceil(0.1 * 3000)]
        inside.append(bool(np.isin(below, best).all()))
    n = sum(inside)
    return _judged(n >= 9, n < 5), f"in {n} of 10 runs of 3000 rows"
