"""Densities of parameters: Parzen estimators below, above and their ratio; target and region of a result."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from parzax import _checks
from parzax.density import ParzenEstimator
from parzax.density.restriction import given_values
from parzax.lens.plotting import _axes, _parameters, _text
from parzax.lens.plotting._arguments import Level, check_names, check_result, colours, find_level
from parzax.lens.plotting._parameters import ParameterAxis, Parameters, draw_density
from parzax.lens.results import ImportanceResult, phrases
from parzax.lens.results.result import RegimeDensity
from parzax.space import INACTIVE, Categorical, Float, Varying

Arrays = list[np.ndarray]
_CURVE, _MAP = 1001, 121  # number of cells of a curve, and of each side of a map
_COLOURS = ("C0", "C3")  # colours of the densities below and above
_MOST_BITS = 100.0  # log2 ratios are clipped to this many bits
_MOST_CHOICES = 20  # largest number of choices that are drawn; more could not be read
_REGION = "0.55"


def density(
    below: ParzenEstimator,
    above: ParzenEstimator | None = None,
    parameters: str | Sequence[str] | None = None,
    *,
    given: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The density of one or two parameters, with all other parameters integrated out.

    One parameter gives a curve (bars for discrete values), with a short tick for every row; two parameters
    give a map, with a dot for every row. With ``above`` the picture has three panels: below, above, and log2
    of their ratio, which TPE maximises. The second and the third panel have the labels "above" and "ratio":
    ``{a.get_label(): a for a in ax.figure.axes}``. A density over a logarithmic axis is per decade, so that
    areas are probabilities. Far from all rows the ratio is the ratio of the priors' weights, as in TPE.

    Args:
        below, above: fitted estimators on one space.
        parameters: one name or two; the first one or two of the space by default.
        given: values of parameters to condition on, name -> native value (or choice). Give the parents of a
            conditional parameter, even if a parent is the other drawn parameter.
        ax: where to draw; three panels share the place of ``ax``, which must be a subplot.

    Raises:
        ValueError: for estimators of different spaces, unknown or too many parameters, a parameter whose
            parents are not given, and three panels in an ``ax`` that is not a subplot.
    """
    estimators = {"below": below} if above is None else {"below": below, "above": above}
    for argument, pe in estimators.items():
        hint = "; name parameters by parameters=" if isinstance(pe, (str, list, tuple)) else ""
        _checks.instance(argument, pe, ParzenEstimator, "a parzax.ParzenEstimator", hint)
        if not pe.space.agrees_with(below.space):
            raise ValueError("above must be an estimator on the space of below.")
    parts = [_take_marginal(pe.conditional(given) if given else pe, parameters) for pe in estimators.values()]
    space, names = parts[0][0].space, parts[0][1]
    size = _CURVE if len(names) == 1 else _MAP
    plane = Parameters(space, names, [_parameters.parameter_axis(space, name, size) for name in names])
    # Logarithms are used because far from all rows both densities may underflow to 0, although their ratio is
    # defined.
    per_unit = sum(np.meshgrid(*(np.log(axis.per_unit) for axis in plane.axes)))
    cells = plane.cells(np.zeros(len(space)))
    logs = [np.asarray(pe.log_prob(cells), np.float64) + per_unit for pe, _ in parts]

    ax = _axes.get_axes(ax, 4.4 if above is None else 10.2, 3.0 if len(names) == 1 else 3.8)
    panels = [ax] if above is None else _axes.split_axes(ax, [["below", "above", "ratio"]])[0]
    titles = ["density"] if above is None else ["below", "above", "log2 below / above"]
    if given:
        settings = _text.describe_settings(below.space, given_values(below.space, given), most=2)
        titles[0] += f" given {settings}"
    rows = [plane.places(_decode_rows(pe)) for pe, _ in parts]
    with np.errstate(invalid="ignore"):
        # The ratio is 0 where both densities are 0.
        ratio = np.clip(np.nan_to_num((logs[0] - logs[-1]) / np.log(2)), -_MOST_BITS, _MOST_BITS)
    draw = _draw_curves if len(names) == 1 else _draw_maps
    draw(panels, plane, [np.exp(log) for log in logs], rows, ratio)
    for panel, title in zip(panels, titles, strict=True):
        _axes.set_title(panel, title)
        plane.label(panel)
        if len(names) == 2 and panel is not ax:
            # Maps share their vertical axis.
            panel.set_ylabel("")
            panel.tick_params(labelleft=False)
    return ax


