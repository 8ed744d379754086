"""Samplers of other libraries, each on its own question: ``python -m benchmarks.studies.sampler_peers``.

Gaps to the optimum on problems that were kept for the end, over those of Optuna's default sampler. --hub is
a folder of OptunaHub's registry, whose samplers are in package/samplers; --optuna-4 is one with Optuna 4.5
(``pip install --target``), for those that do not run with Optuna 5. What is not there is left out, and the
page says so. Writes docs/studies/sampler_peers.md for a full run without --out. PARZAX_DATA names the folder
of tables; tables of trainings are made by ``python -m benchmarks.studies.trainings.tables``. The exit status
is always 0.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks import toys
from benchmarks.studies import pages
from benchmarks.studies.optimisers import constrained, peers, suites
from benchmarks.studies.optimisers import searches as suite_searches
from benchmarks.studies.optimisers.page import table
from benchmarks.studies.optimisers.peers import PEERS, Evaluate, Peer, ask_and_tell, in_study
from benchmarks.studies.optimisers.problems import KEPT
from benchmarks.studies.optimisers.scores import FLOOR, N_RESAMPLED
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.meta_learn_tpe import ellipsoids
from benchmarks.studies.papers.meta_learn_tpe import searches as source_searches
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.trainings import searches as training_searches
from benchmarks.studies.trainings.tables import FOLDER, TRAININGS

FIXED, CONDITIONAL = "one space for all trials", "conditional parameters"
LIMITED, SOURCES = "a constraint", "logs of other tasks"
QUESTIONS = FIXED, CONDITIONAL, LIMITED, SOURCES
# Parts of the problems: groups of the suite, ellipsoids, and all tables of trainings.
TABLES, ELLIPSOIDS = "trainings", "ellipsoids"
PARTS = {
    SOURCES: (ELLIPSOIDS,), LIMITED: (TABLES, constrained.BALL), CONDITIONAL: (TABLES, "conditional"),
    FIXED: (TABLES, "mixed", "hpolib", "nasbench201", "bbob-05d"),
}  # fmt: skip
# Half of the configurations are feasible.
HALF, AT_HALF = training_searches.KINDS[2], " at 0.5"
DIM, N_SOURCES, CENTERS = 4, 4, (0, 2)
N_RUNS, N = 32, 100
BUDGETS = 25, 50, 100
OURS, OPTUNA = "parzax", "Optuna"
# Names of arrays that are not gaps.
SECONDS, ERROR = "seconds", "error"
# Where the options are kept for the processes that search.
HUB, OPTUNA_4 = "PARZAX_HUB", "PARZAX_OPTUNA_4"


# --- the samplers ------------------------------------------------------------------------------------


def _rustuna(space: px.Space, evaluate: Evaluate, n: int, seed: int, _: int) -> None:
    import rustuna

    study = rustuna.create_study(sampler=rustuna.samplers.TPESampler(seed=seed), direction="minimize")
    ask_and_tell(study, space, evaluate, n)


def _hyperoptax(space: px.Space, evaluate: Evaluate, n: int, seed: int, _: int) -> None:
    """One at a time; floats without a log axis are all that is asked of it here."""
    import hyperoptax

    pairs = zip(space.names, space.domains, strict=True)
    axes = {
        name: hyperoptax.LinearSpace(own.low, own.high) for name, (own,) in pairs if isinstance(own, px.Float)
    }
    state, optimizer = hyperoptax.BayesianSearch.init(axes, n_max=n, n_parallel=1, maximize=False)
    suggest, update = _compiled(tuple(axes.items()), optimizer)
    for key in jax.random.split(jax.random.key(seed), n):
        x = suggest(state, key)
        loss = evaluate({name: float(value[0]) for name, value in x.items()})[0][0]
        state = update(state, key, np.array([loss], np.float32), x)


_programs: dict[Any, tuple[Callable, Callable]] = {}


def _compiled(axes: Any, optimizer: Any) -> tuple[Callable, Callable]:
    """Once for a space."""
    return _programs.setdefault(axes, (jax.jit(optimizer.get_next_params), jax.jit(optimizer.update_state)))


def _of_hub(package: str, name: str, _samplers: Any, seed: int, **options: Any) -> Any:
    """A sampler of OptunaHub's registry."""
    import optunahub

    root = f"{os.environ[HUB]}/package"
    module = optunahub.load_local_module(f"samplers/{package}", registry_root=root)
    return getattr(module, name)(seed=seed, **options)


