"""f-ANOVA, MDI and SHAP of Optuna on logs made unconditional, as Figures 2, 9 and 10 have them."""

import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

import parzax as px
from benchmarks.papers.cond_ped_anova.baselines import FIGURES, VARIANTS, first_study, unconditional
from benchmarks.papers.cond_ped_anova.curves import N_FRESH, N_SEEDS, PROBLEMS, sources
from benchmarks.papers.cond_ped_anova.statements import MOVING
from benchmarks.papers.rows import Range, Row, Verdict, by_the_larger, judged, missing
from benchmarks.papers.runs import LIMIT, Arrays, Unit

# Package that the evaluator needs, and seconds of a log of 1000 rows on one core, about.
PEERS = {
    "f-ANOVA": (("sklearn",), 15.0),
    "MDI": (("sklearn",), 0.3),
    "SHAP": (("shap", "optuna_integration"), 5.0),
}
QUICK_SEEDS, QUICK = 2, ("MDI",)
# Fresh logs of the fast peer where its numbers vary most, in units of as many as a source has.
N_MANY = 1000
# Seconds that a log may take; one that takes more is named in its row.
PATIENCE = 300.0


def units(quick: bool) -> list[Unit]:
    """One for each peer, problem, variant and seed of the stored logs; a quick run has MDI alone.

    On fresh logs, many at once, the fast peer.
    """
    module, found = "benchmarks.papers.cond_ped_anova.peers", []
    for peer, (packages, cost) in PEERS.items():
        if quick and peer not in QUICK:
            continue
        for problem, variants in VARIANTS.items():
            for variant in variants:
                own = {"peer": peer, "problem": problem, "variant": variant}
                if _few(peer):
                    found += [
                        Unit(
                            _name(peer, _few(peer), problem, variant, seed), f"{module}:importances",
                            own | {"source": _few(peer), "seed": seed},
                            needs=packages, cost=cost, limit=PATIENCE,
                        )
                        for seed in range(QUICK_SEEDS if quick else N_SEEDS)
                    ]  # fmt: skip
                if peer in QUICK:
                    found += [
                        Unit(
                            _many(peer, problem, variant, first), f"{module}:many",
                            own | {"first": first, "n": QUICK_SEEDS if quick else N_FRESH},
                            needs=packages, cost=cost * N_FRESH,
                        )
                        for first in (range(1) if quick else _firsts(problem))
                    ]  # fmt: skip
    return found


def _firsts(problem: str) -> range:
    """More where trees choose among equal splits."""
    return range(N_MANY // N_FRESH if problem == MOVING else 1)


def importances(peer: str, source: str, problem: str, variant: str, seed: int) -> Arrays:
    """A unit: importances (d,) that add up to 1, of one log."""
    logs = unconditional(problem, variant, source)
    return {"importance": _importance(peer, problem, logs, seed)}


def many(peer: str, problem: str, variant: str, first: int, n: int) -> Arrays:
    """A unit: importances (s, d) of so many fresh logs, with other keys for another ``first``."""
    logs = unconditional(problem, variant, "fresh", first)
    return {"importance": np.stack([_importance(peer, problem, logs, seed) for seed in range(n)])}


def _importance(peer: str, problem: str, logs: list[px.Observations], seed: int) -> np.ndarray:
    by_name: dict[str, float] = {}
    for obs in logs:  # with filtering each parameter alone
        by_name |= evaluated(peer, first_study(obs, seed), seed)
    found = np.array([by_name[name] for name in PROBLEMS[problem].space.names])
    return found / max(found.sum(), 1e-300)


def evaluated(peer: str, study: Any, seed: int) -> dict[str, float]:
    """Raw importances of a study by a method that knows no conditions."""
    import optuna
    from optuna import importance

    if peer == "SHAP":
        shapley = import_module("optuna_integration").ShapleyImportanceEvaluator
        with warnings.catch_warnings():  # every evaluator of optuna-integration is marked as experimental
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return shapley(seed=seed).evaluate(study)
    evaluators = {
        "f-ANOVA": importance.FanovaImportanceEvaluator,
        "MDI": importance.MeanDecreaseImpurityImportanceEvaluator,
    }
    return evaluators[peer](seed=seed).evaluate(study)


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """What each peer says of x, y and c, the mean over the seeds that were run."""
    for peer, (packages, _) in PEERS.items():
        for problem, variants in VARIANTS.items():
            names = PROBLEMS[problem].space.names
            for variant in variants:
                key, where = f"peer-{peer}-{problem}-{variant}", f"{FIGURES[problem]}, {peer} with {variant}"
                printed, measure, wanted = _statement(peer, problem, variant)
                verdicts: list[Verdict] = []
                texts: list[str] = []
                units = [_name(peer, _few(peer), problem, variant, seed) for seed in range(N_SEEDS)]
                each = [found[unit] for unit in units if found.get(unit)]
                few = [arrays["importance"][None] for arrays in each if LIMIT not in arrays]
                late = len(each) - len(few)
                units = [_many(peer, problem, variant, first) for first in _firsts(problem)]
                fresh = [found[unit]["importance"] for unit in units if found.get(unit)]
                for source, own in ((_few(peer), few), ("fresh", fresh)):
                    if own:
                        number, error, shares = _measured(np.concatenate(own), names, measure)
                        verdicts.append(judged(number, error, wanted))
                        n = sum(map(len, own))
                        texts.append(f"{source} {number:.3f} ± {error:.2g} ({shares}), {n} seeds")
                note = f"{late} logs took more than {PATIENCE:g} s and are left out" * (late > 0)
                if not verdicts:
                    needs = f"a full run, and {' and '.join(packages)} (parzax[papers])"
                    if late:
                        needs = f"more time: {late} logs took more than {PATIENCE:g} s"
                    yield missing(key, where, f"{printed} [{wanted}]", needs)
                    continue
                verdict = by_the_larger(verdicts[0], verdicts[-1])
                yield Row(key, where, f"{printed} [{wanted}]", "; ".join(texts), verdict, note)


def _measured(each: np.ndarray, names: tuple[str, ...], measure: Any) -> tuple[float, float, str]:
    """Number, its standard error over the seeds, and the mean shares, from importances (s, d)."""
    drawn = np.random.default_rng(0).integers(0, len(each), (200, len(each)))
    numbers = [measure(dict(zip(names, each[i].mean(axis=0), strict=True))) for i in drawn]
    means = dict(zip(names, each.mean(axis=0), strict=True))
    return measure(means), float(np.std(numbers)), ", ".join(f"{n} {x:.2f}" for n, x in means.items())


def _statement(peer: str, problem: str, variant: str) -> tuple[str, Any, Range]:
    if variant == "filtering" and peer != "SHAP":
        text = "all three are alike: largest distance from 1/3"
        return text, lambda own: max(abs(x - 1 / 3) for x in own.values()), Range(high=0.01)
    if problem == MOVING:
        return "y is above x: by", lambda own: own["y"] - own["x"], Range(0)
    return "x and y are almost identical: difference", lambda own: abs(own["x"] - own["y"]), Range(high=0.05)


def _name(peer: str, source: str, problem: str, variant: str, seed: int) -> str:
    return f"peers/{peer}/{source}/{problem}-{variant}-{seed}"


def _many(peer: str, problem: str, variant: str, first: int) -> str:
    return f"peers/{peer}/many/{problem}-{variant}-{first}"


def _few(peer: str) -> str:
    """Where the ten logs are from; none where many fresh ones are all there is."""
    stored = sources()[0]
    return "" if stored == "fresh" and peer in QUICK else stored
