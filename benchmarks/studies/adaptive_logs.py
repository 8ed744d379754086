"""Logs of a search that learns, beside truths: ``python -m benchmarks.studies.adaptive_logs``.

Importances from logs of random search, TPE, CMA-ES and a Gaussian process on problems whose importances are
known: those of the rows themselves, those of a surrogate of the whole space, and those of Optuna. Writes a
page, docs/studies/adaptive_logs.md for a full run without --out. Logs are made once, by
`benchmarks.studies.adaptive_searches`; --resume goes on with what another run has read, and --only
surrogate/0 rows/ reads some of the parts. PARZAX_DATA names the folder of the tables. The exit status is
always 0, also where a promise does not hold.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.studies import pages
from benchmarks.studies.adaptive_next import N_MORE
from benchmarks.studies.adaptive_problems import (
    IDLE,
    LEVELS,
    N_TRUTH,
    NETWORKS,
    PROBLEMS,
    TABLES,
    problem_of,
)
from benchmarks.studies.adaptive_readings import FANOVA_LOGS, N_SHUFFLES, PEER_EVALUATORS
from benchmarks.studies.adaptive_scores import (
    NEGLIGIBLE,
    ROWS,
    SURROGATE,
    TOLERANCE,
    Comparison,
    LogSet,
    compare,
    gather,
    geometric_mean,
)
from benchmarks.studies.adaptive_searches import (
    FEW_PROBLEMS,
    NEXT,
    PEER_PACKAGES,
    RANDOM,
    RANDOM_PARTS,
    SEEDS,
    Logs,
    all_logs,
)
from benchmarks.studies.optimisers.page import table
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import Arrays, Unit

SIZES = (40, 100, 300)
NOISE, GATED = "noise", "gated"
# Rows of these logs are read; more logs have a surrogate only for the next space.
N_LOGS = 12
# Worth is read in the first logs of these searches, on `FEW_PROBLEMS`.
EFFECT_LOGS, EFFECT_SEARCHES = 4, (RANDOM, "px.tpe")
# From so many logs of a table the search goes on in the next space.
N_SEARCHED = 2
TPE = ("px.tpe", "px.optuna_tpe", "Optuna TPE", "Hyperopt")
QUICK = (Logs(RANDOM, "quadratic", 2, 40), Logs("px.tpe", "quadratic", 2, 40), Logs("px.tpe", NOISE, 2, 40))


def units(quick: bool) -> list[Unit]:
    """Truths; rows and surrogates of all logs, the first log of each search first; next spaces."""
    module, every = "benchmarks.studies.adaptive_readings", list(QUICK if quick else all_logs())
    logs_of = [logs for logs in every if logs.searcher != NEXT]
    problems = dict.fromkeys(logs.problem for logs in logs_of if logs.problem != NOISE)
    listed = [Unit(f"truth/{problem}", f"{module}:read_truth", {"problem": problem}) for problem in problems]
    for logs in logs_of:
        arguments = {"logs": logs._replace(n_seeds=min(logs.n_seeds, N_LOGS)), "sizes": SIZES}
        needs = (*PEER_PACKAGES.get(logs.searcher, ()), "optuna", "sklearn")
        listed.append(Unit(f"rows/{logs.name}", f"{module}:read_rows", arguments, needs, cost=5))
    for i in range(N_LOGS):
        for logs in logs_of:
            if i < logs.n_seeds:
                effects = (
                    i < EFFECT_LOGS and logs.searcher in EFFECT_SEARCHES and logs.problem in FEW_PROBLEMS
                )
                arguments = {"logs": logs, "log": i, "sizes": SIZES, "effects": effects}
                needs = PEER_PACKAGES.get(logs.searcher, ())
                name = f"surrogate/{i}/{logs.name}"
                listed.append(Unit(name, f"{module}:read_surrogate", arguments, needs, cost=5))
    for logs in every:
        if logs.searcher == NEXT:
            arguments = {"logs": logs, "n_logs": logs.n_seeds, "n_searched": N_SEARCHED}
            function = "benchmarks.studies.adaptive_next:read_next"
            listed.append(Unit(f"next/{logs.problem}", function, arguments, cost=60))
    return listed


class Promise(NamedTuple):
    """A row of the first table: what was promised, what was measured, and whether it holds."""

    promised: str
    measured: str
    holds: bool | None


class Sets:
    """All sets of logs that were read, and what is said of several of them."""

    def __init__(self, found: Mapping[str, Arrays]) -> None:
        self.truths = {
            name.removeprefix("truth/"): arrays["shares"]
            for name, arrays in found.items()
            if name.startswith("truth/")
        }
        self.sets: list[LogSet] = []
        for name, arrays in found.items():
            kind, searcher, *problem = name.split("/")
            if kind != "rows" or (problem[0] != NOISE and problem[0] not in self.truths):
                continue
            truth = self.truths.get(problem[0], np.zeros((len(LEVELS), 1)))
            read = [
                found[part]
                for i in range(N_LOGS)
                if (part := f"surrogate/{i}/{searcher}/{problem[0]}") in found
            ]
            self.sets += [
                gather(searcher, problem[0], n, truth, arrays, read) for n in SIZES if f"{n}/rows" in arrays
            ]
        listed = dict.fromkeys(part.searcher for part in self.sets)
        self.searchers = [searcher for searcher in listed if searcher not in RANDOM_PARTS]
        self.learning = [searcher for searcher in self.searchers if searcher != RANDOM]
        self.problems = list(dict.fromkeys(part.problem for part in self.sets))
        # Noise has no shares, and the abandoned branch of `gated` points of its own.
        self.compared = [problem for problem in self.problems if problem not in (NOISE, GATED)]

    def of(
        self, searchers: Sequence[str], n: int | None = None, problems: Sequence[str] | None = None
    ) -> list[LogSet]:
        """Some sets."""
        return [
            part
            for part in self.sets
            if part.searcher in searchers
            and n in (None, part.n)
            and (problems is None or part.problem in problems)
        ]

    def ratios(self, searchers: Sequence[str], n: int, reader: str) -> dict[str, Comparison]:
        """The surrogate's distance at the first level as a part of another reader's, by problem."""
        pairs = (
            (problem, compare(self.of(searchers, n, [problem]), LogSet.distances, reader))
            for problem in self.compared
        )
        return {problem: ratio for problem, ratio in pairs if ratio is not None}

    def error_ratios(self, searchers: Sequence[str], n: int) -> dict[str, Comparison]:
        """The same of the mean over levels, beside the rows."""
        pairs = (
            (problem, compare(self.of(searchers, n, [problem]), LogSet.errors, ROWS))
            for problem in self.compared
        )
        return {problem: ratio for problem, ratio in pairs if ratio is not None}


def written(found: Mapping[str, Arrays]) -> Page:
    """The page, from as much as there is."""
    found = {name: arrays for name, arrays in found.items() if arrays}
    sets = Sets(found)
    next_spaces = {name: arrays for name, arrays in found.items() if name.startswith("next/")}
    sections = (
        _beside_others(sets), _beside_rows(sets), _intervals(sets), _idle(sets), _worth(sets),
        _next_space(next_spaces), _readable(sets), _learned(sets),
    )  # fmt: skip
    promises = [promise for _, section_promises in sections for promise in section_promises]
    verdicts = [
        [
            promise.promised,
            promise.measured,
            {None: "not measured", True: "yes", False: "**no**"}[promise.holds],
        ]
        for promise in promises
    ]
    blocks = [ABOUT, table(["promised", "measured", "holds"], verdicts), FEW_LOGS]
    blocks += [_numbers_of_logs(sets, next_spaces), WHAT_TO_DO]
    blocks += ["## Problems", PROBLEMS_ABOUT, _about_problems(sets)]
    blocks += [block for section, _ in sections for block in section]
    n_read = max((len(part.draws) for part in sets.sets), default=0)
    return Page([*blocks, TRIED], (n_read, max(SIZES)), [])


Section = tuple[list[str], list[Promise]]


def _beside_others(sets: Sets) -> Section:
    """Distances and rank correlations beside those of the rows and of Optuna's evaluators."""
    readers = (ROWS, *PEER_EVALUATORS)
    means, by_problem, ranks, promises = [], [], [], []
    for n, limits, worst in ((40, (0.75, 0.75, 0.85, 0.85), 1.3), (100, (0.6, 0.6, 0.7, 0.7), 1.1)):
        groups = [*((name, [name]) for name in sets.searchers), (LEARNING, sets.learning)]
        for name, searchers in groups:
            cells = [
                geometric_mean(r.value for r in sets.ratios(searchers, n, of).values()) for of in readers
            ]
            if np.isfinite(cells).any():
                means.append([str(n), name, *map(_number, cells)])
        ratios = {of: sets.ratios(sets.learning, n, of) for of in readers}
        total = {of: geometric_mean(r.value for r in ratios[of].values()) for of in readers}
        holds = all(total[of] <= limit for of, limit in zip(readers, limits, strict=True))
        text = ", ".join(f"{total[of]:.2f} of {of}" for of in readers if np.isfinite(total[of]))
        promise = (
            f"{n} trials: distance {limits[0]:g} of rows and PED-ANOVA, {limits[2]:g} of f-ANOVA and MDI"
        )
        promises.append(Promise(promise, text, _measured(total.values(), holds)))
        worse = []
        for problem in sets.compared:
            beside = {of: ratios[of][problem] for of in readers if problem in ratios[of]}
            if not beside:
                continue
            best = max(beside, key=lambda of: beside[of].value)
            parts = sets.of(sets.learning, n, [problem])
            cells = [_number(_mean(part.distances(of) for part in parts)) for of in (SURROGATE, *readers)]
            by_problem.append([str(n), problem, *cells, f"{best}: {_with_ends(beside[best])}"])
            if beside[best].low > worst:
                worse.append(f"{problem} {_with_ends(beside[best])}")
        promise = f"{n} trials: on no problem more than {worst:g} of the best of them"
        promises.append(
            Promise(
                promise, "; ".join(worse) or "none" * bool(by_problem), _measured(total.values(), not worse)
            )
        )
        parts = sets.of(sets.learning, n, sets.compared)
        correlations = [_mean(part.rank_correlations(of) for part in parts) for of in (SURROGATE, *readers)]
        gains = {of: compare(parts, LogSet.rank_correlations, of, ratio=False) for of in readers}
        ranks.append([str(n), *map(_number, correlations)])
        lower = [of for of, gain in gains.items() if gain is not None and gain.high < 0]
        text = ", ".join(f"{x:.2f} {of}" for x, of in zip(correlations, (SURROGATE, *readers), strict=True))
        promises.append(
            Promise(
                f"{n} trials: rank correlation with the truth no lower",
                text,
                _measured(correlations, not lower),
            )
        )
    blocks = [
        "## Beside the rows and Optuna's evaluators",
        BESIDE_OTHERS,
        table(["trials", "search", *readers], means),
        BY_PROBLEM,
        table(["trials", "problem", SURROGATE, *readers, "beside the best of them"], by_problem),
        RANKS,
        table(["trials", SURROGATE, *readers], ranks),
    ]
    return blocks, promises


