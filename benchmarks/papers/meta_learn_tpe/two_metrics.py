"""Figures 4, 5 and 7 to 11: tables with two metrics, each the target of the others of its benchmark."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.papers import tables as tables_module
from benchmarks.papers.meta_learn_tpe.searches import EPSILON, N_ROWS, runs, with_count, with_eta
from benchmarks.papers.rows import OURS_ALONE, SEEN, Range, Row, alike, judged, missing, together
from benchmarks.papers.runs import Arrays
from benchmarks.papers.tables import Table
from parzax.samplers import Sampler
from parzax.space import frame_of

# The table on which the paper's method is not the best.
EXCEPTION = "protein_structure"
# Share of different entries below which repeats cost a run something.
FRESH = 0.8
N_EVALUATIONS, N_STARTUP = 100, 5
ETAS = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
OURS, COLD, WHOLE, NAIVE = "ours", "no warm start", "no dimension reduction", "naive weights"
MO, RANDOM, WARM, FLOOR, CEIL = "MO-TPE", "random", "MO-TPE from a warm start", "floor", "ceil"
ALONE = "only warm start"
METHODS = (OURS, COLD, WHOLE, NAIVE, MO, RANDOM, WARM)
# Of Figure 9: shares of the table that are the best.
TOPS = (0.01, 0.05)
# Shares of the true front that differ by less are the same to a reader.
SAME = 0.02
N_BOOTSTRAP = 200
# Objectives on a log axis for the second hypervolume: losses that span orders of magnitude.
LOG = ("valid_mse",)


def usable() -> dict[str, list[Table]]:
    """Benchmarks with two tables or more that have two metrics."""
    found = [own for own in tables_module.tables() if metrics(own)]
    return {name: own for name, own in tables_module.families(found).items() if len(own) > 1}


def metrics(table: Table) -> tuple[str, ...] | None:
    """The two that are minimised: those of the header, or loss and runtime."""
    if len(table.objectives) == 2:
        return table.objectives
    if "runtime" in table.constraints and table.ordinal:
        return (table.objectives[0], "runtime")
    return None


@cache
def problem(table: Table) -> px.problems.Tabular:
    """Without its name, so that tables of a benchmark share their programs."""
    own = metrics(table)
    assert own is not None, "only tables with two metrics are asked for"
    loaded = px.problems.Tabular.load(table.path, own)
    return dataclasses.replace(loaded, name="", objective_names=("", ""))


def search(target: Table, others: Sequence[Table], n_seeds: int) -> Arrays:
    """A unit: "METHOD" and "eta/ETA" -> objectives (s, n, 2) of whole runs with the others as sources."""
    own = problem(target)
    sources = [problem(other) for other in others]
    samplers = [with_count(_sampler(sources, seed), "below") for seed in range(n_seeds)]
    plain = px.mo_tpe(own.space, 2, epsilon=EPSILON, n_startup=N_STARTUP)
    # Random first rows as a list of rows: one program with the good rows of the sources.
    starts = [_random_start(own, one.start, seed) for seed, one in enumerate(samplers)]
    variants: dict[str, Sequence[Sampler]] = {
        OURS: samplers,
        WHOLE: [with_eta(one, None) for one in samplers],
        NAIVE: [with_eta(one, np.inf) for one in samplers],
        COLD: [dataclasses.replace(one, start=s) for one, s in zip(samplers, starts, strict=True)],
        MO: [dataclasses.replace(plain, start=start) for start in starts],
        WARM: [dataclasses.replace(plain, start=one.start) for one in samplers],
        FLOOR: [with_count(one, "floor") for one in samplers],
        CEIL: [with_count(one, "ceil") for one in samplers],
    }
    variants |= {f"eta/{eta:g}": [with_eta(one, eta) for one in samplers] for eta in ETAS}
    found = {name: runs(each, own, N_EVALUATIONS)[0] for name, each in variants.items()}
    drawn = _evaluated(own, jax.random.split(jax.random.key(1), (n_seeds, N_EVALUATIONS)))
    return found | {RANDOM: np.asarray(drawn[1])}


def search_more(target: Table, others: Sequence[Table], n_seeds: int, repeats: bool) -> Arrays:
    """A unit: the best tenth of the sources alone, beside random search; if asked, ours without repeats."""
    own, sources = problem(target), [problem(other) for other in others]
    n = N_ROWS // 10 * len(sources)
    samplers = [_sampler(sources, seed, n_startup=n) for seed in range(n_seeds)]
    drawn = _evaluated(own, jax.random.split(jax.random.key(2), (n_seeds, N_EVALUATIONS)))
    found = {ALONE: runs(samplers, own, n)[0], RANDOM: np.asarray(drawn[1])}
    if repeats:
        return found
    samplers = [with_count(_sampler(sources, seed, repeats=False), "below") for seed in range(n_seeds)]
    plain = px.mo_tpe(own.space, 2, epsilon=EPSILON, n_startup=N_STARTUP, repeats=False)
    starts = [_random_start(own, one.start, seed) for seed, one in enumerate(samplers)]
    found[OURS] = runs(samplers, own, N_EVALUATIONS)[0]
    return found | {MO: runs([dataclasses.replace(plain, start=s) for s in starts], own, N_EVALUATIONS)[0]}


@eqx.filter_jit
def _evaluated(own: Any, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Random configurations of a table with replacement, and their objectives, for keys (s, n)."""

    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        choose, evaluate = jax.random.split(key)
        x = own.decode(jax.random.randint(choose, (), 0, own.n_seeds.shape[0]))
        return x, own(evaluate, x)[0]

    return jax.vmap(jax.vmap(one))(keys)


