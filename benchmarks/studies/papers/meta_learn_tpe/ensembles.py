"""RGPE and TST-R, each with EHVI and with ParEGO, by BoTorch, on the tables of both benchmarks.

Of both ensembles of Gaussian processes the paper (C.2.1) says that rows are ordered by non-domination rank
and crowding distance. What it does not say was fixed before the runs, as the works that it cites have it:

* RGPE (Feurer et al., 2018): `N_BOOTSTRAPS` samples of the rows; the target's order by leave-one-out means. A
  source is left out at random, the more often the less of the budget is left. Means are mixed with the
  weights, variances with their squares.
* TST-R (Wistuba et al., 2018): Epanechnikov kernel of the share of misranked pairs, bandwidth `BANDWIDTH`.
  Means are mixed, and the variance is the target's alone.
* ParEGO (Knowles, 2006): augmented Chebyshev norm, with 0.05 of the sum, of losses scaled to [0, 1] among the
  rows of their task. Each step draws one of 11 weights, which is that of all tasks; rows are ordered by the
  norm. The acquisition is the expected improvement over the best row.
* EHVI: exact, with 1.1 times the worst value as reference point, as in the authors' program.
* Sources are ranked by posterior means. The acquisition is computed at every entry of the table, and no entry
  is chosen twice.

The authors' program differs from these works: it adds up the acquisitions of models that are fitted alone.

`STATEMENTS` has what is judged, with the ranges of ratios by which RGPE with EHVI was judged before, in 10
runs of 40 evaluations of the tables of NMT-Bench. A statement of several tables has the worst verdict.
"""

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr

import parzax as px
from benchmarks.studies.papers.meta_learn_tpe.rows import targets
from benchmarks.studies.papers.meta_learn_tpe.searches import N_ROWS
from benchmarks.studies.papers.meta_learn_tpe.two_metrics import (
    ALONE,
    FRESH,
    N_STARTUP,
    OURS,
    Found,
    gap,
    log_ratio,
    measured,
    problem,
)
from benchmarks.studies.papers.meta_learn_tpe.two_metrics import NOTE as TABLES_NOTE
from benchmarks.studies.papers.rows import Range, Row, judged_ratio, missing, ratio_in_words, together
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table

# Of what the models are: of both objectives, or of their norm with each of these weights of the first one.
PREFERENCES: dict[str, tuple[float | None, ...]] = {"EHVI": (None,), "ParEGO": tuple(np.linspace(0, 1, 11))}
NMT, HPOLIB = "nmt_bench", "hpolib"
# Runs, and evaluations by benchmark; runs of ours and of the warm start beside them.
N_RUNS, N_EVALUATIONS, N_BESIDE = {NMT: 20, HPOLIB: 10}, {NMT: 100, HPOLIB: 40}, 100
# Bootstraps of RGPE, bandwidth of TST-R.
N_BOOTSTRAPS, BANDWIDTH = 1000, 0.1
# Kernel values that are computed at once.
MOST_VALUES = 4_000_000
SAME = Range(0.8, 1.25)
NEEDS = "tables in PARZAX_DATA and BoTorch (the extra `nei`)"


# --- one search ------------------------------------------------------------------------------------------


