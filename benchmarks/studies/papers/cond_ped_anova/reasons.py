"""Why rows differ, by key, each with the number of an experiment."""

import json
from collections.abc import Iterator, Mapping

import jax
import numpy as np
import scipy.stats

import parzax as px
from benchmarks.studies.papers.cond_ped_anova import learners, peers
from benchmarks.studies.papers.cond_ped_anova.curves import (
    LEVELS,
    N_ROWS,
    N_SEEDS,
    PROBLEMS,
    Curves,
    log,
    of_unit,
)
from benchmarks.studies.papers.cond_ped_anova.statements import DISJOINT, MOVING, OVERLAP
from benchmarks.studies.papers.runs import Arrays, Unit

# Where the space of the released network has narrower ranges than that of our logs.
NARROWER = {"aknn.ef": (8, 256), "aknn.ef_construction": (8, 512)}
# Our trainsize begins 0.02 above the paper's: as much again is cut from ours.
TRAINSIZE, CUT, MTRY = "trainsize", 0.07, "ranger.mtry.power"
KINDS, LEVEL = ("min", "mean", "max"), 0.1
EXTREME = 0.99


def units() -> list[Unit]:
    """One for each log of rbv2_super."""
    function = "benchmarks.studies.papers.cond_ped_anova.reasons:experiments"
    instances = dict.fromkeys(row.instance for row in learners.printed())
    return [
        Unit(_name(own), function, {"instance": own}, cost=20) for own in instances if learners.stored(own)
    ]


def experiments(instance: str) -> Arrays:
    """A unit: what the log of an instance says under other ranges, and of one learner alone.

    Returns:
        "cut": accuracies (v, s, l, 3) as in the learners' unit, of the rows within the ranges that the two
        spaces share: trainsize, the ranges of aknn, and either value of ranger.mtry.power.
        "alone": importances (d,) of each parameter at 0.1 among the rows of its learner, mean of the seeds.
        "pooled": the same of the logs of all seeds as one.
        "released": accuracies (s, 2, 3) of rpart and xgboost by their own released networks, where stored.
    """
    space, names, values, accuracy = learners.read(instance)
    choices = next(own["choices"] for own in space["parameters"] if own["name"] == learners.LEARNER)
    learner = values[..., names.index(learners.LEARNER)]
    within = np.ones(learner.shape, bool)
    for name, (low, high) in NARROWER.items():
        column = values[..., names.index(name)]
        within &= np.isnan(column) | ((column >= low) & (column <= high))
    mtry = values[..., names.index(MTRY)]
    kept = [values[..., names.index(TRAINSIZE)] >= CUT, within, ~(mtry > 0), ~(mtry < 1)]
    found = {
        "cut": np.array([_accuracies(accuracy, np.where(own, learner, -1), len(choices)) for own in kept])
    }
    alone, pooled = np.zeros(len(names)), np.zeros(len(names))
    for i, choice in enumerate(choices):
        own, rows = [name.startswith(f"{choice}.") for name in names], learner == i
        for into, logs in ((alone, values.shape[:1]), (pooled, (1,))):
            obs = px.Observations.from_arrays(
                px.Space.from_json(space),
                values.reshape(*logs, -1, len(names)),
                accuracy.reshape(*logs, -1),
                "maximize",
                weight=rows.reshape(*logs, -1).astype(float),
            )
            with jax.enable_x64(True):
                into[own] = np.asarray(px.cond_ped_anova(obs, [LEVEL], n_resamples=0).importance)[:, 0].mean(
                    axis=0
                )[own]
    found |= {"alone": alone, "pooled": pooled}
    path = learners.stored(instance)
    assert path is not None
    released = path.with_name(f"rbv2_cash2_{instance}.npz")
    if released.is_file():
        joined = json.loads(path.with_name("rbv2_cash2.space.json").read_text())["parameters"][0]
        with np.load(released) as file:
            own, accuracy = file["values"][..., 0], file["objective"]
        found["released"] = _accuracies(accuracy, own, len(joined["choices"]))
        found["released_learners"] = np.array(joined["choices"])
    return found


def _accuracies(accuracy: np.ndarray, learner: np.ndarray, n: int) -> np.ndarray:
    """Least, mean and largest (s, l, 3) by learner."""
    each = [[accuracy[s][learner[s] == i] for i in range(n)] for s in range(len(accuracy))]
    none = (np.nan,) * 3
    return np.array([[(x.min(), x.mean(), x.max()) if len(x) else none for x in own] for own in each])


def reasons(found: Mapping[str, Arrays]) -> dict[str, str]:
    """By key of the row."""
    return dict([*_explain_curves(found), *_explain_peers(found), *_explain_networks(found)])


