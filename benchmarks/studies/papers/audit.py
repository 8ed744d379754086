"""Twenty statements drawn at random from the texts of the papers: verdicts of rows and of loops."""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks import toys
from benchmarks.studies.papers import audit_loops, data
from benchmarks.studies.papers.c_tpe import searches, settings
from benchmarks.studies.papers.cond_ped_anova.curves import ESTIMATORS, PROBLEMS
from benchmarks.studies.papers.cond_ped_anova.statements import DISJOINT, MOVING, OVERLAP
from benchmarks.studies.papers.rows import Range, Row, Verdict, judged, missing, read_verdicts, together
from benchmarks.studies.papers.runs import Arrays, Unit
from benchmarks.studies.papers.tables import tables

TITLE = "Twenty statements drawn at random"
ABOUT = """\
The three texts were cut into sentences, without their lists of references. 1121 of them have at least 40
characters and a digit, a formula or a word of comparison.
`numpy.random.default_rng(20261231).permutation(1121)` puts them in an order. The first twenty that can be
checked are below. The other places up to 46 have captions, headings, settings, definitions, notation,
pointers, results of other papers, a statement of an earlier draw, and a claim on data that are not at hand.

Two readers who knew only the texts and the tables wrote a criterion for each statement, then a loop in NumPy
and SciPy. Criteria and verdicts were fixed before any row was read, and none was changed afterwards. The code
of two loops was mended, 21 (an interval was missing) and 34 (rounding), by the same criteria. The loops here
are tidied, some with fewer seeds or other random numbers, and have the same verdicts.

* Of the twenty, 13 had a row before. The other seven have one here.
* All 20 verdicts are confirmed by their loops, like for like: by the criterion that was fixed from the text
  alone, with the library's numbers, of the paper's method as the library has it. Of the 13 rows from before,
  10 had the loop's verdict. Three had read the sentence in another way, and stand beside it below. For these
  three the numbers by the loop's criterion were computed after the loops' verdicts were known.
* Statement 4: the row asks whether the importances grow from 0.5 to 0.1 and to 0.9, and they do. The loop
  takes eleven levels. From 0.9 to 0.95 the paper's estimator, with 1000 rows, lets x fall by 0.02, so by this
  criterion the sentence fails. By our own estimator x does not fall, with 1000 rows or with 400,000.
* Statement 13: the rows are of `px.c_tpe`, at each level, by a signed-rank test. At 0.9 augmentation makes it
  worse, by 8 to 11 %, and at 0.1 the runs do not tell. The loop takes 0.5 and 0.9 together and allows 15 %.
  By this criterion `px.papers.c_tpe` agrees. `px.c_tpe` was tried first, with 32 seeds, and is not told
  apart: at 0.1 augmentation wins with probability 0.55 (0.51, 0.60) and 0.51 (0.46, 0.55). Other 50 seeds of
  `px.papers.c_tpe` gave 0.61 (0.57, 0.64) and 0.56 (0.53, 0.60).
* Statement 21: the row asks for the printed 0.02, which 0.25 % of draws have. The loop allows 0.05, which is
  the median itself, so there is no verdict. In both the large share is what damps the ratio.
* A second draw (seed 20261201) was here before. 15 of its twenty statements had a row. 16 verdicts were
  confirmed, and two more by a second reader; B.3.2 of c-TPE and the subset of Section 4.5 of meta-learning
  TPE were not. Its five new rows, and those of a first draw, are on the page of
  [further statements](further.md)."""
CAPTIONS: dict[str, str] = {}
CODE = "benchmarks/studies/papers/audit.py"
PAGES = Path(__file__).parents[3] / "docs" / "studies" / "papers"
CONDITIONAL, CONSTRAINED, META = "arXiv 2601.20800", "arXiv 2211.14411", "arXiv 2212.06751"
AGREES, DIFFERS, APART = Verdict.AGREES, Verdict.DIFFERS, Verdict.NOT_TOLD_APART