def _hub_c_tpe(samplers: Any, seed: int) -> Any:
    def constraints(trial: Any) -> list[float]:
        return [value for name, value in trial.user_attrs.items() if name.startswith("c")]

    return _of_hub("ctpe", "cTPESampler", samplers, seed, constraints_func=constraints)


def _with_sources(center: int, samplers: Any, seed: int) -> Any:
    """A sampler with studies of random trials, the logs that ours has."""
    import optuna

    logs, studies = ellipsoids.logs(DIM, center, N_SOURCES, seed), []
    for log in logs.values():
        studies.append(optuna.create_study())
        axes: dict[str, Any] = {
            name: optuna.distributions.FloatDistribution(*toys.BOX) for name in log.space.names
        }
        for row, loss in zip(log.values, log.losses[:, 0], strict=True):
            params = dict(zip(axes, map(float, row), strict=True))
            trial = optuna.trial.create_trial(params=params, distributions=axes, value=float(loss))
            studies[-1].add_trial(trial)
    return _of_hub("meta_learn_tpe", "MetaLearnTPESampler", samplers, seed, source_studies=studies)


@dataclass(frozen=True)
class Entrant:
    """A sampler of another library.

    Attributes:
        peer: how it searches.
        questions: what it is for.
        package: of the hub's registry, if it is one of its.
        old: whether it needs Optuna 4.
        groups: of problems, those of its questions if empty.
        n_runs: fewer of those that take seconds for a run.
    """

    peer: Peer
    questions: Sequence[str]
    package: str = ""
    old: bool = False
    groups: Sequence[str] = ()
    n_runs: int = 8


def _study(make: Callable[[Any, int], Any], **options: Any) -> Peer:
    return Peer(partial(in_study, make, **options), ("optuna",))


ENTRANTS: Mapping[str, Entrant] = {
    OPTUNA: Entrant(PEERS["Optuna TPE"], QUESTIONS, n_runs=24),
    "Rustuna": Entrant(Peer(_rustuna, ("rustuna",)), QUESTIONS[:3], n_runs=N_RUNS),
    "Hyperopt": Entrant(PEERS["Hyperopt"], QUESTIONS[:2]),
    "hyperoptax": Entrant(Peer(_hyperoptax, ("hyperoptax",)), [FIXED], groups=["bbob-05d"]),
    "tpe_union_multivariate": Entrant(
        _study(partial(_of_hub, "tpe_union_multivariate", "TPEUnionMultivariateSampler")),
        [CONDITIONAL],
        "tpe_union_multivariate",
    ),
    "hierarchical_tpe": Entrant(
        _study(partial(_of_hub, "hierarchical_tpe", "HierarchicalTPESampler")),
        [CONDITIONAL],
        "hierarchical_tpe",
        old=True,
    ),
    "ctpe": Entrant(_study(_hub_c_tpe, told_by="set_user_attr"), [LIMITED], "ctpe", old=True),
    "meta_learn_tpe": Entrant(_study(partial(_with_sources, 0)), [SOURCES], "meta_learn_tpe", old=True),
}


# --- the runs ----------------------------------------------------------------------------------------


def search(method: str, question: str, part: str, n_runs: int, n_runs_of_peers: int) -> Arrays:
    """A unit: "CASE" (s, 4) gaps of the first evaluation and of `BUDGETS`; "seconds" of a suggestion.

    "error" in place of them is what a sampler raised. One that needs Optuna 4 has a process to itself.
    """
    if method == OURS:
        return _ours(question, part, n_runs)
    arguments = method, question, part, n_runs, n_runs_of_peers
    if not ENTRANTS[method].old:
        return _theirs(*arguments)
    # A new process has the search path of this one.
    sys.path.insert(0, os.environ[OPTUNA_4])
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(_theirs, *arguments).result()
    finally:
        sys.path.remove(os.environ[OPTUNA_4])