def _explain_curves(found: Mapping[str, Arrays]) -> Iterator[tuple[str, str]]:
    obs = log(DISJOINT, "fresh")
    many = (obs.values[..., obs.space.names.index("c")] < 0.5).sum(axis=1) >= 0.55 * N_ROWS
    curves = of_unit(found[f"curves/fresh/{DISJOINT}"], DISJOINT)["default"]
    other = (curves.each("x", "variance")[:, curves.between(0.55, 1)] != 0).any(axis=1) & ~many
    text = f"in {many.sum()} of {len(many)} fresh logs 550 or more of {N_ROWS} rows have c < 0.5, so that "
    text += f"the target at 0.55 has only such rows; in {(~many).sum() - other.sum()} of the other "
    yield "f1-x-exact", f"{text}{(~many).sum()} logs x is exactly 0"
    imputed = np.isnan(obs.values[..., obs.space.names.index("x")]).mean()
    text = f"{imputed:.0%} of the rows are imputed, and all of them change cell at once"
    yield "algorithm-imputation-middle", text
    for problem, key in ((DISJOINT, "f1-asymmetry"), (OVERLAP, "f1-overlap-asymmetry")):
        own = of_unit(found[f"curves/fresh/{problem}"], problem)
        text = (
            "an indicator and its complement have the same variance: at q and at 1 - q the importance of c "
        )
        text += f"is q / (1 - q), {(1 - EXTREME) / EXTREME:.4f} here; at {EXTREME:g} the estimators find "
        seen = [f"{_seen(x, 'y'):.0%} and {_seen(x, 'c'):.0%} by {name}" for name, x in own.items()]
        text += f"of the exact variances of y and c {', '.join(seen)}: the reference smooths y's cut-off away"
        yield key, text


def _seen(own: Curves, name: str) -> float:
    """A mean raw variance at the highest level, over that of the population: y's cut-off is in one branch.

    There 1 - q of all rows, in half of them, are outside the target.
    """
    out = 1 - EXTREME
    exact = out * (1 - 2 * out) if name == "y" else out**2
    return float(own.mean(name, "variance")[own.at(EXTREME)]) / exact


def _explain_peers(found: Mapping[str, Arrays]) -> Iterator[tuple[str, str]]:
    variant = "expansion"
    many = peers.fresh(found, "MDI", MOVING, variant)
    moved = found.get(peers.SHIFTED)
    if not many or not moved:
        return
    names = PROBLEMS[MOVING].space.names
    ahead = [
        own[:, names.index("y")] - own[:, names.index("x")]
        for own in (np.concatenate(many), moved["importance"])
    ]
    n = len(ahead[1])
    changed = (np.sign(ahead[0][:n]) != np.sign(ahead[1])).mean()
    drawn = ahead[0][np.random.default_rng(0).integers(0, len(ahead[0]), (10_000, N_SEEDS))].mean(axis=1)
    more_y = (drawn > 0).mean()
    text = "c < 0.5, x < 0 and y < 0 make the same two groups, so that rounding decides which one a tree "
    text += f"takes: adding {peers.SHIFT:g} to every loss exchanges x and y in {changed:.0%} of {n} logs; "
    text += f"of ten logs, as in the paper, MDI's mean has y above x in {more_y:.0%} of draws from "
    text += f"{len(ahead[0])} logs; over all of them y - x is {ahead[0].mean():.3f}; x should lead, as its "
    text += "domain is wider"
    others = "x and y change places from log to log; more logs, or more mirror images, would tell"
    for peer in peers.PEERS:
        yield f"peer-{peer}-{MOVING}-{variant}", text
        yield f"peer-{peer}-{OVERLAP}-imputation", others


def _explain_networks(found: Mapping[str, Arrays]) -> Iterator[tuple[str, str]]:
    """Of rows on rbv2_super: whether chance or the ranges of the space explain what another network does."""
    printed = learners.printed()
    for instance in dict.fromkeys(row.instance for row in printed):
        arrays, own = found.get(f"learners/{instance}"), found.get(_name(instance))
        if not arrays or not own:
            continue
        rows = [row for row in printed if row.instance == instance]
        for row in rows:
            yield f"learners-{instance}-{row.learner}", _explain_table(row, arrays, own)
        yield f"learners-{instance}-order", _explain_order(rows, arrays)
        yield f"figure-{instance}-correlation", _explain_correlation(rows, arrays)
        names = arrays["names"].tolist()
        for name in names:
            yield f"within-{instance}-{name}", _explain_learner(found, instance, name, names, own)