@dataclass(frozen=True)
class Statement:
    """A drawn statement.

    Attributes:
        loop: the function of `audit_loops`.
        where, printed: the statement, in our words.
        verdict: of the loop, as it was fixed.
        rows: rows of the pages, "page/key", whose verdicts together are that of the statement; if there are
            none, `_beside` has it.
        criterion: of `audit_loops`, for the unit of that name; then it decides, and the rows stand beside it.
        note: what rows and loop read in another way, or what the verdict leaves out.
    """

    loop: str
    where: str
    printed: str
    verdict: Verdict = AGREES
    rows: tuple[str, ...] = ()
    note: str = ""
    criterion: str = ""


# By their places in the order.
STATEMENTS = {
    0: Statement(
        "learner_parameters", f"{CONDITIONAL}, Section 6.1",
        "only the parameters of the learner that learner_id chooses are active",
        rows=("further/second-activity",),
        note="the conditions of the space are those of the learners; the row counts all stored logs",
    ),
    3: Statement(
        "own_density", f"{META}, B.5",
        "the density of the rows below is positive at each of them: rows where it is not",
    ),
    4: Statement(
        "moving_grow", f"{CONDITIONAL}, Section 5.3",
        "importances of x and y grow toward extreme targets, and both parameters are always active",
        DIFFERS, ("cond_ped_anova/f1-moving-grow",),
        "by the paper's estimator; by ours {ours}; the row has the levels 0.1, 0.5 and 0.9", "steps",
    ),
    5: Statement(
        "nested_density", f"{CONDITIONAL}, Section 3.3",
        "the target's density is zero where the region's is: cells of the target without a row of the region",
    ),
    8: Statement(
        "large_overlap", f"{CONSTRAINED}, B.2.2, Figure 3",
        "with a large overlap c-TPE and the naive product search alike", AGREES, ("c_tpe/f3-alike",),
        "the row has the share where good and feasible meet",
    ),
    13: Statement(
        "augmentation", f"{CONSTRAINED}, E.3",
        "augmentation accelerates tight constraints significantly, and makes nothing worse in general",
        AGREES, ("c_tpe/t2-0.1", "c_tpe/t2-0.5", "c_tpe/t2-0.9"),
        "`px.papers.c_tpe`; the rows, of `px.c_tpe`, test each level by signed ranks", "augmentation",
    ),
    14: Statement(
        "bayes", f"{META}, A.1, Eq. 20",
        "the expected improvement by p(f | x, t) is that by p(x, t | f): largest relative gap",
    ),
    17: Statement(
        "slopes", f"{CONSTRAINED}, B.2.1, Theorem 1",
        "slopes are equal where shares and ratios are, and zero where gamma = 1 alone",
        AGREES, ("c_tpe/theorem-1", "c_tpe/theorem-1-one", "further/first-slopes"),
        "the text has lost its subscripts; they are those of the proof",
    ),
    20: Statement(
        "extended_marginals", f"{CONDITIONAL}, F.3",
        "so too for pairs of regime and value: such pairs of the target without a row of the region",
    ),
    21: Statement(
        "loose_constraint", f"{CONSTRAINED}, B.2.1, Figure 2",
        "gamma_1 = 0.50 is much larger than gamma_0 = 0.02, which damps the centre of the feasible domain",
        APART, ("c_tpe/f2-loose-gamma0", "c_tpe/f2-loose-gamma1"),
        "densities and groups of `px.papers.c_tpe`; the rows have the printed numbers alone", "shares",
    ),
    22: Statement(
        "gating", f"{CONDITIONAL}, F.1, Eq. 38",
        "the standard variance is the within-regime variance and that of the gate", AGREES,
        tuple(f"cond_ped_anova/theorem-f.1-{own}" for own in (DISJOINT, OVERLAP, MOVING)),
    ),
    27: Statement(
        "both_groups", f"{META}, B.5",
        "the score may be non-zero for configurations in both groups: the largest, as a probability",
    ),
    28: Statement(
        "good_sets", f"{META}, B.2", "the sets up to f^gamma, or to its rank, have probability gamma", AGREES,
        ("further/first-quantiles", "further/meta-gamma-meta_learn_tpe", "further/meta-crowding"),
    ),
    29: Statement(
        "local_variance", f"{CONDITIONAL}, Eq. 5",
        "the local marginal variance of b is (gamma' / gamma)^2 of the divergence",
        AGREES, ("further/eq-5",), "with ties, by the masses of the sets instead of the levels",
    ),
    33: Statement(
        "inactive_regime", f"{CONDITIONAL}, F.3",
        "an inactive regime has no divergence, and its inter-regime term alone counts: largest gap",
    ),
    34: Statement(
        "shifted_order", f"{META}, Section 4.1, Eq. 8",
        "under the conditional shift EI is ordered as the ratio of joint densities", AGREES,
        ("meta_learn_tpe/proposition-1",),
    ),
    36: Statement(
        "set_similarity", f"{META}, B.4, Lemma 1",
        "the similarity of sets is (1 - d) / (1 + d), by the total variation d", AGREES,
        ("meta_learn_tpe/lemma-1",),
    ),
    41: Statement(
        "fast_and_accurate", f"{CONDITIONAL}, Section 4.2",
        "the construction of PED-ANOVA is fast, and its estimates are accurate", AGREES,
        ("further/first-accuracy", *(f"cond_ped_anova/f6-ped-{own}" for own in (DISJOINT, MOVING))),
    ),
    42: Statement(
        "two_integrals", f"{META}, B.2, Eq. 29",
        "Riemann's and Lebesgue's integral are the probability of improvement: largest gap",
    ),
    46: Statement(
        "reflects_structure", f"{CONDITIONAL}, Section 5.4",
        "conditional PED-ANOVA reflects the conditions, which naive extensions do not", AGREES,
        tuple(f"cond_ped_anova/{own}" for own in (
            "f1-c-peak", "f1-c-height", "f1-x-low", "f1-y-high", "f1-y-zero", "f1-x-zero", "f1-overlap-c",
            "f1-overlap-xy", "f1-overlap-y", "f1-overlap-x", "f2-activation-disjoint-filtering-xy",
        )),
    ),
}  # fmt: skip
# Of statement 13, seeds of each method and setting.
N_SEEDS = 50