def _ours(question: str, part: str, n_runs: int) -> Arrays:
    if question == SOURCES:
        target, found, seconds = toys.ellipsoid(DIM), {}, []
        for center in CENTERS:
            logs = [ellipsoids.logs(DIM, center, N_SOURCES, seed) for seed in range(n_runs)]
            samplers = [px.meta_learn_tpe(target.space, own) for own in logs]
            losses = source_searches.runs(samplers, target, N)[0]
            start = time.process_time()
            source_searches.runs(samplers, target, N)
            seconds.append((time.process_time() - start) / n_runs / N)
            found[f"c* = {center}"] = _at_budgets(source_searches.best(losses))
        return found | {SECONDS: np.median(seconds)}
    if part == TABLES:
        found, seconds = {}, []
        for task in _tasks(question):
            runs = training_searches.ours(px.tpe, task, n_runs, N)
            start = time.process_time()
            training_searches.ours(px.tpe, task, n_runs, N)
            seconds.append((time.process_time() - start) / n_runs / N)
            found[task.name] = _regrets(task, runs, lucky=False)
        return found | {SECONDS: np.median(seconds)}
    arrays = suite_searches.search("tpe", part, KEPT, n_runs, N, _cases(question, part))
    return {case: _at_budgets(gaps) for case, gaps in arrays.items() if case != SECONDS}


def _theirs(method: str, question: str, part: str, n_runs: int, n_runs_of_peers: int) -> Arrays:
    peer = replace(ENTRANTS[method].peer, most=n_runs_of_peers)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if part == TABLES:
                return _on_tables(peer.optimise, _tasks(question), n_runs_of_peers)
            if part == ELLIPSOIDS:
                return _on_ellipsoids(method, peer.optimise, n_runs_of_peers)
            of_case = {case: peers.searched(peer, part, case, n_runs, N) for case in _cases(question, part)}
            return {case: _at_budgets(arrays[case]) for case, arrays in of_case.items()}
    except Exception as error:  # of whatever kind: the page says what it was
        return {ERROR: np.array(f"{type(error).__name__}: {error}".splitlines()[0])}


Optimise = Callable[[px.Space, Evaluate, int, int, int], None]


def _timed(optimise: Optimise, space: px.Space, evaluate: Evaluate, seed: int) -> float:
    """Seconds of a suggestion in a run, with evaluations."""
    start = time.process_time()
    optimise(space, evaluate, N, seed, 1)
    return (time.process_time() - start) / N


def _on_tables(optimise: Optimise, tasks: Sequence[training_searches.Task], n_runs: int) -> Arrays:
    found, seconds = {}, []
    for task in tasks:
        logs = [training_searches.Log(task, seed) for seed in range(n_runs)]
        seconds += [_timed(optimise, task.space, log, seed) for seed, log in enumerate(logs)]
        rows, losses = (np.array([getattr(log, name) for log in logs]) for name in ("rows", "losses"))
        found[task.name] = _regrets(task, training_searches.Runs(rows, losses), lucky=True)
    return found | {SECONDS: np.median(seconds)}


def _on_ellipsoids(method: str, optimise: Optimise, n_runs: int) -> Arrays:
    target, weights, found, seconds = toys.ellipsoid(DIM), 5.0 ** np.arange(DIM), {}, []
    for center in CENTERS:
        if method != OPTUNA:  # which knows no sources
            optimise = partial(in_study, partial(_with_sources, center))
        losses: list[float] = []

        def evaluate(at: Mapping[str, float], losses: list[float] = losses) -> tuple[list[float], list]:
            losses.append(float((weights * np.array(list(at.values())) ** 2).sum()))
            return losses[-1:], []

        seconds += [_timed(optimise, target.space, evaluate, seed) for seed in range(n_runs)]
        best = np.minimum.accumulate(np.reshape(losses, (-1, N)), axis=1)
        found[f"c* = {center}"] = _at_budgets(best)
    return found | {SECONDS: np.median(seconds)}


