"""Importances by many tools, beside truths: ``python -m benchmarks.studies.importance_peers``.

Each tool is measured by the question that it means to answer, on logs of random search and of Optuna's TPE on
problems that are small enough to enumerate. Writes a page, docs/studies/importance_peers.md for a full run
without --out. PARZAX_DATA names the folder of the tables. PARZAX_PEERS names Python interpreters, separated
by ":", whose environments have jaxgsa, SALib, HyperSHAP or DeepCAVE, which cannot be installed together;
without it these are left out. The exit status is always 0.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import scipy.stats

import parzax as px
from benchmarks.studies import importance_readers, pages
from benchmarks.studies.adaptive_problems import problem_of
from benchmarks.studies.adaptive_readings import PEER_EVALUATORS, optuna_shares
from benchmarks.studies.adaptive_scores import LEAST_QUALITY, N_BOOTSTRAP, distance
from benchmarks.studies.adaptive_searches import RANDOM, Logs, load
from benchmarks.studies.importance_readers import Answer, Axis, read_logs
from benchmarks.studies.importance_truths import (
    DEFAULT,
    DELTA,
    FIRST,
    LEVEL,
    N_DRAWN_VALUES,
    SHAPLEY,
    TARGET,
    TOTAL,
    grid,
    shares,
    variance_shares,
)
from benchmarks.studies.optimisers.page import table
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import LIMIT, Arrays, Unit
from parzax.lens.results.order import shows_learning

PROBLEMS = ("quadratic", "interacting", "cliff", "gated", "conditional", "cells", "slice")
SEARCHES, SIZES, N_LOGS = (RANDOM, "Optuna TPE"), (40, 100, 300), 8
ROWS, SURROGATE, AUTOMATIC = "parzax rows", "parzax surrogate", "parzax"
OPTUNA = {f"Optuna {name}": name for name in PEER_EVALUATORS}
# Logs that are read by tools that take seconds.
N_SLOW, SLOW = 3, ("Optuna f-ANOVA", "HyperSHAP sensitivity")
# Of a log: whether the search learned; quality of the surrogate. They decide which of the two answers.
LEARNED, QUALITY = "learned", "quality"
MIDDLE = 100
TOLERANCE = 0.01
QUESTIONS = (TARGET, FIRST, TOTAL, SHAPLEY, DEFAULT, DELTA)

ABOUT = """Tools that print "importance" answer different questions; their numbers differ for that reason
alone. Choose the question first, then the tool. Each tool is measured here by the question that it means to
answer."""
QUESTIONS_ABOUT = [
    [
        TARGET,
        "variance, within each domain, of being among the best 10 % of the space (PED-ANOVA)",
        "what to set with care to get a good result",
        "parzax (rows, or a surrogate of a search that learns), Optuna PED-ANOVA (its default)",
    ],
    [
        FIRST,
        "variance of the mean loss given a parameter (first-order Sobol')",
        "what the loss depends on anywhere in the space, bad corners included",
        "f-ANOVA of Optuna and DeepCAVE; SALib RBD-FAST, enhanced HDMR; jaxgsa PCE, HDMR, rank",
    ],
    [
        TOTAL,
        "variance that remains when all others are fixed (total Sobol')",
        "what can be fixed without harm",
        "SALib enhanced HDMR; jaxgsa PCE, HDMR",
    ],
    [
        SHAPLEY,
        "Shapley values of the variance of the mean loss",
        "one number with interactions shared out fairly",
        "jaxgsa PCE, HDMR; Optuna MDI comes nearest to it",
    ],
    [
        DEFAULT,
        "Shapley values of the variance if only some parameters move, the others at their defaults",
        "what to tune first, starting from the defaults",
        "HyperSHAP (which also has tunability and ablation, for the maximum and for two configurations)",
    ],
    [
        DELTA,
        "distance of the loss's distribution given a parameter from that without",
        "changes of spread and tails too",
        "SALib delta, jaxgsa delta (also PAWN, HSIC, optimal transport, which are not measured here)",
    ],
]
IN_SHORT = """In short:

* To learn from a log what makes results good, use parzax with its surrogate: it is first, or as near as the
  first, in every case. For random rows type `surrogate=px.surrogate.GaussianProcess()`, or `--surrogate yes`:
  by default these are read without it, and on up to about 100 of them Optuna's PED-ANOVA is nearer.