def units(quick: bool) -> list[Unit]:
    """All of them, in ten minutes."""
    del quick
    names = ("own_rows", "nested_cells", "integrals", "groups", "inactive", "steps", "shares")
    found = [Unit(name, f"{__name__}:{name}", cost=10) for name in names]
    if data.folder() is not None:
        found.append(Unit("augmentation", f"{__name__}:augmentation", cost=200))
    costs = {"augmentation": 100, "large_overlap": 25, "loose_constraint": 30, "fast_and_accurate": 15}
    for name in (own.loop for own in STATEMENTS.values()):
        if data.folder() is not None or name not in ("learner_parameters", "augmentation"):
            needs = ("optuna", "sklearn") if name == "fast_and_accurate" else None
            loop, cost = f"{audit_loops.__name__}:run", costs.get(name, 5)
            found.append(Unit(f"loops/{name}", loop, {"name": name}, needs, cost, needs is not None))
    return found


# --- what has no other row ---------------------------------------------------------------------------------

GATES = px.Categorical(["low", "high", "none"])
LOW, HIGH = px.In("g", ["low"]), px.In("g", ["high"])


def own_rows() -> Arrays:
    """Rows, and those without density by their own estimator; densities without a prior."""
    kinds = {"x": px.Float(0, 1), "i": px.Int(0, 9), "l": px.Float(1e-4, 1, log=True)}
    space, n, wrong = px.Space({"g": GATES, **kinds, "y": px.Float(-1, 1, when=LOW)}), 0, 0
    with jax.enable_x64(True):
        for seed, n_rows in product(range(10), (1, 2, 20, 200)):
            rng = np.random.default_rng([seed, n_rows])
            g, (x, z), y = rng.integers(0, 3, n_rows), rng.random((2, n_rows)), rng.uniform(-1, 1, n_rows)
            columns = (g, x, rng.integers(0, 10, n_rows), 10 ** (-4 * z), np.where(g == 0, y, np.nan))
            rows_of = np.stack(columns, axis=1)
            for bandwidth in (None, px.bandwidth.Constant(1e-3)):
                how: Any = {"bandwidth": bandwidth, "prior_weight": 0.0, "top": 1.0}
                log_p = np.asarray(px.ParzenEstimator.fit(space, rows_of, **how).log_prob(rows_of))
                n, wrong = n + n_rows, wrong + int((~np.isfinite(log_p)).sum())
    return {"n": np.array(n), "wrong": np.array(wrong)}