def _beside_rows(sets: Sets) -> Section:
    """The surrogate's error as a part of that of the rows."""
    rows, promises = [], []
    for searcher in sets.searchers:
        for n in SIZES:
            if ratios := sets.error_ratios([searcher], n):
                worst = max(ratios, key=lambda problem: ratios[problem].value)
                of_set = sets.of([searcher], n, sets.compared)
                errors = [
                    _mean(part.errors(reader)[: len(part.draws)] for part in of_set)
                    for reader in (ROWS, SURROGATE)
                ]
                total = geometric_mean(ratio.value for ratio in ratios.values())
                rows.append(
                    [
                        searcher,
                        str(n),
                        *map(_number, (*errors, total)),
                        f"{worst}: {_with_ends(ratios[worst])}",
                    ]
                )
    for searchers, what, mean, worst in ((TPE, "logs of TPE", 0.4, 1.1), ([RANDOM], "random logs", 0.9, 1.1)):
        for n in (100, 300):
            ratios = sets.error_ratios(searchers, n)
            total = geometric_mean(ratio.value for ratio in ratios.values())
            above = [problem for problem, ratio in ratios.items() if ratio.low > worst]
            text = f"{total:.2f}; above {worst:g}: {', '.join(above) or 'none'}" if ratios else ""
            promises.append(
                Promise(
                    f"{what}, {n} trials: at most {mean:g} of the rows' error, {worst:g} on any problem",
                    text,
                    _measured([total], total <= mean and not above),
                )
            )
    heads = ["search", "trials", "error of rows", "of surrogate", "ratio", "largest ratio"]
    return ["## Beside the rows", BESIDE_ROWS, table(heads, rows)], promises


