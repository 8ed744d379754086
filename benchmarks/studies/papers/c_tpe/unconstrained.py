"""Table 3 and Figure 19: TPE without constraints, its released runs, and Hyperopt."""

import dataclasses
import zlib
from collections.abc import Iterator, Mapping, Sequence

import jax
import numpy as np
import scipy.stats

import parzax as px
from benchmarks.load_table import load_table
from benchmarks.settings import adjusted
from benchmarks.studies.papers import data, power
from benchmarks.studies.papers.c_tpe import settings
from benchmarks.studies.papers.c_tpe.printed import table_3
from benchmarks.studies.papers.c_tpe.searches import at_random, optimised
from benchmarks.studies.papers.rows import Range, Row, Verdict, judged, missing, together
from benchmarks.studies.papers.runs import Arrays
from benchmarks.studies.papers.tables import Table

PRESET, BY_N, HYPEROPT = "px.papers.tpe", "px.papers.tpe with Optuna's top", "Hyperopt"
# Keys of runs come from these texts, the names of the two when the page was made.
SEEDS = {PRESET: "px.tpe", BY_N: "px.tpe with Optuna's top"}
# Of the released runs: the name in the file and that of Table 3.
RELEASED = {
    "our TPE": "tpe",
    "Hyperopt": "hyperopt",
    "TuRBO-1": "turbo1",
    "TuRBO-5": "turbo5",
    "CoCaBO": "cocabo",
}
LEVEL = 0.01
# "The early stage" of Figure 19, in evaluations, and resamplings of the seeds.
EARLY, N_BOOTSTRAP = slice(9, 40), 200
WHERE = "Table 3, Figure 19"
Samples = list[np.ndarray]


def search(tables: Sequence[Table], n_seeds: int) -> Arrays:
    """A unit: "METHOD/TABLE" -> losses (s, n) of `px.papers.tpe` and random search; ordinals by index."""
    found = {}
    for table in tables:
        problem = by_index(load_table(table.path, [table.objectives[0]]))
        stacked = jax.tree.map(lambda leaf: leaf[None], problem)
        for name, top in ((PRESET, 0.8), (BY_N, px.bandwidth.OptunaTop())):
            root = jax.random.key(zlib.crc32(f"{SEEDS[name]}/{table.path}".encode()))
            keys = jax.random.split(root, (1, n_seeds))
            losses, _ = optimised(adjusted(px.papers.tpe, top=top)(problem.space), stacked, keys)
            found[f"{name}/{table.name}"] = np.asarray(losses, np.float32)[0]
        root = jax.random.key(zlib.crc32(f"random/{table.path}".encode()))
        losses, _ = at_random(stacked, jax.random.split(root, (1, n_seeds)))
        found[f"{settings.RANDOM}/{table.name}"] = np.asarray(losses, np.float32)[0]
    return found


def by_index(problem: px.samplers.Tabular) -> px.samplers.Tabular:
    """The same table, whose ordinal parameters are 0, 1, ..., without names."""
    domains = {
        name: domain if isinstance(domain, px.Categorical) else px.Ordinal(tuple(range(domain.n_values or 0)))
        for name, (domain,) in zip(problem.space.names, problem.space.domains, strict=True)
    }
    return dataclasses.replace(problem, space=px.Space(domains), name="", objective_names=("",))


