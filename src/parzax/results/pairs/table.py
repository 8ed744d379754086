"""Interactions as a table for reading."""

from typing import Any

import numpy as np

from parzax._words import plural, visible
from parzax.results.base import ReadTable, mean_and_error, mean_text, size_text
from parzax.results.labels import short_names
from parzax.status import Status, describe

_ROWS_SHOWN, _LEVELS_SHOWN, _NAME = 15, 6, 20


def pairs_table(result: Any) -> ReadTable:
    """The most important pairs down, and levels across if there are several.

    Importances of pairs that are not above chance are in brackets, "-" is where nothing is known. With
    several seeds entries are mean ± standard error, above chance where most seeds are.
    """
    title, rows = _entries(result)
    return ReadTable(title, rows, (0,), _notes(result))


def _entries(result: Any) -> tuple[str, list[list[str]]]:
    """A title, and rows with their header first."""
    levels = np.argsort(result.target_quantile, kind="stable")
    order = result.order(result.over_seeds()[0].mean(axis=0))
    shown = order[:_ROWS_SHOWN] if len(order) > _ROWS_SHOWN + 1 else order
    names = short_names([visible(name) for name in result.names], _NAME)
    labels = [" × ".join(names[visible(name)] for name in result.pairs[i]) for i in shown]
    seeds = f", mean ± standard error of {result.n_seeds} seeds" if result.n_seeds > 1 else ""
    if len(levels) > 1:
        kept = levels[np.unique(np.linspace(0, len(levels) - 1, _LEVELS_SHOWN).round().astype(int))]
        title = f"interactions{seeds}, by level"
        title += f"; {len(kept)} of {len(levels)} levels shown" if len(kept) < len(levels) else ""
        rows = [["pair", *(f"{result.target_quantile[level]:g}" for level in kept)]]
        rows += [
            [label, *(_share(result, level, i) for level in kept)]
            for label, i in zip(labels, shown, strict=True)
        ]
        return title, rows
    rows = [["pair", "importance", "variance", "p (Holm)", "n active"]]
    for label, i in zip(labels, shown, strict=True):
        variance = result.by_seed(result.variance)[:, 0, i].mean()
        p = result.by_seed(result.p_adjusted)[:, 0, i]
        active = result.by_seed(result.n_active)[:, i]
        p_text = "-" if np.isnan(p).all() else f"{np.nanmedian(p):.2g}"
        rows.append([label, _share(result, 0, i), f"{variance:.3g}", p_text, size_text(active)])
    return f"interactions{seeds} at level {result.target_quantile[0]:g}", rows


def _share(result: Any, level: int, pair: int) -> str:
    defined = result.by_seed(result.is_defined)[:, level, pair]
    if not defined.any():
        return "-"
    mean, error = mean_and_error(result.by_seed(result.importance)[:, level, pair], defined)
    if mean == 0:
        return "0"
    text = mean_text(mean, error)
    above = result.by_seed(result.above_chance)[:, level, pair].mean() > 0.5
    return text if above or not result.n_draws else f"({text})"


def _notes(result: Any) -> list[str]:
    p = len(result.pairs)
    if not p:
        return ["no pairs: the space has a single parameter"]
    lines = ["importance: interaction's share of the variance of membership in the target"]
    if p > _ROWS_SHOWN + 1:
        lines.append(f"{p - _ROWS_SHOWN} more pairs, in to_dataframe()")
    if result.n_draws:
        n = f"{result.n_draws} draws from the null"
        lines.append(f"in brackets: not above chance (p > 0.05, adjusted for {plural(p, 'pair')}; {n})")
    if len(result.target_quantile) == 1:
        lines.append(f"target: {size_text(result.n_target)} rows")
    lines.append(f"region: {size_text(result.n_region)} rows (level {result.region_quantile:g})")
    seen = result.by_seed(result.status)

    def where(bit: Status) -> str:
        return f"{int((seen & int(bit) != 0).any(axis=(0, 1)).sum())} of {p} pairs"

    return [*lines, *result.report.lines(result.n_seeds), *describe(seen, where, of_pairs=True)]
