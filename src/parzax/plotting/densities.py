"""Densities of parameters: Parzen estimators below, above and their ratio; target and region of a result."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from parzax import _checks
from parzax.parzen import ParzenEstimator
from parzax.parzen.restriction import given_values
from parzax.plotting import _axes, _parameters, _text
from parzax.plotting._arguments import Level, check_names, check_result, colours, find_level
from parzax.plotting._parameters import ParameterAxis, Parameters, Series, draw_series
from parzax.results import ImportanceResult, RegimeDensity
from parzax.space import INACTIVE, Categorical, Float, Varying, host_frame

Arrays = list[np.ndarray]
_CURVE, _MAP = 1001, 121  # cells of a curve, and of each side of a map
_COLOURS = ("C0", "C3")  # of below and above
_MOST_BITS = 100.0  # a ratio beyond this many bits is drawn as this many
_MOST_CHOICES = 20  # more choices than this cannot be read
_REGION = "0.55"


def density(
    below: ParzenEstimator,
    above: ParzenEstimator | None = None,
    parameters: str | Sequence[str] | None = None,
    *,
    given: Mapping[str, Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The density of one or two parameters, all others integrated out.

    One parameter is a curve (bars for discrete values) over a rug of the rows, two are a map with the rows
    as dots. With ``above`` there are three panels: below, above, and log2 of their ratio, which is what
    TPE maximises; in the figure the others have the labels "above" and "ratio", as in
    ``{a.get_label(): a for a in ax.figure.axes}``. A density over a logarithmic axis is per decade, so that
    areas mean probabilities.

    Args:
        below, above: fitted estimators on one space.
        parameters: one name or two; the first one or two of the space by default.
        given: values of parameters to condition on, name -> native value (or choice). What a conditional
            parameter depends on must be given, also where it is the other parameter.
        ax: where to draw; three panels share its place, a subplot.

    Raises:
        ValueError: estimators of two spaces, unknown or too many parameters, a parameter whose parents are
            not given, an ``ax`` that is no subplot where there are three panels.
    """
    estimators = {"below": below} if above is None else {"below": below, "above": above}
    for argument, pe in estimators.items():
        hint = "; name parameters by parameters=" if isinstance(pe, (str, list, tuple)) else ""
        _checks.instance(argument, pe, ParzenEstimator, "a parzax.ParzenEstimator", hint)
        if pe.space != below.space:
            raise ValueError("above must be an estimator on the space of below.")
    parts = [_marginal(pe.conditional(given) if given else pe, parameters) for pe in estimators.values()]
    space, names = parts[0][0].space, parts[0][1]
    axes = [_parameters.parameter_axis(space, name, _CURVE if len(names) == 1 else _MAP) for name in names]
    on = Parameters(space, names, axes)
    # As logarithms: far from all rows both densities may be 0 as numbers, and still have a ratio.
    per_unit = sum(np.meshgrid(*(np.log(axis.per_unit) for axis in axes)))
    cells = on.cells(np.zeros(len(space)))
    logs = [np.asarray(pe.log_prob(cells), np.float64) + per_unit for pe, _ in parts]

    ax = _axes.axes_or_new(ax, 4.4 if above is None else 10.2, 3.0 if len(names) == 1 else 3.8)
    places = [ax] if above is None else _axes.panels(ax, [["below", "above", "ratio"]])[0]
    titles = ["density"] if above is None else ["below", "above", "log2 below / above"]
    if given:
        titles[0] += f" given {_text.settings(below.space, given_values(below.space, given), most=2)}"
    rows = [on.places(_rows(pe)) for pe, _ in parts]
    with np.errstate(invalid="ignore"):
        # 0 where neither has any density.
        ratio = np.clip(np.nan_to_num((logs[0] - logs[-1]) / np.log(2)), -_MOST_BITS, _MOST_BITS)
    (_draw_curves if len(names) == 1 else _draw_maps)(places, on, [np.exp(log) for log in logs], rows, ratio)
    for place, title in zip(places, titles, strict=True):
        _axes.set_title(place, title)
        on.label(place)
    return ax


def _marginal(pe: ParzenEstimator, parameters: Any) -> tuple[ParzenEstimator, list[str]]:
    """The density of the parameters asked for alone, and their names."""
    known = pe.space.names
    names = check_names("parameters", known[:2] if parameters is None else parameters, known)
    if len(names) > 2:
        raise ValueError(f"parameters must be one name or two, got {parameters!r}.")
    part = pe.marginal(*names)
    missing = [name for name in part.space.names if name not in names]
    if missing:
        hint = "pass given={...} with a value for each"
        raise ValueError(f"{' and '.join(names)} cannot be drawn without {', '.join(missing)}: {hint}.")
    if any(domain.conditions for name in names for domain in part.space[name]):
        raise ValueError(f"one of {' and '.join(names)} depends on the other: pass given={{...}} for it.")
    return part, names