def _tasks(question: str) -> list[training_searches.Task]:
    """Kept tables that were made: all under a limit, else those with or without conditions."""
    kind, found = HALF if question == LIMITED else training_searches.PLAIN, []
    for name, training in TRAININGS.items():
        conditional = any(own.conditions for (own,) in training.space.domains)
        there = training.half == KEPT and (FOLDER / f"{name.replace(' ', '_')}.npz").is_file()
        if there and (question == LIMITED or question == (CONDITIONAL if conditional else FIXED)):
            found.append(training_searches.Task(name, kind))
    return found


def _at_budgets(gaps: np.ndarray) -> np.ndarray:
    return gaps[:, [0, *(budget - 1 for budget in BUDGETS)]]


def _regrets(task: training_searches.Task, runs: training_searches.Runs, lucky: bool) -> np.ndarray:
    """Those over a median configuration's, which are 1 for the first evaluation."""
    found = training_searches.reported(task, runs, BUDGETS, lucky)
    return np.concatenate([np.ones((len(found), 1)), found], axis=1)


def _cases(question: str, group: str) -> list[str]:
    """Kept problems: every other function, which takes long to compile; of constraints the middle ones."""
    own = suites.cases(group, KEPT)
    if question == LIMITED:
        return [case for case in own if case.endswith(AT_HALF)]
    return own[::3] if group.startswith("bbob") else own


def _parts(question: str) -> list[str]:
    """Those that are there."""
    groups = {group for suite in suites.SUITES for group in suites.names(suite)} | {ELLIPSOIDS}
    return [part for part in PARTS[question] if part in groups or (part == TABLES and _tasks(question))]


def missing(name: str) -> str | None:
    """Why a sampler is left out."""
    own = ENTRANTS[name]
    absent = [need for need in own.peer.needs if find_spec(need) is None]
    if absent:
        return f"{absent[0]} is not installed"
    if own.package and not Path(os.environ.get(HUB, ""), "package/samplers", own.package).is_dir():
        return "its files are not in the folder of --hub"
    return "there is no folder of --optuna-4" if own.old and not os.environ.get(OPTUNA_4) else None


def units(quick: bool) -> list[Unit]:
    """Every sampler on the problems of its questions."""
    found, n_runs = [], 4 if quick else N_RUNS
    for question in (CONDITIONAL,) if quick else PARTS:
        for part in _parts(question)[: 1 if quick else None]:
            needs = ("bbobax",) if part.startswith("bbob") else ()
            for method in (OURS, *ENTRANTS):
                own = ENTRANTS.get(method)
                fits = own is None or (question in own.questions and part in (own.groups or [part]))
                if not fits or (own and missing(method)):
                    continue
                arguments = {"method": method, "question": question, "part": part}
                arguments |= {"n_runs": n_runs, "n_runs_of_peers": min(own.n_runs if own else n_runs, n_runs)}
                work = "benchmarks.studies.sampler_peers:search"
                found.append(Unit(f"{method}/{question}/{part}", work, arguments, needs, limit=900))
    return found


# --- the page ----------------------------------------------------------------------------------------

Gaps = Mapping[str, np.ndarray]


def gathered(found: Mapping[str, Arrays], question: str) -> tuple[dict[str, Gaps], dict[str, float]]:
    """Method -> case -> gaps, and method -> seconds of a suggestion (a median), of one question."""
    gaps: dict[str, dict[str, np.ndarray]] = {}
    seconds: dict[str, list[float]] = {}
    for name, arrays in found.items():
        method, of, _ = name.split("/", 2)
        if of == question and ERROR not in arrays:
            cases = {case: own for case, own in arrays.items() if case != SECONDS}
            gaps.setdefault(method, {}).update(cases)
            if SECONDS in arrays:
                seconds.setdefault(method, []).append(float(arrays[SECONDS]))
    return dict(gaps), {method: float(np.median(own)) for method, own in seconds.items()}


