"""What both pictures of bars share: thickness, labels, signs after the names, footnote."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from parzax.importance import ImportanceResult
from parzax.importance.labels import short_names
from parzax.plotting import _arguments as args
from parzax.plotting._matplotlib import (
    GREY,
    figure_of,
    font_points,
    note,
    plain,
    size_in_points,
    text_width,
    tidy,
)
from parzax.status import Status

# What is marked at a parameter, with the sign that stands for it and the words of the footnote.
_MARKS = {
    Status.CONSTANT: ("*", "one value per regime"),
    Status.SINGLE_VALUE: ("*", "one value per regime"),
    Status.NEVER_ACTIVE: ("†", "never active"),
    Status.NOT_IN_TARGET: ("¶", "inactive in the target, counts as 0"),
    Status.UNIDENTIFIABLE: ("‡", "domain moves from row to row, not comparable"),
    Status.SPARSE_REGIME: ("§", "a regime with one row left out"),
    Status.NOT_ABOVE_CHANCE: ("°", "not above chance, counts as 0"),
}
_NOTHING = "No parameter has a positive variance\nat this level."
# What concerns the level as a whole.
_LEVEL_NOTES = {
    Status.LOW_DATA: "ten rows or fewer in the target or outside it: rough",
    Status.TIED_CUTOFF: "ties at the cut-off: the target is larger than asked",
    Status.SAME_SETS: "target and region are the same rows",
    Status.ALL_EQUAL: "all losses are equal",
    Status.NO_DATA: "fewer than two usable rows",
}
# No bar is thicker, however few there are and however large the Axes.
_THICKEST = 22.0


def thickness(ax: Axes, wanted: float, height: float) -> float:
    """``wanted``, or less where bars of it would be thick on Axes that show ``height`` of data."""
    return min(wanted, _THICKEST / size_in_points(ax)[1] * height)


def names_with_signs(result: ImportanceResult, q: int, names: Sequence[str]) -> list[str]:
    """Short names to stand beside bars, each with the signs of its statuses."""
    marks, short = _signs(result, q), short_names(result.names, 28)
    return [plain(short[name]) + marks.get(name, "") for name in names]


def finish(
    ax: Axes,
    result: ImportanceResult,
    q: int,
    names: list[str],
    *,
    at: Sequence[float],
    values: np.ndarray,
    ends: np.ndarray,
    label: str,
    lay_out: bool,
) -> Axes:
    """All that is written around bars once they and their names are drawn.

    Args:
        names: the parameters, for the footnote.
        at: heights of the bars.
        values: what is written to the right of each.
        ends: where the bars (or whiskers) end.
        label: of the axis.
        lay_out: whether the figure is our own, to be laid out first: long names take width from the
            bars, their labels and the footnote.
    """
    if lay_out:
        figure_of(ax).draw_without_rendering()
    _label_bars(ax, at, values, ends)
    if not values.any():
        note(ax, _NOTHING, 0.6, 0.5)
    ax.set_xlabel(label)
    _footnote(ax, result, q, names)
    tidy(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def value_text(x: float) -> str:
    """An importance with two decimals, "<0.01" below that, "0" only for exactly nothing."""
    if x == 0:
        return "0"
    return f"{x:.2f}" if x >= 0.01 else "<0.01"


def _label_bars(ax: Axes, y: Sequence[float], values: np.ndarray, ends: np.ndarray) -> None:
    """Write ``values`` to the right of ``ends``, and make room for the longest bar's label."""
    size = font_points(ax, 0.9)
    for at, value, end in zip(y, values, ends, strict=True):
        text = value_text(float(value))
        ax.annotate(text, (end, at), (4, 0), textcoords="offset points", va="center", fontsize=size)
    share = min((text_width(ax, "<0.01", size) + 8) / size_in_points(ax)[0], 0.5)
    ax.set_xlim(0, (float(ends.max()) if values.any() else 1.0) / (1 - share))


def _signs(result: ImportanceResult, q: int) -> dict[str, str]:
    """Signs after the names of the parameters that have a status of their own."""
    out: dict[str, str] = {}
    for bit, (sign, _) in _MARKS.items():
        for name, is_set in zip(result.names, args.most_seeds(result, bit)[q], strict=True):
            if is_set and sign not in out.get(name, ""):
                out[name] = out.get(name, " ") + sign
    return out


def _footnote(ax: Axes, result: ImportanceResult, q: int, names: list[str]) -> None:
    """What the signs of ``names`` mean, and what concerns the level as a whole, below the axis."""
    shown = [result.names.index(name) for name in names]
    parts = []
    for bit, text in _LEVEL_NOTES.items():
        if args.any_seed(result, bit)[q].any():
            parts.append(text + ("" if args.all_seeds(result, bit)[q].any() else " (some seeds)"))
    for bit, (sign, text) in _MARKS.items():
        marked = args.most_seeds(result, bit)[q, shown]
        if not marked.any() or any(part.startswith(f"{sign}\N{NO-BREAK SPACE}{text}") for part in parts):
            continue
        always = args.all_seeds(result, bit)[q, shown][marked].all()
        parts.append(f"{sign}\N{NO-BREAK SPACE}{text}" + ("" if always else " (half of the seeds or more)"))
    if not parts:
        return
    size = font_points(ax, 0.8)
    width = max(int(size_in_points(ax)[0] / (0.52 * size)), 20)
    lines = textwrap.wrap(";  ".join(parts), width, break_long_words=False)
    # Below the label of the axis, wherever the layout puts that.
    ax.annotate(
        "\n".join(lines),
        (0, 0),
        (0, -3),
        xycoords=("axes fraction", ax.xaxis.label),
        textcoords="offset points",
        va="top",
        fontsize=size,
        color=GREY,
        annotation_clip=False,
    )