def _rows(pe: ParzenEstimator) -> np.ndarray:
    """(n, d) native values of the rows that count, NaN where a parameter is inactive."""
    rows = pe.mixture.rows
    x = np.where(np.asarray(rows.regime) == INACTIVE, np.nan, host_frame(pe.space).decode(rows))
    return x[np.asarray(pe.mixture.weight) > 0]


def _draw_curves(places: Any, on: Parameters, densities: Arrays, rows: Arrays, ratio: np.ndarray) -> None:
    """One parameter: below, above and the ratio, as far as there are."""
    (axis,) = on.axes
    top = float(np.nanmax(densities))
    for ax, values, x, colour in zip(places, densities, rows, _COLOURS, strict=False):
        draw_series(ax, axis, [Series(values[None], colour, "density", filled=True)])
        ax.set_ylim(0 if axis.discrete else -0.07 * top, 1.05 * top)
        ax.set_ylabel("probability" if axis.discrete else "density per decade" if axis.log else "density")
        if not axis.discrete:
            # Under the curve, where it hides nothing; equal discrete values would lie on one another.
            ax.plot(x[:, 0], np.full(len(x), -0.035 * top), "|", color=colour, markersize=6, alpha=0.6)
    if len(places) > 1:
        ax = places[2]
        if axis.discrete:
            ax.bar(axis.places, ratio, 0.8, color=np.where(ratio > 0, *_COLOURS).tolist())
        else:
            ax.plot(axis.places, ratio, color="0.2", linewidth=1.8)
            for colour, where in zip(_COLOURS, (ratio > 0, ratio < 0), strict=True):
                area = {"interpolate": True, "color": colour, "alpha": 0.25, "linewidth": 0}
                ax.fill_between(axis.places, ratio, where=where, **area)
        ax.axhline(0, color=_axes.GREY, linewidth=1)
    for ax in places:
        _axes.tidy(ax)


def _draw_maps(places: Any, on: Parameters, densities: Arrays, rows: Arrays, ratio: np.ndarray) -> None:
    """Two parameters: below, above and the ratio, as far as there are."""
    top, edges = float(np.nanmax(densities)), [axis.edges for axis in on.axes]
    for ax, values, x, cmap in zip(places, densities, rows, ("Blues", "Reds"), strict=False):
        _axes.draw_map(ax, edges, values, {}, cmap=cmap, vmin=0, vmax=top)
        ax.plot(x[:, 0], x[:, 1], "o", color="0.1", markersize=2.5, markeredgewidth=0, alpha=0.7)
    if len(places) > 1:
        bound = max(float(np.abs(ratio).max()), 1e-6)
        _axes.draw_map(places[2], edges, ratio, {}, cmap="RdBu", vmin=-bound, vmax=bound)