def _random_start(own: Any, like: Any, seed: int) -> Any:
    """Random rows in place of those of a start."""
    n = len(like.rows.unit)
    x, _ = _evaluated(own, jax.random.split(jax.random.key(10_000 + seed), (1, n)))
    at = frame_of(own.space, x.dtype).encode(x[0])
    return dataclasses.replace(like, rows=at)


def _sampler(sources: Sequence[Any], seed: int, **options: Any) -> Sampler:
    logs = {f"task {i}": _log(own, len(sources) * seed + i) for i, own in enumerate(sources)}
    return px.paper_meta_learn_tpe(sources[0].space, logs, epsilon=EPSILON, **options)


def _log(own: Any, seed: int) -> px.Observations:
    """Random configurations of a table, with replacement."""
    x, losses = _evaluated(own, jax.random.split(jax.random.key(seed), (1, N_ROWS)))
    return px.Observations.from_arrays(own.space, np.asarray(x)[0], np.asarray(losses)[0])


# --- measures ----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Found:
    """What the runs on a table found.

    Attributes:
        objectives: method -> (s, n, 2).
        share: method -> (s, n) hypervolume so far over that of the true front, losses on a log axis.
        boxed: the same over the volume of the box of all entries, on plain axes (Eq. 18).
        front: (f, 2) the true front.
        tops: share of the table -> method -> (s, n) evaluations so far that are among the best.
    """

    objectives: Mapping[str, np.ndarray]
    share: Mapping[str, np.ndarray]
    boxed: Mapping[str, np.ndarray]
    front: np.ndarray
    tops: Mapping[float, Mapping[str, np.ndarray]]


def measured(table: Table, arrays: Arrays) -> Found:
    """From a unit's arrays."""
    own = problem(table)
    names, every = metrics(table), np.asarray(own.losses, np.float64).reshape(-1, 2)
    every = every[np.isfinite(every).all(axis=1)]
    log = np.array([name in LOG for name in names or ()])
    ranks = px.pareto.non_domination_rank_host(every)
    front, worst = every[ranks == 0], every.max(axis=0)

    def scaled(x: np.ndarray, on: bool) -> np.ndarray:
        return np.where(log & on, np.log(np.where(log, x, 1.0)), x)

    def shares(on: bool) -> dict[str, np.ndarray]:
        reference = scaled(worst, on)
        ideal, nadir = scaled(every.min(axis=0), on), reference
        whole = _volume(scaled(front, on), reference) if on else float(np.prod(nadir - ideal))
        return {name: _volumes(scaled(x, on), reference) / whole for name, x in arrays.items()}

    tops = {top: _among(arrays, every, ranks, top) for top in TOPS}
    return Found(arrays, shares(True), shares(False), front, tops)


def _volume(front: np.ndarray, reference: np.ndarray) -> float:
    return float(px.pareto.hypervolume_host(front, reference))


