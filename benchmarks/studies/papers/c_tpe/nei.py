"""Noisy expected improvement under constraints, by BoTorch, on one table of each benchmark."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.load_table import load_table
from benchmarks.studies.papers.c_tpe import settings
from benchmarks.studies.papers.c_tpe.peers import Lookup
from benchmarks.studies.papers.c_tpe.printed import table_1
from benchmarks.studies.papers.c_tpe.reasons import SOBOL
from benchmarks.studies.papers.c_tpe.results import Results, gap_ratio
from benchmarks.studies.papers.rows import (
    OURS_ALONE,
    Range,
    Row,
    judged_ratio,
    missing,
    ratio_in_words,
    together,
)
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import Table

# Of Figure 1, what is constrained, and runs of each quantile.
TABLES, KIND, N_RUNS = ("slice_localization", "imagenet16_120"), "size", 10
# The first is of HPOlib; the second has categories alone.
HPOLIB, CATEGORIES = TABLES
N_STARTUP, N_CANDIDATES, N_SAMPLES = 10, 500, 64
# Best evaluations whose neighbours are candidates too; candidates evaluated at once.
N_BEST, N_AT_ONCE = 3, 50
# Evaluations that may be the best one, by draws from the posterior.
N_BASELINE, N_DRAWS = 8, 512
# Evaluations between two fits of the hyperparameters, and steps of a fit at most.
REFIT, N_STEPS = 5, 50
# Outcomes are divided by their spread, since the acquisition smooths by absolute widths; the least.
LEAST_SPREAD = 1e-12
# Seconds of a run, about.
COST = 40.0
NEEDS = "tables in PARZAX_DATA, BoTorch (the extra `nei`), and 40 minutes"
WEAKER = f"2 of the paper's settings ({KIND} alone), {N_RUNS} runs of NEI; absolute percentage losses"


def units(tables: Sequence[Table]) -> list[Unit]:
    """One of each of `TABLES` and quantile."""
    return [
        Unit(
            f"runs/{settings.NEI}/{table.family}-{KIND}-{quantile:g}",
            f"{__name__}:search",
            {"table": table, "kind": KIND, "quantiles": (quantile,), "n_seeds": N_RUNS},
            needs="botorch",
            cost=COST * N_RUNS,
        )
        for table in tables
        if table.name in TABLES
        for quantile in settings.PRINTED_QUANTILES
    ]


def search(table: Table, kind: str, quantiles: Sequence[float], n_seeds: int) -> Arrays:
    """A unit: as `searches.search`, of one table and one kind of constraint."""
    losses, feasible = [], []
    for quantile in quantiles:
        thresholds = dict.fromkeys(settings.CONSTRAINTS[kind], quantile)
        problem = load_table(table.path, [table.objectives[0]], constraint_quantiles=thresholds)
        lookup = Lookup(problem)
        runs = [run(lookup, seed) for seed in range(n_seeds)]
        losses.append([own[0] for own in runs])
        feasible.append([own[1] for own in runs])
    return {
        "quantiles": np.array(quantiles),
        f"{table.name}/{kind}/losses": np.array(losses, np.float32),
        f"{table.name}/{kind}/feasible": np.array(feasible),
    }


def run(lookup: Lookup, seed: int, n: int = settings.N_EVALUATIONS) -> tuple[list[float], list[bool]]:
    """Loss and feasibility of each evaluation."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    n_rows = int(np.prod(lookup.sizes))
    rows = list(rng.choice(n_rows, N_STARTUP, replace=False))
    told = [_evaluate(lookup, rng, row) for row in rows]
    model = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's deprecations, and of fits that reach `N_STEPS`
        while len(rows) < n:
            x = torch.from_numpy(encoded(lookup, np.array(rows)))
            y = np.array([[-loss, *excess] for loss, excess in told])
            y = torch.from_numpy(y / np.maximum(y.std(axis=0), LEAST_SPREAD))
            model = _fitted(x, y, model, refit=(len(rows) - N_STARTUP) % REFIT == 0)
            near = [neighbours(lookup, rows[i]) for i in _best(told)]
            drawn = rng.choice(n_rows, N_CANDIDATES, replace=False)
            fresh = np.setdiff1d(np.concatenate([drawn, *near]), rows)
            acquisition = _acquisition(model, x, seed)
            candidates = torch.from_numpy(encoded(lookup, fresh))[:, None]
            with torch.no_grad():
                values = torch.cat([acquisition(some) for some in candidates.split(N_AT_ONCE)])
            rows.append(int(fresh[int(values.argmax())]))
            told.append(_evaluate(lookup, rng, rows[-1]))
    return [loss for loss, _ in told], [bool((excess <= 0).all()) for _, excess in told]


