"""f-ANOVA, MDI and SHAP of Optuna on logs made unconditional, as Figures 2, 9 and 10 have them."""

import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.papers.cond_ped_anova.baselines import first_study, unconditional
from benchmarks.papers.cond_ped_anova.curves import N_SEEDS, PROBLEMS, sources
from benchmarks.papers.cond_ped_anova.statements import DISJOINT, MOVING, OVERLAP
from benchmarks.papers.rows import Range, Row, judged, missing, together
from benchmarks.papers.runs import LIMIT, Arrays, Unit

# Package that the evaluator needs, and seconds of a log of 1000 rows on one core, about.
PEERS = {
    "f-ANOVA": (("sklearn",), 60.0),
    "MDI": (("sklearn",), 2.0),
    "SHAP": (("shap", "optuna_integration"), 12.0),
}
FIGURES = {DISJOINT: "Figure 2", OVERLAP: "Figure 9", MOVING: "Figure 10"}
# Of which variants something is printed; of SHAP with overlapping branches nothing is.
VARIANTS = {DISJOINT: ("filtering", "imputation"), OVERLAP: ("filtering",), MOVING: ("expansion",)}
NOT_PRINTED = {("SHAP", OVERLAP)}
QUICK_SEEDS, QUICK = 2, ("MDI",)
# Seconds that a log may take; one that takes more is named in its row.
PATIENCE = 300.0


def units(quick: bool) -> list[Unit]:
    """One for each peer, problem, variant and seed; a quick run has MDI alone."""
    function = "benchmarks.papers.cond_ped_anova.peers:importances"
    return [
        Unit(
            _name(peer, source, problem, variant, seed), function,
            {"peer": peer, "source": source, "problem": problem, "variant": variant, "seed": seed},
            needs=packages, cost=cost, limit=PATIENCE,
        )
        for peer, (packages, cost) in PEERS.items()
        if not quick or peer in QUICK
        for source in _sources(peer)
        for problem, variants in VARIANTS.items()
        for variant in variants
        if (peer, problem) not in NOT_PRINTED
        for seed in range(QUICK_SEEDS if quick else N_SEEDS)
    ]  # fmt: skip


def importances(peer: str, source: str, problem: str, variant: str, seed: int) -> Arrays:
    """A unit: importances (d,) that add up to 1, of one log."""
    by_name: dict[str, float] = {}
    for obs in unconditional(problem, variant, source):  # with filtering each parameter alone
        by_name |= evaluated(peer, first_study(obs, seed), seed)
    found = np.array([by_name[name] for name in PROBLEMS[problem].space.names])
    return {"importance": found / max(found.sum(), 1e-300)}


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
            if (peer, problem) in NOT_PRINTED:
                continue
            names = PROBLEMS[problem].space.names
            for variant in variants:
                key, where = f"peer-{peer}-{problem}-{variant}", f"{FIGURES[problem]}, {peer} with {variant}"
                printed, measure, wanted = _statement(peer, problem, variant)
                verdicts, texts, late = [], [], 0
                for source in _sources(peer):
                    units = [_name(peer, source, problem, variant, seed) for seed in range(N_SEEDS)]
                    each = [found[unit] for unit in units if found.get(unit)]
                    own = [arrays["importance"] for arrays in each if LIMIT not in arrays]
                    late += len(each) - len(own)
                    if own:
                        number, error, shares = _measured(np.stack(own), names, measure)
                        verdicts.append(judged(number, error, wanted))
                        texts.append(f"{source} {number:.3f} ± {error:.2g} ({shares}), {len(own)} seeds")
                note = f"{late} logs took more than {PATIENCE:g} s and are left out" * (late > 0)
                if not verdicts:
                    needs = f"a full run, and {' and '.join(packages)} (parzax[papers])"
                    if late:
                        needs = f"more time: {late} logs took more than {PATIENCE:g} s"
                    yield missing(key, where, f"{printed} [{wanted}]", needs)
                    continue
                yield Row(key, where, f"{printed} [{wanted}]", "; ".join(texts), together(verdicts), note)


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
    return "x and y cannot be told apart: difference", lambda own: abs(own["x"] - own["y"]), Range(high=0.05)


def _name(peer: str, source: str, problem: str, variant: str, seed: int) -> str:
    return f"peers/{peer}/{source}/{problem}-{variant}-{seed}"


def _sources(peer: str) -> tuple[str, ...]:
    """The stored logs where there are some; also fresh ones where a log takes no more than seconds."""
    return sources() if peer in QUICK else sources()[:1]