def search(target: Table, others: Sequence[Table], acquisition: str) -> Arrays:
    """A unit: "WEIGHTS with ACQUISITION" -> objectives (s, n, 2) of whole runs."""
    import torch

    torch.set_num_threads(1)
    preferences = PREFERENCES[acquisition]
    places = entries(target)[0]
    rngs = [np.random.default_rng(seed) for seed in range(N_RUNS[target.family])]
    sources, first = [], []
    for other in others:
        rows = np.stack([rng.choice(len(places), N_ROWS) for rng in rngs])
        losses = np.stack([evaluated(other, *each) for each in zip(rows, rngs, strict=True)])
        best = [np.argsort(order(each))[: -(-N_STARTUP // len(others))] for each in losses]
        first.append(np.take_along_axis(rows, np.stack(best), axis=1))
        y = np.stack([fitted_to(losses, preference) for preference in preferences], axis=1)
        x = np.broadcast_to(places[rows][:, None], (*y.shape[:3], places.shape[1]))
        sources.append(Processes(x, y).at(places))
    every = np.concatenate(first, axis=1)
    start = np.stack([rng.permutation(each)[:N_STARTUP] for rng, each in zip(rngs, every, strict=True)])
    return {
        f"{name} with {acquisition}": _runs(target, sources, start, weigh, preferences, copy.deepcopy(rngs))
        for name, weigh in WEIGHTS.items()
    }


def _runs(
    target: Table,
    sources: Sequence[tuple[np.ndarray, np.ndarray]],
    rows: np.ndarray,
    weigh: Callable[..., tuple[np.ndarray, np.ndarray]],
    preferences: Sequence[float | None],
    rngs: Sequence[np.random.Generator],
) -> np.ndarray:
    """Objectives (s, n, 2) of runs that begin with these rows (s, k); their models are fitted together.

    Sources are means and variances (s, preferences, entries, m).
    """
    places, budget = entries(target)[0], N_EVALUATIONS[target.family]
    losses = np.stack([evaluated(target, *each) for each in zip(rows, rngs, strict=True)])
    while rows.shape[1] < budget:
        chosen = [int(rng.integers(len(preferences))) for rng in rngs]
        y = np.stack([fitted_to(own, preferences[i]) for own, i in zip(losses, chosen, strict=True)])
        processes = Processes(places[rows], y)
        left_out, (mean, variance) = processes.left_out(), processes.at(places)
        following = []
        for s, (rng, i) in enumerate(zip(rngs, chosen, strict=True)):
            means = np.stack([*(source[0][s, i] for source in sources), mean[s]])
            variances = np.stack([*(source[1][s, i] for source in sources), variance[s]])
            predicted = np.stack([*(order(-own[rows[s]]) for own in means[:-1]), order(-left_out[s])])
            weight, squared = weigh(predicted, order(-y[s]), 1 - rows.shape[1] / budget, rng)
            spread = np.sqrt(np.tensordot(squared, variances, 1))
            value = improvement(np.tensordot(weight, means, 1), spread, y[s])
            value[rows[s]] = -np.inf
            following.append(value.argmax())
        more = np.array(following)[:, None]
        rows = np.concatenate([rows, more], axis=1)
        new = np.stack([evaluated(target, *each) for each in zip(more, rngs, strict=True)])
        losses = np.concatenate([losses, new], axis=1)
    return losses


@cache
def entries(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Places (entries, d) of the choices in [0, 1], and losses (entries, trainings, 2)."""
    own = problem(table)
    sizes = [int(domain.n_values or 0) for (domain,) in own.space.domains]
    places = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=-1) / (np.array(sizes) - 1)
    return places, np.asarray(own.losses, np.float64)


def evaluated(table: Table, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n, 2) of these entries, each of one of its trainings at random."""
    losses = entries(table)[1]
    return losses[rows, rng.integers(losses.shape[1], size=len(rows))]


def order(losses: np.ndarray) -> np.ndarray:
    """(n,) places by non-domination rank, then by crowding distance."""
    ranks = np.asarray(px.pareto.non_domination_rank(losses))
    crowding = np.asarray(px.pareto.crowding_distance(losses, ranks))
    return np.argsort(np.lexsort((-crowding, ranks)))


# --- weights ---------------------------------------------------------------------------------------------


def misranked(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """(models, n, n) pairs in another order than observed, of places (models, n) and (n,)."""
    return (predicted[:, :, None] < predicted[:, None]) ^ (observed[:, None] < observed)


def rgpe(
    predicted: np.ndarray, observed: np.ndarray, share_left: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (models,) of the means, the target's last, and of the variances; from places by each model.

    A weight is how often a model has the fewest misranked pairs.
    """
    n = len(observed)
    losses = ranking_losses(predicted, observed, rng.integers(n, size=(N_BOOTSTRAPS, n)))
    weight = task_weights(losses, share_left, rng)
    return weight, weight**2


def ranking_losses(predicted: np.ndarray, observed: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """(models, draws) misranked pairs in samples of rows that are drawn: (draws, n)."""
    counts = np.stack([np.bincount(draw, minlength=len(observed)) for draw in draws]).astype(float)
    return ((counts @ misranked(predicted, observed).astype(float)) * counts).sum(axis=-1)


def task_weights(losses: np.ndarray, share_left: float, rng: np.random.Generator) -> np.ndarray:
    """(models,) how often each has the smallest loss, of the target last; ties are shared.

    A source is left out at random, the more often the more rarely it is better than the target and the fewer
    evaluations are left.
    """
    kept = (losses[:-1] < losses[-1]).mean(axis=1) * share_left
    losses = np.where(np.append(rng.random(len(kept)) < kept, True)[:, None], losses, np.inf)
    best = losses == losses.min(axis=0)
    return (best / best.sum(axis=0)).mean(axis=1)


def tst_r(predicted: np.ndarray, observed: np.ndarray, *_: object) -> tuple[np.ndarray, np.ndarray]:
    """As `rgpe`. A weight is a kernel of the share of misranked pairs; that share of the target is 0."""
    n = len(observed)
    distance = misranked(predicted, observed).sum(axis=(1, 2)) / (n * (n - 1) * BANDWIDTH)
    distance[-1] = 0
    weight = np.maximum(1 - distance**2, 0)
    return weight / weight.sum(), np.eye(len(predicted))[-1]


WEIGHTS = {"RGPE": rgpe, "TST-R": tst_r}
METHODS = {f"{weights} with {acquisition}": acquisition for weights in WEIGHTS for acquisition in PREFERENCES}


# --- models and acquisitions -----------------------------------------------------------------------------


def fitted_to(losses: np.ndarray, preference: float | None) -> np.ndarray:
    """(..., n, m) what models of losses (..., n, 2) are fitted to: larger is better, mean 0, deviation 1."""
    if preference is not None:
        low, high = losses.min(axis=-2, keepdims=True), losses.max(axis=-2, keepdims=True)
        shares = (losses - low) / np.maximum(high - low, 1e-12)
        losses = px.importance.chebyshev(shares, np.array([preference, 1 - preference]))[..., None]
    deviation = np.maximum(losses.std(axis=-2, keepdims=True), 1e-12)
    return (losses.mean(axis=-2, keepdims=True) - losses) / deviation


class Processes:
    """Gaussian processes of BoTorch for x (..., n, d) and y (..., n, m), one for each y, fitted together."""

    def __init__(self, x: np.ndarray, y: np.ndarray):
        import torch
        from botorch import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch's deprecations, and of fits that reach their limit
            model = SingleTaskGP(*(torch.tensor(own) for own in (x, y)), outcome_transform=None)
            likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
            fit_gpytorch_mll(likelihood, optimizer_kwargs={"options": {"maxiter": 100}})
        model.train()
        with torch.no_grad():
            prior = model.likelihood(model(*model.train_inputs))
            self.inverse = torch.linalg.inv(prior.covariance_matrix)
            gaps = model.train_targets - prior.mean
            self.solved = (self.inverse @ gaps[..., None])[..., 0]
        self.model, self.shape = model, (*y.shape[:-2], y.shape[-1], -1)

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances (..., entries, m) at x (entries, d), without the noise of an observation."""
        import torch

        rows, means, variances = self.model.train_inputs[0], [], []
        with torch.no_grad():
            for part in torch.split(torch.tensor(x), max(MOST_VALUES // self.solved.numel(), 1)):
                own = part.expand(*rows.shape[:-2], *part.shape)
                cross = self.model.covar_module(own, rows).to_dense()
                means.append(self.model.mean_module(own) + (cross @ self.solved[..., None])[..., 0])
                known = ((cross @ self.inverse) * cross).sum(-1)
                variances.append((self.model.covar_module(own, diag=True) - known).clamp_min(1e-10))
        return self._columns(torch.cat(means, -1)), self._columns(torch.cat(variances, -1))

    def left_out(self) -> np.ndarray:
        """(..., n, m) means of rows, each from the other rows: y - [K^-1 (y - m)]_i / [K^-1]_ii."""
        import torch

        with torch.no_grad():
            gaps = self.solved / self.inverse.diagonal(dim1=-2, dim2=-1)
            return self._columns(self.model.train_targets - gaps)

    def _columns(self, values: Any) -> np.ndarray:
        """(..., n, m), of a tensor in which BoTorch has m before n, and leaves it out where it is 1."""
        return values.numpy().reshape(self.shape).swapaxes(-1, -2)


def improvement(mean: np.ndarray, spread: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n,) expected hypervolume improvement over rows y (k, m), of independent normals (n, m); m is 1 or 2.

    Of one objective it is the expected improvement. Of two, the plane above the front is cut into strips. In
    each the improvement is a product of E[(Y - a)+], since the area is that of a rectangle. The reference
    point is 1.1 times the worst value, as the authors have it.
    """

    def above(at: np.ndarray, j: int) -> np.ndarray:
        z = (mean[:, j, None] - at) / spread[:, j, None]
        return spread[:, j, None] * (z * ndtr(z) + np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))

    if y.shape[1] == 1:
        return above(y.max(axis=0), 0)[:, 0]
    reference = 1.1 * y.min(axis=0)
    front = y[np.asarray(px.pareto.non_domination_rank(-y)) == 0]
    front = front[np.argsort(front[:, 0])]
    first = above(np.append(reference[0], front[:, 0]), 0)
    widths = first - np.pad(first[:, 1:], ((0, 0), (0, 1)))
    return (widths * above(np.append(front[:, 1], reference[1]), 1)).sum(axis=1)


# --- units and rows --------------------------------------------------------------------------------------


def units(quick: bool) -> list[Unit]:
    """Of every table: both ensembles with each acquisition, and ours beside them."""
    module = "benchmarks.studies.papers.meta_learn_tpe.two_metrics"
    found = []
    for target, others in [] if quick else _targets():
        own: dict[str, Any] = {"target": target, "others": others}
        for acquisition in PREFERENCES:
            name, how = f"ensembles/{acquisition}/{target.name}", own | {"acquisition": acquisition}
            cost = 300 if target.family == NMT else 150
            found.append(Unit(name, f"{__name__}:search", how, needs="botorch", cost=cost))
        beside = own | {"n_seeds": N_BESIDE}
        found.append(Unit(f"beside/{target.name}", f"{module}:search", beside | {"etas": (2.5,)}, cost=60))
        if target.family == NMT:
            found.append(Unit(f"fresh/{target.name}", f"{module}:without_repeats", beside, cost=40))
    return found


def _targets() -> list[tuple[Table, list[Table]]]:
    return [(target, others) for target, others in targets(quick=False) if target.family in N_RUNS]


# A method after so many evaluations.
At = tuple[str, int]


@dataclass(frozen=True)
class Statement:
    """What the paper says of each ensemble, whose name stands for {}.

    Attributes:
        family: the tables.
        key, figure, printed: of the row.
        over, under: the ratio that is judged.
        wanted: its range.
        reason: what is said where it differs; then follows the ratio of ``aside``.
        aside: another pair. It and the reason were chosen after the results.
    """

    family: str
    key: str
    figure: str
    printed: str
    over: At
    under: At
    wanted: Range
    reason: str
    aside: tuple[At, At]


STATEMENTS = (
    Statement(
        NMT,
        "same",
        "Figure 5",
        "{} is indistinguishable from only warm start on NMT-Bench in most cases",
        ("{}", 100),
        (ALONE, 10),
        SAME,
        "not known; after the 10 evaluations of only warm start",
        (("{}", 10), (ALONE, 10)),
    ),
    Statement(
        NMT,
        "ours",
        "Figure 5",
        "ours has a better curve than {} on NMT-Bench",
        (OURS, 100),
        ("{}", 100),
        Range(high=1.0),
        "the ensemble evaluates no entry twice, and ours does; ours without repeats over it",
        ((FRESH[OURS], 100), ("{}", 100)),
    ),
    Statement(
        HPOLIB,
        "ours-hpolib",
        "Figure 4",
        "ours has a better curve than {} on HPOlib",
        (OURS, 40),
        ("{}", 40),
        Range(high=1.0),
        "not known; ours after 100 over it after 40",
        ((OURS, 100), ("{}", 40)),
    ),
)


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """What Section 5.2 says of each ensemble, after all evaluations of its runs."""
    own: dict[str, dict[str, Found]] = {family: {} for family in N_RUNS}
    for target, _ in _targets():
        runs: Arrays = {}
        for acquisition in PREFERENCES:
            runs |= found.get(f"ensembles/{acquisition}/{target.name}", {})
        if runs:
            runs |= found[f"beside/{target.name}"] | found.get(f"fresh/{target.name}", {})
            own[target.family][target.name] = measured(target, runs)
    for method in METHODS:
        for said in STATEMENTS:
            key = f"{method.replace(' with ', '-').lower()}-{said.key}"
            where, printed = f"Section 5.2, {said.figure}", said.printed.format(method)
            tables = {name: each for name, each in own[said.family].items() if method in each.share}
            if not tables:
                yield missing(key, where, printed, NEEDS)
                continue
            ratios = _ratios(tables, method, said.over, said.under)
            (over, _), (under, _) = said.over, said.under
            n_runs, budget = N_RUNS[said.family], N_EVALUATIONS[said.family]
            yield Row(
                key, where, f"{printed} [{said.wanted}]",
                f"{over.format(method)} over {under.format(method)}: {_in_words(ratios)}",
                together([judged_ratio(*ratio, said.wanted) for ratio in ratios.values()]),
                f"{n_runs} runs of {budget} evaluations; {TABLES_NOTE}",
                f"{said.reason}: {_in_words(_ratios(tables, method, *said.aside))}",
            )  # fmt: skip


def _ratios(tables: Mapping[str, Found], method: str, a: At, b: At) -> dict[str, tuple[float, float]]:
    """By table, log of the ratio of mean gaps of an ensemble and another method, and its standard error."""
    pair = [(name.format(method), budget) for name, budget in (a, b)]
    return {table: log_ratio(*(gap(each, *one) for one in pair)) for table, each in tables.items()}


def _in_words(ratios: Mapping[str, tuple[float, float]]) -> str:
    return ", ".join(f"{table} {ratio_in_words(*ratio)}" for table, ratio in ratios.items())