def _take_marginal(pe: ParzenEstimator, parameters: Any) -> tuple[ParzenEstimator, list[str]]:
    """The marginal density of the ``parameters``, and their names."""
    space_names = pe.space.names
    names = check_names("parameters", space_names[:2] if parameters is None else parameters, space_names)
    if len(names) > 2:
        raise ValueError(f"parameters must be one name or two, got {parameters!r}.")
    marginal = pe.marginal(*names)
    missing = [name for name in marginal.space.names if name not in names]
    if missing:
        hint = "pass given={...} with a value for each"
        raise ValueError(f"{' and '.join(names)} cannot be drawn without {', '.join(missing)}: {hint}.")
    if any(domain.conditions for name in names for domain in marginal.space[name]):
        raise ValueError(f"one of {' and '.join(names)} depends on the other: pass given={{...}} for it.")
    return marginal, names


def _decode_rows(pe: ParzenEstimator) -> np.ndarray:
    """(n, d) native values of the rows that count, NaN where a parameter is inactive."""
    rows = pe.mixture.rows
    x = np.where(np.asarray(rows.regime) == INACTIVE, np.nan, pe.space.frame().decode(rows))
    return x[np.asarray(pe.mixture.weight) > 0]


def _draw_curves(panels: Any, line: Parameters, densities: Arrays, rows: Arrays, ratio: np.ndarray) -> None:
    """Draw below, above and the ratio (or only below) over one parameter."""
    (axis,) = line.axes
    top = float(np.nanmax(densities))
    for ax, heights, x, colour in zip(panels, densities, rows, _COLOURS, strict=False):
        draw_density(ax, axis, heights[None], filled=True, color=colour, label="density")
        ax.set_ylim(0 if axis.discrete else -0.07 * top, 1.05 * top)
        ax.set_ylabel("probability" if axis.discrete else "density per decade" if axis.log else "density")
        if not axis.discrete:
            # Ticks stand below the curve, so they hide nothing. Discrete values get no ticks, since equal
            # values would share one.
            ax.plot(x[:, 0], np.full(len(x), -0.035 * top), "|", color=colour, markersize=6, alpha=0.6)
    for ax in panels[2:]:
        if axis.discrete:
            ax.bar(axis.places, ratio, 0.8, color=np.where(ratio > 0, *_COLOURS).tolist())
        else:
            ax.plot(axis.places, ratio, color="0.2", linewidth=1.8)
            for colour, where in zip(_COLOURS, (ratio > 0, ratio < 0), strict=True):
                area = {"interpolate": True, "color": colour, "alpha": 0.25, "linewidth": 0}
                ax.fill_between(axis.places, ratio, where=where, **area)
        ax.axhline(0, color=_axes.GREY, linewidth=1)
    for ax in panels:
        _axes.tidy(ax)


def _draw_maps(panels: Any, plane: Parameters, densities: Arrays, rows: Arrays, ratio: np.ndarray) -> None:
    """Draw below, above and the ratio (or only below) over two parameters."""
    top, edges = float(np.nanmax(densities)), [axis.edges for axis in plane.axes]
    for ax, heights, x, cmap in zip(panels, densities, rows, ("Blues", "Reds"), strict=False):
        _axes.draw_map(ax, edges, heights, {}, cmap=cmap, vmin=0, vmax=top)
        ax.plot(x[:, 0], x[:, 1], "o", color="0.1", markersize=2.5, markeredgewidth=0, alpha=0.7)
    bound = max(float(np.abs(ratio).max()), 1e-6)
    for ax in panels[2:]:
        _axes.draw_map(ax, edges, ratio, {}, cmap="RdBu", vmin=-bound, vmax=bound)