def _intervals(sets: Sets) -> Section:
    """Coverage of the shares."""
    rows, rates, problems = [], [], [*sets.compared, GATED]
    for searcher in sets.searchers:
        for n in SIZES:
            parts = sets.of([searcher], n, problems)
            if len(covered := _joined(part.covered() for part in parts)):
                large = _joined(part.covered(0.05) for part in parts)
                gated = _joined(part.covered() for part in parts if part.problem == GATED)
                answered = _joined(part.answered for part in parts)
                rates.append(covered.mean())
                rows.append([searcher, str(n), *map(_percent, (covered, large, gated, answered))])
    text = _range(rates)
    holds = bool(rates) and round(min(rates), 2) >= 0.8 and round(max(rates), 2) <= 0.97
    gated = _joined(part.covered() for part in sets.of(sets.learning, None, [GATED]))
    promises = [
        Promise(
            "90 % intervals of shares hold the truth in 80 to 97 % of cases in each kind of log",
            text,
            _measured(rates, holds),
        ),
        Promise(
            "on `gated` too, whose worse branch the search leaves",
            _percent(gated),
            _measured(gated, gated.size and gated.mean() >= 0.8),
        ),
    ]
    heads = ["search", "trials", "shares", "shares of 0.05 or more", "shares of `gated`", "logs answered"]
    return ["## Intervals", INTERVALS, table(heads, rows)], promises


