"""Figures 5 and 14, Tables 1 and 2: which learners are good, and what matters, on rbv2_super."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import scipy.stats

import parzax as px
from benchmarks.studies.papers import data
from benchmarks.studies.papers.cond_ped_anova.curves import LEVELS
from benchmarks.studies.papers.rows import Range, Row, Verdict, judged, missing
from benchmarks.studies.papers.runs import Arrays, Unit

TABLES = {"condped_table1.csv": "Table 1", "condped_table2.csv": "Table 2"}
# Of a difference between two means, in standard errors: three are compared in a row.
WITHIN = Range(0, 3)
# Scenarios of which there are logs and no statement.
MORE = ("rbv2_cash2", "rbv2_xgboost")
FIRST = "1053"  # the instance of the main text
LEARNER, AMONG, BY_PARAMETER, ORDER = "learner_id", 5, Range(0.6), Range(0.8)
# What the text calls important within a learner: Section 6.2 of the first instance, Appendix G of all.
WITHIN_LEARNER = {
    "1053": ("xgboost.booster", "xgboost.nrounds", "xgboost.subsample", "svm.cost"),
    "": ("ranger.sample.fraction", "ranger.min.node.size", "svm.cost", "svm.kernel", "aknn.k"),
}
# The learners with the highest largest accuracy, by instance, as the paper prints them.
WITHIN_TOP = {"1053": ("svm", "xgboost"), "15": ("ranger", "svm")}
MORE_LOGS = "more logs of this network would tell"
# Resamplings of the seeds.
N_BOOTSTRAP = 1000
OTHER_NETWORK = (
    "the network of the October 2021 pre-release stands in for the paper's, so that differences are expected"
)


class Printed(NamedTuple):
    """A learner's accuracies over ten runs: (mean, standard error) of the least, the mean and the largest."""

    where: str
    instance: str
    learner: str
    numbers: dict[str, tuple[float, float]]


def printed() -> list[Printed]:
    """The rows of both tables; empty without PARZAX_DATA."""
    folder, found = data.folder(), []
    if folder is None:
        return []
    for name, where in TABLES.items():
        with (folder / "papers" / name).open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                numbers = {
                    kind: (float(row[f"{kind}_mean"]), float(row[f"{kind}_se"]))
                    for kind in ("min", "mean", "max")
                }
                found.append(Printed(where, row["instance"], row["learner_id"], numbers))
    return found


def stored(instance: str) -> Path | None:
    """The log of an instance, where there is one."""
    folder = data.folder()
    path = None if folder is None else folder / "yahpo" / f"rbv2_super2021_{instance}.npz"
    return path if path is not None and path.is_file() else None


def units() -> list[Unit]:
    """One for each instance whose log is there."""
    instances = dict.fromkeys(row.instance for row in printed())
    function = "benchmarks.studies.papers.cond_ped_anova.learners:importances"
    return [
        Unit(f"learners/{instance}", function, {"instance": instance}, cost=20)
        for instance in instances
        if stored(instance)
    ]


def more_units() -> list[Unit]:
    """Logs of other scenarios of YAHPO, as more pictures."""
    folder = data.folder()
    paths = [p for name in MORE for p in sorted(folder.glob(f"yahpo/{name}_*.npz"))] if folder else []
    function = "benchmarks.studies.papers.cond_ped_anova.learners:importances_of"
    return [
        Unit(f"more/{path.stem}", function, {"path": str(path)}, cost=20)
        for path in paths
        if path.stem.count("_") == 2
    ]


def importances_of(path: str) -> Arrays:
    """A unit: importances (s, q, d), names (d,) of a log of accuracies."""
    file = Path(path)
    space = json.loads(file.with_name(f"{file.stem.rsplit('_', 1)[0]}.space.json").read_text())
    with np.load(file) as arrays:
        values, accuracy = arrays["values"], arrays["objective"]
    obs = px.Observations.from_arrays(px.Space.from_json(space), values, accuracy, "maximize")
    with jax.enable_x64(True):
        result = px.cond_ped_anova(obs, LEVELS, n_resamples=0)
    names = [own["name"] for own in space["parameters"]]
    return {"default": np.asarray(result.importance), "names": np.array(names)}


def read(instance: str) -> tuple[dict, list[str], np.ndarray, np.ndarray]:
    """Space, names, values (s, n, d) and accuracies (s, n) of the log of an instance."""
    path = stored(instance)
    assert path is not None
    space = json.loads(path.with_name("rbv2_super2021.space.json").read_text())
    with np.load(path) as file:
        values, accuracy = file["values"], file["objective"]
    return space, [own["name"] for own in space["parameters"]], values, accuracy