def nested_cells() -> Arrays:
    """Cells with rows of a target, and those of them without rows of the region, by "plain" and "gated"."""
    plain = px.Space({"a": px.Float(0, 1), "b": px.Int(0, 6), "c": GATES})
    moving = [px.Float(0, 2, when=LOW), px.Float(1, 3, when=HIGH)]
    gated, found = px.Space({"g": GATES, "x": moving, "k": px.Int(0, 4, when=HIGH)}), {}
    for (name, space), seed in product({"plain": plain, "gated": gated}.items(), range(12)):
        rng, n = np.random.default_rng(seed), (20, 100, 400)[seed % 3]
        g, u, k = rng.integers(0, 3, n), rng.random(n), rng.integers(0, 5, n)
        of_gated = (g, np.where(g < 2, 2 * u + g, np.nan), np.where(g == 1, k, np.nan))
        x = np.stack((u, k, g) if name == "plain" else of_gated, axis=1).astype(float)
        f = rng.normal(size=n) + np.nan_to_num(x[:, 1])
        for region in (1.0, 0.5):
            how: Any = {"levels": [0.01, 0.1, 0.3, 0.9 * region], "region": region}
            log = px.encode(space, x, f.round() if seed % 2 else f, **how)
            counts = np.asarray(px.importance.estimate(log, px.divergence.Pearson()).counts)
            seen = counts[:-1] > 0
            found[name] = found.get(name, 0) + np.array([seen.sum(), (seen & (counts[-1] == 0)).sum()])
    return found


def integrals() -> Arrays:
    """Gaps (points,) of Eq. 20, relative, and of Eq. 29, by conditional densities of (loss, x, task)."""
    space = px.Space({"f": px.Float(0, 1), "x": px.Float(0, 1), "t": px.Categorical(list("abc"))})
    f, found = (np.arange(4000) + 0.5) / 4000, []
    with jax.enable_x64(True):
        for seed in range(5):
            rng = np.random.default_rng(seed)
            x, t = rng.random(60), rng.integers(0, 3, 60)
            losses = np.clip((x - 0.3 - 0.1 * t) ** 2 + 0.1 * rng.random(60), 0, 1)
            joint = px.ParzenEstimator.fit(space, np.stack([losses, x, t], axis=1))
            cut = np.quantile(losses, 0.2)
            p_f, given_f = np.asarray(joint.marginal("f").prob(f[:, None])), joint.conditional({"f": f})
            for at in np.array([[0.1, 0], [0.5, 1], [0.9, 2]]):
                given = joint.conditional({"x": at[0], "t": int(at[1])})
                p, gain = np.asarray(given.prob(f[:, None])), np.maximum(cut - f, 0)
                likelihood = np.asarray(jax.vmap(lambda own, at=at: own.prob(at))(given_f))
                p_x = float(joint.marginal("x", "t").prob(at))
                ratio = (gain * p).mean() / (gain * likelihood * p_f).mean() * p_x
                riemann = cut * np.asarray(given.prob(cut * f[:, None])).mean()
                heights, truth = np.sort(p * (f <= cut)), float(given.cdf(cut))
                above = 1 - np.searchsorted(heights, heights[-1] * f, side="right") / 4000
                gaps = riemann - truth, above.mean() * heights[-1] - truth
                found.append([abs(ratio - 1), np.abs(gaps).max()])
    return dict(zip(("improvement", "probability"), np.array(found).T, strict=True))