def released(tables: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
    """Method of Table 3 -> table -> losses (15, 200); empty where there are none."""
    folder = data.folder()
    path = folder / "papers" / "ctpe_released_runs.npz" if folder else None
    if path is None or not path.is_file():
        return {}
    with np.load(path) as file:
        return {
            method: {
                table: file[f"{own}/{table}"][:, : settings.N_EVALUATIONS]
                for table in tables
                if f"{own}/{table}" in file
            }
            for method, own in RELEASED.items()
        }


def best(losses: Mapping[str, np.ndarray], budget: int) -> Samples:
    """Per table (s,) best loss after so many evaluations."""
    return [own[:, :budget].min(axis=1) for own in losses.values()]


def verdict_letter(ours: Samples, theirs: Samples) -> str:
    """B better, W worse, N neither, as in Table 3, by the rank-sum test stratified by table."""
    z = power.over_tables(ours, theirs)
    return "N" if power.two_sided(z) >= LEVEL else "B" if z < 0 else "W"


def rows(own: Mapping[str, dict[str, np.ndarray]]) -> Iterator[Row]:
    """Rows of Table 3, from method -> table -> losses of our runs."""
    names = list(next(iter(own.values()))) if own else []
    theirs = released(names)
    yield from _of_released(theirs)
    yield from _against_hyperopt(own, theirs)
    for method in (PRESET, BY_N):
        yield _as_released(method, own, theirs)


def _of_released(theirs: Mapping[str, dict[str, np.ndarray]]) -> Iterator[Row]:
    printed_letters = table_3()
    if not printed_letters:
        words = "each method against our TPE and Hyperopt"
        yield missing("t3", WHERE, words, "papers/ctpe_table3.csv in PARZAX_DATA")
    pairs_so_far: set[frozenset[str]] = set()
    for (method, versus), letters in printed_letters.items():
        if {method, versus} in pairs_so_far:
            continue  # the same pair the other way round
        pairs_so_far.add(frozenset((method, versus)))
        key, printed = (
            f"t3-{method}-{versus}",
            f"{method} against {versus} after 50, 100, 150, 200: {' '.join(letters)}",
        )
        if not theirs.get(method) or not theirs.get(versus):
            yield missing(key, WHERE, printed, "the released runs in PARZAX_DATA")
            continue
        first, second = theirs[method], theirs[versus]
        found = [verdict_letter(best(first, b), best(second, b)) for b in settings.BUDGETS]
        # N says that nothing was seen, which nothing contradicts.
        pairs = [(a, b) for a, b in zip(found, letters, strict=True) if b != "N"]
        opposite = any({a, b} == {"B", "W"} for a, b in pairs)
        effect = power.of_tables(best(second, max(settings.BUDGETS)), 15, LEVEL)
        if all(a == b for a, b in pairs):
            verdict = Verdict.AGREES if effect <= power.MATTERS else Verdict.NOT_TOLD_APART
        else:
            verdict = Verdict.DIFFERS if opposite else Verdict.NOT_TOLD_APART
        note = (
            f"the authors' released runs on {len(first)} of nine tables, by the rank-sum test stratified by "
            "table at p < 0.01 (B better, W worse, N neither, which claims nothing); the paper's signed-rank "
            f"test over tables cannot reach that on five; {power.in_words(effect)}"
        )
        yield Row(key, WHERE, printed, " ".join(found), verdict, note)


def _against_hyperopt(
    own: Mapping[str, dict[str, np.ndarray]], theirs: Mapping[str, dict[str, np.ndarray]]
) -> Iterator[Row]:
    """Where the released runs on the same tables show nothing either, these tables cannot tell it apart."""
    both = [theirs.get("our TPE"), theirs.get("Hyperopt")]
    shown = [
        verdict_letter(*(best(x or {}, b) for x in both)) if all(both) else "N" for b in settings.BUDGETS
    ]
    letters = table_3().get(("our TPE", "Hyperopt"), ("N", "B", "B", "B"))
    for method in (PRESET, BY_N):
        key = f"t3-own-{method}"
        printed = f"our TPE against Hyperopt: {' '.join(letters)}; here {method} against Hyperopt"
        if not own.get(HYPEROPT) or method not in own:
            yield missing(
                key, WHERE, printed, "tables in PARZAX_DATA, hyperopt (parzax[papers]), and ten minutes"
            )
            continue
        second = own[HYPEROPT]
        first = {table: own[method][table] for table in second}
        found = [verdict_letter(best(first, b), best(second, b)) for b in settings.BUDGETS]
        last = max(settings.BUDGETS)
        effect = power.of_tables(best(second, last), len(next(iter(second.values()))), LEVEL)
        z = power.over_tables(best(first, last), best(second, last))
        if found[1:] == list(letters[1:]):
            verdict = Verdict.AGREES if effect <= power.MATTERS else Verdict.NOT_TOLD_APART
        else:
            unlike = any(
                letter == "W" or (letter == "N" and released == "B")
                for letter, released in zip(found[1:], shown[1:], strict=True)
            )
            verdict = Verdict.DIFFERS if unlike else Verdict.NOT_TOLD_APART
        note = "" if len(first) == len(own[method]) else f"{len(first)} tables in ten minutes; "
        note += f"after 200 z = {z:.1f} (negative is better), 50 not judged; {power.in_words(effect)}"
        if verdict is Verdict.NOT_TOLD_APART:
            note += f"; the released runs of both on these tables: {' '.join(shown)}"
        yield Row(key, WHERE, printed, " ".join(found), verdict, note)


def _as_released(
    method: str, own: Mapping[str, dict[str, np.ndarray]], theirs: Mapping[str, dict[str, np.ndarray]]
) -> Row:
    key, printed = f"t3-released-{method}", f"the runs of the paper's TPE, beside {method}"
    if method not in own or not theirs.get("our TPE"):
        return missing(key, WHERE, printed, "tables and released runs in PARZAX_DATA")
    texts, verdicts, effects = [], [], []
    for table, ours in own[method].items():
        if table not in theirs["our TPE"]:
            continue
        last = max(settings.BUDGETS)
        first, second = ([x[:, :last].min(axis=1)] for x in (ours, theirs["our TPE"][table]))
        p = power.two_sided(power.over_tables(first, second))
        effect = power.of_tables(second, len(ours), LEVEL)
        effects.append(effect)
        texts.append(f"{table} {np.median(first[0]):.4g} beside {np.median(second[0]):.4g} (p = {p:.2g})")
        same = Verdict.AGREES if effect <= power.MATTERS else Verdict.NOT_TOLD_APART
        verdicts.append(Verdict.DIFFERS if p < LEVEL else same)
    note = f"medians after 200, rank-sum test at p < 0.01; at worst {power.in_words(max(effects))}"
    return Row(key, WHERE, printed, "; ".join(texts), together(verdicts), note)


def rank_rows(tables: Sequence[str]) -> Iterator[Row]:
    """What is said of the average ranks in Figure 19, from the released runs on these tables."""
    theirs, where = released(tables), "Figure 19, Appendix I"
    found = average_ranks(theirs, None) if all(theirs.get(method) for method in RELEASED) else {}
    rng = np.random.default_rng(0)
    drawn = [average_ranks(theirs, rng) for _ in range(N_BOOTSTRAP)] if found else []
    early, few = f"mean of {EARLY.start + 1} to {EARLY.stop}", "the runs on the other tables would tell"
    for key, printed, stage, pairs, reason in (
        ("f19-hyperopt", "our TPE is better than Hyperopt", "after 200", [("our TPE", "Hyperopt")], few),
        ("f19-only-cocabo", "Hyperopt is better than only CoCaBO", "after 200",
         [("Hyperopt", "CoCaBO"), *((method, "Hyperopt") for method in ("our TPE", "TuRBO-1", "TuRBO-5"))],
         few),
        ("f19-early", "TuRBO-1 performs better than our TPE in the early stage", early,
         [("TuRBO-1", "our TPE")], few),
        ("f19-late", "our TPE outperforms TuRBO-1", "after 200", [("our TPE", "TuRBO-1")], few),
    ):  # fmt: skip
        if not found:
            yield missing(key, where, printed, "the released runs in PARZAX_DATA")
            continue
        at, texts, verdicts, leads = EARLY if stage == early else slice(-1, None), [], [], []
        for better, worse in pairs:
            ranks = (float(found[method][at].mean()) for method in (better, worse))
            lead, *others = (float((own[worse] - own[better])[at].mean()) for own in (found, *drawn))
            error = float(np.std(others))
            verdicts.append(judged(lead, error, Range(0)))
            leads.append(lead)
            each = (f"{method} {rank:.2f}" for method, rank in zip((better, worse), ranks, strict=True))
            texts.append(f"{', '.join(each)}, lead {lead:.2f} ± {error:.2g}")
        n = len(next(iter(theirs.values())))
        note = f"average rank, {stage} evaluations, by medians of the authors' released runs, on {n} of nine "
        note += "tables; errors by resampling their 15 seeds"
        if together(verdicts) is Verdict.DIFFERS:
            (better, worse), rest = pairs[int(np.argmin(leads))], settings.N_TABLES - n
            reason = f"on these tables {better} is behind {worse}"
            if rest:
                reason += (
                    f"; it would need a mean lead of {-min(leads) * n / rest:.1f} ranks on the {rest} others"
                )
        yield Row(key, where, printed, "; ".join(texts), together(verdicts), note, reason)


def average_ranks(
    runs: Mapping[str, Mapping[str, np.ndarray]], draws: np.random.Generator | None
) -> dict[str, np.ndarray]:
    """Method -> (n,) mean over tables of the rank of its median; of resampled seeds with ``draws``."""
    ranks = []
    for table in next(iter(runs.values())):
        medians = []
        for own in runs.values():
            best_so_far = np.minimum.accumulate(own[table], axis=1)
            chosen = slice(None) if draws is None else draws.integers(0, len(best_so_far), len(best_so_far))
            medians.append(np.median(best_so_far[chosen], axis=0))
        ranks.append(scipy.stats.rankdata(medians, axis=0))
    return dict(zip(runs, np.mean(ranks, axis=0), strict=True))