def _explain_table(row: learners.Printed, arrays: Arrays, own: Arrays) -> str:
    at = arrays["learners"].tolist().index(row.learner)
    each = arrays["accuracies"][:, at]
    mean, error = each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each))
    theirs = np.array([row.numbers[kind][0] for kind in KINDS])
    spread = np.hypot([max(row.numbers[kind][1], 5e-4) for kind in KINDS], error)
    worst = int(np.argmax(np.abs(theirs - mean) / spread))
    shifts = own["cut"][:, :, at].mean(axis=1)[:, worst] - mean[worst]
    inside = (each[:, worst] <= theirs[worst]).sum()
    off, shift = theirs - mean, shifts[np.abs(shifts).argmax()]
    other = abs(shift) < abs(off[worst]) / 2
    text = (
        "another network, rather than chance or the space: " if other else "the ranges of the space in part: "
    )
    text += f"the printed {KINDS[worst]} is {off[worst]:+.3f} from "
    text += f"ours, {np.abs(off / spread)[worst]:.0f} standard errors; {inside} of our {len(each)} logs lie "
    text += "at or below it; keeping the rows in the ranges that both spaces have moves ours by at most "
    text += f"{abs(shift):.3f}"
    released = own.get("released_learners")
    if released is not None and row.learner in released:
        alone = own["released"][:, released.tolist().index(row.learner)].mean(axis=0)
        text += (
            f"; {row.learner}'s own released network, fitted to the same records, has "
            f"{', '.join(f'{x:.3f}' for x in alone)}"
        )
    return text


def _explain_order(rows: list[learners.Printed], arrays: Arrays) -> str:
    places = [arrays["learners"].tolist().index(row.learner) for row in rows]
    theirs = [row.numbers["max"][0] for row in rows]
    ranks = scipy.stats.rankdata(theirs)
    each = [scipy.stats.rankdata(own[places, 2]) for own in arrays["accuracies"]]
    rhos = [float(np.corrcoef(ranks, own)[0, 1]) for own in each]
    return (
        f"not chance: each of our {len(rhos)} logs has a rank correlation from {min(rhos):.2f} to "
        f"{max(rhos):.2f}; the rows of the learners say how far each is off"
    )


def _explain_correlation(rows: list[learners.Printed], arrays: Arrays) -> str:
    """Which learner it is: the correlation without it is the highest."""
    names, choices = arrays["names"].tolist(), arrays["learners"].tolist()
    mean = arrays["default"][:, int(np.abs(LEVELS - LEVEL).argmin())].mean(axis=0)
    best = np.array([max(x for n, x in zip(names, mean, strict=True) if n.startswith(f"{own}."))
                     for own in choices])  # fmt: skip
    largest = arrays["accuracies"].mean(axis=0)[:, 2]
    without = [np.corrcoef(np.delete(best, i), np.delete(largest, i))[0, 1] for i in range(len(choices))]
    worst = int(np.argmax(without))
    theirs = next(row.numbers["max"][0] for row in rows if row.learner == choices[worst])
    return (
        f"{choices[worst]} alone: without it the correlation is {without[worst]:.2f}; its largest accuracy "
        f"is {largest[worst]:.3f} by this network and {theirs:.3f} by the paper's"
    )


def _explain_learner(
    found: Mapping[str, Arrays], instance: str, name: str, names: list[str], here: Arrays
) -> str:
    learner, short = name.split(".", 1) if "." in name else ("", name)
    if not learner:
        return ""
    own, pooled = (
        sorted((n for n in names if n.startswith(f"{learner}.")), key=lambda n: -here[kind][names.index(n)])
        for kind in ("alone", "pooled")
    )
    text = (
        f"of the network: among the rows of {learner} alone {short} is {own.index(name) + 1} of {len(own)}, "
        f"{pooled.index(name) + 1} with all logs pooled; {own[0].split('.', 1)[1]} is the first"
    )
    released = found.get(f"more/rbv2_{learner}_{instance}")
    if released:
        each = released["default"][:, int(np.abs(LEVELS - LEVEL).argmin())].mean(axis=0)
        order = [n for n in released["names"][np.argsort(-each)].tolist() if f"{learner}.{n}" in names]
        rank = order.index(short) + 1
        text += f"; by {learner}'s own released network on the same task it is {rank} of {len(order)}"
    others = [
        (other[8:], arrays["alone"]) for other, arrays in found.items()
        if other.startswith(_name("")) and other != _name(instance) and arrays
    ]  # fmt: skip
    for other, theirs in others:
        rank = 1 + sum(theirs[names.index(n)] > theirs[names.index(name)] for n in own)
        text += f"; on {other} it is {rank} of {len(own)} among the rows of {learner}"
    return text


def _name(instance: str) -> str:
    return f"reasons/{instance}"