def groups() -> Arrays:
    """After 500, 1000 and 2000 rows the largest gamma exp(score) of a configuration of both groups."""
    space, found = px.Space({"x": px.Int(0, 20)}), []
    sampler = px.tpe(space, split=px.Split(px.gamma.Linear(0.1)), acquisition=px.acquisition.Relative())
    for n in (500, 1000, 2000):
        rng = np.random.default_rng(n)  # as of an epsilon-greedy search
        x = np.where(rng.random(n) < 0.15, rng.integers(0, 21, n), rng.integers(5, 8, n)).astype(float)
        state = sampler.tell(sampler.init(n), x[:, None], (x / 20 - 0.3) ** 2)
        split = sampler.split(state)
        below = np.asarray(split.below)[0, :n]
        cells = np.intersect1d(x[below], x[~below])
        score = np.asarray(sampler.score_of(state, cells[:, None]))
        found.append(float(split.gamma[0]) * np.exp(score.max(initial=-math.inf)))
    return {"score": np.array(found)}


def inactive() -> Arrays:
    """Gaps (logs, levels) of x's variances to sums over pairs of regime and value, relative."""
    gate = px.Categorical(["low", "high", "none", "neither"])
    space = px.Space({"g": gate, "x": [px.Int(0, 2, when=LOW), px.Int(1, 5, when=HIGH)]})
    levels, gaps, largest = (0.02, 0.1, 0.5), [], 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        g = rng.integers(0, 4, 300)
        x = np.where(g == 0, rng.integers(0, 3, 300), rng.integers(1, 6, 300))
        f = rng.normal(size=300) + g * rng.normal() + x * (g < 2)
        with jax.enable_x64(True):
            columns = np.stack([g, np.where(g < 2, x, np.nan)], axis=1)
            log = px.encode(space, columns, f, levels=levels, region=0.8)
            whole = px.divergence.Explained(cells=(96,), degrees=(), debias=False)
            ours = px.importance.estimate(log, whole)
        atom = np.where(g < 2, 10 * g + x, 20)
        sets = [f <= np.sort(f)[math.ceil(level * 300) - 1] for level in (*levels, 0.8)]
        masses = [np.bincount(atom[own], minlength=21) / own.sum() for own in sets]
        seen = masses[-1] > 0
        for k, p in enumerate(masses[:-1]):  # the last atom is the inactive regime
            parts = (p - masses[-1])[seen] ** 2 / masses[-1][seen] * (sets[k].sum() / sets[-1].sum()) ** 2
            gaps.append(abs(float(ours.variance[k, 1] + ours.inter[k, 1]) / parts.sum() - 1))
            largest = max(largest, float(ours.divergence[k, 1, -1]))
    return {"gap": np.array(gaps), "divergence": np.array(largest)}


# --- the loops' criteria, with the library -----------------------------------------------------------------


