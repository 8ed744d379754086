"""Figures 1, 7 to 9 and 13 to 18: what runs look like over evaluations."""

from collections.abc import Iterator

import numpy as np
import scipy.stats

from benchmarks.studies.papers.c_tpe import settings
from benchmarks.studies.papers.c_tpe.results import Results, gap_ratio, percentage_loss
from benchmarks.studies.papers.rows import (
    Range,
    Row,
    judged,
    judged_ratio,
    missing,
    ratio_in_words,
    together,
)
from benchmarks.studies.papers.tables import tables

N_BOOTSTRAP = 200
# Those that were run at every quantile.
RANKED = (settings.OURS, settings.NAIVE, settings.VANILLA, settings.RANDOM)
TABLES = "tables in PARZAX_DATA"
# What is said of the loosest constraint: Section 3.2.
LOOSE = {
    "hpolib": ("c-TPE almost coincides with vanilla TPE", Range(0.8, 1.25)),
    "nasbench201": ("c-TPE is much better than vanilla TPE", Range(high=0.8)),
}
# "Robust", of the ratio to random search at every level: our range.
ROBUST = Range(high=0.5)
# Of NAS-Bench-201 in Figure 1.
NAS = "imagenet16_120"
# Of losses on HPOlib and NAS-Bench-201, by what is constrained.
FIGURES = {"size": "Figures 7, 13", "runtime": "Figures 8, 14", "both": "Figures 1, 9, 15"}
OF_FAMILY = {
    "hpolib": {"size": "Figure 7", "runtime": "Figure 8", "both": "Figures 1, 9"},
    "nasbench201": {"size": "Figure 13", "runtime": "Figure 14", "both": "Figures 1, 15"},
}


def methods_at(results: Results, kind: str, quantile: float) -> tuple[str, ...]:
    """Those that were run on all tables: CNSGA-II has three quantiles, and no table after ten minutes."""
    with_peer = (*RANKED, settings.CNSGA)
    there, every = (
        [s for s in results.settings(methods, quantile) if s.constraints == kind]
        for methods in (with_peer, RANKED)
    )
    return with_peer if there == every else RANKED


def average_ranks(
    results: Results, kind: str, quantile: float, draws: np.random.Generator | None
) -> np.ndarray:
    """(methods, n) mean over tables of the ranks of medians; of resampled seeds where there are ``draws``."""
    ranks, methods = [], methods_at(results, kind, quantile)
    for setting in results.settings(methods, quantile):
        if setting.constraints != kind:
            continue
        medians = []
        for method in methods:
            best = results.best(method, setting)
            chosen = slice(None) if draws is None else draws.integers(0, len(best), len(best))
            medians.append(np.median(best[chosen], axis=0))
        ranks.append(scipy.stats.rankdata(medians, axis=0))
    return np.mean(ranks, axis=0)


def rows(results: Results, most: Results, n_quantiles: int) -> Iterator[Row]:
    """Rows of all these figures; ``most`` has more seeds of the methods whose differences are small."""
    yield from _losses(most)
    yield from _naive(results)
    yield from _loose(most)
    lacking = settings.N_TABLES - len(results.tables())
    if lacking > 0:
        words = "absolute percentage loss on the other tables"
        yield missing("f10-12", "Figures 10, 11, 12", words, f"{lacking} tables that are not in PARZAX_DATA")
    yield from _ranks(most, n_quantiles)
    yield from _levels(results, n_quantiles)


def _losses(results: Results) -> Iterator[Row]:
    """At 0.1 and 0.5; at 0.9 what is said is another."""
    for kind in settings.CONSTRAINTS:
        for quantile in settings.PRINTED_QUANTILES[:-1]:
            key, where = f"f1-{kind}-{quantile:g}", f"{FIGURES[kind]}, G.1, {kind} at {quantile:g}"
            printed = "c-TPE ends with the smallest absolute percentage loss of these methods"
            own = [s for s in results.settings(RANKED, quantile) if s.constraints == kind]
            if not own:
                yield missing(key, where, printed, TABLES)
                continue
            texts, verdicts = [], []
            for setting in own:
                last = {
                    m: percentage_loss(results, m, setting)[:, -1].mean()
                    for m in methods_at(results, kind, quantile)
                }
                rival = min((m for m in last if m != settings.OURS), key=lambda m: last[m])
                ratio = gap_ratio(results, settings.OURS, rival, [setting], settings.N_EVALUATIONS)
                verdicts.append(judged_ratio(*ratio))
                texts.append(f"{setting.table} {ratio_in_words(*ratio)} of {rival}")
            note = "means after 200, over that of the next best of naive, vanilla, random and CNSGA-II; "
            note += "NEI and HM2 have rows of their own"
            yield Row(key, where, printed, "; ".join(texts), together(verdicts), note)


def _naive(results: Results) -> Iterator[Row]:
    """The bottom panels of Figure 1."""
    for quantile in settings.PRINTED_QUANTILES:
        key, where = f"f1-naive-{quantile:g}", f"Figure 1, Section 3.2, {NAS} at {quantile:g}"
        printed = "the naive product is defeated by all other methods"
        own = [s for s in results.settings(RANKED, quantile) if (s.table, s.constraints) == (NAS, "both")]
        if not own:
            yield missing(key, where, printed, TABLES)
            continue
        others = [m for m in RANKED if m != settings.NAIVE]
        others += [settings.CNSGA] if own[0] in results.losses.get(settings.CNSGA, ()) else []
        ratios = {m: gap_ratio(results, m, settings.NAIVE, own, settings.N_EVALUATIONS) for m in others}
        text = "over it: " + ", ".join(f"{m} {ratio_in_words(*ratio)}" for m, ratio in ratios.items())
        verdict = together([judged_ratio(*ratio) for ratio in ratios.values()])
        yield Row(key, where, printed, text, verdict, "absolute percentage losses after 200, ratio of means")


