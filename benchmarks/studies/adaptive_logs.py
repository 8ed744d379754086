"""Logs of a search that learns, beside truths: ``python -m benchmarks.studies.adaptive_logs``.

Importances from logs of random search, TPE, CMA-ES and a Gaussian process on problems whose importances are
known: those of the rows themselves, and those of a surrogate of the whole space. Writes a page,
docs/studies/adaptive_logs.md for a full run without --out; --resume goes on with what another run left
behind, and --only px.tpe/ /quadratic runs some of the parts. Nothing is claimed, so the exit status is
always 0. PARZAX_DATA names the folder of the tables.
"""

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.studies import pages
from benchmarks.studies.adaptive_problems import (
    IDLE,
    N_TRUTH,
    PEER_NAMES,
    PROBLEMS,
    RANDOM,
    TABLES,
    problem_of,
    truth,
)
from benchmarks.studies.adaptive_readings import LEVELS, N_SHUFFLES, PEER_EVALUATORS, PEER_LOGS
from benchmarks.studies.optimisers.page import table
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import Arrays, Unit

SIZES = (40, 100, 300)
NOISE = "noise"
# Runs, trials and seconds (about) of each search on one problem.
WIDE = {
    RANDOM: (12, 300, 60.0),
    "px.tpe": (12, 300, 90.0),
    "px.optuna_tpe": (12, 300, 90.0),
    "Optuna TPE": (12, 300, 120.0),
    "Optuna CMA-ES": (12, 300, 90.0),
    "Hyperopt": (12, 100, 90.0),
    "Optuna GP": (3, 100, 240.0),
}
QUICK = {RANDOM: (4, 40, 10.0), "px.optuna_tpe": (4, 40, 20.0)}
QUICK_PROBLEMS = ("quadratic", NOISE)
PACKAGES = {"Optuna CMA-ES": "optuna cmaes", "Optuna GP": "optuna torch", "Hyperopt": "hyperopt"}
# A share, or a worth as part of the largest, that is no further from an interval counts as inside.
TOLERANCE = 0.005
# A parameter is above chance under the surrogate if the lower end of its interval is above this share.
CHANCE = 0.01

# Of one log set: arrays of a problem and a search by name, and the number of trials.
Log = tuple[str, Arrays, int]


def units(quick: bool) -> list[Unit]:
    """Every search on every problem."""
    found = []
    for searcher, (n_seeds, n, cost) in (QUICK if quick else WIDE).items():
        needs = (*PACKAGES.get(searcher, "optuna" * (searcher in PEER_NAMES)).split(), "tinygp", "sklearn")
        for problem in QUICK_PROBLEMS if quick else (*PROBLEMS, *TABLES):
            arguments = {"searcher": searcher, "problem": problem, "n_seeds": n_seeds, "n": n, "sizes": SIZES}
            name = f"{searcher}/{problem}"
            found.append(
                Unit(name, "benchmarks.studies.adaptive_readings:reading", arguments, needs, cost=cost)
            )
    return found


def _part(log: Log, name: str) -> np.ndarray:
    _, arrays, n = log
    return arrays[f"{n}/{name}"]


def distance(log: Log, reading: str) -> np.ndarray:
    """(q,) half the sum of absolute differences from the true shares, mean over logs."""
    shares = _part(log, reading)
    shares = shares.mean(axis=1) if reading == "draws" else shares
    return np.abs(shares - truth(log[0], LEVELS).shares).sum(axis=-1).mean(axis=0) / 2


def coverage(log: Log, reading: str) -> np.ndarray:
    """Share of the truths in the 90 % intervals of the draws: (q,) of shares, (1,) of a worth."""
    draws, true = (
        _part(log, reading),
        getattr(truth(log[0], LEVELS), {"draws": "shares"}.get(reading, reading)),
    )
    low, high = np.nanquantile(draws, (0.05, 0.95), axis=1)
    slack = TOLERANCE * (1 if reading == "draws" else true.max())
    inside = (low - slack <= true) & (true <= high + slack)
    return inside.mean(axis=(0, 2)) if inside.ndim == 3 else inside.mean(keepdims=True)[0]


def above_chance(log: Log, reading: str) -> np.ndarray:
    """(q,) share of the logs in which a parameter that does nothing is above chance."""
    if reading == "draws":
        above = np.quantile(_part(log, "draws"), 0.05, axis=1) > CHANCE
    else:
        above = _part(log, "above") > 0
    return (above.any(axis=-1) if log[0] == NOISE else above[..., -1]).mean(axis=0)


