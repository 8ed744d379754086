"""Figures 5, 6 and Section 3.2: how much of what runs evaluate is feasible."""

from collections.abc import Iterator

import numpy as np

from benchmarks.papers.c_tpe import settings
from benchmarks.papers.c_tpe.results import Results
from benchmarks.papers.c_tpe.trajectories import RANKED, TABLES
from benchmarks.papers.rows import Range, Row, judged, missing, standard_error
from benchmarks.papers.tables import tables

# "Early" in Figure 6.
EARLY = 50


def rows(results: Results) -> Iterator[Row]:
    """Rows of both figures, and of the share that c-TPE learns."""
    yield _learnt_share(results)
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
    early = float(np.mean([feasible_share(results, settings.OURS, s)[:, EARLY - 1].mean() for s in own]))
    reason = (
        "59 % is the share in the best tenth; c-TPE avoids what is infeasible there from early on: "
        f"{early:.3f} of its first {EARLY} evaluations are feasible"
    )
    return Row(key, where, printed, text, judged(mean, error, Range(high=0.745)), "as an example", reason)


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
