"""Which values of a parameter are good: densities of target and region of a result, and their ratio."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from parzax.lens.plotting import _arguments, _axes
from parzax.lens.plotting._parameters import ParameterAxis, choose_axis
from parzax.lens.results import ImportanceResult
from parzax.lens.results.result import RegimeDensity, mean_and_error
from parzax.lens.results.texts import percent, regime_text
from parzax.space import Categorical, Float, Varying

_EQUAL: dict[str, Any] = {"color": _axes.GREY, "linewidth": 1, "linestyle": (0, (4, 2)), "zorder": 2.5}
_MOST_CHOICES = 20  # largest number of choices that are drawn; more could not be read
_FEW_CELLS = 20  # with more cells than this a curve needs no dots
_REGION = "0.55"  # colour of the density of the region
_REGIME = 60  # largest number of characters of the text of a regime


def values(
    result: ImportanceResult, parameter: str, *, level: float | None = None, ax: Axes | None = None
) -> Axes:
    """Which values of a parameter are good: for each regime p_T and p_R, and below them the ratio p_T / p_R.

    Values whose ratio is above 1 are over-represented among the best configurations. With several seeds
    lines are means over the seeds with target rows in the regime, and ribbons (whiskers on bars) are one
    standard error to either side. Densities are per grid cell, on the domain's axis: logarithmic for a log
    domain, side by side for few values. The ratio has a gap where the region has no rows. A regime without
    rows, with a single value, or with moving bounds that are not given shows a sentence instead of curves. If
    moving bounds are given, values are places between the bounds. The panels of regime 0 have the labels
    "densities 0" and "ratio 0", and so on: ``{a.get_label(): a for a in ax.figure.axes}``.

    Args:
        result, level: as in all pictures.
        parameter: its name.
        ax: where to draw; it must be a subplot (else ValueError), and all panels share its place.
    """
    (name,) = _arguments.check_names("parameter", parameter, _arguments.check_result(result).names)
    index, n = _arguments.find_level(result, level), len(result.space[name])
    ax = _axes.get_axes(ax, max(4.6, 3.2 * n), 4.2)
    panels = _axes.split_axes(ax, [[f"{kind} {i}" for i in range(n)] for kind in ("densities", "ratio")])
    for i, (top, bottom) in enumerate(panels.T):
        _draw_regime(top, bottom, result, index, name, i)
    # The panel of densities leaves room for a legend, and the panel of ratios includes 1. Panels of a row
    # share limits.
    ax.set_ylim(0, 1.22 * ax.get_ylim()[1])
    panels[1, 0].set_ylim(0, max(panels[1, 0].get_ylim()[1], 1.1))
    for panel in panels.flat:
        panel.label_outer()
    return ax


def _draw_regime(top: Axes, bottom: Axes, result: ImportanceResult, index: int, name: str, i: int) -> None:
    """Draw the densities and the ratio of one regime, or say why not; write the regime's name and shares."""
    density, j = result.density(name)[i], result.names.index(name)
    domain, quantile = density.domain, result.levels[index]
    alpha, beta = (result.by_seed(shares)[:, index, j, i] for shares in (result.alpha, result.beta))
    masses = [result.by_seed(x)[:, index] for x in (density.target, density.region, density.ratio)]
    axis, cells = _choose_cells(density, np.maximum(masses[0].mean(axis=0), masses[1].mean(axis=0)))
    target, region, ratio = (x[:, cells] for x in masses)
    rows = result.by_seed(density.rows)[:, -1].sum(axis=0)
    # If the region's density in a cell is only the prior (which has the weight of one row), the ratio is not
    # drawn.
    prior = 2 / (len(rows) * (rows.sum() / result.n_seeds + 1))
    empty = rows[cells] == 0 if axis.discrete else region.mean(axis=0) < prior
    axis.label(bottom.xaxis, name)
    top.set_ylabel("probability" if axis.discrete else "probability per cell")
    bottom.set_ylabel("ratio  $p_T\\,/\\,p_R$")
    if len(result.space[name]) > 1 or domain.conditions:
        others = "all" if result.region == 1 else "the region"
        best, all_rows = (percent(round(float(x.mean()), 2)) for x in (alpha, beta))
        text = _axes.wrap_text(top, _arguments.shorten_name(regime_text(domain), _REGIME))
        top.set_title(f"{text}\n{best} of the best, {all_rows} of {others}", fontsize="small")
    varying, hidden = isinstance(domain, Varying), len(rows) - len(cells)
    remark = f" ({hidden} rarer choices not shown)" if hidden else ""
    remark += ", from its lower bound (0) to its upper one (1)" if varying else ""
    bottom.set_xlabel(bottom.get_xlabel() + remark)
    nothing = "" if beta.any() else "No rows in this regime."
    if len(rows) == 1:
        nothing = "The domain moves from row to row:\nno common grid." if varying else "A single value."
    if nothing:
        _axes.write_note(top, nothing)
        for ax in (top, bottom):
            ax.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
        return
    named = {f"{'all rows' if result.region == 1 else 'region'}  $p_R$": (_REGION, region[beta > 0])}
    if alpha.any():
        colour = _arguments.choose_looks(result)[name]["color"]
        named[f"best {100 * quantile:g} %  $p_T$"] = colour, target[alpha > 0]
        _draw_densities(bottom, axis, {"ratio": (colour, np.where(empty, np.nan, ratio[alpha > 0]))}, 0)
        bottom.axhline(1, **_EQUAL)
    else:
        # Without rows p_T is the prior, which says nothing about values.
        _axes.write_note(bottom, f"No target rows in this regime\n(γ′ = {quantile:g}).")
    _draw_densities(top, axis, named, 0.15)
    top.legend(loc="upper right", ncols=2, fontsize="small", frameon=False, borderaxespad=0)


def _draw_densities(
    ax: Axes, axis: ParameterAxis, named: Mapping[str, tuple[str, np.ndarray]], shade: float
) -> None:
    """Draw the mean of (s, g) densities, by name with a colour: bars with whiskers, or curves with ribbons.

    ``shade`` is the opacity of the areas below curves.
    """
    width = 0.8 / len(named)
    for i, (name, (colour, seeds)) in enumerate(named.items()):
        mean, error = mean_and_error(seeds)
        if axis.discrete:
            places = axis.places + (i - (len(named) - 1) / 2) * width
            ax.bar(places, mean, width, color=colour, label=name)
            _axes.draw_whiskers(ax, places, mean, yerr=error)
        else:
            marker = "o" if len(mean) <= _FEW_CELLS else None
            places, mean, error = axis.curves(mean, error)
            ax.plot(places, mean, linewidth=1.8, marker=marker, markersize=3.5, color=colour, label=name)
            _axes.draw_ribbon(ax, places, mean - error, mean + error, colour)
            area = {"linewidth": 0, "alpha": shade, "zorder": 0.5, "label": "_area"}
            ax.fill_between(places, mean, color=colour, **area)


def _choose_cells(density: RegimeDensity, masses: np.ndarray) -> tuple[ParameterAxis, np.ndarray]:
    """The axis of a regime and the indices of its cells; of many choices those with most mass."""
    domain, values = density.domain, np.arange(len(density.values))
    if isinstance(domain, Categorical):
        cells = np.sort(np.argsort(-masses, kind="stable")[:_MOST_CHOICES])
        return choose_axis(domain, cells), cells
    between_bounds = isinstance(domain, Varying) and len(values) > 1
    return choose_axis(Float(0, 1) if between_bounds else domain, np.asarray(density.values)), values