def encoded(lookup: Lookup, rows: np.ndarray) -> np.ndarray:
    """(rows, d) features in [0, 1]: a column for each option of a category, the index of what is ordinal."""
    columns = []
    for choices, size, category in zip(
        np.unravel_index(rows, lookup.sizes), lookup.sizes, lookup.categories, strict=True
    ):
        if category and size > 2:
            columns += [choices == option for option in range(size)]
        else:
            columns.append(choices / (size - 1))
    return np.stack(columns, axis=1).astype(np.float64)


def neighbours(lookup: Lookup, row: int) -> np.ndarray:
    """Rows that differ from this one in one parameter."""
    choices = np.array(np.unravel_index(row, lookup.sizes))
    found = []
    for j, size in enumerate(lookup.sizes):
        for option in set(range(size)) - {int(choices[j])}:
            other = choices.copy()
            other[j] = option
            found.append(np.ravel_multi_index(tuple(other), lookup.sizes))
    return np.array(found)


def _best(told: Sequence[tuple[float, np.ndarray]]) -> list[int]:
    """The best feasible evaluations; where there are too few, those of the smallest violation too."""

    def order(i: int) -> tuple[float, float]:
        return float(np.maximum(told[i][1], 0).sum()), told[i][0]

    return sorted(range(len(told)), key=order)[:N_BEST]


def _evaluate(lookup: Lookup, rng: np.random.Generator, row: int) -> tuple[float, np.ndarray]:
    return lookup(rng, [int(choice) for choice in np.unravel_index(row, lookup.sizes)])


def _fitted(x: Any, y: Any, before: Any, *, refit: bool) -> Any:
    """`SingleTaskGP` with independent outcomes; hyperparameters start where those before ended."""
    from botorch import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = SingleTaskGP(x, y)
    if before is not None:
        kept = {name: one for name, one in before.state_dict().items() if "outcome_transform" not in name}
        model.load_state_dict(kept, strict=False)
    if refit:
        mll = ExactMarginalLogLikelihood(model.likelihood, model)
        fit_gpytorch_mll(mll, optimizer_kwargs={"options": {"maxiter": N_STEPS}})
    return model


def _acquisition(model: Any, x: Any, seed: int) -> Any:
    """Of the `N_BASELINE` evaluations that are most often the best one in draws from the posterior."""
    import torch
    from botorch.acquisition import qLogNoisyExpectedImprovement
    from botorch.acquisition.objective import LinearMCObjective
    from botorch.acquisition.utils import prune_inferior_points
    from botorch.sampling import SobolQMCNormalSampler

    objective = LinearMCObjective(torch.eye(model.num_outputs, dtype=x.dtype)[0])
    constraints = [lambda z, j=j: z[..., j] for j in range(1, model.num_outputs)]
    with torch.no_grad():
        baseline = prune_inferior_points(
            model, x, objective, constraints=constraints, max_frac=N_BASELINE / len(x),
            sampler=SobolQMCNormalSampler(torch.Size([N_DRAWS]), seed=seed),
        )  # fmt: skip
        return qLogNoisyExpectedImprovement(
            model, baseline, SobolQMCNormalSampler(torch.Size([N_SAMPLES]), seed=seed), objective,
            constraints=constraints, prune_baseline=False,
        )  # fmt: skip


