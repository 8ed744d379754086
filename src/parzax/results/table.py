"""Importances as tables for reading."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from parzax._words import join_names, visible
from parzax.results.arrays import ResultArrays, seeds_with_data
from parzax.results.base import ReadTable, mean_and_error, mean_text, size_text, status_names
from parzax.results.labels import short_names
from parzax.results.phrases import DEPENDENT
from parzax.results.uncertainty import TOLERANCE, shuffles_for
from parzax.status import OF_LEVELS, Status, describe

# What fits a screen.
_MAX_LEVELS = 12
_LEVELS_SHOWN = 11
_COLUMNS_SHOWN = 7  # as many as `parzax.plotting.importance_sweep` has lines
_ROWS_SHOWN = 30
_INFERRED_SHOWN = 8
_WHERE_SHOWN = 60


def importance_table(result: ResultArrays, inferred: bool = True) -> ReadTable:
    """Levels down and parameters across, or parameters down for a single level.

    An importance that is not defined is "-" (`ResultArrays.is_defined`). With several seeds entries are
    mean ± standard error over those that have an importance; where that are not all, it is said how many.
    Those of a single log with an uncertainty have their interval; a ° marks what is not above chance.
    Below stand the sizes of the sets, how the log was read (without ``inferred`` only how many things were
    inferred) and advice for each status, with the levels or parameters that it concerns.
    """
    entries = _by_level(result) if len(result.target_quantile) > 1 else _by_parameter(result)
    return ReadTable(*entries, [*_report(result, inferred), *advice_lines(result)])


def advice_lines(result: ResultArrays) -> list[str]:
    """A sentence for each status, beginning with its name, and where it holds if there are several levels."""
    if len(result.target_quantile) == 1:
        return result.advice()
    return describe(result.status, partial(_where, result))


def _by_level(result: ResultArrays) -> tuple[str, list[list[str]], tuple[int, ...]]:
    columns = _shown(result.names, result.over_seeds()[0].mean(axis=0), _COLUMNS_SHOWN, 18)
    levels = _table_levels(result)
    title = f"importance{_over_seeds(result, result.seeds_counted)}"
    if len(levels) < len(result.target_quantile):
        title += f"; {len(levels)} of {len(result.target_quantile)} levels shown"
    some_left_out = result.n_seeds > 1 and bool((result.seeds_counted < result.n_seeds).any())
    rows = [["level", *(label for label, _ in columns), *["seeds"] * some_left_out, "n_target"]]
    for level in levels:
        row = [f"{result.target_quantile[level]:g}", *(_share(result, level, own) for _, own in columns)]
        seeds = [str(result.seeds_counted[level])] * some_left_out
        rows.append([*row, *seeds, size_text(result.n_target[..., level])])
    return title, rows, ()


def _by_parameter(result: ResultArrays) -> tuple[str, list[list[str]], tuple[int, ...]]:
    d = len(result.names)
    variance, _ = mean_and_error(result.variance.reshape(-1, d), seeds_with_data(result.status)[:, 0])
    active = (result.beta[..., 0, :, :-1].sum(axis=-1) * result.n_region[..., None]).reshape(-1, d)
    bits = np.bitwise_or.reduce(result.status.reshape(-1, d), axis=0)
    # What holds for all of them is said once, in the advice.
    bits &= ~np.bitwise_and.reduce(bits)
    rows = [["parameter", "importance", "p", "variance", "n active", "status"]]
    for label, own in _shown(result.names, result.over_seeds()[0][0], _ROWS_SHOWN, 40):
        details = [size_text(active[:, own]), status_names(int(bits[own[0]]))] if len(own) == 1 else ["", ""]
        p = _p_value(result, own)
        rows.append([label, _share(result, 0, own), p, f"{variance[own].sum():.3g}", *details])
    if not any(row[-1] for row in rows[1:]):
        rows = [row[:-1] for row in rows]
    left = (0, 5)
    if not any(row[2] for row in rows[1:]):
        rows, left = [row[:2] + row[3:] for row in rows], (0, 4)
    of_seeds = _over_seeds(result, result.seeds_counted[:1])
    title = f"importance{of_seeds} at level {result.target_quantile[0]:g}"
    return title, rows, left


def _shown(names: Sequence[str], mean: np.ndarray, most: int, length: int) -> list[tuple[str, np.ndarray]]:
    """Labels and indices of what a table shows: parameters by their mean, highest first, then all others."""
    names = [visible(name) for name in names]
    order, short = np.argsort(-mean, kind="stable"), short_names(names, length)
    n = len(order) if len(order) <= most + 1 else most
    shown = [(short[names[j]], order[i : i + 1]) for i, j in enumerate(order[:n].tolist())]
    return shown if n == len(order) else [*shown, (f"{len(order) - n} others", order[n:])]


def _table_levels(result: ResultArrays) -> np.ndarray:
    """Indices of the levels that a table shows, ascending.

    About eleven of many: the tenths where they span most of (0, 1).
    """
    order, tenths = np.argsort(result.target_quantile, kind="stable"), np.arange(1, 10) / 10
    if len(order) <= _MAX_LEVELS:
        return order
    levels = result.target_quantile[order]
    wanted = np.array([levels[0], *tenths[(tenths > levels[0]) & (tenths < levels[-1])], levels[-1]])
    if len(wanted) < _LEVELS_SHOWN - 2:
        return order[np.linspace(0, len(levels) - 1, _LEVELS_SHOWN).round().astype(int)]
    return order[np.unique(np.abs(levels[:, None] - wanted).argmin(axis=0))]


def _share(result: ResultArrays, level: int, parameters: Any) -> str:
    if not result.by_seed(result.is_defined)[:, level, parameters].any():
        return "-"
    per_seed = result.by_seed(result.importance)[:, level, parameters].sum(axis=-1)
    mean, error = mean_and_error(per_seed, result.by_seed(result.has_importance)[:, level])
    if (sampled := result.uncertainty) is not None and result.n_seeds == 1:
        low, high = sampled.interval_of(level, parameters)
        mark = "" if sampled.any_above_chance(level, parameters) else "°"
        return f"{mean:.3f}{mark}" if np.isnan(low) else f"{mean:.3f}{mark} ({low:.2f}-{high:.2f})"
    return mean_text(mean, error)


def _p_value(result: ResultArrays, parameters: np.ndarray) -> str:
    """The adjusted p-value of one parameter; "" where there is none."""
    if result.uncertainty is None or result.n_seeds > 1 or len(parameters) > 1:
        return ""
    known = result.uncertainty
    p, alone = (float(x.reshape(-1)[parameters[0]]) for x in (known.p_adjusted, known.p_value))
    if np.isnan(p):
        return ""
    # Where no shuffle came near, their number alone sets the p-value.
    at_most = alone * (known.n_shuffles + 1) < 1.5 and p < 1
    return f"{'≤' * at_most}{p:.3f}"


def _over_seeds(result: ResultArrays, counted: np.ndarray) -> str:
    """For a title: over how many seeds, where there are several."""
    n = result.n_seeds
    of = f"{n} seeds" if (counted == n).all() else f"the {size_text(counted)} of {n} seeds that have one"
    return f", mean ± standard error of {of}" if n > 1 else ""


def _report(result: ResultArrays, listed: bool) -> list[str]:
    one = len(result.target_quantile) == 1
    lines = [
        (f"target: {size_text(result.n_target)} rows, " if one else "")
        + f"region: {size_text(result.n_region)} rows (level {result.region_quantile:g})",
        *(_sureness(result) if result.n_seeds == 1 else []),
        *result.report.lines(result.n_seeds),
    ]
    rest = len(result.report.inferred) - _INFERRED_SHOWN * listed
    if rest > 0:  # they come last
        s = "s" * (rest > 1)
        text = "more, in report.inferred" if listed else f"thing{s}, see the note{s} on stderr"
        lines[-rest:] = [f"inferred: {rest} {text}"]
    return lines


def _sureness(result: ResultArrays) -> list[str]:
    """What the intervals of one log are, what ° means, and whether there are enough rows."""
    known = result.uncertainty
    if known is None:
        return ["one run: no standard errors (they need several seeds, or n_resamples)"]
    lines = []
    if known.n_resamples:
        words = f"{known.n_resamples} {'half-samples' if known.method == 'half-sampling' else known.method}"
        lines.append(f"in brackets: {100 * known.level:g} % intervals of one log, from {words} of its rows")
    if known.n_shuffles:
        lines.append(
            f"p: by {known.n_shuffles} shuffles, adjusted for all parameters (Holm); ° where it is above 0.05"
        )
    if 0 < known.n_shuffles < (least := shuffles_for(len(result.names))):
        lines[-1] += f", because there are too few shuffles; {least} are enough"
    lines.append(DEPENDENT)
    verdicts = known.verdicts() if known.n_resamples else []
    if len(verdicts) == 1:
        return [*lines, verdicts[0]]
    enough = np.array([verdict.startswith("enough") for verdict in verdicts])
    if enough.any():
        levels = _levels(result.target_quantile, enough)
        lines.append(f"enough rows for importances to within {TOLERANCE:g}: {levels}")
    if verdicts and not enough.all():
        # Of the levels in the table, if one of these has too few.
        short = ~enough & np.isin(np.arange(len(enough)), _table_levels(result))
        short = short if short.any() else ~enough
        worst = int(np.argmax(np.where(short, np.nan_to_num(known.margin.reshape(-1)), -1)))
        lines.append(f"at level {result.target_quantile[worst]:g}: {verdicts[worst]}")
    return lines


def _where(result: ResultArrays, bit: Status) -> str:
    """The levels or the parameters at which ``bit`` is set, in about 60 characters; "" for all of them."""
    per_seed = result.by_seed(result.status) & int(bit) != 0
    is_set = per_seed.any(axis=0)
    some = "" if (per_seed == is_set).all() else ", some seeds"
    if bit & OF_LEVELS:
        return _levels(result.target_quantile, is_set.any(axis=1)) + some
    return _parameters(result, is_set) + some


def _levels(levels: np.ndarray, is_set: np.ndarray) -> str:
    """ "levels 0.01-0.05, 0.9": runs of the levels asked for."""
    if is_set.all():
        return "all levels"
    order = np.argsort(levels, kind="stable")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_set[order].astype(int), [0]])))
    ends = [(levels[order[a]], levels[order[b - 1]]) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    text = ", ".join(f"{a:g}" if a == b else f"{a:g}-{b:g}" for a, b in ends)
    text = f"level{'s' * int(is_set.sum() > 1)} {text}"
    return text if len(text) <= _WHERE_SHOWN else f"{is_set.sum()} of {len(levels)} levels"


def _parameters(result: ResultArrays, is_set: np.ndarray) -> str:
    """ "y at 45 of 99 levels": names, and at how many levels if not at all."""
    q, d = is_set.shape
    chosen = np.flatnonzero(is_set.any(axis=0))
    counts = is_set.sum(axis=0)[chosen]
    at = "" if (counts == q).all() else f" at {size_text(counts)} of {q} levels"
    if len(chosen) == d > 1:
        return "all parameters" + at
    short = short_names(result.names, 18)
    names = [short[result.names[j]] for j in chosen]
    fitting = range(min(len(names), _WHERE_SHOWN // 3), 1, -1)
    texts = [join_names(names, n, f"other{'s' * (len(names) - n > 1)}") + at for n in [*fitting, 1]]
    return next((text for text in texts if len(text) <= _WHERE_SHOWN), texts[-1])
