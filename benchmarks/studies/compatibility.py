"""Optuna's evaluator swapped for parzax's: ``python -m benchmarks.studies.compatibility [--quick]``.

The experiments of conditional PED-ANOVA (arXiv 2601.20800) as Optuna studies, whose importances come from
`optuna.importance.get_param_importances`, once with Optuna's evaluator and once with parzax's. Writes a page
(docs/studies/compatibility.md for a full run without --out). Exits with status 1 if an importance differs by
more than a relative 1e-10, or if the order of the parameters does. PARZAX_DATA names the folder of the logs
of YAHPO.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

import parzax as px
from benchmarks.optuna_peer import study_of
from benchmarks.studies import pages
from benchmarks.studies.pages import Page
from benchmarks.studies.papers import data
from benchmarks.studies.papers.cond_ped_anova.baselines import ALGORITHMS, unconditional
from benchmarks.studies.papers.runs import Arrays, Unit
from parzax.adapters.optuna import CondPedAnovaImportanceEvaluator

SAME = 1e-10
N_SEEDS, N_TRIALS = 10, 1000
EVERY, FEW = tuple(np.arange(1, 100) / 100), tuple(np.arange(1, 20) / 20)


# --- the problems, as the paper's readers would write them -------------------------------------------


def disjoint(trial: optuna.Trial) -> float:
    """c chooses x or y, whose ranges are apart."""
    if trial.suggest_float("c", 0, 1) < 0.5:
        return trial.suggest_float("x", -5, -2)
    return trial.suggest_float("y", 2, 5)


def overlap(trial: optuna.Trial) -> float:
    """c chooses x or y, whose ranges overlap."""
    if trial.suggest_float("c", 0, 1) < 0.5:
        return trial.suggest_float("x", -5, 2)
    return trial.suggest_float("y", -2, 5)


def moving(trial: optuna.Trial) -> float:
    """c chooses the ranges of x and y."""
    if trial.suggest_float("c", 0, 1) < 0.5:
        return trial.suggest_float("x", -7, -2) + trial.suggest_float("y", -5, -2)
    return trial.suggest_float("x", 2, 7) + trial.suggest_float("y", 2, 5)


def nested(trial: optuna.Trial) -> float:
    """c0 chooses z or c1, which chooses x or y."""
    if trial.suggest_float("c0", 0, 1) >= 0.75:
        return trial.suggest_float("z", 2, 5)
    if trial.suggest_float("c1", 0, 1) < 0.5:
        return trial.suggest_float("x", -7, -4)
    return trial.suggest_float("y", -3, 0)


def three_way(trial: optuna.Trial) -> float:
    """c chooses one of two ranges of x, or y."""
    c = trial.suggest_float("c", 0, 1)
    if c < 2 / 3:
        return trial.suggest_float("x", -7, -4) if c < 1 / 3 else trial.suggest_float("x", -3, 0)
    return trial.suggest_float("y", 4, 7)


OBJECTIVES: Mapping[str, Callable[[optuna.Trial], float]] = {
    "disjoint": disjoint,
    "overlap": overlap,
    "moving": moving,
    "nested": nested,
    "three_way": three_way,
}


def random_searches(problem: str, n_seeds: int, n_trials: int) -> list[optuna.Study]:
    """A study for each seed."""
    studies = []
    for seed in range(n_seeds):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        study.optimize(OBJECTIVES[problem], n_trials)
        studies.append(study)
    return studies


def unconditional_studies(problem: str, n_seeds: int, n_trials: int) -> list[optuna.Study]:
    """The logs of one of the paper's problems, made unconditional by its algorithm."""
    del n_trials  # that of the logs
    variant = next(name for name, (_, own) in ALGORITHMS.items() if own == problem)
    logs = unconditional(problem, variant, "fresh")
    return [study_of(log, seed) for log in logs for seed in range(n_seeds)]


def yahpo(name: str, n_seeds: int, n_trials: int) -> list[optuna.Study]:
    """The stored random searches of a scenario: floats, integers and categories under conditions."""
    folder = data.folder()
    assert folder is not None, "only asked for where there is a folder"
    space = json.loads((folder / "yahpo" / f"{name.rsplit('_', 1)[0]}.space.json").read_text())
    with np.load(folder / "yahpo" / f"{name}.npz") as file:
        values, losses = file["values"][:n_seeds, :n_trials], -file["objective"][:n_seeds, :n_trials]
    log = px.Observations.from_arrays(px.Space.from_json(space), values, losses)
    return [study_of(log, seed) for seed in range(len(losses))]


# --- one evaluator, then the other -------------------------------------------------------------------