def _loose(most: Results) -> Iterator[Row]:
    """At 0.9, where little is infeasible: c-TPE beside vanilla TPE, by benchmark."""
    families = {table.name: table.family for table in tables()}
    last = max(settings.PRINTED_QUANTILES)
    for kind in settings.CONSTRAINTS:
        every = [s for s in most.settings((settings.OURS, settings.VANILLA), last) if s.constraints == kind]
        for family, (printed, wanted) in LOOSE.items():
            own = [s for s in every if families.get(s.table) == family]
            key, where = (
                f"f1-{kind}-{last:g}-{family}",
                f"Section 3.2, {OF_FAMILY[family][kind]}, {kind} at {last:g}, {family}",
            )
            if not own:
                yield missing(key, where, printed, TABLES)
                continue
            yield _beside_vanilla(most, own, key, where, f"{printed} [{wanted}]", wanted)
        key, where = f"f16-{kind}-{last:g}", f"Figures 16-18, Appendix H, {kind} at {last:g}"
        printed = "c-TPE performs better than vanilla TPE even at 0.9"
        if not every:
            yield missing(key, where, printed, TABLES)
            continue
        yield _beside_vanilla(most, every, key, where, printed, Range(high=1.0))


def _beside_vanilla(
    most: Results, own: list[settings.Setting], key: str, where: str, printed: str, wanted: Range
) -> Row:
    budget = settings.N_EVALUATIONS
    ratio = gap_ratio(most, settings.OURS, settings.VANILLA, own, budget)
    each = {s.table: gap_ratio(most, settings.OURS, settings.VANILLA, [s], budget)[0] for s in own}
    text = ", ".join(f"{name} {np.exp(log):.2f}" for name, log in each.items())
    note = f"absolute percentage losses after {budget}, geometric mean of the tables; "
    note += f"{len(most.losses[settings.OURS][own[0]])} seeds"
    return Row(
        key,
        where,
        printed,
        f"over TPE's: {ratio_in_words(*ratio)}; {text}",
        judged_ratio(*ratio, wanted),
        note,
    )


def _ranks(most: Results, n_quantiles: int) -> Iterator[Row]:
    for kind in settings.CONSTRAINTS:
        key, where = f"f16-{kind}", f"Abstract, Figures 16-18, {kind}"
        printed = "c-TPE has the best average rank over all quantiles"
        there = [
            q for q in settings.QUANTILES if any(s.constraints == kind for s in most.settings(RANKED, q))
        ]
        if len(there) < n_quantiles:
            yield missing(key, where, printed, TABLES)
            continue
        rng = np.random.default_rng(0)
        leads = np.array([_lead(average_ranks(most, kind, q, None)) for q in there])
        drawn = np.array(
            [[_lead(average_ranks(most, kind, q, rng)) for q in there] for _ in range(N_BOOTSTRAP // 4)]
        )
        each = ", ".join(
            f"{q:g}: {lead:.2f} ± {e:.2g}" for q, lead, e in zip(there, leads, drawn.std(axis=0), strict=True)
        )
        mean, error = float(leads.mean()), float(drawn.mean(axis=1).std())
        others = ", ".join(RANKED[1:])
        note = (
            f"after 200, rank of the next best of {others}, and of CNSGA-II at three quantiles, less c-TPE's"
        )
        text = f"mean lead {mean:.2f} ± {error:.2g}; {each}"
        yield Row(key, where, printed, text, judged(mean, error, Range(0)), note)


def _levels(results: Results, n_quantiles: int) -> Iterator[Row]:
    """Claim (2) of the abstract, by the ratio to random search, which knows no constraint."""
    for key, where, method, printed, wanted in (
        ("levels", "Abstract, Section 3.2", settings.OURS, "c-TPE is robust to the constraint level", ROBUST),
        ("levels-naive", "Section 3.2", settings.NAIVE, "the naive product is not", Range(1.0)),
    ):
        ratios = {
            q: gap_ratio(results, method, settings.RANDOM, own, settings.N_EVALUATIONS)
            for q in settings.QUANTILES
            if (own := results.settings(RANKED, q))
        }
        if len(ratios) < max(n_quantiles, 2):
            yield missing(key, where, printed, TABLES)
            continue
        text = ", ".join(f"{q:g}: {np.exp(log):.2f}" for q, (log, _) in ratios.items())
        worst, error = max(ratios.values())
        verdict = judged(
            worst, error, Range(*(float(np.log(x)) if x > 0 else x for x in (wanted.low, wanted.high)))
        )
        note = "percentage losses after 200, geometric mean; our reading, of the worst level"
        yield Row(key, where, f"{printed} [{wanted}]", f"loss over random search's: {text}", verdict, note)


def _lead(ranks: np.ndarray) -> float:
    return float(ranks[1:, -1].min() - ranks[0, -1])
