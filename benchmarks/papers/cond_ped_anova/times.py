"""Figure 6: seconds of each method by the number of rows."""

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
# By how much the time of one and the same work varies.
NOISE = 1.4
OURS = "parzax"
PEERS = {"Optuna's": None, "f-ANOVA": "sklearn", "MDI": "sklearn", "SHAP": "shap"}


def units(quick: bool) -> list[Unit]:
    """One for each method and problem; a quick run has ours and Optuna's conditional PED-ANOVA."""
    function = "benchmarks.papers.cond_ped_anova.times:seconds"
    methods = {OURS: None} | ({"Optuna's": None} if quick else PEERS)
    sizes = QUICK_SIZES if quick else SIZES
    return [
        Unit(f"times/{method}/{problem}", function, {"method": method, "problem": problem, "sizes": sizes},
             needs=package, cost=10 if quick else 60, alone=True)
        for method, package in methods.items()
        for problem in SHOWN
    ]  # fmt: skip


def seconds(method: str, problem: str, sizes: tuple[int, ...]) -> Arrays:
    """A unit: seconds of an analysis of a study at one level, NaN where it was not tried.

    From the study to a number for each parameter, a median of three where that takes less than a second; what
    is compiled is there already. For peers that know no conditions the log is expanded and imputed before.
    """
    found = np.full(len(sizes), np.nan)
    for i, n in enumerate(sizes):
        if method == "f-ANOVA" and n > MOST_FANOVA:
            break
        values, losses = PROBLEMS[problem].sample(jax.random.key(n), n)
        obs = px.Observations.from_arrays(
            PROBLEMS[problem].space, np.asarray(values, float)[None], np.asarray(losses, float)[None]
        )

        plain = obs if method in (OURS, "Optuna's") else naive.imputation(naive.expansion(obs))
        study = study_of(plain, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if method == OURS:
                _analysed(method, study)
            found[i] = _timed(method, study)
            if found[i] < 1:
                found[i] = np.median([_timed(method, study) for _ in range(3)])
        if found[i] > PATIENCE:
            break
    return {"sizes": np.array(sizes), "seconds": found}


def _timed(method: str, study: optuna.Study) -> float:
    start = time.perf_counter()
    _analysed(method, study)
    return time.perf_counter() - start


def _analysed(method: str, study: optuna.Study) -> dict[str, float]:
    if method == OURS:
        return CondPedAnovaImportanceEvaluator().evaluate(study)
    if method == "Optuna's":
        return optuna.importance.PedAnovaImportanceEvaluator().evaluate(study)
    return evaluated(method, study, 0)


def judge(least: float) -> Verdict:
    """Of the smallest ratio to any peer, infinite where none ran."""
    if np.isinf(least):
        return Verdict.CANNOT_BE_RUN
    if least > 1:
        return Verdict.AGREES
    return Verdict.NOT_TOLD_APART if least > 1 / NOISE else Verdict.DIFFERS


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """Ours is below every peer at each number of rows."""
    for problem in SHOWN:
        ours = found[f"times/{OURS}/{problem}"]
        texts, least = [], np.inf
        for method in PEERS:
            theirs = found.get(f"times/{method}/{problem}")
            if not theirs:
                texts.append(f"{method} not run")
                continue
            ratio = theirs["seconds"] / ours["seconds"]
            known = ratio[np.isfinite(ratio)]
            least = min(least, float(known.min()))
            last = int(theirs["sizes"][np.isfinite(ratio)][-1])
            texts.append(f"{method} {known.min():.3g}x to {known.max():.3g}x (up to {last} rows)")
        yield Row(
            f"f6-{problem}", f"Figure 6, {problem}",
            "conditional PED-ANOVA is faster than every other method at each number of rows",
            f"seconds over ours: {', '.join(texts)}", judge(least),
            f"from a study in memory to importances; compilation apart; ratios from {1 / NOISE:.1f} to 1 "
            "are not told apart, as times of one machine spread",
        )  # fmt: skip