def values(
    result: ImportanceResult,
    name: str,
    *,
    level: int | float = 0,
    regime: int | Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Which values of a parameter are good: per regime p_T and p_R above, their ratio p_T / p_R below.

    Values whose ratio is above 1 are over-represented among the best configurations. With several seeds
    lines are means over the seeds with target rows in the regime and ribbons (whiskers on bars) one
    standard error to either side. Densities are per grid cell, on the domain's own axis: logarithmic where
    the domain is, side by side where it has few values. A regime without rows, with a single value or with
    bounds that move and are not known has a sentence in place of curves; where they are known, values are
    places between them. A column per regime has the labels "densities 0" and
    "ratio 0", and so on: ``{a.get_label(): a for a in ax.figure.axes}``.

    Args:
        result, level: as in all pictures.
        name: the parameter.
        regime: index of a regime, or several; all by default.
        ax: where to draw, a subplot, whose place all panels share (a ValueError if it is none).
    """
    (name,) = check_names("name", name, check_result(result).names)
    own = find_level(result, level)
    n = len(result.space[name])
    asked = range(n) if regime is None else np.atleast_1d(regime).tolist()
    chosen = [_checks.whole_number("regime", i, 0, n - 1) for i in asked]
    if not chosen:
        raise ValueError(f"regime must be an index or several, got {regime!r}.")
    densities = result.density(name)

    ax = _axes.axes_or_new(ax, max(4.6, 3.2 * len(chosen)), 4.2)
    labels = [[f"{kind} {i}" for i in chosen] for kind in ("densities", "ratio")]
    places = _axes.panels(ax, labels, share=True, height_ratios=[3, 2])
    for (top, bottom), i in zip(places.T, chosen, strict=True):
        _draw_regime(top, bottom, own, name, i, densities[i])
    # Densities leave room for the legend above them, and ratios show 1. A row shares its limits.
    ax.set_ylim(0, 1.22 * ax.get_ylim()[1])
    places[1, 0].set_ylim(0, max(places[1, 0].get_ylim()[1], 1.1))
    ax.set_ylabel("probability" if _axis(own, densities[chosen[0]])[0].discrete else "probability per cell")
    places[1, 0].set_ylabel("ratio  $p_T\\,/\\,p_R$")
    return ax


def _axis(own: Level, density: RegimeDensity) -> tuple[ParameterAxis, np.ndarray]:
    """The axis of a regime, and which cells are drawn: all, or the commonest choices in their own order."""
    domain, kept = density.domain, np.arange(len(density.values))
    if isinstance(domain, Categorical):
        most = np.maximum(own.of(density.target).mean(axis=0), own.of(density.region).mean(axis=0))
        kept = np.sort(np.argsort(-most, kind="stable")[:_MOST_CHOICES])
        return _parameters.side_by_side(kept, [_text.name(density.values[i], 14) for i in kept]), kept
    cells = np.asarray(density.values)
    if isinstance(domain, Varying) and len(cells) > 1:  # places between bounds
        return _parameters.on_scale(Float(0, 1), cells), kept
    if len(cells) == domain.n_values and len(cells) <= _MOST_CHOICES:
        return _parameters.side_by_side(cells, [_text.number(v) for v in density.values]), kept
    return _parameters.on_scale(domain, cells), kept


def _draw_regime(top: Axes, bottom: Axes, own: Level, name: str, i: int, density: RegimeDensity) -> None:
    """Densities and ratio of one regime, or a sentence why there are none; its name and shares."""
    result, domain = own.result, density.domain
    alpha, beta = (own.of(shares)[:, result.names.index(name), i] for shares in (result.alpha, result.beta))
    axis, kept = _axis(own, density)
    Parameters(result.space, [name], [axis]).label(bottom)
    if hidden := len(density.values) - len(kept):
        bottom.set_xlabel(f"{bottom.get_xlabel()} ({hidden} rarer choices not shown)")
    if len(result.space[name]) > 1 or domain.conditions:
        lines = textwrap.wrap(_text.regime_text(domain), 34, max_lines=2, placeholder=" …")
        shares = f"{_percent(alpha.mean())} of the target, {_percent(beta.mean())} of the region"
        top.set_title("\n".join([*map(_text.plain, lines), shares]), fontsize=_axes.font_points(top, 0.9))
    for ax in (top, bottom):
        _axes.tidy(ax)
    nothing = "" if beta.any() else "No rows in this regime."
    if isinstance(domain, Varying) and len(density.values) > 1:
        bottom.set_xlabel(f"{bottom.get_xlabel()}, from its lower bound (0) to its upper one (1)")
    if len(density.values) == 1:
        moves = isinstance(domain, Varying)
        nothing = "The domain moves from row to row:\nno common grid." if moves else "A single value."
    if nothing:
        _axes.note(top, nothing)
        for ax in (top, bottom):
            ax.tick_params(left=False, labelleft=False, bottom=False, labelbottom=False)
        return
    target, region, ratio = (own.of(x)[:, kept] for x in (density.target, density.region, density.ratio))
    colour = colours(result)[name]
    series = [Series(region[beta > 0], _REGION, "region  $p_R$", filled=True)]
    if alpha.any():
        series.append(Series(target[alpha > 0], colour, "target  $p_T$"))
        draw_series(bottom, axis, [Series(ratio[alpha > 0], colour, "ratio")])
        bottom.axhline(1, color=_axes.GREY, linewidth=1, linestyle=(0, (4, 2)), zorder=2.5)
    else:
        # Without rows p_T is what the prior leaves of it, which says nothing about values.
        _axes.note(bottom, "No target rows in this regime.")
    draw_series(top, axis, series)
    look = {"fontsize": _axes.font_points(top, 0.8), "frameon": False, "borderaxespad": 0}
    top.legend(loc="upper right", ncols=2, **look)


def _percent(share: float) -> str:
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"
