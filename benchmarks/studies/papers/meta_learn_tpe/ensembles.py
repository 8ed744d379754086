"""RGPE with EHVI, by BoTorch, on the tables of NMT-Bench."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.stats

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
from benchmarks.studies.papers.rows import Range, Row, judged_ratio, missing, ratio_in_words, together
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table

RGPE, FAMILY = "RGPE with EHVI", "nmt_bench"
# Runs, evaluations, and bootstraps of the ranking loss.
N_RUNS, N_EVALUATIONS, N_BOOTSTRAPS = 10, 40, 1000
# Runs of ours and of the warm start beside them.
N_BESIDE = 100
SAME = Range(0.8, 1.25)
WHERE = "Section 5.2, Figure 5"
NEEDS = "tables in PARZAX_DATA and BoTorch (the extra `nei`)"
NOTE = (
    f"{N_RUNS} runs of {N_EVALUATIONS} evaluations, the other table as source; distance from the hypervolume "
    "of the true front (Eq. 18), ratio of means; the acquisition at every entry that was not evaluated, "
    "ranks of posterior means, leave-one-out in closed form, 1000 bootstraps"
)


def units(quick: bool) -> list[Unit]:
    """Of both tables: RGPE, and ours beside it."""
    found = []
    for target, others in [] if quick else targets(quick):
        if target.family == FAMILY:
            own: dict[str, Any] = {"target": target, "others": others}
            name, beside = f"rgpe/{target.name}", {"n_seeds": N_BESIDE, "etas": (2.5,)}
            found.append(Unit(name, f"{__name__}:search", own, needs="botorch", cost=200))
            module = "benchmarks.studies.papers.meta_learn_tpe.two_metrics"
            found.append(Unit(f"beside/{target.name}", f"{module}:search", own | beside, cost=60))
            fresh = own | {"n_seeds": N_BESIDE}
            found.append(Unit(f"fresh/{target.name}", f"{module}:without_repeats", fresh, cost=40))
    return found


def search(target: Table, others: Sequence[Table], n_seeds: int = N_RUNS) -> Arrays:
    """A unit: objectives (s, n, 2) of whole runs, with 100 random rows of each other table."""
    return {RGPE: np.array([run(target, others, seed) for seed in range(n_seeds)])}


def order(losses: np.ndarray) -> np.ndarray:
    """(n,) places by non-domination rank, then by crowding distance."""
    ranks = np.asarray(px.pareto.non_domination_rank(losses))
    crowding = np.asarray(px.pareto.crowding_distance(losses, ranks))
    return np.argsort(np.lexsort((-crowding, ranks)))


def ranking_losses(predicted: np.ndarray, observed: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """(models, draws) pairs in another order than observed, in samples of rows that are drawn: (draws, n).

    Rows are predicted (models, n) and observed (n,) places.
    """
    other = (predicted[:, :, None] < predicted[:, None]) ^ (observed[:, None] < observed)
    counts = np.stack([np.bincount(draw, minlength=len(observed)) for draw in draws]).astype(float)
    return np.einsum("bi,mij,bj->mb", counts, other.astype(float), counts)


def task_weights(losses: np.ndarray, share_left: float, rng: np.random.Generator) -> np.ndarray:
    """(models,) how often each has the smallest loss, of the target last; ties are shared.

    A source is left out at random, the more often the more rarely it is better than the target and the fewer
    evaluations are left.
    """
    kept = (losses[:-1] < losses[-1]).mean(axis=1) * share_left
    losses = np.where(np.append(rng.random(len(kept)) < kept, True)[:, None], losses, np.inf)
    best = losses == losses.min(axis=0)
    return (best / best.sum(axis=0)).mean(axis=1)


def run(target: Table, others: Sequence[Table], seed: int) -> np.ndarray:
    """Objectives (n, 2) of one run."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng, own = np.random.default_rng(seed), problem(target)
    sizes = [int(domain.n_values or 0) for (domain,) in own.space.domains]
    places = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=-1) / (np.array(sizes) - 1)
    entries = np.asarray(own.losses, np.float64)[:, 0]
    sources, first = [], []
    for other in others:
        rows = rng.choice(len(places), N_ROWS)
        losses = np.asarray(problem(other).losses, np.float64)[rows, 0]
        sources.append(_fitted(places[rows], losses))
        first += rows[np.argsort(order(losses))[: -(-N_STARTUP // len(others))]].tolist()
    rows = rng.permutation(first)[:N_STARTUP].tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's deprecations, and of fits that reach their limit
        while len(rows) < N_EVALUATIONS:
            x, losses = places[rows], entries[rows]
            models = [*sources, _fitted(x, losses)]
            with torch.no_grad():
                means = [-_posterior(model, x)[0] for model in sources] + [-_left_out(models[-1])]
                predicted = np.stack([order(mean) for mean in means])
                draws = rng.integers(len(rows), size=(N_BOOTSTRAPS, len(rows)))
                each = ranking_losses(predicted, order(losses), draws)
                weight = task_weights(each, 1 - len(rows) / N_EVALUATIONS, rng)
                fresh = np.setdiff1d(np.arange(len(places)), rows)
                mean, variance = zip(*(_posterior(model, places[fresh]) for model in models), strict=True)
            mixed = np.tensordot(weight, mean, 1), np.sqrt(np.tensordot(weight**2, variance, 1))
            value = improvement(*mixed, _scaled(losses))
            rows.append(int(fresh[value.argmax()]))
    return entries[rows]


def _scaled(losses: np.ndarray) -> np.ndarray:
    """What the models are fitted to: larger is better, with mean 0 and deviation 1."""
    return (losses.mean(axis=0) - losses) / np.maximum(losses.std(axis=0), 1e-12)


def _fitted(x: np.ndarray, losses: np.ndarray) -> Any:
    """A Gaussian process of each objective."""
    import torch
    from botorch import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SingleTaskGP(*map(torch.from_numpy, (x, _scaled(losses))), outcome_transform=None)
        fit_gpytorch_mll(
            ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs={"options": {"maxiter": 50}}
        )
    return model


def _posterior(model: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances (n, 2)."""
    import torch

    found = model.posterior(torch.from_numpy(x))
    return found.mean.numpy(), found.variance.numpy()


def _left_out(model: Any) -> np.ndarray:
    """(n, 2) means of the model's own rows, each from the other rows: y - [K^-1 (y - m)]_i / [K^-1]_ii."""
    model.train()
    prior = model.likelihood(model(*model.train_inputs))
    inverse = np.linalg.inv(prior.covariance_matrix.numpy())
    y = model.train_targets.numpy()
    solved = (inverse @ (y - prior.mean.numpy())[..., None])[..., 0]
    model.eval()
    return (y - solved / np.diagonal(inverse, axis1=1, axis2=2)).T


def improvement(mean: np.ndarray, spread: np.ndarray, y: np.ndarray) -> np.ndarray:
    """(n,) expected hypervolume improvement over rows y (k, 2), of independent normals (n, 2).

    The plane above the front is cut into strips. In each the improvement is a product of E[(Y - a)+], since
    the area is that of a rectangle. The reference point is 1.1 times the worst value, as the authors have it.
    """
    reference = 1.1 * y.min(axis=0)
    front = y[np.asarray(px.pareto.non_domination_rank(-y)) == 0]
    front = front[np.argsort(front[:, 0])]

    def above(at: np.ndarray, j: int) -> np.ndarray:
        z = (mean[:, j, None] - at) / spread[:, j, None]
        return spread[:, j, None] * (z * scipy.stats.norm.cdf(z) + scipy.stats.norm.pdf(z))

    first = above(np.append(reference[0], front[:, 0]), 0)
    widths = first - np.pad(first[:, 1:], ((0, 0), (0, 1)))
    return (widths * above(np.append(front[:, 1], reference[1]), 1)).sum(axis=1)


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """What Section 5.2 says of RGPE."""
    printed = "RGPE is indistinguishable from only warm start on NMT-Bench in most cases"
    better = "ours has a better curve than RGPE"
    own: dict[str, Found] = {}
    for target, _ in targets(quick=False):
        runs = found.get(f"rgpe/{target.name}")
        if runs:
            beside = found[f"beside/{target.name}"] | found[f"fresh/{target.name}"]
            own[target.name] = measured(target, runs | beside)
    if not own:
        yield missing("rgpe-same", WHERE, printed, NEEDS)
        yield missing("rgpe-ours", WHERE, better, NEEDS)
        return

    def compared(pair: tuple[str, str]) -> dict[str, tuple[float, float]]:
        return {
            table: log_ratio(*(gap(each, method, N_EVALUATIONS) for method in pair))
            for table, each in own.items()
        }

    def in_words(ratios: Mapping[str, tuple[float, float]]) -> str:
        return ", ".join(f"{table} {ratio_in_words(*ratio)}" for table, ratio in ratios.items())

    fresh = compared((FRESH[OURS], RGPE))
    reason = (
        f"RGPE evaluates no entry twice here, and ours does; ours without repeats over it: {in_words(fresh)}"
    )
    for key, words, pair, wanted in (
        ("rgpe-same", printed, (RGPE, ALONE), SAME),
        ("rgpe-ours", better, (OURS, RGPE), Range(high=1.0)),
    ):
        ratios = compared(pair)
        yield Row(
            key, WHERE, f"{words} [{wanted}]", f"{pair[0]} over {pair[1]}: {in_words(ratios)}",
            together([judged_ratio(*ratio, wanted) for ratio in ratios.values()]), NOTE, reason,
        )  # fmt: skip
    yield missing(
        "baselines-gp", "Section 5.2, Figures 4, 5", "the same of TST-R, of both with ParEGO, and on HPOlib",
        "days of runs; RGPE with EHVI on NMT-Bench is above, and the authors' program for all of them is at "
        "github.com/nabenabe0928/meta-learn-tpe",
    )  # fmt: skip
