"""f-ANOVA, MDI and SHAP of Optuna on logs made unconditional, as Figures 2, 9 and 10 have them."""

import dataclasses
import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

import parzax as px
from benchmarks.studies.papers.cond_ped_anova.baselines import FIGURES, VARIANTS, first_study, unconditional
from benchmarks.studies.papers.cond_ped_anova.curves import N_FRESH, N_SEEDS, PROBLEMS, log, sources
from benchmarks.studies.papers.cond_ped_anova.statements import MOVING, OVERLAP
from benchmarks.studies.papers.rows import Range, Row, Verdict, by_the_larger, judged, missing
from benchmarks.studies.papers.runs import LIMIT, Arrays, Unit

# Package that the evaluator needs, and seconds of a log of 1000 rows on one core, about.
PEERS = {
    "f-ANOVA": (("sklearn",), 15.0),
    "MDI": (("sklearn",), 0.3),
    "SHAP": (("shap", "optuna_integration"), 5.0),
}
QUICK_SEEDS, QUICK = 2, ("MDI",)
# Fresh logs of the fast peer where its numbers vary most, in units of as many as a source has.
N_MANY = 1000
# Where x and y change places from log to log.
VARIED = ((OVERLAP, "imputation"), (MOVING, "expansion"))
# Added to every loss, which changes nothing but how sums are rounded; and on how many of the fresh logs.
SHIFT, N_SHIFTED, N_MIRRORED = 1e-3, 30, 100
SHIFTED, MIRRORED, EXCLUDED = "peers/MDI/shifted", "peers/MDI/mirrored", "peers/MDI/excluded"
# Seconds that a log may take; one that takes more is named in its row.
PATIENCE = 300.0


def units(quick: bool) -> list[Unit]:
    """One for each peer, problem, variant and seed of the stored logs; a quick run has MDI alone.

    On fresh logs, many at once, the fast peer.
    """
    module, found = "benchmarks.studies.papers.cond_ped_anova.peers", []
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
    for name, n in ((SHIFTED, N_SHIFTED), (MIRRORED, N_MIRRORED)):
        own = {"n": QUICK_SEEDS if quick else n}
        function = f"{module}:{name.rsplit('/', 1)[1]}"
        found.append(Unit(name, function, own, needs=PEERS["MDI"][0], cost=0.5 * own["n"]))
    return [*found, Unit(EXCLUDED, f"{module}:excluded", needs=PEERS["MDI"][0])]


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


def shifted(n: int) -> Arrays:
    """A unit: importances by MDI of the first fresh logs of regime-dependent domains, every loss moved."""
    (obs,) = unconditional(MOVING, "expansion", "fresh")
    moved = [dataclasses.replace(obs, losses=obs.losses + SHIFT)]
    return {"importance": np.stack([_importance("MDI", MOVING, moved, seed) for seed in range(n)])}


def mirrored(n: int) -> Arrays:
    """A unit: importances by MDI of the mirror images of the first fresh logs of overlapping domains.

    c to 1 - c, x to -y, y to -x and f to -f maps the problem to itself, so that an image is as likely as
    its log.
    """
    (obs,) = unconditional(OVERLAP, "imputation", "fresh")
    c, x, y = (obs.space.names.index(name) for name in "cxy")
    values = obs.values.copy()
    values[..., c] = 1 - obs.values[..., c]
    values[..., x], values[..., y] = -obs.values[..., y], -obs.values[..., x]
    images = [dataclasses.replace(obs, values=values, losses=-obs.losses)]
    return {"importance": np.stack([_importance("MDI", OVERLAP, images, seed) for seed in range(n)])}


def excluded() -> Arrays:
    """A unit: "names" of what Optuna's importances by MDI are of, on a conditional log of each problem."""
    import optuna

    found = []
    for problem in PROBLEMS:
        study = first_study(log(problem, "fresh"), 0)
        evaluator = optuna.importance.MeanDecreaseImpurityImportanceEvaluator(seed=0)
        found.append(" ".join(optuna.importance.get_param_importances(study, evaluator=evaluator)))
    return {"names": np.array(found)}


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
    for peer in PEERS:
        for problem, variants in VARIANTS.items():
            for variant in variants:
                yield _row(found, peer, problem, variant)
    if found.get(EXCLUDED):
        names = dict(zip(PROBLEMS, found[EXCLUDED]["names"].tolist(), strict=True))
        gates = {problem: "c0" if "c0" in own.space.names else "c" for problem, own in PROBLEMS.items()}
        texts = [f"{problem}: {own}" for problem, own in names.items()]
        yield Row(
            "optuna-excludes", "Section 2.4",
            "Optuna evaluates only parameters that all samples have, with one domain: the gate alone",
            f"MDI through get_param_importances: {', '.join(texts)}",
            Verdict.AGREES if names == gates else Verdict.DIFFERS,
            "tried with MDI, as the default evaluator of Optuna 5 knows conditions",
        )  # fmt: skip