def importances(instance: str) -> Arrays:
    """A unit: importances (s, q, d), names (d,), accuracies by seed and learner (s, l, 3), learners (l,)."""
    space, names, values, accuracy = read(instance)
    choices = next(own["choices"] for own in space["parameters"] if own["name"] == LEARNER)
    learner = values[..., names.index(LEARNER)]
    of_learner = [[accuracy[s][learner[s] == i] for i in range(len(choices))] for s in range(len(values))]
    obs = px.Observations.from_arrays(px.Space.from_json(space), values, accuracy, "maximize")
    with jax.enable_x64(True):
        result = px.cond_ped_anova(obs, LEVELS, n_resamples=0)
        parity = px.cond_ped_anova(
            obs, LEVELS, divergence=px.divergence.Pearson(), grid=px.Grid.optuna(), n_resamples=0
        )
    return {
        "default": np.asarray(result.importance),
        "parity": np.asarray(parity.importance),
        "names": np.array(names),
        "learners": np.array(choices),
        "accuracies": np.array([[(x.min(), x.mean(), x.max()) for x in own] for own in of_learner]),
    }


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """Tables learner by learner, and the figures' statements on the instances at hand."""
    rows_of = printed()
    if not rows_of:
        for name, where in TABLES.items():
            text = "accuracies of the learners"
            yield missing(f"learners-{name}", where, text, "PARZAX_DATA")
        return
    for instance in dict.fromkeys(row.instance for row in rows_of):
        own = [row for row in rows_of if row.instance == instance]
        if f"learners/{instance}" in found:
            arrays = found[f"learners/{instance}"]
            yield from _table(instance, own, arrays)
            yield from _figure(instance, arrays)
        else:
            text = f"accuracies of the learners, and what matters, on instance {instance}"
            where = f"{own[0].where}, Figure 14, Appendix G"
            yield missing(f"learners-{instance}", where, text, "the log of that instance")


def _table(instance: str, own: list[Printed], arrays: Arrays) -> Iterator[Row]:
    accuracies, learners = arrays["accuracies"], arrays["learners"].tolist()
    ours_by_max = []
    for row in own:
        each = accuracies[:, learners.index(row.learner)]
        mean, error = each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each))
        ours_by_max.append(mean[2])
        texts, apart = [], 0.0
        for (kind, (theirs, their_error)), m, e in zip(row.numbers.items(), mean, error, strict=True):
            texts.append((f"{kind} {theirs:.3f} ± {their_error:.3f}", f"{m:.3f} ± {e:.3f}"))
            # Printed errors are rounded to a thousandth.
            apart = max(apart, abs(m - theirs) / np.hypot(max(their_error, 5e-4), e))
        verdict = judged(apart, 0, WITHIN)
        yield Row(
            f"learners-{instance}-{row.learner}", f"{row.where}, {instance}",
            f"{row.learner}: " + ", ".join(one for one, _ in texts), ", ".join(one for _, one in texts),
            verdict, reason=OTHER_NETWORK,
        )  # fmt: skip
    theirs = [row.numbers["max"][0] for row in own]
    ranks = [scipy.stats.rankdata(own) for own in (theirs, ours_by_max)]
    rho = float(np.corrcoef(*ranks)[0, 1])
    yield Row(
        f"learners-{instance}-order", f"{own[0].where}, {instance}",
        f"order of the learners by the largest [{ORDER}]",
        f"rank correlation {rho:.2f}", judged(rho, 0, ORDER), reason=OTHER_NETWORK,
    )  # fmt: skip