def _idle(sets: Sets) -> Section:
    """How often parameters that do nothing are above chance."""
    rows, rates = [], []
    effects = [problem for problem in sets.problems if problem in PROBLEMS and problem != NOISE]
    for searcher in sets.searchers:
        for n in SIZES:
            parts = [part for part in sets.of([searcher], n, effects) if len(part.draws)]
            if parts:
                above = {
                    reader: _joined(part.above_chance(reader).ravel() for part in parts)
                    for reader in (ROWS, SURROGATE)
                }
                noise = sets.of([searcher], n, [NOISE])
                any_of_noise = [
                    _percent(_joined(part.above_chance(reader, slice(None)).ravel() for part in noise))
                    for reader in (ROWS, SURROGATE)
                ]
                rows.append([searcher, str(n), *map(_percent, above.values()), *any_of_noise])
                if searcher in TPE:
                    rates.append(above[SURROGATE].mean())
    promise = Promise(
        "a parameter that does nothing is above chance in at most 8 % of logs of TPE, at any length",
        _range(rates),
        _measured(rates, bool(rates) and max(rates) <= 0.08),
    )
    heads = ["search", "trials", ROWS, SURROGATE, "noise: rows", "noise: surrogate"]
    return ["## A parameter that does nothing", IDLE_ABOUT, table(heads, rows)], [promise]


def _worth(sets: Sets) -> Section:
    """Coverage of the worth of tuning."""
    rows, rates = [], []
    for searcher in EFFECT_SEARCHES:
        of_search = []
        for problem in FEW_PROBLEMS:
            parts = sets.of([searcher], 100, [problem])
            fields = [
                _joined(part.covered_worth(field) for part in parts) for field in ("worth", "target_worth")
            ]
            if len(fields[0]):
                of_search.append([part.mean() for part in fields])
                rows.append([searcher, problem, *map(_percent, fields)])
        rates += np.mean(of_search, axis=0).tolist() if of_search else []
    promise = Promise(
        "90 % intervals of the worth of tuning hold the truth in 80 to 97 % of cases in each kind of log",
        _range(rates),
        _measured(rates, bool(rates) and round(min(rates), 2) >= 0.8 and round(max(rates), 2) <= 0.97),
    )
    heads = ["search", "problem", "others as in the space", "others as in the best tenth"]
    return ["## What tuning is worth", WORTH, table(heads, rows)], [promise]


def _next_space(found: Mapping[str, Arrays]) -> Section:
    """Whether next spaces hold the best, and what searching them gains."""
    rows = []
    for name, arrays in found.items():
        means = {part: float(arrays[part].mean()) for part in ("holds", "part", "before", "old", "new")}
        form = (
            _percent(arrays["holds"]),
            _percent(arrays["part"]),
            *(f"{means[part]:.4f}" for part in ("before", "old", "new")),
        )
        rows.append([name.removeprefix("next/"), str(len(arrays["holds"])), *form])
    holds = _joined(arrays["holds"] > 0 for arrays in found.values())
    gaps = {part: _joined(arrays[part] for arrays in found.values()) for part in ("old", "new")}
    ratio = gaps["new"].mean() / gaps["old"].mean() if gaps["old"].sum() else np.nan
    promises = [
        Promise(
            "the next space holds the best configuration of the table in 95 % of the logs",
            f"{_percent(holds)} of {len(holds)}",
            _measured(holds, holds.size and holds.mean() >= 0.95),
        ),
        Promise(
            f"{N_MORE} more trials in it leave at most 0.8 of the gap that they leave in the old space",
            f"{ratio:.2f} ({len(gaps['new'])} logs)",
            _measured([ratio], ratio <= 0.8),
        ),
    ]
    heads = [
        "table",
        "logs",
        "holds the best",
        "part of the table",
        "gap before",
        f"after {N_MORE} in the old space",
        "in the next",
    ]
    return ["## The space to search next", NEXT_SPACE, table(heads, rows)], promises