def _row(found: Mapping[str, Arrays], peer: str, problem: str, variant: str) -> Row:
    key, where = f"peer-{peer}-{problem}-{variant}", f"{FIGURES[problem]}, {peer} with {variant}"
    printed, measure, wanted = _statement(peer, problem, variant)
    names = PROBLEMS[problem].space.names
    verdicts: list[Verdict] = []
    texts: list[str] = []
    units = [_name(peer, _few(peer), problem, variant, seed) for seed in range(N_SEEDS)]
    each = [found[unit] for unit in units if found.get(unit)]
    few = [arrays["importance"][None] for arrays in each if LIMIT not in arrays]
    late = len(each) - len(few)
    for source, own in ((_few(peer), few), ("fresh", fresh(found, peer, problem, variant))):
        if len(own):
            number, error, shares = _measured(np.concatenate(own), names, measure)
            verdicts.append(judged(number, error, wanted))
            n = sum(map(len, own))
            texts.append(f"{source} {number:.3f} ± {error:.2g} ({shares}), {n} seeds")
    note = f"{late} logs took more than {PATIENCE:g} s and are left out" * (late > 0)
    if not verdicts:
        needs = f"a full run, and {' and '.join(PEERS[peer][0])} (parzax[papers])"
        if late:
            needs = f"more time: {late} logs took more than {PATIENCE:g} s"
        return missing(key, where, f"{printed} [{wanted}]", needs)
    if (problem, variant) in VARIED and peer not in QUICK and not late:
        pair = controlled(found, peer, problem, variant)
        if pair is not None:
            (number, error), correlation, logs = pair
            number = number if problem == MOVING else abs(number)
            verdicts.append(judged(number, error, wanted))
            texts.append(f"controlled {number:.3f} ± {error:.2g}, with {logs} by MDI")
            note = (
                f"controlled: y - x by MDI on the same logs as control variate, correlation {correlation:.4f}"
            )
    return Row(
        key, where, f"{printed} [{wanted}]", "; ".join(texts), by_the_larger(verdicts[0], verdicts[-1]), note
    )


def fresh(found: Mapping[str, Arrays], peer: str, problem: str, variant: str) -> list[np.ndarray]:
    """Importances (s, d) of a peer on many fresh logs, by unit."""
    units = [_many(peer, problem, variant, first) for first in _firsts(problem)]
    return [found[unit]["importance"] for unit in units if found.get(unit)]


def controlled(
    found: Mapping[str, Arrays], peer: str, problem: str, variant: str
) -> tuple[tuple[float, float], float, str] | None:
    """Mean y - x of a slow peer by regression on that of MDI, whose mean is known from many logs.

    Returns:
        The number with its standard error, the correlation over the common logs, and which logs MDI has.
    """
    source = _few(peer)
    many = fresh(found, "MDI", problem, variant)
    if not many:
        return None
    theirs = [_name(peer, source, problem, variant, seed) for seed in range(N_SEEDS)]
    if source == "fresh":
        seeds = [seed for seed, unit in enumerate(theirs) if found.get(unit)]
        fast = many[0][seeds]
    else:
        ours = [_name("MDI", source, problem, variant, seed) for seed in range(N_SEEDS)]
        seeds = [i for i in range(N_SEEDS) if found.get(theirs[i]) and found.get(ours[i])]
        fast = np.array([found[ours[i]]["importance"] for i in seeds])
    slow = np.array([found[theirs[i]]["importance"] for i in seeds])
    if len(slow) < 3:
        return None
    names = PROBLEMS[problem].space.names
    y, control, mean = (
        own[:, names.index("y")] - own[:, names.index("x")] for own in (slow, fast, np.concatenate(many))
    )
    logs = f"{len(mean)} logs"
    if problem == OVERLAP and found.get(MIRRORED):
        image = found[MIRRORED]["importance"]
        mean = (mean[: len(image)] + image[:, names.index("y")] - image[:, names.index("x")]) / 2
        logs = f"{len(mean)} logs and their mirror images"
    slope = np.cov(y, control)[0, 1] / control.var(ddof=1)
    left = y - slope * control
    errors = left.std(ddof=2) / np.sqrt(len(y)), slope * mean.std(ddof=1) / np.sqrt(len(mean))
    number = float(left.mean() + slope * mean.mean())
    return (number, float(np.hypot(*errors))), float(np.corrcoef(y, control)[0, 1]), logs


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