def steps() -> Arrays:
    """Importances (2, seeds, levels, parameters) by estimator; ours of x of 400,000 rows, at 0.9 and 0.95."""

    def importances(name: str, logs: list[audit_loops.Problem], how: Mapping[str, Any]) -> np.ndarray:
        columns = [[np.where(i < 0, np.nan, values) for values, i, _ in own] for own, _ in logs]
        x, losses = np.moveaxis(np.array(columns), 1, 2), np.array([f for _, f in logs])
        obs = px.Observations.from_arrays(PROBLEMS[name].space, x, losses)
        return np.asarray(px.cond_ped_anova(obs, audit_loops.LEVELS, **how, n_resamples=0).importance)

    with jax.enable_x64(True):
        logs = dict(zip((MOVING, DISJOINT), audit_loops.growing(), strict=True))
        found = {
            key: np.stack([importances(*own, how) for own in logs.items()]) for key, how in ESTIMATORS.items()
        }
        many = [audit_loops.moving(np.random.default_rng([4000, 0]), 400_000)]
        return found | {"many": importances(MOVING, many, {})[0, 9:, 1]}


def augmentation() -> Arrays:
    """Best feasible losses (2, seeds, budgets) of `px.papers.c_tpe`, with known sizes and without."""
    found, levels = {}, settings.PRINTED_QUANTILES
    for table in (own for own in tables() if own.path.removesuffix(".npz") in audit_loops.TABLES):
        theirs = audit_loops.Table(table.path.removesuffix(".npz"))
        for kind in ("size", "both"):
            names = settings.CONSTRAINTS[kind]
            stacked = searches.problems(table.path, table.objectives[0], names, levels)
            sampler = px.papers.c_tpe(stacked.space, n_constraints=len(names))
            root = jax.random.key(zlib.crc32(f"{table.path}/{kind}".encode()))
            keys = jax.random.split(root, (len(levels), N_SEEDS))
            each = jax.device_get(
                [run(sampler, stacked, keys) for run in (searches.augmented, searches.optimised)]
            )
            for i, level in enumerate(levels):
                runs = [np.where((c[i] <= 0).all(axis=-1), f[i], np.inf) for f, c in each]
                best = np.minimum.accumulate(np.array(runs), axis=-1)[..., 49::50]
                limits = [own[f"{level:g}"] for own in theirs.limits[: len(names)]]
                key, n = f"{table.name}/{kind}/{level:g}", 4 if i else 2
                found |= {key: best[..., :n], f"{key}/bad": np.array(theirs.bad(limits))}
    return found


