"""Figure 6: seconds of each method by the number of rows."""

import gc
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import jax
import numpy as np
import optuna

import parzax as px
from benchmarks.optuna_peer import study_of
from benchmarks.studies.papers.cond_ped_anova import naive
from benchmarks.studies.papers.cond_ped_anova.curves import PROBLEMS
from benchmarks.studies.papers.cond_ped_anova.peers import evaluated
from benchmarks.studies.papers.cond_ped_anova.statements import DISJOINT, MOVING
from benchmarks.studies.papers.rows import Range, Row, Verdict, judged, missing
from benchmarks.studies.papers.runs import Arrays, Unit
from parzax.adapters.optuna import CondPedAnovaImportanceEvaluator

# The text names one problem and may mean either; the largest logs of f-ANOVA; seconds that a cell may take.
SHOWN, MOST_FANOVA, PATIENCE = (DISJOINT, MOVING), 2**11, 60.0
SIZES, QUICK_SIZES = tuple(2**k for k in range(9, 18)), (2**9, 2**11)
# By how much a ratio of times varies.
NOISE = 1.2
OURS, PLAIN = "parzax", "PED-ANOVA"
PEERS = {PLAIN: None, "f-ANOVA": "sklearn", "MDI": "sklearn", "SHAP": ("shap", "optuna_integration")}
# Those that are timed in turn, the closest, and how often.
CLOSE, REPEATS, FEW_REPEATS = (OURS, PLAIN), 7, 3
# Rows from which on turns are few.
LARGE = 2**14
# Rows at which what PED-ANOVA needs before it begins is timed beside what conditions cost.
OVERHEAD_SIZES = (2**9, 2**11, 2**13)
# "Dramatically", of times; and the rows, and the hours, beyond which the paper calls SHAP too slow.
DRAMATIC, SHAP_ROWS, TOO_SLOW = Range(10), 2**16, Range(0.5)


def units(quick: bool) -> list[Unit]:
    """One for each problem and method, the two close ones together; a quick run has only these."""
    function = "benchmarks.studies.papers.cond_ped_anova.times:seconds"
    groups: dict[str, tuple[str, ...]] = {"close": CLOSE}
    groups |= {} if quick else {name: (name,) for name in PEERS if name not in CLOSE}
    sizes = QUICK_SIZES if quick else SIZES
    overhead_sizes = QUICK_SIZES if quick else OVERHEAD_SIZES
    overheads = [
        Unit(f"times/overhead/{problem}", function.replace("seconds", "overhead"),
             {"problem": problem, "sizes": overhead_sizes}, cost=15, alone=True)
        for problem in SHOWN
    ]  # fmt: skip
    return overheads + [
        Unit(f"times/{name}/{problem}", function, {"methods": methods, "problem": problem, "sizes": sizes},
             needs=PEERS.get(name), cost=10 if quick else 60, alone=True)
        for name, methods in groups.items()
        for problem in SHOWN
    ]  # fmt: skip


