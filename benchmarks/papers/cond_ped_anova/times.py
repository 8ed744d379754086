"""Figure 6: seconds of each method by the number of rows."""

import gc
import time
import warnings
from collections.abc import Iterator, Mapping

import jax
import numpy as np
import optuna

import parzax as px
from benchmarks.optuna_peer import study_of
from benchmarks.papers.cond_ped_anova.curves import PROBLEMS
from benchmarks.papers.cond_ped_anova.peers import evaluated
from benchmarks.papers.cond_ped_anova.statements import DISJOINT, MOVING
from benchmarks.papers.rows import Row, Verdict
from benchmarks.papers.runs import Arrays, Unit
from parzax import naive
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


def units(quick: bool) -> list[Unit]:
    """One for each problem and method, the two close ones together; a quick run has only these."""
    function = "benchmarks.papers.cond_ped_anova.times:seconds"
    groups: dict[str, tuple[str, ...]] = {"close": CLOSE}
    groups |= {} if quick else {name: (name,) for name in PEERS if name not in CLOSE}
    sizes = QUICK_SIZES if quick else SIZES
    return [
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
        values, losses = PROBLEMS[problem].sample(jax.random.key(n), n)
        obs = px.Observations.from_arrays(
            PROBLEMS[problem].space, np.asarray(values, float)[None], np.asarray(losses, float)[None]
        )
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


def _timed(method: str, study: optuna.Study) -> float:
    gc.collect()  # what the method before left behind
    start = time.perf_counter()
    _analysed(method, study)
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
            low, high = ends.setdefault(name, [own.low, own.high])
            ends[name] = [min(low, own.low), max(high, own.high)]
    wide = {name: optuna.distributions.FloatDistribution(*pair) for name, pair in ends.items()}
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