def shares() -> Arrays:
    """Shares (draws, 2) of the groups of `px.papers.c_tpe`, and the constraint's ratios (draws, places)."""
    problem = toys.discs(radius=4.0)
    sampler = px.papers.c_tpe(problem.space, n_constraints=1)

    @jax.jit
    def one(own: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        x, f, c = own
        state = sampler.tell(sampler.init(200), x, f, c)
        fit = partial(px.ParzenEstimator.fit, problem.space, x, bandwidth=px.bandwidth.NormalReference())
        low, high = (fit(1.0 * own).log_prob(jnp.asarray(audit_loops.PLACES)) for own in (c <= 0, c > 0))
        return sampler.split(state).gamma, jnp.exp(low - high)

    drawn = [np.stack(own) for own in zip(*audit_loops.discs(1000), strict=True)]
    gamma, ratio = jax.lax.map(one, tuple(map(jnp.asarray, drawn)), batch_size=20)
    return {"gamma": np.asarray(gamma, float).round(4), "ratio": np.asarray(ratio, float)}


# --- rows --------------------------------------------------------------------------------------------------


def rows(found: Mapping[str, Arrays]) -> list[Row]:
    """The twenty statements, in the order of the draw."""
    return [_row(place, own, found) for place, own in STATEMENTS.items()]


@cache
def _verdicts(page: str) -> dict[str, Verdict]:
    return read_verdicts(PAGES / f"{page}.csv")


def _row(place: int, own: Statement, found: Mapping[str, Arrays]) -> Row:
    key, again = f"drawn-{place}", found.get(f"loops/{own.loop}", {})
    numbers = f"loop: {again['numbers']}" if again else "the loop needs PARZAX_DATA, or Optuna"
    note = "; ".join(filter(None, (numbers, own.note)))
    if own.rows:
        verdicts = {path: _verdicts(path.split("/")[0])[path.split("/")[1]] for path in own.rows}
        texts = [f"[`{path.split('/')[1]}`]({path.split('/')[0]}.md) {v}" for path, v in verdicts.items()]
        row = Row(key, own.where, own.printed, ", ".join(texts), together([*verdicts.values()]), note)
        row = _by_criterion(row, own.criterion, found) if own.criterion else row
    else:
        row = _beside(key, own, note, found)
    return replace(row, loop=_loop(own.verdict, row.verdict, again), reason="see above")


def _loop(fixed: Verdict, of_row: Verdict, again: Arrays) -> str:
    """The verdict of the loop, whether it is the row's, and what it says now if that is another."""
    text = str(fixed) if of_row in (fixed, Verdict.CANNOT_BE_RUN) else f"{fixed}: not confirmed"
    now = str(again["verdict"]) if again else str(fixed)
    return text if now == fixed else f"{text}; run again: {now}"


def _beside(key: str, own: Statement, note: str, found: Mapping[str, Arrays]) -> Row:
    """A statement that has no row of another page."""
    match own.loop:
        case "own_density":
            n, number = (int(found["own_rows"][name]) for name in ("n", "wrong"))
            ours, wanted, more = f"{number} of {n}", Range(0, 0), "`px.ParzenEstimator` without a prior"
        case "nested_density" | "extended_marginals":
            n, number = found["nested_cells"]["plain" if own.loop == "nested_density" else "gated"]
            ours, wanted, more = f"{number} of {n}", Range(0, 0), "by `px.encode`"
        case "bayes" | "two_integrals":
            is_bayes = own.loop == "bayes"
            number = found["integrals"]["improvement" if is_bayes else "probability"].max()
            wanted = Range(high=1e-9 if is_bayes else 2e-3)
            ours, more = f"{number:.1e} at most", "conditional densities of `px.ParzenEstimator`, 15 points"
        case "both_groups":
            number, wanted = found["groups"]["score"].min(), Range(low=0.01)
            ours = f"{number:.3f} at least"
            more = "`px.tpe` after 500, 1000 and 2000 rows; the loop's range"
        case _:
            wanted = Range(high=1e-12)
            number = max(found["inactive"]["gap"].max(), found["inactive"]["divergence"])
            ours, more = f"{number:.1e} at most", "variances of `px.importance.estimate` and sums, relative"
    printed, verdict = f"{own.printed} [{wanted}]", judged(float(number), 0, wanted)
    return Row(key, own.where, printed, ours, verdict, f"{more}; {note}", code=CODE)


def _by_criterion(row: Row, name: str, found: Mapping[str, Arrays]) -> Row:
    """A row by the criterion of its loop, with the library's numbers; what it was stands beside them."""
    own, note = found.get(name, {}), row.note
    if not own:
        return missing(row.key, row.where, row.printed, "tables in PARZAX_DATA")
    match name:
        case "steps":
            said = audit_loops.judge_steps(*own["parity"])
            ours = "{} ({}; of 400,000 rows, at 0.9 and 0.95: {:.3f}, {:.3f})".format(
                *audit_loops.judge_steps(*own["default"]), *own["many"]
            )
            note = note.format(ours=ours)
        case "augmentation":
            keys = [key for key in own if not key.endswith("/bad")]
            said = audit_loops.judge_augmentation([(own[key], float(own[f"{key}/bad"])) for key in keys])
        case _:
            said = audit_loops.judge_shares(own["gamma"], own["ratio"])
    verdict, numbers = said
    ours = f"by the loop's criterion {numbers}; by rows of other pages {row.ours}"
    return replace(row, ours=ours, verdict=verdict, note=note, code=CODE)


def figures(found: Mapping[str, Arrays], folder: Path) -> None:
    """None."""