def rows(results: Results) -> Iterator[Row]:
    """What the paper says of NEI, on the tables that it was run on."""
    first, last = settings.PRINTED_QUANTILES[0], settings.PRINTED_QUANTILES[-1]
    yield _counted(results)
    yield _beside_vanilla(results, first, "NEI outperforms vanilla TPE at tight constraints", Range(high=1.0))
    yield _beside_vanilla(results, last, "NEI is not better than vanilla TPE at 0.9", Range(low=1.0))
    printed = "c-TPE is not degraded as constraints become looser, NEI is"
    yield _looser(results, "nei-looser", "Sections 3.2, 4", printed, TABLES)
    printed = "on HPOlib NEI is degraded as constraints become looser, c-TPE is not"
    yield _looser(results, "nei-looser-hpolib", "Appendix G.1", printed, (HPOLIB,))
    yield _one_hot(results)
    yield _by_random_search(results)


def _settings(results: Results, quantile: float, names: Sequence[str] = TABLES) -> list[settings.Setting]:
    """Settings of NEI at a quantile; none unless all of these tables ran."""
    methods = (settings.NEI, settings.OURS, settings.VANILLA, settings.RANDOM)
    found = [s for s in results.settings(methods, quantile) if s.table in names and s.constraints == KIND]
    return found if len(found) == len(names) else []


def _counted(results: Results) -> Row:
    """Of Table 1: the losses of c-TPE over NEI's, of each table at each quantile after each budget."""
    cells = table_1().get(settings.NEI, {})
    numbers = "; ".join(
        f"{q:g}: " + (", ".join(str(cells[q, budget]) for budget in settings.BUDGETS) if cells else "–")
        for q in settings.PRINTED_QUANTILES
    )
    key, where = "t1-NEI", "Table 1, NEI"
    printed = f"wins/losses/ties of c-TPE in 27 settings after 50, 100, 150, 200: at {numbers}"
    own = [setting for quantile in settings.PRINTED_QUANTILES for setting in _settings(results, quantile)]
    if not own:
        return missing(key, where, printed, NEEDS)
    ratios = {
        setting: [gap_ratio(results, settings.OURS, settings.NEI, [setting], b) for b in settings.BUDGETS]
        for setting in own
    }
    each = (
        f"{at.table} at {at.quantile:g} " + ", ".join(ratio_in_words(*one) for one in found)
        for at, found in ratios.items()
    )
    verdict = together([judged_ratio(*one) for found in ratios.values() for one in found])
    note = f"read as: a smaller loss in both settings after every budget; {WEAKER}, ratio of means"
    return Row(key, where, printed, f"c-TPE over NEI: {'; '.join(each)}", verdict, note)


def _beside_vanilla(results: Results, quantile: float, printed: str, wanted: Range) -> Row:
    key, where = f"nei-vanilla-{quantile:g}", f"Appendix H, Figures 16-18, at {quantile:g}"
    printed = f"{printed} [{wanted}]"
    own = _settings(results, quantile)
    if not own:
        return missing(key, where, printed, NEEDS)
    pair, budget = (settings.NEI, settings.VANILLA), settings.N_EVALUATIONS
    ratio = gap_ratio(results, *pair, own, budget)
    each = (f"{at.table} {ratio_in_words(*gap_ratio(results, *pair, [at], budget))}" for at in own)
    text = f"NEI over TPE: {ratio_in_words(*ratio)}; {', '.join(each)}"
    note = f"{WEAKER} after {budget}, geometric mean of the tables"
    return Row(key, where, printed, text, judged_ratio(*ratio, wanted), note)