def values(
    result: ImportanceResult,
    parameter: str,
    *,
    level: int | float | None = None,
    regime: int | Sequence[int] | None = None,
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
        regime: index of a regime, or several; all by default.
        ax: where to draw; it must be a subplot (else ValueError), and all panels share its place.
    """
    (name,) = check_names("parameter", parameter, check_result(result).names)
    at_level = find_level(result, level)
    n = len(result.space[name])
    numbers = range(n) if regime is None else np.atleast_1d(regime).tolist()
    chosen = [_checks.whole_number("regime", i, 0, n - 1) for i in numbers]
    if not chosen:
        raise ValueError(f"regime must be an index or several, got {regime!r}.")
    densities = result.density(name)

    ax = _axes.get_axes(ax, max(4.6, 3.2 * len(chosen)), 4.2)
    labels = [[f"{kind} {i}" for i in chosen] for kind in ("densities", "ratio")]
    panels = _axes.split_axes(ax, labels, share=True, height_ratios=[3, 2])
    drawn = zip(*panels, chosen, strict=True)
    discrete = [_draw_regime(top, bottom, at_level, name, i, densities[i]) for top, bottom, i in drawn]
    # The panel of densities leaves room for a legend, and the panel of ratios includes 1. Panels of a row
    # share limits.
    ax.set_ylim(0, 1.22 * ax.get_ylim()[1])
    panels[1, 0].set_ylim(0, max(panels[1, 0].get_ylim()[1], 1.1))
    ax.set_ylabel("probability" if discrete[0] else "probability per cell")
    panels[1, 0].set_ylabel("ratio  $p_T\\,/\\,p_R$")
    return ax


def _draw_regime(top: Axes, bottom: Axes, level: Level, name: str, i: int, density: RegimeDensity) -> bool:
    """Draw the densities and the ratio of one regime, or say why not; write the regime's name and shares.

    Returns whether the values are drawn side by side.
    """
    result, domain = level.result, density.domain
    columns, j = np.arange(len(density.values)), result.names.index(name)
    alpha, beta = (level.by_seed(shares)[:, j, i] for shares in (result.alpha, result.beta))
    densities = [level.by_seed(masses) for masses in (density.target, density.region, density.ratio)]
    # if there are many choices, only the most frequent ones are drawn, in the order of the domain
    if isinstance(domain, Categorical):
        common = np.maximum(*(masses.mean(axis=0) for masses in densities[:2]))
        columns = np.sort(np.argsort(-common, kind="stable")[:_MOST_CHOICES])
    target, region, ratio = (masses[:, columns] for masses in densities)
    axis = _make_axis(density, columns)
    rows = result.by_seed(density.rows)[:, -1, columns].sum(axis=0)
    # If the region's density in a cell is only the prior (which has the weight of one row), the ratio is not
    # drawn.
    prior = 2 / (len(density.values) * (rows.sum() / result.n_seeds + 1))
    empty = rows == 0 if axis.discrete else region.mean(axis=0) < prior
    Parameters(result.space, [name], [axis]).label(bottom)
    if hidden := len(density.values) - len(columns):
        bottom.set_xlabel(f"{bottom.get_xlabel()} ({hidden} rarer choices not shown)")
    if len(result.space[name]) > 1 or domain.conditions:
        lines = textwrap.wrap(phrases.regime_text(domain), 34, max_lines=2, placeholder=" …")
        others = "all" if result.region == 1 else "the region"
        shares = f"{_percent(alpha.mean())} of the best rows, {_percent(beta.mean())} of {others}"
        top.set_title("\n".join([*map(_text.escape, lines), shares]), fontsize=_axes.get_font_size(top, 0.9))
    for ax in (top, bottom):
        _axes.tidy(ax)
    nothing, varying = "" if beta.any() else "No rows in this regime.", isinstance(domain, Varying)
    if len(density.values) == 1:
        nothing = "The domain moves from row to row:\nno common grid." if varying else "A single value."
    elif varying:
        bottom.set_xlabel(f"{bottom.get_xlabel()}, from its lower bound (0) to its upper one (1)")
    if nothing:
        _axes.write_note(top, nothing)
        for ax in (top, bottom):
            ax.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
        return axis.discrete
    colour, quantile = colours(result)[name], f"γ′ = {result.levels[level.number]:g}"
    n = 1 + int(alpha.any())
    rows_of = "all rows" if result.region == 1 else "region"
    look = {"color": _REGION, "label": f"{rows_of}  $p_R$"}
    draw_density(top, axis, region[beta > 0], filled=True, slot=(0, n), **look)
    if alpha.any():
        label = f"best {100 * result.levels[level.number]:g} %  $p_T$"
        draw_density(top, axis, target[alpha > 0], slot=(1, n), color=colour, label=label)
        draw_density(bottom, axis, np.where(empty, np.nan, ratio[alpha > 0]), color=colour, label="ratio")
        bottom.axhline(1, color=_axes.GREY, linewidth=1, linestyle=(0, (4, 2)), zorder=2.5)
    else:
        # Without rows p_T is the prior, which says nothing about values.
        _axes.write_note(bottom, f"No target rows in this regime\n({quantile}).")
    look = {"fontsize": _axes.get_font_size(top, 0.8), "frameon": False, "borderaxespad": 0}
    top.legend(loc="upper right", ncols=2, **look)
    return axis.discrete


def _make_axis(density: RegimeDensity, columns: np.ndarray) -> ParameterAxis:
    """The axis of a regime, for the cells with indices ``columns``."""
    domain = density.domain
    if isinstance(domain, Categorical):
        return _parameters.side_by_side(columns, [_text.shorten_name(density.values[i], 14) for i in columns])
    cells = np.asarray(density.values)
    if len(cells) == domain.n_values and len(cells) <= _MOST_CHOICES:
        return _parameters.side_by_side(cells, [phrases.number(value) for value in cells])
    between_bounds = isinstance(domain, Varying) and len(cells) > 1
    return _parameters.on_scale(Float(0, 1) if between_bounds else domain, cells)


def _percent(share: float) -> str:
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"
