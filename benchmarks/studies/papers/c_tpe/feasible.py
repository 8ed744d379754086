"""Figures 5, 6 and Section 3.2: how much of what runs evaluate is feasible."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from benchmarks.studies.papers.c_tpe import settings
from benchmarks.studies.papers.c_tpe.results import Results, gap_ratio, percentage_loss
from benchmarks.studies.papers.c_tpe.shares import trainings
from benchmarks.studies.papers.c_tpe.trajectories import LOOSE, RANKED, TABLES
from benchmarks.studies.papers.rows import (
    Range,
    Row,
    Verdict,
    judged,
    judged_ratio,
    missing,
    ratio_in_words,
    standard_error,
)
from benchmarks.studies.papers.tables import tables

# "Early" in Figure 6.
EARLY = 50


def rows(results: Results, most: Results) -> Iterator[Row]:
    """Rows of both figures, of the share that c-TPE learns, and of the gap to vanilla TPE."""
    yield _learnt_share(results)
    yield from _discrepancy(results, most)
    yield _wasted(results)
    yield from _augmentation(results)


def feasible_share(results: Results, method: str, setting: settings.Setting) -> np.ndarray:
    """(s, n) share of feasible suggestions so far."""
    feasible = results.feasible[method][setting].astype(float)
    return np.cumsum(feasible, axis=1) / np.arange(1, feasible.shape[1] + 1)


def augmentation_gain(results: Results, quantile: float, budget: int) -> tuple[float, float]:
    """Share of feasible suggestions with augmentation less that without, over settings, and its error."""
    own = results.settings((settings.AUGMENTED, settings.OURS), quantile)
    gains, variances = [], []
    for setting in own:
        a, b = (
            feasible_share(results, method, setting)[:, budget - 1]
            for method in (settings.AUGMENTED, settings.OURS)
        )
        gains.append(a.mean() - b.mean())
        variances.append(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    return float(np.mean(gains)), float(np.sqrt(np.sum(variances)) / len(gains))


def _learnt_share(results: Results) -> Row:
    """What c-TPE takes for the share that is feasible, where it samples."""
    key, where = "learnt-share", "Section 3.2, nasbench201 at 0.9"
    printed = "the estimated share is nearer to 59 % than to 90 % [at most 0.745]"
    names = {table.name for table in tables() if table.family == "nasbench201"}
    own = [s for s in results.settings(RANKED, max(settings.PRINTED_QUANTILES)) if s.table in names]
    if not own:
        return missing(key, where, printed, TABLES)
    shares = {s: feasible_share(results, settings.OURS, s)[:, -1] for s in own}
    mean = float(np.mean([x.mean() for x in shares.values()]))
    error = float(np.sqrt(np.sum([standard_error(x) ** 2 for x in shares.values()]))) / len(shares)
    each = ", ".join(f"{s.table} {s.constraints} {x.mean():.2f}" for s, x in shares.items())
    text = f"feasible evaluations of c-TPE: {mean:.3f} ± {error:.1g}; {each}"
    verdict = judged(mean, error, Range(high=0.745))
    reason = _about_share(results, names) if verdict is Verdict.DIFFERS else ""
    return Row(key, where, printed, text, verdict, "as an example", reason)


def _about_share(results: Results, names: Collection[str]) -> str:
    methods = (settings.OURS, settings.RANDOM, settings.VANILLA)
    there = (f"{method} {_in_the_top(results, method, names):.2f}" for method in methods)
    return (
        "59 % is the share in the best tenth of the table; feasible share of the evaluations in that tenth: "
        + ", ".join(there)
    )


def _in_the_top(results: Results, method: str, names: Collection[str]) -> float:
    """Share of feasible evaluations among those in the best tenth of their table, mean over settings."""
    shares = []
    for table in tables():
        own = [s for s in results.settings(RANKED, max(settings.PRINTED_QUANTILES)) if s.table == table.name]
        if table.name not in names or not own:
            continue
        losses, _ = trainings(table, {})
        bar = np.sort(losses)[len(losses) // 10]
        shares += [results.feasible[method][at][results.losses[method][at] <= bar].mean() for at in own]
    return float(np.mean(shares))


def _discrepancy(results: Results, most: Results) -> Iterator[Row]:
    families = {table.name: table.family for table in tables()}
    for quantile in settings.PRINTED_QUANTILES:
        key, where = f"discrepancy-{quantile:g}", f"Appendix G, at {quantile:g}"
        printed = "the gap between c-TPE and vanilla TPE is larger on nasbench201 than on hpolib"
        every = most.settings((settings.OURS, settings.VANILLA), quantile)
        of = {f: [s for s in every if families.get(s.table) == f] for f in LOOSE}
        if not all(of.values()):
            yield missing(key, where, printed, TABLES)
            continue
        pair = settings.OURS, settings.VANILLA
        nas, hpo = (gap_ratio(most, *pair, of[f], settings.N_EVALUATIONS) for f in ("nasbench201", "hpolib"))
        text = f"c-TPE over TPE: nasbench201 {ratio_in_words(*nas)}, hpolib {ratio_in_words(*hpo)}"
        ratio = nas[0] - hpo[0], float(np.hypot(nas[1], hpo[1]))
        note = "absolute percentage losses after 200, geometric means"
        verdict = judged_ratio(*ratio)
        reason = _about_gap(results, of) if verdict is Verdict.DIFFERS else ""
        yield Row(key, where, printed, text, verdict, note, reason)


def _about_gap(results: Results, of: Mapping[str, Sequence[settings.Setting]]) -> str:
    """What the text names as the cause, and how far losses spread."""
    violated, spread = [], []
    for family in LOOSE:
        wasted = [beyond_oracle(results, settings.VANILLA, at).mean() for at in of[family]]
        violated.append(f"{family} {np.mean(wasted):.3f}")
        ends = [percentage_loss(results, settings.RANDOM, at)[:, -1] for at in of[family]]
        logs = [np.diff(np.log(np.quantile(end, (0.1, 0.9))))[0] for end in ends]
        spread.append(f"{family} {np.exp(np.mean(logs)):.1f}")
    return (
        "its cause holds: of vanilla TPE's evaluations are infeasible and better than the oracle "
        f"{', '.join(violated)}; but losses spread further on hpolib: the 90 % quantile of random search's "
        f"is {', '.join(spread)} times the 10 % quantile"
    )


def beyond_oracle(results: Results, method: str, setting: settings.Setting) -> np.ndarray:
    """(s, n) whether an evaluation was better than the oracle, and so infeasible."""
    losses, feasible = results.losses[method][setting], results.feasible[method][setting]
    return (losses < results.oracle[setting][0]) & ~feasible


def _wasted(results: Results) -> Row:
    key, where = "f5", "Figure 5"
    printed = "in the latter half TPE evaluates more that is better than the oracle and infeasible than c-TPE"
    shares: dict[str, list[float]] = {}
    errors: list[float] = []
    for setting in results.settings((settings.OURS, settings.VANILLA), settings.PRINTED_QUANTILES[0]):
        each = {}
        for method in (settings.OURS, settings.VANILLA):
            wasted = beyond_oracle(results, method, setting)
            each[method] = wasted[:, wasted.shape[1] // 2 :].mean(axis=1)
            shares.setdefault(method, []).append(float(each[method].mean()))
        errors.append(
            float(np.hypot(standard_error(each[settings.OURS]), standard_error(each[settings.VANILLA])))
        )
    if not shares:
        return missing(key, where, printed, TABLES)
    ours, theirs = (float(np.mean(shares[m])) for m in (settings.OURS, settings.VANILLA))
    error = float(np.sqrt(np.sum(np.square(errors))) / len(errors))
    text = f"share of such observations at 0.1: c-TPE {ours:.3f}, TPE {theirs:.3f}, difference ± {error:.2g}"
    note = "read as: at most half of TPE's share"
    return Row(key, where, printed, text, judged(theirs / 2 - ours, error, Range(0)), note)


def _augmentation(results: Results) -> Iterator[Row]:
    key, where = "f6-early", "Figure 6"
    first = settings.PRINTED_QUANTILES[0]
    printed = "with augmentation more suggestions are feasible early at 0.1"
    if not results.settings((settings.AUGMENTED, settings.OURS), first):
        yield missing(key, where, printed, TABLES)
        yield missing("f6-smaller", where, "the looser the constraint the smaller the difference", TABLES)
        yield missing("f6-decays", "Appendix E.3", "at the later stage the effect decays, at 0.1", TABLES)
        return
    gain, error = augmentation_gain(results, first, EARLY)
    text = f"difference of the shares after {EARLY}: {gain:.4f} ± {error:.2g}"
    yield Row(key, where, printed, text, judged(gain, error, Range(0)))
    own = [q for q in settings.QUANTILES if results.settings((settings.AUGMENTED, settings.OURS), q)]
    gains, errors = np.array([augmentation_gain(results, q, EARLY) for q in own]).T
    # The slope of the least-squares line, and its error from those of the points.
    weights = (own - np.mean(own)) / np.square(own - np.mean(own)).sum()
    slope, slope_error = float(weights @ gains), float(np.sqrt(np.square(weights * errors).sum()))
    each = ", ".join(f"{q:g}: {g:.3f}" for q, g in zip(own, gains, strict=True))
    text = f"{each}; slope {slope:.3f} ± {slope_error:.2g}"
    verdict = judged(slope, slope_error, Range(high=0))
    printed = "the looser the constraint the smaller the difference"
    yield Row("f6-smaller", where, printed, text, verdict, "read as: a line through them falls")
    late, late_error = augmentation_gain(results, first, settings.N_EVALUATIONS)
    text = f"{late:.4f} ± {late_error:.2g} after 200, {gain:.4f} ± {error:.2g} after {EARLY}"
    fall = judged(gain - late, float(np.hypot(error, late_error)), Range(0))
    yield Row("f6-decays", "Appendix E.3", "at the later stage the effect decays, at 0.1", text, fall)
