"""Algorithms 1 and 2 step by step, beside loops; what a single objective is sorted by."""

from collections.abc import Iterator, Mapping

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

import parzax as px
from benchmarks import toys
from benchmarks.settings import adjusted
from benchmarks.studies.papers.meta_learn_tpe.searches import EPSILON
from benchmarks.studies.papers.rows import Range, Row, Verdict, judged
from benchmarks.studies.papers.runs import Arrays

# Algorithm 1: tasks, rows and parameters; rows below, by gamma = 0.1; eta.
N_TASKS, N_ROWS, DIM, N_BELOW, ETA = 4, 100, 4, 10, 2.5
N_PROBLEMS, N_GRID = 5, 2001
# Algorithm 2: runs of the warm start, suggestions of the greedy part.
N_STARTS, N_ASKED = 200, 2000


def kernel() -> Arrays:
    """A unit: similarities "ours" and "loop" (p, t) of Algorithm 1, on random tasks of four floats."""
    space, found = toys.ellipsoid(DIM).space, {"ours": [], "loop": []}
    with jax.enable_x64(True):
        for seed in range(N_PROBLEMS):
            rng = np.random.default_rng(seed)
            rows = list(rng.uniform(-5, 5, (N_TASKS, N_ROWS, DIM)))
            losses = [(x - i) ** 2 @ 5.0 ** rng.permutation(DIM) for i, x in enumerate(rows)]
            pairs = zip(rows[1:], losses[1:], strict=True)
            logs = [px.Observations.from_arrays(space, *pair) for pair in pairs]
            sampler = adjusted(px.papers.meta_learn_tpe, eta=ETA, n_samples=500)(space, logs)
            state = sampler.tell(sampler.init(128), rows[0], losses[0])
            found["ours"].append(np.asarray(px.samplers.similarities(sampler, state)))
            comparison = sampler.smoothing.sources.comparison
            at = np.asarray(comparison.basis.frame.decode(comparison.scattered))
            best = [x[np.argsort(own)[:N_BELOW]] for x, own in zip(rows, losses, strict=True)]
            found["loop"].append(_algorithm_1(best, at))
    return {name: np.array(own) for name, own in found.items()}


def _density(rows: np.ndarray, columns: list[int], at: np.ndarray) -> np.ndarray:
    """Eq. 17 over the uniform density."""
    space = px.Space({f"x{j}": px.Float(-5, 5) for j in columns})
    fitted = px.ParzenEstimator.fit(
        space, rows[:, columns], bandwidth=px.bandwidth.Scott(0.1), prior_weight=0.0
    )
    return np.exp(np.asarray(fitted.log_prob(at[:, columns]))) * 10.0 ** len(columns)


def _algorithm_1(best: list[np.ndarray], at: np.ndarray) -> np.ndarray:
    """Line by line, from the rows below of each task; the target first."""
    along = np.linspace(-5, 5, N_GRID)
    grid = np.tile(along[:, None], (1, DIM))
    importance = [
        [np.trapezoid((_density(rows, [j], grid) - 1) ** 2, along) for j in range(DIM)] for rows in best
    ]
    n_kept = int(np.floor(np.log(len(best[0])) / np.log(ETA)))
    kept = sorted(np.argsort(-np.mean(importance, axis=0))[:n_kept].tolist())
    ours, *others = (_density(rows, kept, at) for rows in best)
    apart = np.array([min(0.5 * np.abs(ours - other).mean(), 1.0) for other in others])
    return (1 - apart) / (1 + apart)