def written(found: Mapping[str, Arrays]) -> Page:
    """The tables; a search whose package is missing has no rows."""
    logs: dict[tuple[str, str, int], Log] = {}
    for name, arrays in found.items():
        searcher, problem = name.split("/")
        logs |= {(searcher, problem, n): (problem, arrays, n) for n in SIZES if f"{n}/rows" in arrays}
    searchers = list(dict.fromkeys(searcher for searcher, _, _ in logs))
    problems = list(dict.fromkeys(problem for _, problem, _ in logs))
    known = [problem for problem in problems if problem != NOISE]
    made_up = [problem for problem in known if problem not in TABLES]
    sizes = [n for n in SIZES if any(key[2] == n for key in logs)]
    heads = [f"{n} trials" for n in sizes]

    def cells(
        searcher: str, among: Sequence[str], measure: Callable[[Log], np.ndarray | None], form: str
    ) -> list[str]:
        """A cell for each size, with one number a level: means over the problems."""
        means = []
        for n in sizes:
            measured = [measure(logs[key]) for p in among if (key := (searcher, p, n)) in logs]
            numbers = [number for number in measured if number is not None]
            cell = " / ".join(map(form.format, np.mean(numbers, axis=0))) if numbers else ""
            means.append(cell.replace("%", " %"))
        return means

    def beside(problem: str, searcher: str) -> list[list[str]]:
        """Distances of rows, surrogate, and of as many random rows."""
        kinds = {
            "rows": (searcher, "rows"),
            "surrogate": (searcher, "draws"),
            "random rows": (RANDOM, "rows"),
        }
        return [
            [
                problem,
                searcher,
                kind,
                *cells(of, [problem], lambda log, name=name: distance(log, name), "{:.2f}"),
            ]
            for kind, (of, name) in kinds.items()
        ]

    blocks = [ABOUT, _about_problems(problems), "## Distance to the true shares", DISTANCE]
    rows = [row for problem in known for searcher in searchers for row in beside(problem, searcher)]
    blocks.append(_filled(["problem", "search", "read by", *heads], rows, len(heads)))
    ratio_of = [problem for problem in known if problem != "gated"]
    rows = [[s, *cells(s, ratio_of, _log_ratio, "{:.2f}")] for s in searchers]
    blocks += [
        RATIO,
        _filled(["search", *heads], [[s, *map(_exponentials, row)] for s, *row in rows], len(heads)),
    ]
    blocks += ["## Intervals", INTERVALS]
    rows = [
        [kind, problem, *cells(s, [problem], lambda log, name=name: coverage(log, name), "{:.0%}"), s]
        for kind, name in (("shares", "draws"), ("worth", "worth"), ("worth among the best", "target_worth"))
        for problem in known
        for s in searchers
    ]
    rows = [[kind, problem, s, *row] for kind, problem, *row, s in rows]
    blocks.append(_filled(["interval of", "problem", "search", *heads], rows, len(heads)))
    blocks += ["## A parameter that does nothing", IDLE_ABOUT]
    rows = [
        [problem, s, kind, *cells(s, of, lambda log, name=name: above_chance(log, name), "{:.0%}")]
        for problem, of in (("effects", made_up), (NOISE, [NOISE]))
        for s in searchers
        for kind, name in (("rows", "rows"), ("surrogate", "draws"))
    ]
    blocks.append(_filled(["problem", "search", "read by", *heads], rows, len(heads)))
    blocks += ["## Which logs show that the search learned, and what the surrogate predicts", SHOWN]
    rows = [
        [
            problem,
            s,
            kind,
            *cells(s, [problem], lambda log, name=name: _part(log, name).mean(keepdims=True), form),
        ]
        for problem in problems
        for s in searchers
        for kind, name, form in (("learned", "shown", "{:.0%}"), ("quality", "quality", "{:.2f}"))
    ]
    blocks.append(_filled(["problem", "search", "", *heads], rows, len(heads)))
    rows = [
        [problem, s, kind, *cells(s, [problem], lambda log, name=name: _peer_distance(log, name), "{:.2f}")]
        for problem in known
        for s in searchers
        for kind, name in {"surrogate": "draws", **{peer: peer for peer in PEER_EVALUATORS}}.items()
    ]
    blocks += [
        "## Optuna's evaluators",
        PEERS,
        _filled(["problem", "search", "read by", *heads], rows, len(heads)),
    ]
    lacking = [f"{name}" for name in WIDE if name not in searchers]
    if lacking:
        blocks.append(
            f"Not run here, as a package is missing or the run was of some parts: {', '.join(lacking)}."
        )
    shapes = {name: arrays["x"].shape[:2] for name, arrays in found.items()}
    counts = {name.split("/")[0]: shape for name, shape in shapes.items()}
    blocks.append("Logs: " + "; ".join(f"{name} {s} of {n} trials" for name, (s, n) in counts.items()) + ".")
    return Page([*blocks, TRIED], max(shapes.values()), [])