def _readable(sets: Sets) -> Section:
    """Errors and best losses of searches with more random rows."""
    rows = []
    best = {
        (part.searcher, part.problem): part.best.mean()
        for part in sets.of(("px.tpe", *RANDOM_PARTS, RANDOM), 100, FEW_PROBLEMS)
    }
    least = {
        problem: min(part.best.min() for part in sets.sets if part.problem == problem)
        for problem in sets.problems
    }
    for searcher in ("px.tpe", *RANDOM_PARTS, RANDOM):
        gaps = [
            (best[searcher, problem] - least[problem]) / (best[RANDOM, problem] - least[problem])
            for problem in FEW_PROBLEMS
            if (searcher, problem) in best and (RANDOM, problem) in best
        ]
        if gaps:
            parts = sets.of([searcher], 100, FEW_PROBLEMS)
            errors = [
                _mean(part.errors(reader)[: len(part.draws)] for part in parts)
                for reader in (ROWS, SURROGATE)
            ]
            rows.append([searcher, *map(_number, (*errors, float(np.mean(gaps))))])
    heads = ["100 trials of", "error of rows", "of surrogate", "gap of the best trial"]
    return ["## Searches that can be read", READABLE, table(heads, rows)], []


def _learned(sets: Sets) -> Section:
    """How often logs show that the search learned, and the quality of surrogates."""
    rows = []
    for searcher in sets.searchers:
        for n in SIZES:
            parts, noise = sets.of([searcher], n, [*sets.compared, GATED]), sets.of([searcher], n, [NOISE])
            shown = [_percent(_joined(part.shown > 0 for part in some)) for some in (parts, noise)]
            quality = [_joined(part.quality for part in some) for some in (parts, noise)]
            if parts:
                rows.append(
                    [
                        searcher,
                        str(n),
                        *shown,
                        *(_number(np.median(q) if len(q) else np.nan) for q in quality),
                    ]
                )
    heads = ["search", "trials", "learned", "noise: learned", "median quality", "noise: quality"]
    return ["## Which logs show that the search learned", SHOWN, table(heads, rows)], []


def _measured(numbers: Iterable[float], holds: object) -> bool | None:
    """Whether a promise holds; None if a number is missing."""
    values = np.array(list(numbers), float)
    return bool(holds) if values.size and np.isfinite(values).all() else None