def steps() -> Arrays:
    """A unit: what the steps of Algorithm 2 do, with three sources of two floats.

    "missing" of the first suggestions of a run, those that are no different rows of the warm-start set.
    "first" (w,) how often each row of it came first. "proposed" (t,) candidates near the rows below of each
    task. "random" (a,) whether a suggestion is not the greedy one. "alone" (j, 2) scores with a source of
    similarity 0, and without it. "single" (n, 2) whether a row is below, by the sampler and by its loss.
    "monotone" (j, 2) scores from losses and from their quantiles.
    """
    problem, rng = toys.ellipsoid(2), np.random.default_rng(0)
    corners = np.array([[-3.5, -3.5], [3.5, -3.5], [-3.5, 3.5], [3.5, 3.5]])
    rows = rng.uniform(-5, 5, (len(corners), N_ROWS, 2))
    losses = [((x - corner) ** 2).sum(axis=1) for x, corner in zip(rows, corners, strict=True)]
    logs = [
        px.Observations.from_arrays(problem.space, *pair) for pair in zip(rows[1:], losses[1:], strict=True)
    ]
    sampler = px.papers.meta_learn_tpe(problem.space, logs)
    n_first = sampler.start.n_startup
    each = -(-n_first // len(logs))
    start = np.concatenate([x[np.argsort(own)[:each]] for x, own in zip(rows[1:], losses[1:], strict=True)])
    keys = jax.random.split(jax.random.key(0), N_STARTS)
    x = np.asarray(px.optimize_many(keys, sampler, problem, n_first, progress=False).x)
    away = np.abs(x[:, :, None] - start).max(axis=-1)
    which = np.where(away.min(axis=-1) < 1e-4, away.argmin(axis=-1), -1)
    different = np.array([len(set(own) - {-1}) for own in which.tolist()])
    state = sampler.tell(sampler.init(128), rows[0], losses[0])
    basis = sampler.smoothing.basis(problem.space, jnp.result_type(float))
    densities, _ = sampler.smoothing.fit(basis, state, sampler.split(state))
    drawn = densities.below.sample(jax.random.key(1), basis, sampler.proposal.n_candidates)
    nearest = np.abs(np.asarray(basis.frame.decode(drawn))[:, None] - corners).max(axis=-1).argmin(axis=-1)
    return {
        "missing": n_first - different,
        "first": np.bincount(which[which[:, 0] >= 0, 0], minlength=len(start)),
        "proposed": np.bincount(nearest, minlength=len(corners)),
        "random": _by_chance(state.x[: N_ROWS // 2], losses[0][: N_ROWS // 2], problem.space),
        "alone": _without_effect(),
        **_single(),
    }


def _by_chance(rows: np.ndarray, losses: np.ndarray, space: px.Space) -> np.ndarray:
    """Whether suggestions by the same keys differ from those without epsilon."""
    keys, asked = jax.random.split(jax.random.key(2), N_ASKED), []
    for epsilon in (0.0, EPSILON):
        sampler = adjusted(px.mo_tpe, epsilon=epsilon)(space, 1)
        state = sampler.tell(sampler.init(64), rows, losses)
        asked.append(np.asarray(jax.vmap(lambda key, s=sampler, own=state: s.ask(key, own))(keys)))
    return (asked[0] != asked[1]).any(axis=(1, 2))


def _without_effect() -> np.ndarray:
    """Scores (j, 2) with a source whose good rows share no choice with the target's, and with no source."""
    space = px.Space({"c": px.Categorical(list("abcd"))})
    x, order = np.repeat(np.arange(4.0), 20)[:, None], np.arange(80.0)
    with jax.enable_x64(True):
        other = px.Observations.from_arrays(space, x, -order)
        sampler = adjusted(px.papers.meta_learn_tpe, compared_top=1.0, estimate="balanced")(space, [other])
        plain = px.papers.mo_tpe(space, 1)
        scores = [
            np.asarray(own.score_of(own.tell(own.init(128), x, order), np.arange(4.0)[:, None]))
            for own in (sampler, plain)
        ]
    return np.stack(scores, axis=-1)


def _single() -> Arrays:
    """What one objective is sorted by: its order alone (Appendices A.1 and B.3)."""
    space, rng = toys.ellipsoid(2).space, np.random.default_rng(3)
    x, at = rng.uniform(-5, 5, (2, N_ROWS, 2))
    losses = (x**2).sum(axis=1)
    with jax.enable_x64(True):
        sampler = px.papers.mo_tpe(space, 1)
        ranks = np.argsort(np.argsort(losses)) / N_ROWS
        states = [sampler.tell(sampler.init(128), x, own) for own in (losses, ranks)]
        below = np.asarray(sampler.split(states[0]).below)[0, :N_ROWS]
        scores = [np.asarray(sampler.score_of(state, at)) for state in states]
    by_loss = np.isin(np.arange(N_ROWS), np.argsort(losses)[:N_BELOW])
    return {"single": np.stack([below, by_loss], axis=-1), "monotone": np.stack(scores, axis=-1)}


# --- rows ------------------------------------------------------------------------------------------


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """Rows of both algorithms, and of the order of losses."""
    kernels = found["algorithms/kernel"]
    apart = float(np.abs(kernels["ours"] - kernels["loop"]).max())
    yield Row(
        "algorithm-1", "Algorithm 1, Eq. 15 to 17", "the task kernel, line by line",
        f"similarities of {kernels['ours'].size} pairs of tasks are at most {apart:.1e} from a loop's",
        judged(apart, 0, Range(high=1e-10)),
        "`px.papers.meta_learn_tpe`; densities of the loop are of `px.ParzenEstimator`",
    )  # fmt: skip
    yield from _algorithm_2(found["algorithms/steps"])
    yield from _orders(found["algorithms/steps"])


def _algorithm_2(own: Arrays) -> Iterator[Row]:
    n, note = len(own["missing"]), "`px.papers.meta_learn_tpe`, three sources"
    first, expected = own["first"], n / len(own["first"])
    uneven = float(((first - expected) ** 2 / expected).sum())
    limit = float(scipy.stats.chi2.ppf(0.999, len(first) - 1))
    verdict = Verdict.AGREES if not own["missing"].any() and uneven < limit else Verdict.DIFFERS
    yield Row(
        "algorithm-2-start", "Algorithm 2, lines 2 to 10",
        "starts with rows that are picked at random, and popped, from the best of every source",
        f"{int((own['missing'] > 0).sum())} of {n} runs suggest other rows, or a row twice; each of "
        f"{len(first)} rows comes first in {first.min()} to {first.max()} runs",
        verdict, note,
    )  # fmt: skip
    counts = own["proposed"]
    share, error = counts / counts.sum(), np.sqrt(0.25 * 0.75 / counts.sum())
    yield Row(
        "algorithm-2-candidates", "Algorithm 2, lines 14, 15",
        "every task proposes as many candidates, from its rows below",
        f"{', '.join(map(str, counts))} of {counts.sum()} lie near the rows below of each task",
        judged(float(abs(share - 0.25).max()), 0, Range(high=3 * float(error))),
        f"{note}, whose best rows are in four corners [a share of 0.25 within three standard errors]",
    )  # fmt: skip
    share = float(own["random"].mean())
    error = float(np.sqrt(EPSILON * (1 - EPSILON) / len(own["random"])))
    yield Row(
        "algorithm-2-epsilon", "Algorithm 2, line 17", f"a share epsilon = {EPSILON:g} is random",
        f"{share:.3f} of {len(own['random'])} suggestions differ from those with epsilon = 0 by the same key",
        judged(share, 0, Range(EPSILON - 3 * error, EPSILON + 3 * error)), "within three standard errors",
    )  # fmt: skip
    apart = float(np.abs(np.diff(own["alone"], axis=-1)).max())
    yield Row(
        "eq-14-dissimilar", "Eq. 14, (1)", "a task of similarity 0 does not affect the score",
        f"scores with it are at most {apart:.1e} from those without", judged(apart, 0, Range(high=1e-12)),
        "good rows have no choice in common; the similarity is estimated at draws, which is exact here",
    )  # fmt: skip


def _orders(own: Arrays) -> Iterator[Row]:
    wrong = int((own["single"][:, 0] != own["single"][:, 1]).sum())
    yield Row(
        "b-3-single", "Section 3.3, B.3", "for a single objective MO-TPE sorts as TPE does",
        f"{wrong} of {len(own['single'])} rows are on the other side of the split by loss",
        Verdict.DIFFERS if wrong else Verdict.AGREES, "`px.papers.mo_tpe`",
    )  # fmt: skip
    apart = float(np.abs(np.diff(own["monotone"], axis=-1)).max())
    yield Row(
        "a-1-quantile", "A.1, Figure 6", "losses and their quantiles give one acquisition function",
        f"scores are at most {apart:.1e} apart", judged(apart, 0, Range(high=1e-12)), "`px.papers.mo_tpe`",
    )  # fmt: skip