def seconds(methods: tuple[str, ...], problem: str, sizes: tuple[int, ...]) -> Arrays:
    """A unit: "sizes", and by method the seconds of an analysis of a study at one level, NaN if not tried.

    From the study to a number for each parameter; what is compiled is there already. Several methods take
    turns, and have medians. The paper's PED-ANOVA is Optuna's evaluator, which knows conditions now, on a
    study that is expanded and imputed within its time. For the slower peers that is done before.
    """
    found = {method: np.full(len(sizes), np.nan) for method in methods}
    for i, n in enumerate(sizes):
        if "f-ANOVA" in methods and n > MOST_FANOVA:
            break
        obs = drawn(problem, n)
        plain = obs if methods == CLOSE else naive.imputation(naive.expansion(obs))
        study = study_of(plain, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if OURS in methods:
                _analysed(OURS, study)
            turns = 1 if len(methods) == 1 else REPEATS if n < LARGE else FEW_REPEATS
            each = [[_timed(method, study) for method in methods] for _ in range(turns)]
        for method, own in zip(methods, np.median(each, axis=0), strict=True):
            found[method][i] = own
        if np.max(each) > PATIENCE:
            break
    return {"sizes": np.array(sizes), **found}


def overhead(problem: str, sizes: tuple[int, ...]) -> Arrays:
    """A unit: "sizes", and the seconds of making a log unconditional, and of Optuna's evaluator on both."""
    found = []
    for n in sizes:
        study = study_of(drawn(problem, n), 0)
        plain = _unconditional(study)
        evaluate = optuna.importance.PedAnovaImportanceEvaluator().evaluate
        works = (partial(_unconditional, study), partial(evaluate, study), partial(evaluate, plain))
        each = [[_clocked(work) for work in works] for _ in range(REPEATS)]
        found.append(np.median(each, axis=0))
    made, conditional, unconditional = np.transpose(found)
    return {"sizes": np.array(sizes), "made": made, "conditional": conditional, "plain": unconditional}


def drawn(problem: str, n: int) -> px.Observations:
    """A log of random search."""
    values, losses = PROBLEMS[problem].sample(jax.random.key(n), n)
    return px.Observations.from_arrays(
        PROBLEMS[problem].space, np.asarray(values, float)[None], np.asarray(losses, float)[None]
    )


def _timed(method: str, study: optuna.Study) -> float:
    return _clocked(lambda: _analysed(method, study))


def _clocked(work: Callable[[], object]) -> float:
    gc.collect()  # what the method before left behind
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _analysed(method: str, study: optuna.Study) -> dict[str, float]:
    if method == OURS:
        return CondPedAnovaImportanceEvaluator().evaluate(study)
    if method == PLAIN:
        return optuna.importance.PedAnovaImportanceEvaluator().evaluate(_unconditional(study))
    return evaluated(method, study, 0)


def _unconditional(study: optuna.Study) -> optuna.Study:
    """The same trials with one domain for each parameter, and its middle where a trial has none."""
    ends: dict[str, list[float]] = {}
    for trial in study.trials:
        for name, own in trial.distributions.items():
            assert isinstance(own, optuna.distributions.FloatDistribution)
            low, high = ends.setdefault(name, [own.low, own.high])
            ends[name] = [min(low, own.low), max(high, own.high)]
    wide: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.FloatDistribution(low, high) for name, (low, high) in ends.items()
    }
    middle = {name: sum(pair) / 2 for name, pair in ends.items()}
    made = optuna.create_study()
    made.add_trials(
        optuna.trial.create_trial(params=middle | trial.params, distributions=wide, value=trial.value)
        for trial in study.trials
    )
    return made


def seconds_of(found: Mapping[str, Arrays], problem: str) -> dict[str, Arrays]:
    """By method, the arrays of its unit; without those that did not run."""
    units = {name: f"times/{'close' if name in CLOSE else name}/{problem}" for name in (OURS, *PEERS)}
    return {name: found[unit] for name, unit in units.items() if found.get(unit)}


def judge(least: float, *, all_ran: bool) -> Verdict:
    """Of the smallest ratio to any peer, infinite where none ran; "every other" asks for all of them."""
    if np.isinf(least):
        return Verdict.CANNOT_BE_RUN
    if least > 1:
        return Verdict.AGREES if all_ran else Verdict.NOT_TOLD_APART
    return Verdict.NOT_TOLD_APART if least > 1 / NOISE else Verdict.DIFFERS


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """Ours is below every peer at each number of rows."""
    for problem in SHOWN:
        own = seconds_of(found, problem)
        texts, least = [], np.inf
        for method in PEERS:
            if method not in own:
                texts.append(f"{method} not run")
                continue
            theirs = own[method]
            ratio = theirs[method] / own[OURS][OURS]
            known = ratio[np.isfinite(ratio)]
            least = min(least, float(known.min()))
            last = int(theirs["sizes"][np.isfinite(ratio)][-1])
            texts.append(f"{method} {known.min():.3g}x to {known.max():.3g}x (up to {last} rows)")
        yield Row(
            f"f6-{problem}", f"Figure 6, {problem}",
            "conditional PED-ANOVA is faster than every other method at each number of rows",
            f"seconds over ours: {', '.join(texts)}", judge(least, all_ran=len(own) > len(PEERS)),
            f"from a study in memory to importances; compilation apart; ratios from {1 / NOISE:.1f} to 1 "
            "are not told apart, as times of one machine spread; most of PED-ANOVA's is that of making the "
            "study's trials anew",
        )  # fmt: skip
        yield from _further(found, problem, own)