def _joined(arrays: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([*map(np.ravel, arrays), np.zeros(0)])


def _mean(arrays: Iterable[np.ndarray]) -> float:
    """Mean of the means of sets of logs, each of which counts the same; NaN without logs."""
    means = [array.mean() for array in arrays if array.size]
    return float(np.mean(means)) if means else np.nan


def _number(x: float) -> str:
    return f"{x:.2f}" if np.isfinite(x) else ""


def _percent(cases: np.ndarray) -> str:
    return f"{cases.mean():.0%}".replace("%", " %") if len(cases) else ""


def _range(rates: Sequence[float]) -> str:
    return f"{_percent(np.array([min(rates)]))} to {_percent(np.array([max(rates)]))}" if rates else ""


def _with_ends(ratio: Comparison) -> str:
    return f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def _about_problems(sets: Sets) -> str:
    """The problems with their largest true shares."""
    rows = []
    for name in sets.problems:
        if name in TABLES or name in NETWORKS:
            about = (TABLES | NETWORKS)[name][-1 if name in NETWORKS else 0]
        else:
            about = str(problem_of(name).fn.func.__doc__).splitlines()[0]
        names, cells = problem_of(name).space.names, []
        for shares in sets.truths[name] if name != NOISE else ():
            largest = np.argsort(-shares)[:4]
            cells.append(", ".join(f"{names[j]} {shares[j]:.2f}" for j in largest))
        rows.append([name, str(len(names)), about, *(cells or [""] * len(LEVELS))])
    return table(["problem", "parameters", "", *(f"largest shares at {level}" for level in LEVELS)], rows)


def _numbers_of_logs(sets: Sets, next_spaces: Mapping[str, Arrays]) -> str:
    """How many logs were read, and which searches are missing."""
    texts = []
    for searcher in dict.fromkeys(part.searcher for part in sets.sets):
        parts = sets.of([searcher])
        n_rows, n_read = (
            {len(a) for a in arrays} for arrays in ([p.rows for p in parts], [p.draws for p in parts])
        )
        texts.append(f"{searcher} {_span(n_rows)} ({_span(n_read)} by a surrogate)")
    lacking = [name for name in SEEDS if name not in sets.searchers]
    missing = f" Not run, as a package is missing or the run was of some parts: {', '.join(lacking)}." * bool(
        lacking
    )
    n_next = sum(len(arrays["holds"]) for arrays in next_spaces.values())
    return f"Logs of each problem: {'; '.join(texts)}; next space: {n_next} in all.{missing}"


def _span(numbers: set[int]) -> str:
    return f"{min(numbers)}" if len(numbers) == 1 else f"{min(numbers)} to {max(numbers)}"


LEARNING = "all that learn"
ABOUT = """Most logs come from a search that learns: each trial is chosen by those before it. Such a log has
few rows where losses are high, so that importances of its rows are not those of the space. This page
measures how far they are, and how far those of `px.surrogate` are: a Gaussian process on the logarithm of
the distance to the best loss, which is what `px.cond_ped_anova` and `parzax importance` use for such logs
by default.

What was promised of the surrogate, and what was measured:"""
FEW_LOGS = """The first six rows are of all searches but random search. What is promised of a single problem
fails only where the 90 % interval of the comparison excludes it, so that few logs let much pass."""
WHAT_TO_DO = """What to do:

* Leave the default as it is: where a log shows that the search learned and the surrogate predicts the rows
  that are left out, the surrogate answers.
* If it does not answer, read the importances as those of the rows, not of the space. More trials need not
  help: a search may repeat itself.
* If you plan to read a log later, let part of its rows be random (see below), or analyse some hundred rows
  of random search."""
PROBLEMS_ABOUT = f"""The truth is the share of each parameter in {N_TRUTH:,} uniform rows without noise, or
in all rows of a table, by the same estimator. The functions have a last parameter `{IDLE}` that does
nothing. Tables are of HPOlib and NAS-Bench-201; the networks are fitted to random configurations of YAHPO,
on mixed spaces with conditions."""
BESIDE_OTHERS = f"""The distance is half the sum of absolute differences of the shares from the true shares
at level {LEVELS[0]}: 0 at best, 1 at worst. The table has the surrogate's distance as a part of the
others', as the geometric mean over all problems but noise and `gated`; below 1 the surrogate is nearer. Its
shares are means of draws from its posterior; where it predicts less than a fifth of the
variance of left-out rows, the rows answer, here too. f-ANOVA, which takes seconds, read {FANOVA_LOGS} logs
of some searches. f-ANOVA and MDI explain the losses rather than membership in the best tenth, so part of
their distance is another question; they leave out conditional parameters, which count as shares of 0."""
BY_PROBLEM = """Mean distances over the logs of all searches that learn. The last column has the surrogate's
distance as a part of that of the reader that comes off best beside it, over the logs that both have read,
with the 90 % interval of resampled logs."""
RANKS = "Rank correlation of the shares with the true ones, mean over the same logs:"
BESIDE_ROWS = """The error is the distance, averaged over both levels. The ratio is the geometric mean over
the problems but noise and `gated`; the last column names the problem with the largest ratio, with its 90 %
interval."""
INTERVALS = f"""How often the 5 % and 95 % quantiles of the draws enclose the true share, at both levels. A
truth also counts as enclosed if it is outside by at most {TOLERANCE}. Logs in which the rows answer do not
count; the last column says how many others there are."""
IDLE_ABOUT = f"""How often `{IDLE}` is above chance, over both levels and the functions but noise. For the
rows that is an adjusted p-value of at most 0.05 from {N_SHUFFLES} shuffles; for the surrogate, p = (1 +
#{{share <= {NEGLIGIBLE}}}) / (1 + #draws) of at most 0.05. On noise any of its five parameters counts, and
the rows answer where the surrogate predicts nothing."""
WORTH = f"""Tuning a parameter is worth the mean loss at a random value minus that at its best value, with
the others as in the space or as in its best tenth; losses beyond the worst of the log count as the worst.
How often the 5 % and 95 % quantiles of the draws enclose the truth after 100 trials; outside by at most
{TOLERANCE} of the largest worth counts as enclosed. Each number is of {EFFECT_LOGS} log."""
NEXT_SPACE = f"""From logs of 100 trials of `px.tpe`: whether the next space holds the best configuration of
the table, which part of the table it has, and by how much the best loss found is above the best of the
table, as a part of the median's distance from it: after the log, and after {N_MORE} more trials of
`px.tpe`, which begins with the log's rows, in the old or in the next space."""
READABLE = f"""How much of the truth a search with more random rows tells, and what they cost: means over
{", ".join(FEW_PROBLEMS)}. The gap is by how much the best trial is above the least loss of all logs, as a
part of that of random search. Rows of a start are `start=px.samplers.RandomStart(n)`, and epsilon is
`proposal=px.samplers.Proposal(epsilon=...)`. With the surrogate a log of `px.tpe` is nearer to the truth than
random rows read as they are, so that random rows are for those who have no surrogate, or who need the last
part of the error."""
SHOWN = """The text and the page of a result warn that the search learned if later rows lie closer to the
best fifth than earlier rows do (a positive correlation at p = 0.005): the share of such logs. The quality
of the surrogate is the part of the variance of the warped losses that it predicts for rows left out."""

TRIED = """## What was tried

Only the last row of this table lowers the error without doing harm elsewhere, by a third to nine tenths. The
table is an exploration that the command above does not repeat: root mean square errors after 300 trials of
other runs, 8 of each, means over `px.tpe` and `px.optuna_tpe`, for the last row of `px.tpe` alone. A proposal
q is the density of the best of the candidates that the sampler draws, from its own mixture and 256 draws.

| | quadratic | gated | interacting |
| --- | --- | --- | --- |
| all rows, as parzax reads them | 0.11 / 0.14 | 0.16 / 0.31 | 0.16 / 0.27 |
| `reference="uniform"` | 0.10 / 0.16 | 0.17 / 0.30 | 0.09 / 0.23 |
| weights 1 / q of the trial's own proposal | 0.25 / 0.20 | 0.25 / 0.26 | 0.14 / 0.27 |
| weights 1 / mean q over all proposals | 0.22 / 0.22 | 0.24 / 0.26 | 0.15 / 0.25 |
| logistic regression of membership on all parameters | 0.21 / 0.18 | 0.19 / 0.24 | 0.21 / 0.34 |
| a Gaussian process on losses, at 2048 uniform points (4 runs) | 0.20 / 0.20 | 0.16 / 0.34 | 0.26 / 0.26 |
| **`px.surrogate.GaussianProcess`**, mean of 24 draws | **0.01 / 0.01** | **0.03 / 0.11** | **0.11 / 0.04** |

`reference="uniform"` helps on the ridge but more than doubles the error of CMA-ES on the gated problem (level
0.3, 0.12 to 0.29). A random forest and weights from a Parzen density of the rows did not help. Reading only
the random first rows is random search of that length: ten rows tell nothing.

The earlier trial of a Gaussian process had two faults. It fitted the losses as they are: those of a search
have a heavy tail, which no stationary process can follow. `px.surrogate.GaussianProcess` fits the logarithm
of the distance to the best loss. And it took the mean of the rows for that of the space: a search crowds
where losses are low, so that a process about their mean expects as much of what the search has not seen. Here
each row counts as much as the part of the space of which it is the nearest. That alone has brought half the
sum of absolute differences, after 300 trials of `px.tpe`, from 0.11 / 0.36 to 0.04 / 0.18 on the gated
problem and from 0.40 / 0.29 to 0.26 / 0.18 on the branching one.

Under the weights 1 / q the effective number of rows, (sum of w)^2 / (sum of w^2), is 10 to 13 of 300: hardly
more than the ten random rows that the search began with. All others crowd in a small part of the space, so no
weights can bring the rest back."""


if __name__ == "__main__":
    title = "Logs of a search that learns"
    sys.exit(pages.main(None, "adaptive_logs", __doc__, title, units, written))