* The variance of the loss, from random rows: PCE or HDMR of jaxgsa (numbers only, milliseconds), f-ANOVA of
  DeepCAVE (categories too), draws of parzax's surrogate (conditions too).
* To compare with the defaults or between two configurations, use HyperSHAP, unless there are conditions.
* For the last five questions random rows are worth more than any tool: see the columns of TPE."""
HOW_NEAR = f"""The distance is half the sum of absolute differences of the shares from the true ones: 0 at
best, 1 at worst. Truths are enumerations of a grid, in float64: five functions (a sum; a ridge; a cliff with
waves; one with a category; the same with parameters that are active for one category only) and two tables of
trainings (cells: six categories; slice: nine mixed parameters, losses with a heavy tail). Estimates below 0
count as 0. {N_LOGS} logs of each kind; tools that take seconds ({", ".join(SLOW)}) read {N_SLOW}. A cell is
the mean over the problems that a tool answers, with their number: compare cells with equal numbers. Rank
correlations (random / TPE) and seconds for one log, compilation left out, are those of {MIDDLE} trials.

*parzax* is `px.cond_ped_anova(log)`: the surrogate if the search learned, else the rows. *parzax surrogate*
is `surrogate=px.surrogate.GaussianProcess()`. Its answers to the other questions are not a function of
parzax: `result.posterior.draws(key, x, n)` gives losses at any configurations, here on a coarse grid, and
`variance_shares` of `benchmarks/studies/importance_truths.py` does the rest."""
BY_PROBLEM = f"""Distances after {MIDDLE} trials of random search / of TPE, with half of their 90 %
intervals over logs:"""
BEHIND = """A case is a problem, a search and a number of trials. Behind means that the 90 % interval of the
difference of distances, over the same logs, is above 0.01."""
WHY = """Why, as far as it was looked into:

* The default reads the rows of random search, and only 4 of 40 rows are in the best tenth. From each
  variance it subtracts what chance would give, which leaves weak parameters with 0 and the strongest with too
  much. Without that (`divergence=px.divergence.Explained(debias=False)`) the distances after 40 trials are
  0.30 (quadratic) and 0.23 (interacting), but parameters that do nothing get shares. The surrogate is nearer,
  and in 96 random logs of quadratic, cliff, gated and cells it predicted at least 0.29 of the variance of
  rows that were left out: more than the 0.2 from which on it answers for a search that learns. It is not the
  default for random rows because compiling it takes longer: the first answer of a process for 60 rows of
  three numbers takes 10 s of processor time instead of 2.4, a later one 0.19 s instead of 0.04.
* In 300 trials TPE uses up the best region of slice and moves away, so that the order of the rows no longer
  shows that the search learned, and the rows answer: ask the surrogate.
* PCE is a polynomial of degree 3, and quadratic and interacting are such polynomials. On cliff it is not.
* The surrogate is fitted to the logarithm of regret, to be right where losses are low. Bad corners decide the
  variance of the loss, and logs of TPE have few rows there: draw part of the rows at random."""
CANNOT = """Besides refusals:

* Optuna's f-ANOVA and MDI leave out parameters that are not active in every trial; they count as 0 here.
* HyperSHAP drops configurations that its mixing makes invalid, so that on conditional the parameter that
  activates others seems to do nothing.
* SALib takes categories for numbers; RBD-FAST also takes inactive values (NaN) for the largest ones.
* Optuna's PED-ANOVA reads the rows of TPE as if they were random.
* parzax answers all problems, with intervals and p-values. It has no local explanations, no tunability and no
  moment-independent indices.

