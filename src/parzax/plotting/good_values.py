"""Which values of a parameter are good: its density in the target against that in the region."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from parzax.importance import ImportanceResult, RegimeDensity
from parzax.importance.labels import short_names
from parzax.importance.seeds import mean_and_error
from parzax.plotting import _arguments as args
from parzax.plotting import _text
from parzax.plotting._matplotlib import GREY, font_points, note, plain, tidy
from parzax.space import Categorical, Numeric, Ordinal, Varying

# More choices than this cannot be read; more cells than this need no dots.
_MOST_CHOICES = 20
_FEW_CELLS = 20
_REGION = "0.55"


def values(
    result: ImportanceResult,
    name: str,
    *,
    level: int | float = 0,
    regime: int | Sequence[int] | None = None,
    ax: Any = None,
) -> np.ndarray:
    """Which values of a parameter are good: per regime p_T and p_R above, their ratio p_T / p_R below.

    Values whose ratio is above 1 are over-represented among the best configurations. With several seeds
    lines are means over the seeds with target rows in the regime and ribbons (whiskers on bars) one
    standard error to either side. Densities are per grid cell, on the domain's own axis: logarithmic where
    the domain is.

    Args:
        result: from `parzax.cond_ped_anova`.
        name: the parameter.
        level: index of the level, or a float for the nearest target quantile.
        regime: index of a regime, or several; all by default.
        ax: array of 2 x (number of regimes) Axes to draw on; a new figure by default.

    Returns:
        (2, number of regimes) array of Axes, densities in the first row and ratios in the second.

    Raises:
        TypeError: ``result``, ``level`` or ``regime`` of the wrong type.
        KeyError: an unknown parameter.
        ValueError: a level or regime out of range, or an ``ax`` of the wrong size.
    """
    args.check_result(result)
    args.check_name(result, "name", name)
    q = args.level_index(result, level)
    chosen = _regimes(result, name, regime)
    axes = _axes(ax, len(chosen), 3.2 if len(chosen) > 1 else 4.6)
    j = result.names.index(name)
    alpha, beta = (args.by_seed(result, x, 3)[:, q, j] for x in (result.alpha, result.beta))
    densities = result.density(name)
    colour = args.colours(result)[name]
    short = plain(short_names(result.names, 40)[name])
    for column, i in zip(axes.T, chosen, strict=True):
        _title(column[0], densities[i], alpha[:, i].mean(), beta[:, i].mean(), len(densities))
        _panel(column, result, densities[i], q, alpha[:, i] > 0, beta[:, i] > 0, colour)
        hidden = len(densities[i].values) - len(_shown(densities[i], q))
        column[1].set_xlabel(short + (f" ({hidden} rarer choices not shown)" if hidden else ""))
    _limits(axes)
    axes[0, 0].set_ylabel("probability" + ("" if _is_bars(densities[chosen[0]]) else " per cell"))
    axes[1, 0].set_ylabel("ratio  $p_T\\,/\\,p_R$")
    return axes


def _regimes(result: ImportanceResult, name: str, regime: Any) -> list[int]:
    count = len(result.space[name])
    if regime is None:
        return list(range(count))
    asked = list(regime) if isinstance(regime, (Sequence, np.ndarray)) else [regime]
    if isinstance(regime, str) or not all(
        isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in asked
    ):
        raise TypeError(f"regime must be an index or several, got {regime!r}.")
    if not asked or not all(0 <= i < count for i in asked):
        raise ValueError(f"regime must be in 0..{count - 1} for parameter {name!r}, got {regime!r}.")
    return [int(i) for i in asked]


def _axes(ax: Any, n_regimes: int, width: float) -> np.ndarray:
    if ax is None:
        import matplotlib.pyplot as plt

        return plt.subplots(
            2,
            n_regimes,
            figsize=(max(4.6, width * n_regimes), 4.2),
            sharex="col",
            sharey="row",
            squeeze=False,
            layout="constrained",
            height_ratios=[3, 2],
        )[1]
    given = np.asarray(ax, dtype=object)
    if given.size != 2 * n_regimes or not all(isinstance(a, Axes) for a in given.flat):
        raise ValueError(
            f"ax must be an array of 2 x {n_regimes} Axes, as from plt.subplots(2, {n_regimes}), "
            f"got {type(ax).__name__} of shape {given.shape}."
        )
    return given.reshape(2, n_regimes)


def _is_bars(density: RegimeDensity) -> bool:
    return isinstance(density.domain, Categorical)


def _title(ax: Axes, density: RegimeDensity, alpha: float, beta: float, n_regimes: int) -> None:
    shares = f"{_percent(alpha)} of the target, {_percent(beta)} of the region"
    lines = textwrap.wrap(_text.regime(density.domain), 34, max_lines=2, placeholder=" …")
    if n_regimes == 1 and not density.domain.conditions:
        return
    ax.set_title(plain("\n".join([*lines, shares])), fontsize=font_points(ax, 0.9))


def _percent(share: float) -> str:
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _panel(
    column: np.ndarray,
    result: ImportanceResult,
    density: RegimeDensity,
    q: int,
    in_target: np.ndarray,
    in_region: np.ndarray,
    colour: str,
) -> None:
    """One regime: two Axes."""
    top, bottom = column
    for ax in column:
        tidy(ax)
    if isinstance(density.domain, Varying) or len(density.values) == 1:
        moves = isinstance(density.domain, Varying)
        note(top, "The domain moves from row to row:\nno common grid." if moves else "A single value.")
        _empty(column)
        return
    if not in_region.any():
        note(top, "No rows in this regime.")
        _empty(column)
        return
    target, region, ratio = (
        args.by_seed(result, x, 2)[:, q] for x in (density.target, density.region, density.ratio)
    )
    shown = _shown(density, q)
    x, labels = _positions(density, shown)
    draw = _bars if _is_bars(density) else _curves
    series = [(region[in_region][:, shown], _REGION, "region  $p_R$")]
    if in_target.any():
        series.append((target[in_target][:, shown], colour, "target  $p_T$"))
        draw(bottom, x, [(ratio[in_target][:, shown], colour, "ratio")])
        bottom.axhline(1, color=GREY, linewidth=1, linestyle=(0, (4, 2)), zorder=2.5)
    else:
        # Without rows p_T is what the prior leaves of it, which says nothing about values.
        note(bottom, "No target rows in this regime.")
    draw(top, x, series)
    for ax in column:
        if isinstance(density.domain, (Numeric, Ordinal)) and density.domain.log:
            ax.set_xscale("log")
    _ticks(bottom, density, x, labels)
    top.legend(loc="upper right", ncols=2, frameon=False, fontsize=font_points(top, 0.8), borderaxespad=0)


def _limits(axes: np.ndarray) -> None:
    """From 0 on, with room for the legend above the densities and for 1 in the ratios."""
    tops = [[ax.get_ylim()[1] for ax in row] for row in axes]
    for ax, top in zip(axes[0], tops[0], strict=True):
        ax.set_ylim(0, 1.22 * top)
    for ax, top in zip(axes[1], tops[1], strict=True):
        ax.set_ylim(0, max(top, 1.1))


def _empty(column: np.ndarray) -> None:
    for ax in column:
        ax.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)


def _shown(density: RegimeDensity, q: int) -> np.ndarray:
    """Indices of the cells to draw: all, or the commonest choices in their own order."""
    n = len(density.values)
    if not _is_bars(density) or n <= _MOST_CHOICES:
        return np.arange(n)
    target, region = (x[..., q, :].reshape(-1, n).mean(axis=0) for x in (density.target, density.region))
    return np.sort(np.argsort(-np.maximum(target, region), kind="stable")[:_MOST_CHOICES])


def _positions(density: RegimeDensity, shown: np.ndarray) -> tuple[np.ndarray, list[str]]:
    if _is_bars(density):
        return np.arange(len(shown), dtype=float), [plain(_text.choice(density.values[i], 14)) for i in shown]
    return np.asarray(density.values, dtype=np.float64), []


def _ticks(ax: Axes, density: RegimeDensity, x: np.ndarray, labels: list[str]) -> None:
    if labels:
        long = sum(map(len, labels)) > 28
        ax.set_xticks(x, labels, rotation=40 if long else 0, ha="right" if long else "center")
        if long:
            ax.tick_params(axis="x", labelsize=font_points(ax, 0.85))
    elif isinstance(density.domain, Ordinal) and len(x) <= 8:
        ax.set_xticks(x, [_text.number(v) for v in x])
        ax.minorticks_off()


def _curves(ax: Axes, x: np.ndarray, series: list[tuple[np.ndarray, str, str]]) -> None:
    for seeds, colour, label in series:
        mean, error = mean_and_error(seeds)
        marker = "o" if len(x) <= _FEW_CELLS else None
        ax.plot(x, mean, color=colour, linewidth=1.8, marker=marker, markersize=3.5, label=label)
        if len(seeds) > 1:
            ax.fill_between(x, mean - error, mean + error, color=colour, alpha=0.22, linewidth=0)
        if colour == _REGION:
            ax.fill_between(x, 0, mean, color=colour, alpha=0.15, linewidth=0, zorder=0.5, label="_area")


def _bars(ax: Axes, x: np.ndarray, series: list[tuple[np.ndarray, str, str]]) -> None:
    width = 0.8 / len(series)
    for i, (seeds, colour, label) in enumerate(series):
        mean, error = mean_and_error(seeds)
        at = x + (i - (len(series) - 1) / 2) * width
        ax.bar(at, mean, width, color=colour, label=label)
        if len(seeds) > 1:
            ax.errorbar(at, mean, yerr=error, fmt="none", ecolor="0.25", elinewidth=1, capsize=2)