def _log_ratio(log: Log) -> np.ndarray:
    return np.log(distance(log, "draws") / distance(log, "rows"))


def _exponentials(cell: str) -> str:
    return " / ".join(f"{np.exp(float(x)):.2f}" for x in cell.split(" / ")) if cell else ""


def _peer_distance(log: Log, reading: str) -> np.ndarray | None:
    """(1,) distance at the first level of the first logs; None where Optuna has not read them."""
    problem, arrays, n = log
    if f"{n}/{next(iter(PEER_EVALUATORS))}" not in arrays:
        return None
    if reading == "draws":
        shares = arrays[f"{n}/draws"][:PEER_LOGS, :, 0].mean(axis=1)
    else:
        shares = arrays[f"{n}/{reading}"]
    return np.abs(shares - truth(problem, LEVELS).shares[0]).sum(axis=-1).mean(keepdims=True) / 2


def _filled(heads: list[str], rows: list[list[str]], n: int) -> str:
    """The table without rows whose last n cells have no numbers."""
    return table(heads, [row for row in rows if any(row[-n:])])


def _about_problems(names: list[str]) -> str:
    """The problems with their true shares."""
    rows = []
    for name in names:
        problem = problem_of(name)
        about = TABLES[name][0] if name in TABLES else str(problem.fn.func.__doc__).splitlines()[0]
        levels = () if name == NOISE else truth(name, LEVELS).shares
        shares = "; ".join(", ".join(f"{share:.2f}" for share in level) for level in levels)
        rows.append([name, about, shares])
    return table(["problem", "", f"true shares at {LEVELS[0]}; at {LEVELS[1]}"], rows)


ABOUT = f"""Most logs come from a search that learns: each trial is chosen by those before it. This page
measures how far importances of such a log are from those of the whole space, for the rows themselves and for
`px.surrogate`, a Gaussian process on the logarithm of the distance to the best loss. What to do:

* Read the importances of the rows of such a log as those of its rows, not of the space. More trials need not
  help: a search may repeat itself.
* For the whole space use the surrogate where it predicts the rows that are left out.
* Or analyse some hundred rows of random search.

The truth is the share of each parameter in {N_TRUTH:,} uniform rows without noise, or in all rows of a table,
by the same estimator. The made-up problems have a last parameter `{IDLE}` that does nothing. The two numbers
of a cell are for the levels {LEVELS[0]} and {LEVELS[1]}."""
DISTANCE = """Half the sum of absolute differences of the shares from the true shares, mean over logs: 0 at
best, 1 at worst. The surrogate's shares are the mean of 24 draws. "Random rows" are as many trials of random
search, read as they are: their distance is due to chance alone."""
RATIO = """The surrogate's distance as a part of that of the rows, geometric mean over the problems without
`gated` and noise:"""
INTERVALS = f"""How often the 5 % and 95 % quantiles of the draws enclose the truth, of a share and of what it
is worth to tune a parameter with the others as in the space or as in its best tenth. A truth also counts as
enclosed if it is outside by at most {TOLERANCE} of a share, or of the largest worth."""
IDLE_ABOUT = f"""How often a parameter that does nothing is above chance. For the rows that is an adjusted
p-value of at most 0.05 from {N_SHUFFLES} shuffles; for the surrogate, a lower end above {CHANCE}. "Effects"
are the made-up problems but noise, where any of five parameters counts."""
SHOWN = """The text and the page of a result warn that the search learned if later rows lie closer to the best
fifth than earlier rows do (a positive correlation at p = 0.005): the share of such logs. The quality of the
surrogate is the part of the variance of the warped losses that it predicts for rows left out."""
PEERS = f"""The distance at level {LEVELS[0]} of the first {PEER_LOGS} logs, for the surrogate and for the
evaluators that come with Optuna. f-ANOVA and MDI explain the losses rather than membership in the best tenth,
so part of their distance is another question. They do not read conditional parameters."""

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
