"""Importances at one level as bars, of parameters or of their regimes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes

from parzax.lens.plotting import _arguments, _axes, _text
from parzax.lens.results import ImportanceResult
from parzax.lens.results.base import mean_and_error
from parzax.lens.results.phrases import regime_text, value_text
from parzax.status import OF_LEVELS, Status

_UNSURE = "0.75"  # grey of bars that are not above chance
_THICKEST = 22.0  # largest thickness of a bar, in points
_MOST_REGIMES = 6  # with more regimes than this, the parts of the smallest are added
_CAPTION = 64  # largest number of characters in the caption above a bar


class _Bar(NamedTuple):
    """A bar from 0 to ``mean``, whose whisker goes from ``low`` to ``high``."""

    label: str
    mean: float
    low: float
    high: float
    colour: str
    remark: str = ""  # after the value
    caption: str = ""  # above the bar


def importance_bars(
    result: ImportanceResult,
    *,
    level: int | float | None = None,
    parameters: int | str | Sequence[str] = 20,
    ax: Axes | None = None,
) -> Axes:
    """Importances at one level: horizontal bars, the largest on top, with their values and remarks.

    If a single log has an uncertainty (`parzax.cond_ped_anova` with ``n_resamples``), whiskers are its
    intervals, and bars that are not above chance are grey. With several seeds a bar is the mean over the
    seeds that have an importance at the level, and its whisker is one standard error to either side. Remarks
    are those of the result's table, for example that a parameter is constant. A sentence below says what is
    unusual about the level. Values have two decimals; positive values below 0.01 are written as "<0.01", and
    "0" is exactly 0.

    Args:
        result, level: as in all pictures.
        parameters: the parameters to draw, or their number: those with the largest importances, and one more
            bar for the sum of the others.
        ax: where to draw; give its figure ``layout="constrained"``, so that remarks fit.
    """
    index = _arguments.find_level(_arguments.check_result(result), level)
    parts = _arguments.choose_parts(result, parameters, result.ranking(index))
    data, counts = result.by_seed(result.importance), result.by_seed(result.has_importance)
    short, remarks = _text.shorten_names(result.names, 28), result.cells(index)["remarks"]
    sampled, bars = _arguments.get_uncertainty(result), []
    for name, columns, look in parts:
        sums = _arguments.sum_part(data, counts, columns, sampled)
        *ends, above = (x[index] for x in sums)
        remark = remarks[columns[0]] if len(columns) == 1 else ""
        bars.append(_Bar(short.get(name, name), *ends, look["color"] if above else _UNSURE, remark))
    return _draw_bars(ax, result, index, bars, "")


def regimes(
    result: ImportanceResult,
    *,
    level: int | float | None = None,
    parameters: int | str | Sequence[str] = 12,
    ax: Axes | None = None,
) -> Axes:
    """Each regime's part of a parameter's importance: a bar per regime, the most important parameter on top.

    The caption above a bar is the regime's domain and conditions. The lengths of a parameter's bars add up to
    its importance, except for an importance by convention (1/d on Optuna's grid), which has no parts. With
    several seeds they are means, with one standard error to either side. If a single log has an uncertainty,
    bars of parameters that are not above chance are grey.

    Args:
        result, level, ax: as in all pictures.
        parameters: the parameters to draw, or the number of the most important ones.
    """
    index = _arguments.find_level(_arguments.check_result(result), level)
    ranking = result.ranking(index)
    chosen = _arguments.choose_names(parameters, ranking)
    counts, shares = (result.by_seed(x)[:, index] for x in (result.has_importance, result.regime_importance))
    short, remarks = _text.shorten_names(result.names, 28), result.cells(index)["remarks"]
    colours, bars = _arguments.colours(result), []
    for name in sorted(chosen, key=ranking.index):
        j, domains = result.names.index(name), result.space[name]
        colour = colours[name] if result.may_matter(index, [j]) else _UNSURE
        by_size = np.argsort(-shares[:, j, : len(domains)].mean(axis=0), kind="stable").tolist()
        groups, rest = [[i] for i in sorted(by_size[:_MOST_REGIMES])], by_size[_MOST_REGIMES:]
        labels = [(short[name], remarks[j]), *[("", "")] * len(by_size)]
        for group, (label, remark) in zip([*groups, *[rest] * bool(rest)], labels, strict=False):
            mean, error = mean_and_error(shares[:, j, group].sum(axis=1), counts)
            words = f"{len(rest)} smaller ones" if group is rest else regime_text(domains[group[0]])
            caption = _text.shorten_name(words, _CAPTION)
            bars.append(_Bar(label, mean, mean - error, mean + error, colour, remark, caption))
    return _draw_bars(ax, result, index, bars, ", by regime")


def _draw_bars(ax: Axes | None, result: ImportanceResult, index: int, bars: Sequence[_Bar], how: str) -> Axes:
    """Draw bars from the top down, and write what is special about the level of the ``index``."""
    labels, *numbers, colours, remarks, captions = zip(*bars, strict=True)
    mean, low, high = np.array(numbers)
    y, row = np.arange(len(bars)), 0.46 if any(captions) else 0.28
    ax = _axes.get_axes(ax, 6.4, 1.0 + row * len(bars))
    thickness = min(0.2 / row, _THICKEST / _axes.get_size(ax)[1] * len(bars))
    ax.barh(y, mean, color=colours, height=thickness)
    _axes.draw_whiskers(ax, mean, y, xerr=np.maximum([mean - low, high - mean], 0))
    ends = np.fmax(mean, high)
    for middle, value, end, remark, caption in zip(y, mean, ends, remarks, captions, strict=True):
        look = {"textcoords": "offset points", "fontsize": "small"}
        text = ax.annotate(value_text(value), (end, middle), (4, 0), va="center", **look)
        ax.annotate(
            remark.replace("; ", ";\n"),
            (1, 0.5),
            (6, 0),
            xycoords=text,
            va="center",
            color=_axes.GREY,
            **look,
        )
        ax.annotate(caption, (0, middle - thickness / 2), (2, 1), va="bottom", **look)
    ax.set_yticks(y, labels)
    ax.set_ylim(len(bars) - 0.4, -0.85 if any(captions) else -0.6)
    # Texts at the ends of bars are in the layout, so the axis need not be longer than they.
    ax.set_xlim(0, 1.1 * ends.max() if mean.any() else 1.0)
    if not mean.any():
        _axes.write_note(ax, "No parameter has a positive variance\nat this level.", 0.5)
    counts = result.by_seed(result.has_importance)[:, index]
    spread = _arguments.describe_spread(counts, _arguments.get_uncertainty(result))
    ax.set_xlabel(f"{_arguments.label_level(result, index)}{how}{spread}")
    _axes.tidy(ax)
    ax.tick_params(axis="y", length=0)
    shares = {bit: float(result.share_of_seeds(bit)[index].max()) for bit in OF_LEVELS & ~Status.ALL_ZERO}
    facts = [bit.fact + " (some seeds)" * (share < 1) for bit, share in shares.items() if share > 0]
    _axes.add_key(ax, [], *facts)
    return ax