def _figure(instance: str, arrays: Arrays) -> Iterator[Row]:
    names, learners = arrays["names"].tolist(), arrays["learners"].tolist()
    figure = f"{'Figure 5' if instance == FIRST else 'Figure 14'}, {instance}"
    at = int(np.abs(LEVELS - 0.1).argmin())
    each = {name: arrays[name][:, at] for name in ("default", "parity")}
    mean = {name: x.mean(axis=0) for name, x in each.items()}
    for parameter in (LEARNER, "trainsize"):
        own, wanted = names.index(parameter), Range(1, AMONG)
        rank = {
            name: _over_seeds(x, lambda m, own=own: int((-m).argsort().argsort()[own]) + 1, wanted)
            for name, x in each.items()
        }
        verdict, parity = (rank[name][1] for name in ("default", "parity"))
        note = "" if parity is verdict else f"with the reference's estimator: {parity}"
        yield Row(
            f"figure-{instance}-{parameter}", figure,
            f"{parameter} is among the first {AMONG} of {len(names)}",
            f"default: {rank['default'][0]}; parity: {rank['parity'][0]}, at 0.1, mean of ten seeds",
            verdict, note, _unless_open(verdict),
        )  # fmt: skip
    largest = arrays["accuracies"].mean(axis=0)[:, 2]
    of_learner = [[i for i, n in enumerate(names) if n.startswith(f"{own}.")] for own in learners]

    def correlation(x: np.ndarray) -> float:
        return float(np.corrcoef([x[places].max() for places in of_learner], largest)[0, 1])

    rhos = {name: _over_seeds(x, correlation, BY_PARAMETER) for name, x in each.items()}
    verdict, parity = (rhos[name][1] for name in ("default", "parity"))
    note = "" if parity is verdict else f"with the reference's estimator: {parity}"
    yield Row(
        f"figure-{instance}-correlation", figure,
        f"the importance of a learner's best parameter goes with its largest accuracy [{BY_PARAMETER}]",
        f"correlation over {len(learners)} learners, at 0.1: default {rhos['default'][0]}, parity "
        f"{rhos['parity'][0]}", verdict, note, _unless_open(verdict),
    )  # fmt: skip
    top = WITHIN_TOP.get(instance, ())
    if top:
        places = (-mean["default"]).argsort().argsort()
        place = 1 + min(
            int(places[i]) for i, name in enumerate(names) if name.startswith(tuple(f"{own}." for own in top))
        )
        section = "Section 6.2" if instance == FIRST else "Appendix G"
        yield Row(
            f"figure-{instance}-first", f"{section}, {instance}",
            f"parameters of {' or '.join(top)} have large importances: place of the first "
            f"[{Range(1, AMONG)}]",
            f"{place} of {len(names)}, at 0.1, ten seeds", judged(place, 0, Range(1, AMONG)),
            f"of another network than the paper's, in which {' and '.join(top)} are best", OTHER_NETWORK,
        )  # fmt: skip
    if instance == FIRST:
        pairs = list(zip(names, mean["default"].tolist(), strict=True))
        best = [max(x for n, x in pairs if n.startswith(f"{own}.")) for own in ("svm", "aknn")]
        yield Row(
            f"figure-{instance}-svm-aknn", f"Section 6.2, {instance}",
            f"svm is higher and aknn lower: best parameter of svm less that of aknn [{Range(0)}]",
            f"default: {best[0] - best[1]:.3f} ({best[0]:.3f}, {best[1]:.3f}), at 0.1, ten seeds",
            judged(best[0] - best[1], 0, Range(0)), reason=OTHER_NETWORK,
        )  # fmt: skip
    for name in dict.fromkeys((*WITHIN_LEARNER[""], *WITHIN_LEARNER.get(instance, ()))):
        if name in names:
            yield _within(instance, name, names, each)


def _over_seeds(
    each: np.ndarray, measure: Callable[[np.ndarray], float], wanted: Range
) -> tuple[str, Verdict]:
    """A number of the mean with its error, and a verdict by how many resamplings of seeds are in it."""
    seeds = np.random.default_rng(0).integers(0, len(each), (N_BOOTSTRAP, len(each)))
    drawn = [measure(each[own].mean(axis=0)) for own in seeds]
    share = np.mean([number in wanted for number in drawn])
    verdict = Verdict.NOT_TOLD_APART
    if not 0.025 < share < 0.975:
        verdict = Verdict.AGREES if share > 0.5 else Verdict.DIFFERS
    return f"{measure(each.mean(axis=0)):.2g} ± {np.std(drawn):.1g}", verdict


def _unless_open(verdict: Verdict) -> str:
    return MORE_LOGS if verdict is Verdict.NOT_TOLD_APART else OTHER_NETWORK


def _within(instance: str, name: str, names: list[str], each: dict[str, np.ndarray]) -> Row:
    """Whether a parameter is at the median of its learner's or above, at 0.1."""
    learner = name.split(".")[0]
    of_learner = [i for i, other in enumerate(names) if other.startswith(f"{learner}.")]
    own, wanted = names.index(name), Range(1, (len(of_learner) + 1) // 2)
    ranks = {
        kind: _over_seeds(x, lambda m: 1 + sum(m[i] > m[own] for i in of_learner), wanted)
        for kind, x in each.items()
    }
    verdict, parity = (ranks[kind][1] for kind in ("default", "parity"))
    section = "Section 6.2" if name in WITHIN_LEARNER.get(instance, ()) else "Appendix G"
    return Row(
        f"within-{instance}-{name}", f"{section}, {instance}",
        f"{name} is among the important ones of its learner: its rank [{wanted}]",
        f"default: {ranks['default'][0]}, parity: {ranks['parity'][0]} of {len(of_learner)}, at 0.1, "
        "ten seeds",
        verdict,
        "read as: not in the worse half; of another network than the paper's"
        + ("" if parity is verdict else f"; with the reference's estimator: {parity}"),
        _unless_open(verdict),
    )  # fmt: skip