@jax.jit
def _so_far(losses: jax.Array, reference: jax.Array) -> jax.Array:
    """(s, n) hypervolume of the first rows."""
    there = jnp.tri(losses.shape[1])
    each = jax.vmap(px.pareto.hypervolume, in_axes=(None, None, 0))
    return jax.vmap(each, in_axes=(0, None, None))(losses, reference, there)


def _volumes(objectives: np.ndarray, reference: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(_so_far(jnp.asarray(objectives, jnp.float64), jnp.asarray(reference)))


def _among(arrays: Arrays, every: np.ndarray, ranks: np.ndarray, top: float) -> dict[str, np.ndarray]:
    """Evaluations so far that no entry outside the best share dominates: by fronts, as many as fit."""
    sizes = np.bincount(ranks)
    last = max(int(np.searchsorted(np.cumsum(sizes), top * len(every), side="right")), 1)
    edge = every[ranks == last] if (ranks == last).any() else every[ranks == ranks.max()]
    found = {}
    for name, x in arrays.items():
        flat = x.reshape(-1, 2).astype(np.float64)
        worse = np.zeros(len(flat), bool)
        for row in edge:
            worse |= (row <= flat).all(axis=1)
        found[name] = np.cumsum(~worse.reshape(x.shape[:2]), axis=1)
    return found


# --- rows --------------------------------------------------------------------------------------------


def difference(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Of means over runs, and its standard error."""
    return float(a.mean() - b.mean()), float(np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))


def paired(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """The same of runs that share their seeds, and so their sources and random numbers."""
    each = a - b
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


def rows(found: Mapping[str, Found], more: Mapping[str, Found], names: Mapping[str, str]) -> Iterator[Row]:
    """Rows of all these figures, from `search` and `search_more` by table, whose benchmarks are ``names``."""
    if not found:
        for figure, what in (
            ("Figures 4, 5", "hypervolume on tables"), ("Figures 7, 8", "attainment surfaces"),
            ("Figure 9", "configurations of the top"), ("Figures 10, 11", "eta from 1.5 to 5"),
        ):  # fmt: skip
            yield missing(f"{figure}-tables", figure, what, "tables in PARZAX_DATA")
        return
    for table, own in found.items():
        yield from _curves(table, own, more[table], names[table])
    yield _exception(found.get(EXCEPTION))
    for table, own in found.items():
        yield _attained(table, own)
    yield from _tops(found)
    yield missing(
        "f9-index", "Figure 9", "the best configurations of two data sets lie elsewhere than the others'",
        "the table of Protein Structure, and the paper's order of configurations",
    )  # fmt: skip
    for table, own in found.items():
        yield _eta(table, own)
    yield from _counts(found)
    yield _distinct(found)


def _curves(table: str, own: Found, more: Found, benchmark: str) -> Iterator[Row]:
    where, last = f"Figures 4, 5, {table}", N_EVALUATIONS - 1
    ends = {name: own.share[name][:, last] for name in METHODS}
    errors = {name: x.std(ddof=1) / np.sqrt(len(x)) for name, x in ends.items()}
    text = ", ".join(f"{name} {x.mean():.4f} ± {errors[name]:.2g}" for name, x in ends.items())
    leads = [difference(ends[OURS], x) for name, x in ends.items() if name not in (OURS, COLD, WHOLE, NAIVE)]
    ablations = [difference(ends[OURS], ends[name]) for name in (COLD, WHOLE, NAIVE)]
    note = "at the end of the curve: hypervolume after 100 over that of the true front, losses on a log axis"
    best, others = "ours has the best curve", "of MO-TPE, random and only warm start"
    if table != EXCEPTION:
        yield Row(
            f"f4-best-{table}", where, f"{best}: {others}", text,
            together([judged(*pair, Range(0)) for pair in leads]), note,
        )  # fmt: skip
        boxed = {name: own.boxed[name][:, last] for name in METHODS}
        each = ", ".join(f"{name} {x.mean():.4f} ± {_error(x):.1g}" for name, x in boxed.items())
        pairs = [difference(boxed[OURS], boxed[name]) for name in (MO, RANDOM, WARM)]
        yield Row(
            f"f4-box-{table}", f"{where}, Eq. 18", f"{best}: {others}", each,
            together([judged(*pair, Range(0)) for pair in pairs]),
            "hypervolume after 100 over the box of all entries, plain axes",
        )  # fmt: skip
    yield Row(
        f"f4-ablations-{table}", OURS_ALONE, f"{table}: ours has a better curve than its ablations", text,
        together([judged(*pair, Range(0)) for pair in ablations]), note,
    )  # fmt: skip
    middle = [difference(own.share[OURS][:, b - 1], own.share[MO][:, b - 1]) for b in (20, 50, 100)]
    texts = ", ".join(f"{m:+.4f} ± {e:.2g}" for m, e in middle)
    yield Row(
        f"f4-mo-{table}", where, "ours is better than MO-TPE", f"after 20, 50, 100: {texts}",
        together([judged(*pair, Range(0)) for pair in middle]), "difference of the shares of the true front",
    )  # fmt: skip
    alone = more.share[ALONE][:, -1]
    first, error = difference(more.share[RANDOM][:, last], alone)
    n = more.share[ALONE].shape[1]
    yield Row(
        f"f4-warm-{table}", where, "only warm start is slightly worse than 100 random evaluations",
        f"100 random evaluations minus the best tenth of the sources, {n} rows: {first:+.4f} ± {error:.2g}",
        judged(first, error, Range(0, 0.1)), f"our range, 0 to 0.1 of the true front; {len(alone)} runs",
    )  # fmt: skip
    if OURS in more.share:
        ends = {name: more.share[name][:, last] for name in (OURS, MO)}
        text = ", ".join(f"{name} {x.mean():.4f} ± {_error(x):.1g}" for name, x in ends.items())
        yield Row(
            f"f4-no-repeats-{table}", OURS_ALONE, f"{table}: without repeats ours is not behind MO-TPE",
            f"after 100: {text}", judged(*difference(*ends.values()), Range(-0.005)),
            "no configuration is suggested again; at most 0.005 of the true front behind",
        )  # fmt: skip
    if benchmark == "nmt_bench":
        gain, error = paired(own.share[OURS][:, last], own.share[OURS][:, last - 10])
        yield Row(
            f"f5-improving-{table}", where, "ours still improves at the end",
            f"in the last ten evaluations {gain:+.5f} ± {error:.2g}", judged(gain, error, Range(1e-6)),
        )  # fmt: skip


def distinct(own: Found, method: str) -> np.ndarray:
    """(s,) how many different entries of the table a run evaluated."""
    return np.array([len(np.unique(run, axis=0)) for run in own.objectives[method]], float)


def _distinct(found: Mapping[str, Found]) -> Row:
    """Not of the paper: a reason why a sampler falls behind on a small table."""
    texts, verdicts = [], []
    for table, own in found.items():
        each = {name: distinct(own, name) for name in (OURS, MO, RANDOM)}
        verdicts.append(judged(float(each[OURS].mean()), _error(each[OURS]), Range(FRESH * N_EVALUATIONS)))
        texts.append(f"{table} {', '.join(f'{name} {x.mean():.0f}' for name, x in each.items())}")
    printed = f"of {N_EVALUATIONS} evaluations at least {100 * FRESH:g} % are of different entries"
    note = "entries are single trainings, of which HPOlib has four for each configuration and NMT-Bench one"
    return Row("distinct", OURS_ALONE, printed, "; ".join(texts), together(verdicts), note)


def _exception(own: Found | None) -> Row:
    key, where = "f4-protein", "Figure 4"
    printed = "protein structure: the one table on which ours is not the best"
    if own is None:
        return missing(key, where, printed, "the table")
    ends = {name: own.share[name][:, -1] for name in (OURS, MO, RANDOM)}
    lead = min((difference(ends[OURS], ends[name]) for name in (MO, RANDOM)), key=lambda pair: pair[0])
    text = ", ".join(f"{name} {x.mean():.4f} ± {_error(x):.1g}" for name, x in ends.items())
    return Row(key, where, printed, text, judged(*lead, Range(high=0)), "share of the true front after 100")


def _error(x: np.ndarray) -> float:
    return float(x.std(ddof=1) / np.sqrt(len(x)))


def _attained(table: str, own: Found) -> Row:
    """Figures 7, 8: the 50 % attainment surface; its volume, ours over MO-TPE's."""
    volumes = {}
    for name in (OURS, MO):
        each = own.share[name][:, -1]
        volumes[name] = float(np.median(each))
    rng = np.random.default_rng(0)
    a, b = own.share[OURS][:, -1], own.share[MO][:, -1]
    drawn = [
        np.median(a[rng.integers(0, len(a), len(a))]) - np.median(b[rng.integers(0, len(b), len(b))])
        for _ in range(N_BOOTSTRAP)
    ]
    lead, error = volumes[OURS] - volumes[MO], float(np.std(drawn))
    both = f"ours {volumes[OURS]:.4f}, MO-TPE {volumes[MO]:.4f}"
    text = f"median share of the true front: {both}, difference ± {error:.2g}"
    printed = "the 50 % attainment surface of ours is closer to the true front than MO-TPE's"
    note = "the surfaces are in the figure; judged by the median of the volumes"
    return Row(f"f7-{table}", f"Figures 7, 8, {table}", printed, text, judged(lead, error, Range(0)), note)


def _tops(found: Mapping[str, Found]) -> Iterator[Row]:
    for top in TOPS:
        texts, verdicts, leads = [], [], {}
        for table, own in found.items():
            ours, theirs = (own.tops[top][name][:, -1] for name in (OURS, MO))
            lead, error = difference(ours, theirs)
            leads[table] = lead
            verdicts.append(judged(lead, error, Range(0)))
            texts.append(f"{table} {ours.mean():.1f} and {theirs.mean():.1f}, difference ± {error:.1f}")
        most = max(leads, key=lambda name: abs(leads[name]))
        yield Row(
            f"f9-{top:g}", OURS_ALONE, f"ours evaluates more of the top {100 * top:g} % than MO-TPE",
            "; ".join(texts), together(verdicts),
            f"after 100; they differ most on {most}, which has no counterpart in print",
        )  # fmt: skip


def _eta(table: str, own: Found) -> Row:
    """Figures 10, 11: the largest distance of a setting from that of 2.5."""
    base = own.share["eta/2.5"][:, -1]
    pairs = {eta: paired(own.share[f"eta/{eta:g}"][:, -1], base) for eta in ETAS if eta != 2.5}
    parkinsons = table.startswith("parkinsons")
    text = "; ".join(f"{eta:g}: {m:+.4f} ± {e:.2g}" for eta, (m, e) in pairs.items())
    same = Range(-0.01, 0.01)
    printed = "eta from 1.5 to 5 is indistinguishable" + (" but for 1.5" if parkinsons else "")
    verdicts = [alike(*pair, same, SAME) for eta, pair in pairs.items() if not (parkinsons and eta == 1.5)]
    if parkinsons:
        m, e = pairs[1.5]
        verdicts.append(judged(abs(m), e, Range(0.01)))
    seen = SEEN * max(error for _, error in pairs.values())
    note = (
        f"share of the true front after 100, less that of 2.5; alike: within 0.01; {seen:.3f} would be seen"
    )
    return Row(f"f10-{table}", f"Figures 10, 11, {table}", printed, text, together(verdicts), note)


def _counts(found: Mapping[str, Found]) -> Iterator[Row]:
    """Not of the paper: the three counts of good rows, by which the default was chosen."""
    texts = []
    for table, own in found.items():
        base = own.share[OURS][:, -1]
        each = (paired(own.share[name][:, -1], base) for name in (FLOOR, CEIL))
        texts.append(f"{table} " + ", ".join(f"{m:+.4f} ± {e:.2g}" for m, e in each))
    means: list[tuple[float, float]] = []
    for name in (FLOOR, CEIL):
        each = [paired(own.share[name][:, -1], own.share[OURS][:, -1]) for own in found.values()]
        error = float(np.sqrt(np.sum([e**2 for _, e in each]))) / len(each)
        means.append((float(np.mean([m for m, _ in each])), error))
    mean = ", ".join(f"{m:+.4f} ± {e:.2g}" for m, e in means)
    text = f"floor(gamma N), then ceil(gamma N), less the rows below: {'; '.join(texts)}; mean {mean}"
    verdict = together([alike(m, e, Range(high=0.0), SAME) for m, e in means])
    printed = "|D_1| as the rows below, the default, is no worse than the other counts"
    yield Row("count", OURS_ALONE, printed, text, verdict, "")
