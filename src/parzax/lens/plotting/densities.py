"""Densities of parameters: Parzen estimators below, above and their ratio; target and region of a result."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from parzax import _checks
from parzax.density import ParzenEstimator
from parzax.lens.plotting import _arguments, _axes
from parzax.lens.plotting._arguments import check_names, check_result, choose_looks, find_level
from parzax.lens.plotting._parameters import (
    ParameterAxis,
    Parameters,
    choose_parameters,
    draw_density,
    on_scale,
    side_by_side,
)
from parzax.lens.results import ImportanceResult, phrases
from parzax.lens.results.result import RegimeDensity
from parzax.space import INACTIVE, Categorical, Float, Varying

Arrays = Mapping[str, np.ndarray]  # by "below" and "above"
_CURVE, _MAP = 1001, 121  # number of cells of a curve, and of each side of a map
_COLOURS = {"below": "C0", "above": "C3"}
_NEUTRAL: dict[str, Any] = {"color": _axes.GREY, "linewidth": 1, "linestyle": (0, (4, 2)), "zorder": 2.5}
_MOST_BITS = 100.0  # log2 ratios are clipped to this many bits
_MOST_CHOICES = 20  # largest number of choices that are drawn; more could not be read
_REGION = "0.55"  # colour of the density of the region
_REGIME = 60  # largest number of characters of the text of a regime


def density(
    below: ParzenEstimator,
    above: ParzenEstimator | None = None,
    parameters: str | Sequence[str] | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """The density of one or two parameters, with all other parameters integrated out.

    One parameter gives a curve (bars for discrete values), with a short tick for every row; two parameters
    give a map, with a dot for every row. With ``above`` a panel more has log2 of the ratio of the densities,
    which TPE maximises; curves stand together above it, maps beside it. Panels have the labels "above" and
    "ratio": ``{a.get_label(): a for a in ax.figure.axes}``. A density over a logarithmic axis is per decade,
    so that areas are probabilities. Far from all rows the ratio is the ratio of the priors' weights, as in
    TPE. To condition on values of other parameters, draw `parzax.ParzenEstimator.conditional`.

    Args:
        below, above: fitted estimators on one space.
        parameters: one name or two; the first one or two of the space by default.
        ax: where to draw; panels share the place of ``ax``, which must then be a subplot.

    Raises:
        ValueError: for estimators of different spaces, unknown or too many parameters, a parameter whose
            parents are not given, and panels in an ``ax`` that is not a subplot.
    """
    estimators = {"below": below} if above is None else {"below": below, "above": above}
    for argument, pe in estimators.items():
        hint = "; name parameters by parameters=" if isinstance(pe, (str, list, tuple)) else ""
        _checks.instance(argument, pe, ParzenEstimator, "a parzax.ParzenEstimator", hint)
        if not pe.space.agrees_with(below.space):
            raise ValueError("above must be an estimator on the space of below.")
    plane = choose_parameters(below.space, parameters, {1: _CURVE, 2: _MAP})
    parts = {name: pe.marginal(*plane.names) for name, pe in estimators.items()}
    plane = plane._replace(space=parts["below"].space)
    if any(domain.conditions for name in plane.names for domain in plane.space[name]):
        remedy = "draw pe.conditional({...}), with values of the parents"
        raise ValueError(f"{' or '.join(plane.names)} has no density without its parents: {remedy}.")
    # Logarithms are used because far from all rows both densities may underflow to 0, although their ratio is
    # defined.
    per_unit = sum(np.meshgrid(*(np.log(axis.per_unit) for axis in plane.axes)))
    cells = plane.cells(np.zeros(len(plane.space)))
    logs = {name: np.asarray(pe.log_prob(cells), np.float64) + per_unit for name, pe in parts.items()}
    with np.errstate(invalid="ignore"):
        # The ratio is 0 where both densities are 0.
        bits = np.nan_to_num((logs["below"] - logs.get("above", 0)) / np.log(2))
    ratio = np.clip(bits, -_MOST_BITS, _MOST_BITS)
    densities = {name: np.exp(log) for name, log in logs.items()}
    rows = {name: plane.places(_decode_rows(pe)) for name, pe in parts.items()}
    is_map = len(plane.names) == 2
    ax = _axes.get_axes(ax, 10.2 if is_map and len(parts) == 2 else 4.6, 3.8)
    (_draw_maps if is_map else _draw_curves)(ax, plane, densities, rows, ratio)
    return ax


def _decode_rows(pe: ParzenEstimator) -> np.ndarray:
    """(n, d) native values of the rows that count, NaN where a parameter is inactive."""
    rows = pe.mixture.rows
    x = np.where(np.asarray(rows.regime) == INACTIVE, np.nan, pe.space.frame().decode(rows))
    return x[np.asarray(pe.mixture.weight) > 0]


def _draw_curves(ax: Axes, line: Parameters, densities: Arrays, rows: Arrays, ratio: np.ndarray) -> None:
    """Draw densities over one parameter, and below them the ratio if there are two."""
    (axis,), bottom = line.axes, ax
    if len(densities) > 1:
        bottom = _axes.split_axes(ax, [["densities"], ["ratio"]], height_ratios=[3, 2])[1, 0]
        draw_density(bottom, axis, ratio[None], color="0.2", label="ratio")
        bottom.axhline(0, **_NEUTRAL)
        bottom.set_ylabel("log2 below / above")
        _axes.tidy(bottom)
    _draw_together(ax, axis, {name: (_COLOURS[name], x[None]) for name, x in densities.items()})
    ax.set_ylabel("probability" if axis.discrete else "density per decade" if axis.log else "density")
    _axes.tidy(ax)
    # Ticks stand below the curves, so they hide nothing. Bars get none, since equal values would share one.
    heights = -0.05 * ax.get_ylim()[1] * np.arange(1, len(rows) + 1)
    for (name, x), height in zip(rows.items() if not axis.discrete else (), heights, strict=False):
        ax.plot(x[:, 0], np.full(len(x), height), "|", color=_COLOURS[name], markersize=6, alpha=0.6)
    ax.set_ylim(top=1.22 * ax.get_ylim()[1])  # room for the legend
    line.label(bottom)
    ax.label_outer()


def _draw_together(ax: Axes, axis: ParameterAxis, named: Mapping[str, tuple[str, np.ndarray]]) -> None:
    """Draw (s, g) densities by name, each with its colour; bars stand side by side."""
    for i, (name, (colour, seeds)) in enumerate(named.items()):
        draw_density(ax, axis, seeds, filled=True, slot=(i, len(named)), color=colour, label=name)
    ax.legend(loc="upper right", ncols=2, fontsize="small", frameon=False, borderaxespad=0)


def _draw_maps(ax: Axes, plane: Parameters, densities: Arrays, rows: Arrays, ratio: np.ndarray) -> None:
    """Draw a map of each density over two parameters, and of the ratio of two."""
    top, bound = float(np.nanmax([*densities.values()])), max(float(np.abs(ratio).max()), 1e-6)
    looks = {"below": ("Blues", 0, top), "above": ("Reds", 0, top), "ratio": ("RdBu", -bound, bound)}
    panels = [ax] if len(densities) == 1 else _axes.split_axes(ax, [[*looks]])[0]
    edges, maps = [axis.edges for axis in plane.axes], [*densities.values(), ratio]
    for panel, values, (name, (cmap, low, high)) in zip(panels, maps, looks.items(), strict=False):
        _axes.draw_map(panel, edges, values, {}, cmap=cmap, vmin=low, vmax=high)
        panel.set_title("log2 below / above" if name == "ratio" else name, fontsize="medium")
        plane.label(panel)
        panel.label_outer()
    for panel, x in zip(panels, rows.values(), strict=False):
        panel.plot(x[:, 0], x[:, 1], "o", color="0.1", markersize=2.5, markeredgewidth=0, alpha=0.7)


def values(
    result: ImportanceResult,
    parameter: str,
    *,
    level: int | float | None = None,
    regime: int | None = None,
    ax: Axes | None = None,
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
        regime: index of the only regime to draw; all by default.
        ax: where to draw; it must be a subplot (else ValueError), and all panels share its place.
    """
    (name,) = check_names("parameter", parameter, check_result(result).names)
    index, n = find_level(result, level), len(result.space[name])
    chosen = range(n) if regime is None else [_checks.whole_number("regime", regime, 0, n - 1)]
    ax = _axes.get_axes(ax, max(4.6, 3.2 * len(chosen)), 4.2)
    labels = [[f"{kind} {i}" for i in chosen] for kind in ("densities", "ratio")]
    panels = _axes.split_axes(ax, labels, height_ratios=[3, 2])
    for top, bottom, i in zip(*panels, chosen, strict=True):
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
    Parameters(result.space, [name], [axis]).label(bottom)
    top.set_ylabel("probability" if axis.discrete else "probability per cell")
    bottom.set_ylabel("ratio  $p_T\\,/\\,p_R$")
    for ax in (top, bottom):
        _axes.tidy(ax)
    if len(result.space[name]) > 1 or domain.conditions:
        others = "all" if result.region == 1 else "the region"
        best, all_rows = (phrases.percent(round(float(x.mean()), 2)) for x in (alpha, beta))
        text = _axes.wrap_text(top, _arguments.shorten_name(phrases.regime_text(domain), _REGIME))
        top.set_title(f"{text}\n{best} of the best rows, {all_rows} of {others}", fontsize="small")
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
        colour = choose_looks(result)[name]["color"]
        named[f"best {100 * quantile:g} %  $p_T$"] = colour, target[alpha > 0]
        draw_density(bottom, axis, np.where(empty, np.nan, ratio[alpha > 0]), color=colour, label="ratio")
        bottom.axhline(1, **_NEUTRAL)
    else:
        # Without rows p_T is the prior, which says nothing about values.
        _axes.write_note(bottom, f"No target rows in this regime\n(γ′ = {quantile:g}).")
    _draw_together(top, axis, named)


def _choose_cells(density: RegimeDensity, masses: np.ndarray) -> tuple[ParameterAxis, np.ndarray]:
    """The axis of a regime and the indices of its cells; of many choices those with most mass."""
    domain, values = density.domain, np.arange(len(density.values))
    if isinstance(domain, Categorical):
        cells = np.sort(np.argsort(-masses, kind="stable")[:_MOST_CHOICES])
        return side_by_side(cells, [_arguments.shorten_name(density.values[i], 14) for i in cells]), cells
    native = np.asarray(density.values)
    if len(native) == domain.n_values and len(native) <= _MOST_CHOICES:
        return side_by_side(native, [phrases.number(value) for value in native]), values
    between_bounds = isinstance(domain, Varying) and len(native) > 1
    return on_scale(Float(0, 1) if between_bounds else domain, native), values