def ratio(ours: Gaps, theirs: Gaps, scales: Gaps, budget: int) -> tuple[float, float, float]:
    """Geometric mean over the cases of both of a gap over the other's, and its 95 % interval.

    A gap is a median over runs, of trainings a mean, over that of the first evaluation of ``scales``. The
    interval is by resampling cases, and the runs of each.
    """
    rng, column = np.random.default_rng(0), 1 + BUDGETS.index(budget)
    cases = [case for case in ours if case in theirs]

    def logs(own: Gaps, case: str) -> np.ndarray:
        """Of all runs, then of resampled ones."""
        middle, gaps = (np.mean if case in TRAININGS else np.median), own[case][:, column]
        drawn = gaps[rng.integers(0, len(gaps), (N_RESAMPLED, len(gaps)))]
        values = np.append(middle(gaps), middle(drawn, axis=1)) / np.median(scales[case][:, 0])
        return np.log(np.maximum(values, FLOOR))

    difference = np.array([logs(ours, case) - logs(theirs, case) for case in cases])
    chosen = rng.integers(0, len(cases), (N_RESAMPLED, len(cases)))
    means = difference[chosen, 1 + np.arange(N_RESAMPLED)[:, None]].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    mean, low, high = np.exp([difference[:, 0].mean(), low, high])
    return float(mean), float(low), float(high)


def first(gaps: Mapping[str, Gaps], budget: int) -> tuple[str, tuple[float, float, float]]:
    """Who has the smallest gap over that of parzax, and that `ratio`; parzax if none has a smaller one."""
    others = {name: ratio(own, gaps[OURS], gaps[OPTUNA], budget) for name, own in gaps.items()}
    others[OURS] = (1.0, 1.0, 1.0)
    name = min(others, key=lambda name: others[name][0])
    return name, others[name]


def written(found: Mapping[str, Arrays]) -> Page:
    """A table for each question, where parzax is not first, and what was left out."""
    blocks, firsts, n_behind = [], [], 0
    for question in QUESTIONS:
        gaps, seconds = gathered(found, question)
        if OURS not in gaps or OPTUNA not in gaps:
            continue
        lines = []
        for name, own in gaps.items():
            cells = [
                "1" if name == OPTUNA
                else "{:.2f} ({:.2f}, {:.2f})".format(*ratio(own, gaps[OPTUNA], gaps[OPTUNA], budget))
                for budget in BUDGETS
            ]  # fmt: skip
            label = f"`{LABELS[question]}`" if name == OURS else NAMES.get(name, f"OptunaHub `{name}`")
            ms = f"{1000 * seconds[name]:.2g}" if name in seconds else ""
            lines.append([label, str(len(own)), str(min(map(len, own.values()))), *cells, ms])
        heads = ["", "problems", "runs", *(f"after {budget}" for budget in BUDGETS), "ms per suggestion"]
        blocks += [f"## {question[0].upper()}{question[1:]}", PROBLEMS[question], table(heads, lines)]
        cells = []
        for name, (mean, low, high) in (first(gaps, budget) for budget in BUDGETS):
            n_behind += high < 1
            text = OURS if name == OURS else f"{name} {mean:.2f} ({low:.2f}, {high:.2f})"
            cells.append(f"**{text}**" if high < 1 else text)
        firsts.append([question, *cells])
    heads = ["", *(f"after {budget}" for budget in BUDGETS)]
    verdict = FIRST.format(f"in all but {n_behind} cells" if n_behind else "everywhere")
    blocks = [ABOUT, verdict, table(heads, firsts), WHERE_BEHIND, *blocks]
    blocks += ["## What was not measured", "\n".join(f"* {text}" for text in (*left_out(found), *CANNOT))]
    blocks.append(f"Versions: {', '.join(versions())}.")
    return Page(blocks, (N_RUNS, N), ())


def left_out(found: Mapping[str, Arrays]) -> list[str]:
    """Samplers that are not there, and those that raised an error, with its text."""
    texts = [f"{name}: {why}" for name in ENTRANTS if (why := missing(name))]
    failed = {name.split("/")[0]: str(arrays[ERROR]) for name, arrays in found.items() if ERROR in arrays}
    return texts + [f"{name} on some problems: `{text}`" for name, text in failed.items()]