def drawn_on(sizes: np.ndarray, values: np.ndarray, to: int) -> tuple[float, float]:
    """The power of a power law, and its value at a size."""
    slope, height = np.polyfit(np.log2(sizes), np.log2(values), 1)
    return float(slope), float(2 ** (height + slope * np.log2(to)))


def _error_at(sizes: np.ndarray, values: np.ndarray, to: int) -> float:
    """Standard error of that value's log, from the distances to the line; infinite from two sizes."""
    at, logs = np.log2(sizes), np.log2(values)
    if len(at) < 3:
        return np.inf
    left = logs - np.polyval(np.polyfit(at, logs, 1), at)
    spread = np.sqrt(np.square(left).sum() / (len(at) - 2)) * np.log(2)
    leverage = 1 / len(at) + (np.log2(to) - at.mean()) ** 2 / np.square(at - at.mean()).sum()
    return float(spread * np.sqrt(1 + leverage))


def _further(found: Mapping[str, Arrays], problem: str, own: Mapping[str, Arrays]) -> Iterator[Row]:
    """What the text says of the peers themselves."""
    costs = found[f"times/overhead/{problem}"]
    ratio = costs["made"] / np.maximum(costs["conditional"] - costs["plain"], 1e-9)
    added = costs["conditional"] / costs["plain"]
    yield Row(
        f"f6-overhead-{problem}", f"D.1, {problem}",
        "making a log unconditional takes longer than what conditions add to PED-ANOVA: least ratio "
        f"[{Range(1)}]",
        f"{min(float(ratio.min()), 1e3):.0f}; conditions make an analysis {added.min():.2f} to "
        f"{added.max():.2f} times as long; making the log unconditional takes "
        f"{(costs['made'] / costs['plain']).min():.0f} times as long as an analysis, or more; Optuna's "
        f"evaluator, {costs['sizes'][0]} to {costs['sizes'][-1]} rows",
        judged(float(ratio.min()), 0, Range(1)), "a ratio above 1000 is given as 1000",
    )  # fmt: skip
    faster = f"PED-ANOVA is much faster than f-ANOVA: least ratio [{DRAMATIC}]"
    slow = f"SHAP is too slow beyond 2^15 rows: hours at 2^16 [{TOO_SLOW}]"
    for key, where, printed, peer in (
        ("ped", "Sections 2.2, 3.3", faster, "f-ANOVA"),
        ("shap", "D.1", slow, "SHAP"),
    ):
        if peer not in own:
            yield missing(f"f6-{key}-{problem}", f"{where}, {problem}", printed, f"a full run with {peer}")
            continue
        seconds_of_peer, sizes = own[peer][peer], own[peer]["sizes"]
        ran, error = np.isfinite(seconds_of_peer), 0.0
        if peer == "f-ANOVA":
            ratios = (seconds_of_peer / own[PLAIN][PLAIN][: len(sizes)])[ran]
            number, wanted = float(ratios.min()), DRAMATIC
            text = f"{ratios.min():.0f} to {ratios.max():.0f}, {sizes[ran][0]} to {sizes[ran][-1]} rows"
        else:
            slope, at_rows = drawn_on(sizes[ran], seconds_of_peer[ran], SHAP_ROWS)
            number, wanted = at_rows / 3600, TOO_SLOW
            error = number * _error_at(sizes[ran], seconds_of_peer[ran], SHAP_ROWS)
            text = (f"{number:.1f} ± {error:.1g}, a power law of {slope:.1f} through {ran.sum()} sizes; "
                    f"{seconds_of_peer[ran][-1]:.0f} s at {sizes[ran][-1]}")  # fmt: skip
        yield Row(
            f"f6-{key}-{problem}", f"{where}, {problem}", printed, text, judged(number, error, wanted),
            reason="SHAP on larger logs would tell" if peer == "SHAP" else "",
        )  # fmt: skip