def _looser(results: Results, key: str, where: str, printed: str, names: Sequence[str]) -> Row:
    """NEI beside c-TPE at the tightest and at the loosest constraint."""
    found = {q: own for q in settings.PRINTED_QUANTILES if (own := _settings(results, q, names))}
    if len(found) < len(settings.PRINTED_QUANTILES):
        return missing(key, where, printed, NEEDS)
    budget = settings.N_EVALUATIONS
    ratios = {q: gap_ratio(results, settings.OURS, settings.NEI, own, budget) for q, own in found.items()}
    each = ", ".join(f"{q:g}: {ratio_in_words(*ratio)}" for q, ratio in ratios.items())
    (tight, error), (loose, other) = ratios[min(ratios)], ratios[max(ratios)]
    change = loose - tight, float(np.hypot(error, other))
    text = f"c-TPE over NEI at {each}; last over first {ratio_in_words(*change)}"
    note = f"read as: c-TPE over NEI falls from {min(ratios):g} to {max(ratios):g}; {WEAKER} after {budget}"
    return Row(key, where, printed, text, judged_ratio(*change), note, SOBOL + _random_beside(results, names))


def _random_beside(results: Results, names: Sequence[str]) -> str:
    """Random search and c-TPE over vanilla TPE, by quantile."""
    texts = []
    for method in (settings.RANDOM, settings.OURS):
        ratios = (
            gap_ratio(results, method, settings.VANILLA, _settings(results, q, names), settings.N_EVALUATIONS)
            for q in settings.PRINTED_QUANTILES
        )
        texts.append(f"{method} {', '.join(f'{np.exp(log):.2g}' for log, _ in ratios)}")
    return f"over vanilla TPE at these quantiles {' and '.join(texts)}"


def _one_hot(results: Results) -> Row:
    """NEI has a column for each option of a category, as in Ax."""
    key, where = "nei-one-hot", "Appendix D"
    printed = "one-hot columns for categories, as Ax has them, did not work well"
    found = {q: own for q in settings.PRINTED_QUANTILES if (own := _settings(results, q, (CATEGORIES,)))}
    if not found:
        return missing(key, where, printed, NEEDS)
    budget = settings.N_EVALUATIONS
    ratios = {q: gap_ratio(results, settings.OURS, settings.NEI, own, budget) for q, own in found.items()}
    each = ", ".join(f"{q:g}: {ratio_in_words(*ratio)}" for q, ratio in ratios.items())
    verdict = together([judged_ratio(*ratio) for ratio in ratios.values()])
    note = f"read as: c-TPE ends with the smaller loss at every quantile on {CATEGORIES}; {WEAKER}"
    beside = (
        f"{q:g}: {ratio_in_words(*gap_ratio(results, settings.OURS, settings.RANDOM, own, budget))}"
        for q, own in found.items()
    )
    reason = f"{SOBOL}c-TPE over random search: {', '.join(beside)}"
    return Row(key, where, printed, f"c-TPE over NEI at {each}", verdict, f"{note} after {budget}", reason)


def _by_random_search(results: Results) -> Row:
    """What Appendix H says of NEI, of random search on all tables: Ax 0.2.2 draws a Sobol sequence here."""
    key, where = "nei-random", OURS_ALONE
    printed = "random search is better than vanilla TPE at 0.1 and not at 0.9, as Appendix H says of NEI"
    pair, texts, verdicts = (settings.RANDOM, settings.VANILLA), [], []
    first, last = settings.PRINTED_QUANTILES[0], settings.PRINTED_QUANTILES[-1]
    for quantile, wanted in ((first, Range(high=1.0)), (last, Range(low=1.0))):
        own = results.settings(pair, quantile)
        if not own:
            return missing(key, where, printed, "tables in PARZAX_DATA")
        ratio = gap_ratio(results, *pair, own, settings.N_EVALUATIONS)
        texts.append(f"{quantile:g}: {ratio_in_words(*ratio)}, {len(own)} settings")
        verdicts.append(judged_ratio(*ratio, wanted))
    note = f"absolute percentage losses after {settings.N_EVALUATIONS}, geometric mean"
    return Row(key, where, printed, f"random over TPE at {'; '.join(texts)}", together(verdicts), note)