def versions() -> list[str]:
    """Of the packages that are there; last the Optuna of those that need an old one."""
    found = []
    for name in ("optuna", "rustuna", "hyperopt", "hyperoptax", "optunahub", "bbobax"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    old = sorted(Path(os.environ.get(OPTUNA_4, "")).glob("optuna-*.dist-info"))
    names = ", ".join(f"`{name}`" for name, own in ENTRANTS.items() if own.old)
    return found + [f"{path.stem.replace('-', ' ')} with {names}" for path in old]


NAMES = {
    OPTUNA: "Optuna, `TPESampler()`", "Rustuna": "Rustuna, `TPESampler()`", "Hyperopt": "Hyperopt, `tpe`",
    "hyperoptax": "hyperoptax, `BayesianSearch`",
}  # fmt: skip
LABELS = dict.fromkeys(QUESTIONS, "px.tpe") | {SOURCES: "px.meta_learn_tpe"}
ABOUT = """Each sampler is measured on the question that it is for, with its defaults. The problems are those
that were kept for the end: functions with a known optimum ([the suite](optimisers/index.md)), tables of
neural networks, and of [real trainings](trainings.md). A cell is the geometric mean over problems of the gap
to the optimum over that of Optuna's default sampler, with its 95 % interval over problems and runs; below 1
is better. A gap is a median over runs, of trainings the mean regret of what is reported; below 0.0001 times
that of a random configuration it is raised to this value. Times are of one core, without compilation, with
the evaluation in Python; those of parzax are of all runs in one call, with the evaluation in it."""
FIRST = """parzax is first, or within the interval of the first, {}. The table names the first, and its gap
over that of parzax; where the whole interval is below 1 it is bold, and parzax is behind. Few problems and
runs leave wide intervals: who is first would often change with others."""
WHERE_BEHIND = """* After 100 evaluations parzax is behind on the three conditional tables of trainings:
  Optuna, Hyperopt and `hierarchical_tpe` have 0.17 to 0.82 of its regret. It is ahead on the conditional
  Ackley function, where they have 3.7 to 4.9 times its gap. The mean over both says little. With 64 runs of
  each, and branches by their shares, Optuna has 0.81 to 0.97 of its regret ([trainings](trainings.md)).
* Under a constraint the start is slower on two tables, SGD and the pipeline: after 25 evaluations Optuna has
  0.60 and 0.65 of its regret (0.66 and 1.06 with 64 runs of each). The report is not why: the trial with the
  smallest value is no better.
* Rustuna means to do what Optuna does. That its ratios are 0.95 to 1.19 shows what chance does here."""
PROBLEMS = {
    FIXED: """Functions of eight parameters of every kind, BBOB functions in five dimensions, tables of
networks and of trainings without conditions.""",
    CONDITIONAL: "Functions and tables of trainings whose parameters are active for some categories only.",
    LIMITED: """Functions within a ball, and the trainings with a limit on the size of the model; half of the
configurations are feasible. `ctpe` is the c-TPE paper's sampler.""",
    SOURCES: f"""An ellipsoid in {DIM} dimensions, and {N_SOURCES} logs of others, 100 random trials
each. Their centre is that of the target, or 2 away in each dimension. Optuna's sampler cannot use them.""",
}
CANNOT = [
    """OptunaHub `batch_sampler` has no rule of its own: it hands out what a function of the user's suggests
for several workers ([what several at once cost](batches.md)).""",
    """OptunaHub `multivariate_tpe_flex` keeps trials when a range of the space grows, which none does here;
of its files no set was at hand that fits together.""",
    """hyperoptax has no conditions, constraints or sources, and ran on the BBOB functions alone
([more of it](in_jax.md)).""",
]


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is there, and write the page."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--hub", type=Path)
    parser.add_argument("--optuna-4", type=Path)
    options, rest = parser.parse_known_args(argv)
    for name, path in ((HUB, options.hub), (OPTUNA_4, options.optuna_4)):
        if path:
            os.environ[name] = str(path.resolve())
    return pages.main(rest, "sampler_peers", __doc__, "Beside other samplers", units, written)


if __name__ == "__main__":
    sys.exit(main())