def compared(
    studies: str, of: str, n_seeds: int, n_trials: int, levels: Sequence[float], region: float, local: bool
) -> Arrays:
    """A unit: "difference" of each call, whether the "order" is the same, "seconds" (calls, 2)."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    differences, orders, seconds = [], [], []
    for study in globals()[studies](of, n_seeds, n_trials):
        for level in levels:
            options = {"target_quantile": level, "region_quantile": region, "evaluate_on_local": local}
            theirs, took = _importances(PedAnovaImportanceEvaluator, study, options)
            ours, ours_took = _importances(CondPedAnovaImportanceEvaluator, study, options)
            differences.append(np.max([_difference(ours[name], theirs[name]) for name in theirs]))
            orders.append(_same_order(ours, theirs))
            seconds.append((took, ours_took))
    return {"difference": np.array(differences), "order": np.array(orders), "seconds": np.array(seconds)}


def _importances(
    evaluator: Callable[..., Any], study: optuna.Study, options: Mapping[str, Any]
) -> tuple[dict[str, float], float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # levels at which few trials remain
        start = time.perf_counter()
        found = get_param_importances(study, evaluator=evaluator(**options))
    return found, time.perf_counter() - start


def _difference(ours: float, theirs: float) -> float:
    return abs(ours / theirs - 1) if theirs else abs(ours)


def _same_order(ours: Mapping[str, float], theirs: Mapping[str, float]) -> bool:
    """Parameters with equal importances may come in any order."""
    return [theirs[name] for name in ours] == list(theirs.values())


def units(quick: bool) -> list[Unit]:
    """One for each row of the table."""
    n_seeds, every, few = (1, FEW[::6], FEW[::6]) if quick else (N_SEEDS, EVERY, FEW)

    def rows() -> Iterator[tuple[str, str, str, int, Sequence[float], float, bool]]:
        for problem in OBJECTIVES:
            yield "Figures 1, 11 to 13", "random_searches", problem, N_TRIALS, every, 1.0, True
        for problem in OBJECTIVES:
            for region in (0.75, 0.5):
                below = [level for level in few if level < region]
                yield f"Figure 7, region {region}", "random_searches", problem, N_TRIALS, below, region, True
            for n in (100, 500):
                yield f"Figure 8, {n} rows", "random_searches", problem, n, few, 1.0, True
            yield "global importance", "random_searches", problem, N_TRIALS, few, 1.0, False
        for where, problem in ALGORITHMS.values():
            title = f"Figures 2, 9, 10, {where}"
            yield title, "unconditional_studies", problem, N_TRIALS, few, 1.0, True
        folder = data.folder()
        for path in sorted(folder.glob("yahpo/rbv2_*.npz")) if folder else ():
            if not path.stem.endswith("n100000"):
                yield "Figures 5, 14, YAHPO", "yahpo", path.stem, N_TRIALS, few, 1.0, True

    made = []
    for title, studies, of, n_trials, levels, region, local in rows():
        arguments = {
            "studies": studies, "of": of, "n_seeds": n_seeds, "n_trials": n_trials, "levels": tuple(levels),
            "region": region, "local": local,
        }  # fmt: skip
        cost = 0.03 * n_seeds * len(levels) * (8 if studies == "yahpo" else 1)
        name = f"{title}/{Path(of).name}"
        made.append(Unit(name, "benchmarks.studies.compatibility:compared", arguments, cost=cost))
    return made


def written(found: Mapping[str, Arrays]) -> Page:
    """A row for each experiment."""
    lines = ["| experiment | problems | calls | largest difference | order | Optuna's time over ours |"]
    lines.append("| --- | --- | ---: | ---: | --- | ---: |")
    failed = []
    for title in dict.fromkeys(name.rsplit("/", 1)[0] for name in found):
        own = {
            name.rsplit("/", 1)[1]: arrays for name, arrays in found.items() if name.startswith(f"{title}/")
        }
        largest = float(np.max([arrays["difference"].max() for arrays in own.values()]))
        same = all(arrays["order"].all() for arrays in own.values())
        seconds = np.concatenate([arrays["seconds"] for arrays in own.values()])
        times = np.median(seconds[:, 0] / seconds[:, 1])
        order = "the same" if same else "differs"
        lines.append(f"| {title} | {len(own)} | {len(seconds)} | {largest:.1e} | {order} | {times:.1f} |")
        if not largest <= SAME:
            failed.append(f"{title}: a relative difference of {largest:.1e}")
        if not same:
            failed.append(f"{title}: parameters come in another order")
    held = "Both hold." if not failed else "These do not:\n\n" + "\n".join(f"* {text}" for text in failed)
    return Page([ABOUT, "\n".join(lines), f"{CLAIM} {held}"], (N_SEEDS, N_TRIALS), failed)


ABOUT = f"""`px.adapters.optuna.CondPedAnovaImportanceEvaluator` replaces Optuna's evaluator, and nothing else
changes:

```python
import optuna
import parzax as px


def objective(trial):
    if trial.suggest_float("c", 0, 1) < 0.5:
        return trial.suggest_float("x", -5, -2)
    return trial.suggest_float("y", 2, 5)


study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
study.optimize(objective, n_trials=1000)
evaluator = px.adapters.optuna.CondPedAnovaImportanceEvaluator(target_quantile=0.1)
print(optuna.importance.get_param_importances(study, evaluator=evaluator))
```

The experiments of arXiv 2601.20800 ran with both evaluators. They are Optuna studies of up to {N_SEEDS}
random searches of {N_TRIALS} trials, analysed at levels in steps of 0.01 or 0.05. A call gives the
importances of one study at one level. The largest difference is relative, over all calls and parameters.

A call reads the study anew, which takes most of its time. For many levels read it once:
`px.cond_ped_anova(px.adapters.optuna.observations(study), levels)`."""
CLAIM = (
    f"Every importance should agree to a relative {SAME:g}, and the parameters should come in the same order."
)

if __name__ == "__main__":
    sys.exit(pages.main(None, "compatibility", __doc__, "Optuna's evaluator swapped", units, written))