jaxgsa needs Python 3.12. DeepCAVE needs pyrfr, which was built with SWIG 3.0.12 (`swig<4`): built with 4.2 it
has no f-ANOVA."""
# Draws of the surrogate on a grid; fewer where the grid is large.
N_DRAWS, MOST_POINTS = 16, 1 << 17


def units(quick: bool) -> list[Unit]:
    """Truths, then what each process reads."""
    module, truths = "benchmarks.studies.importance_peers", "benchmarks.studies.importance_truths"
    problems, sizes, n_logs = (("conditional",), SIZES[:1], 2) if quick else (PROBLEMS, SIZES, N_LOGS)
    listed = [Unit(f"truth/{problem}", f"{truths}:read_truth", {"problem": problem}) for problem in problems]
    for problem in problems:
        for search in SEARCHES:
            arguments = {"logs": Logs(search, problem, n_logs, max(sizes)), "sizes": sizes}
            for reader, cost in (("ours", 60), ("peers", 30)):
                name, needs = f"{reader}/{search}/{problem}", ("optuna", "sklearn")
                listed.append(Unit(name, f"{module}:read_{reader}", arguments, needs, cost, limit=600))
    return listed


def read_ours(logs: Logs, sizes: Sequence[int]) -> Arrays:
    """A unit: answers of parzax and of Optuna; see `read_logs`."""
    readers = {ROWS: _rows, SURROGATE: _surrogate}
    readers |= {name: _optuna(evaluator) for name, evaluator in OPTUNA.items()}
    x, loss = _log(logs)
    return read_logs(readers, problem_of(logs.problem).space, x, loss, sizes, N_SLOW, SLOW)


def read_peers(logs: Logs, sizes: Sequence[int]) -> Arrays:
    """A unit: answers of the packages of other environments, and their versions."""
    space, (x, loss), found = problem_of(logs.problem).space, _log(logs), {}
    for python in filter(None, os.environ.get("PARZAX_PEERS", "").split(":")):
        with tempfile.TemporaryDirectory() as folder:
            paths = [str(Path(folder) / name) for name in ("logs.npz", "answers.npz")]
            log = {"x": places(space, x), "loss": loss, "axes": json.dumps(axes_of(space))}
            np.savez(paths[0], **log, sizes=sizes, n_slow=N_SLOW)
            subprocess.run([python, importance_readers.__file__, *paths], check=True)
            with np.load(paths[1]) as answers:
                found |= answers
    return found


def _log(logs: Logs) -> tuple[np.ndarray, np.ndarray]:
    arrays = load(logs)
    return np.asarray(arrays["x"], float), np.asarray(arrays["loss"], float)


def axes_of(space: px.Space) -> list[Axis]:
    """The parameters, as other packages have them; a condition is on one category."""
    axes: list[Axis] = []
    domains: list[Any] = [domain for (domain,) in space.domains]
    for name, domain in zip(space.names, domains, strict=True):
        parent = None
        for condition in domain.conditions:
            place = space.names.index(condition.parent)
            parent = place, domains[place].choices.index(condition.values[0])
        ordered = not isinstance(domain, px.Categorical)
        axes.append(Axis(name, int(domain.n_values or 0), ordered, parent))
    return axes


def places(space: px.Space, x: np.ndarray) -> np.ndarray:
    """Codes of categories, and places of numbers in [0, 1]; NaN if inactive."""
    columns = []
    for j, (domain,) in enumerate(space.domains):
        column, n = x[..., j], domain.n_values
        index = domain.axis.index(np.nan_to_num(column, nan=0.0))
        place = (index + 0.5) / n if n else domain.axis.place(column, index)
        columns.append(
            np.where(np.isnan(column), np.nan, index if isinstance(domain, px.Categorical) else place)
        )
    return np.stack(columns, axis=-1)


def _rows(space: px.Space, x: np.ndarray, loss: np.ndarray) -> Answer:
    """Importances of the rows, and whether their order shows that the search learned."""
    obs = px.Observations.from_arrays(space, x, loss)
    result = px.cond_ped_anova(obs, LEVEL, key=jax.random.key(0), surrogate=None)
    return {TARGET: result.importance[0], LEARNED: shows_learning(obs, obs.losses[..., 0][None])}


def _surrogate(space: px.Space, x: np.ndarray, loss: np.ndarray) -> Answer:
    """Importances of the surrogate; shares of the variance of its draws on a grid."""
    obs, key = px.Observations.from_arrays(space, x, loss), jax.random.key(zlib.crc32(loss.tobytes()))
    result = px.cond_ped_anova(obs, LEVEL, key=key, surrogate=px.surrogate.GaussianProcess())
    points, shape = grid(space, N_DRAWN_VALUES)
    n_draws = max(min(N_DRAWS, MOST_POINTS // len(points)), 2)
    draws = np.minimum(result.posterior.draws(key, points, n_draws), np.nanmax(loss))
    answers = [variance_shares(space, np.asarray(draw, float).reshape(shape)) for draw in draws]
    return {TARGET: result.importance[0], QUALITY: result.posterior.quality} | {
        question: np.mean([answer[question] for answer in answers], axis=0) for question in answers[0]
    }


def _optuna(evaluator: str) -> Callable:
    question = {"PED-ANOVA": TARGET, "f-ANOVA": FIRST, "MDI": SHAPLEY}[evaluator]

    def read(space: px.Space, x: np.ndarray, loss: np.ndarray) -> Answer:
        return {question: optuna_shares(evaluator, space, x, loss)}

    return read


class Case(NamedTuple):
    """Some logs: of a problem, by a search, of so many trials."""

    problem: str
    search: str
    n: int


class Answers:
    """Shares by question and tool; the parts of the page that are made of them."""

    def __init__(self, found: Mapping[str, Arrays]) -> None:
        self.truths = {name[6:]: arrays for name, arrays in found.items() if name.startswith("truth/")}
        self.shares: dict[str, dict[str, dict[Case, np.ndarray]]] = {question: {} for question in QUESTIONS}
        self.shares[TARGET][AUTOMATIC] = {}
        self.seconds: dict[str, dict[Case, np.ndarray]] = {}
        self.refusals: dict[str, dict[str, str]] = {}
        self.versions: dict[str, str] = {}
        for name, arrays in found.items():
            kind, *place = name.split("/")
            if kind == "truth":
                continue
            for key, values in arrays.items():
                if key == LIMIT:
                    continue
                what, tool, *question = key.split("/")
                if what == "version":
                    self.versions[tool] = str(values)
                elif what == "refusal":
                    self.refusals.setdefault(tool, {})[place[1]] = str(values)
                else:
                    case = Case(place[1], place[0], int(what))
                    if question[0] == "seconds":
                        self.seconds.setdefault(tool, {})[case] = values
                    elif question[0] in QUESTIONS:
                        by_case = self.shares[question[0]].setdefault(tool, {})
                        by_case[case] = np.stack([shares(row) for row in values])
            self._add_default(Case(place[1], place[0], 0), arrays)

    def _add_default(self, place: Case, arrays: Arrays) -> None:
        """Add the answers of `px.cond_ped_anova`: the surrogate if the search learned, else the rows."""
        for n in SIZES:
            if f"{n}/{ROWS}/{LEARNED}" in arrays and f"{n}/{SURROGATE}/{QUALITY}" in arrays:
                learned = arrays[f"{n}/{ROWS}/{LEARNED}"] > 0
                by_surrogate = learned & (arrays[f"{n}/{SURROGATE}/{QUALITY}"] >= LEAST_QUALITY)
                for table_of, question in ((self.shares[TARGET], TARGET), (self.seconds, "seconds")):
                    rows, draws = (arrays[f"{n}/{tool}/{question}"] for tool in (ROWS, SURROGATE))
                    chosen = np.where(by_surrogate.reshape(-1, *[1] * (rows.ndim - 1)), draws, rows)
                    table_of.setdefault(AUTOMATIC, {})[place._replace(n=n)] = chosen

    def errors(self, question: str, tool: str, case: Case) -> np.ndarray:
        """Distances (s,) from the truth; empty if the tool gave no answer."""
        answers = self.shares[question].get(tool, {}).get(case)
        return np.zeros(0) if answers is None else distance(answers, self.truths[case.problem][question])

    def correlation(self, question: str, tool: str, search: str) -> float:
        """Mean rank correlation with the truth after 100 trials; NaN without answers."""
        pairs = [
            (row, self.truths[case.problem][question])
            for case, answers in self.shares[question][tool].items()
            if (case.search, case.n) == (search, MIDDLE)
            for row in answers
        ]
        ranks = [np.corrcoef(*map(scipy.stats.rankdata, pair))[0, 1] for pair in pairs if np.ptp(pair[0])]
        return float(np.mean(ranks)) if ranks else np.nan

    def summary(self) -> str:
        """Mean distances over the problems that a tool answers, rank correlations, seconds."""
        lines = []
        for question, tools in self.shares.items():
            for tool in tools:
                cells = []
                for search in SEARCHES:
                    for n in SIZES:
                        errors = [self.errors(question, tool, Case(p, search, n)) for p in self.truths]
                        means = [of_problem.mean() for of_problem in errors if len(of_problem)]
                        cells.append(f"{np.mean(means):.2f} ({len(means)})" if means else "")
                ranks = [self.correlation(question, tool, search) for search in SEARCHES]
                # The first log of a case is read with compilation.
                times = [of_case[1:] for case, of_case in self.seconds[tool].items() if case.n == MIDDLE]
                seconds = f"{np.median(np.concatenate(times)):.2g}" if times else ""
                rank = " / ".join(f"{rank:.2f}" if np.isfinite(rank) else "-" for rank in ranks)
                lines.append([question, tool, *cells, rank, seconds])
        heads = [f"{search} {n}" for search in ("random", "TPE") for n in SIZES]
        return table(["question", "tool", *heads, "rank correlation", "seconds"], lines)

    def by_problem(self) -> str:
        """Distances after 100 trials, with half of their 90 % intervals."""
        lines = []
        for question, tools in self.shares.items():
            for tool in tools:
                cells = []
                for problem in self.truths:
                    errors = [
                        self.errors(question, tool, Case(problem, search, MIDDLE)) for search in SEARCHES
                    ]
                    cells.append(" / ".join(map(_with_width, errors)))
                if any(cell != "- / -" for cell in cells):
                    lines.append([question, tool, *cells])
        return table(["question", "tool", *self.truths], lines)

    def behind(self, question: str, tool: str, others: Sequence[str]) -> tuple[int, list[str]]:
        """The number of cases that tools share, and those in which one of the others is nearer to the truth.

        That is, where the 90 % interval of the difference of mean distances over the same logs is above
        `TOLERANCE`.
        """
        texts, n_cases = [], 0
        for case in self.shares[question].get(tool, {}):
            errors, ahead = self.errors(question, tool, case), []
            theirs = {other: self.errors(question, other, case) for other in others}
            theirs = {other: of_other for other, of_other in theirs.items() if len(of_other)}
            n_cases += bool(theirs)
            for other, of_other in theirs.items():
                n = min(len(errors), len(of_other))
                gap = errors[:n] - of_other[:n]
                resampled = np.random.default_rng(0).integers(n, size=(N_BOOTSTRAP, n))
                if np.quantile(gap[resampled].mean(axis=1), 0.05) > TOLERANCE:
                    ahead.append((of_other.mean(), other))
            if ahead:
                error, other = min(ahead)
                where = f"{case.problem}, {case.n} of {case.search}"
                texts.append(f"{where}: {errors.mean():.2f}, {other} {error:.2f}")
        return n_cases, texts


def _with_width(errors: np.ndarray) -> str:
    if not len(errors):
        return "-"
    width = 1.645 * errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
    return f"{errors.mean():.2f} ± {width:.2f}"


def written(found: Mapping[str, Arrays]) -> Page:
    """The page, from as much as there is."""
    answers = Answers({name: arrays for name, arrays in found.items() if arrays})
    verdicts = []
    for question, tool in ((TARGET, AUTOMATIC), *((question, SURROGATE) for question in QUESTIONS)):
        others = [other for other in answers.shares[question] if not other.startswith("parzax")]
        if tool in answers.shares[question] and others:
            n_cases, texts = answers.behind(question, tool, others)
            verdicts.append([question, tool, str(n_cases), str(len(texts)), "; ".join(texts)])
    heads = ["question", "tool", "cases", "behind in", "where, and the nearest of the others"]
    refusals = [
        [
            tool,
            ", ".join(of_tool),
            next(iter(of_tool.values())).split("; its")[0].split(". ")[0].replace("|", "/"),
        ]
        for tool, of_tool in answers.refusals.items()
    ]
    versions = answers.versions | {"optuna": version("optuna")}
    peers = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    blocks = [
        ABOUT, table(["question", "what is shared out", "use it for", "tools"], QUESTIONS_ABOUT), IN_SHORT,
        "## How near", HOW_NEAR, answers.summary(), BY_PROBLEM, answers.by_problem(),
        "## Where another tool is nearer than parzax", BEHIND, table(heads, verdicts), WHY,
        "## What each tool cannot do", CANNOT, table(["tool", "problems", "refusal"], refusals),
        f"Processor: {_processor()}. Peers: {peers}.",
    ]  # fmt: skip
    n_logs = max(
        (len(rows) for tools in answers.shares[TARGET].values() for rows in tools.values()), default=0
    )
    return Page(blocks, (n_logs, max(SIZES)), [])


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    names = [line.split(": ")[1] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def main(argv: list[str] | None = None) -> int:
    """Read the logs, write the page."""
    title = "Which importance answers which question?"
    return pages.main(argv, "importance_peers", __doc__, title, units, written)


if __name__ == "__main__":
    sys.exit(main())
