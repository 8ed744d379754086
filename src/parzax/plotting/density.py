"""Parzen densities as pictures: a curve with a rug, or a map; below, above and their ratio side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from parzax.parzen import ParzenEstimator
from parzax.parzen.points import slots
from parzax.plotting import _text
from parzax.plotting._matplotlib import GREY, figure_of, font_points, plain, tidy
from parzax.plotting._parameter_axis import ParameterAxis, label_axes, parameter_axis

# Points of a curve, and of each side of a map.
_CURVE, _MAP = 401, 121
_BELOW, _ABOVE = "C0", "C3"
# A ratio beyond this many bits is drawn as this many.
_MOST_BITS = 100.0


def density(
    below: ParzenEstimator,
    above: ParzenEstimator | None = None,
    parameters: str | Sequence[str] | None = None,
    *,
    given: Mapping[str, Any] | None = None,
    ax: Any = None,
) -> np.ndarray:
    """The density of one or two parameters, all others integrated out.

    One parameter is a curve (bars for discrete values) over a rug of the rows, two are a map with the rows
    as dots. With ``above`` there are three panels: below, above, and log2 of their ratio, which is what
    TPE maximises. A density over a logarithmic axis is per decade, so that areas mean probabilities.

    Args:
        below: a fitted estimator.
        above: another one on the same space.
        parameters: one name or two; the first one or two of the space by default.
        given: values of parameters to condition on, name -> native value (or choice). What a conditional
            parameter depends on must be given, also where it is the other parameter.
        ax: Axes to draw on, 1 or 3; a new figure by default.

    Returns:
        (1,) or (3,) array of Axes.

    Raises:
        TypeError, ValueError: arguments that are no estimators of one space, unknown or too many
            parameters, a parameter whose parents are not given, an ``ax`` of the wrong size.
    """
    estimators = [below] if above is None else [below, above]
    for name, pe in zip(("below", "above"), estimators, strict=False):
        if not isinstance(pe, ParzenEstimator):
            hint = "; name parameters by parameters=" if isinstance(pe, (str, list, tuple)) else ""
            raise TypeError(f"{name} must be a parzax.ParzenEstimator, got {type(pe).__name__}{hint}.")
    if above is not None and above.space != below.space:
        raise ValueError("above must be an estimator on the space of below.")
    if given:
        estimators = [pe.conditional(given) for pe in estimators]
    names = _names(estimators[0], parameters)
    parts = [_marginal(pe, names) for pe in estimators]
    axes = _axes(ax, 1 if above is None else 3, len(names))
    titles = ["density"] if above is None else ["below", "above"]
    if given:
        titles = [f"{title} given {_given(given)}" if title == titles[0] else title for title in titles]
    draw = _curve if len(names) == 1 else _map
    grid = [parameter_axis(parts[0].space, name, _CURVE if len(names) == 1 else _MAP) for name in names]
    values = [_evaluate(pe, names, grid) for pe in parts]
    top = max(float(v.max()) for v in values)
    for panel, pe, v, title, colour in zip(axes, parts, values, titles, (_BELOW, _ABOVE), strict=False):
        draw(panel, grid, v, _rows(pe, names, grid), colour, top)
        panel.set_title(title, fontsize=font_points(panel, 1.0))
    if above is not None:
        # From logs: far from all rows both densities may be 0 as numbers, and still differ.
        logs = [_evaluate(pe, names, grid, log=True) for pe in parts]
        ratio = np.clip((logs[0] - logs[1]) / np.log(2), -_MOST_BITS, _MOST_BITS)
        (_ratio_curve if len(names) == 1 else _ratio_map)(axes[2], grid, ratio)
        axes[2].set_title("log2 below / above", fontsize=font_points(axes[2], 1.0))
    for panel in axes:
        label_axes(panel, grid, names)
    return axes


def _given(values: Mapping[str, Any]) -> str:
    """Values in a few words for a title."""
    shown = [
        f"{name} = {_text.choice(v, 14) if isinstance(v, str) else _text.number(v) if v is not None else v}"
        for name, v in values.items()
    ]
    return plain(", ".join(shown[:2]) + (", ..." if len(shown) > 2 else ""))


def _names(pe: ParzenEstimator, parameters: Any) -> tuple[str, ...]:
    if parameters is None:
        return pe.space.names[:2]
    names = (parameters,) if isinstance(parameters, str) else tuple(parameters)
    if not 1 <= len(names) <= 2 or len(set(names)) < len(names):
        raise ValueError(f"parameters must be one name or two, got {parameters!r}.")
    for name in names:
        if name not in pe.space:
            raise ValueError(f"parameters: {name!r} is not among {', '.join(pe.space.names)}.")
    return names


def _marginal(pe: ParzenEstimator, names: tuple[str, ...]) -> ParzenEstimator:
    part = pe.marginal(*names)
    missing = [name for name in part.space.names if name not in names]
    if missing:
        raise ValueError(
            f"{' and '.join(names)} cannot be drawn without {', '.join(missing)}: "
            "pass given={...} with a value for each."
        )
    if any(domain.conditions for name in names for domain in part.space[name]):
        raise ValueError(f"one of {' and '.join(names)} depends on the other: pass given={{...}} for it.")
    return part


def _evaluate(
    pe: ParzenEstimator, names: tuple[str, ...], grid: list[ParameterAxis], *, log: bool = False
) -> np.ndarray:
    """Density on the grid, (size,) or (size of the second, size of the first); or its logarithm."""
    mesh = np.meshgrid(*(axis.values for axis in grid))
    columns = {name: m.ravel() for name, m in zip(names, mesh, strict=True)}
    x = np.stack([columns[name] for name in pe.space.names], axis=-1)
    if log:
        return np.asarray(pe.log_prob(x)).reshape(mesh[0].shape)
    out = np.asarray(pe.prob(x)).reshape(mesh[0].shape)
    for factor in np.meshgrid(*(axis.decades for axis in grid)):
        out = out * factor
    return out


def _rows(pe: ParzenEstimator, names: tuple[str, ...], grid: list[ParameterAxis]) -> np.ndarray:
    """Where the rows are drawn that have all of the parameters, (n, 1 or 2)."""
    present = np.asarray(pe.weight) > 0
    columns = []
    for name, axis in zip(names, grid, strict=True):
        slot = next(s for s in slots(pe.space) if pe.space.names[s.parameter] == name)
        j = slot.parameter
        present &= np.asarray(pe.kernels.regime)[:, j] == slot.regime
        if slot.axis.kind == "continuous":
            columns.append(slot.axis.native_at(np.asarray(pe.kernels.unit)[:, j], np))
        else:
            columns.append(axis.places[np.asarray(pe.kernels.index)[:, j]])
    return np.stack(columns, axis=-1)[present]


def _axes(ax: Any, n: int, n_parameters: int) -> np.ndarray:
    if ax is None:
        import matplotlib.pyplot as plt

        width, height = (4.4, 3.0) if n_parameters == 1 else (4.4, 3.8)
        width = width if n == 1 else 3.4 * n
        return plt.subplots(1, n, figsize=(width, height), squeeze=False, layout="constrained")[1].reshape(n)
    given = np.asarray(ax, dtype=object).reshape(-1)
    if given.size != n or not all(isinstance(a, Axes) for a in given):
        raise ValueError(f"ax must be {n} matplotlib Axes, got {type(ax).__name__} of {given.size}.")
    return given


def _curve(
    ax: Axes, grid: list[ParameterAxis], values: np.ndarray, rows: np.ndarray, colour: str, top: float
) -> None:
    (axis,) = grid
    tidy(ax)
    if axis.discrete:
        ax.bar(axis.places, values, 0.8, color=colour, alpha=0.85)
    else:
        ax.plot(axis.places, values, color=colour, linewidth=1.8)
        ax.fill_between(axis.places, values, color=colour, alpha=0.15, linewidth=0)
    # Under the curve, where it hides nothing; equal discrete values would lie on one another.
    if not axis.discrete:
        ax.plot(rows[:, 0], np.full(len(rows), -0.035 * top), "|", color=colour, markersize=6, alpha=0.6)
    ax.set_ylim(-0.07 * top if not axis.discrete else 0, 1.05 * top)
    ax.set_ylabel("probability" if axis.discrete else "density per decade" if axis.log else "density")


def _ratio_curve(ax: Axes, grid: list[ParameterAxis], ratio: np.ndarray) -> None:
    (axis,) = grid
    tidy(ax)
    if axis.discrete:
        ax.bar(axis.places, ratio, 0.8, color=np.where(ratio > 0, _BELOW, _ABOVE).tolist(), alpha=0.85)
    else:
        ax.plot(axis.places, ratio, color="0.2", linewidth=1.8)
        ax.fill_between(axis.places, ratio, where=(ratio > 0).tolist(), color=_BELOW, alpha=0.25, linewidth=0)
        ax.fill_between(axis.places, ratio, where=(ratio < 0).tolist(), color=_ABOVE, alpha=0.25, linewidth=0)
    ax.axhline(0, color=GREY, linewidth=1)


def _map(
    ax: Axes, grid: list[ParameterAxis], values: np.ndarray, rows: np.ndarray, colour: str, top: float
) -> None:
    cmap = "Blues" if colour == _BELOW else "Reds"
    mesh = ax.pcolormesh(grid[0].edges, grid[1].edges, values, cmap=cmap, vmin=0, vmax=top, rasterized=True)
    # Discrete values of several rows would hide each other; a fixed spread shows how many there are.
    shift = np.random.default_rng(0).uniform(-0.3, 0.3, rows.shape)
    spread = rows + shift * [axis.discrete for axis in grid]
    ax.plot(spread[:, 0], spread[:, 1], "o", color="0.1", markersize=2.5, markeredgewidth=0, alpha=0.7)
    figure_of(ax).colorbar(mesh, ax=ax, fraction=0.05, pad=0.02)


def _ratio_map(ax: Axes, grid: list[ParameterAxis], ratio: np.ndarray) -> None:
    bound = max(float(np.abs(ratio).max()), 1e-6)
    mesh = ax.pcolormesh(
        grid[0].edges, grid[1].edges, ratio, cmap="RdBu", vmin=-bound, vmax=bound, rasterized=True
    )
    figure_of(ax).colorbar(mesh, ax=ax, fraction=0.05, pad=0.02)
