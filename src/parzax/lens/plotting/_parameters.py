"""Parameters as axes of a picture: cells, positions of values, ticks, and densities over one parameter."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from parzax.lens.plotting import _axes
from parzax.lens.plotting._arguments import check_names, shorten_name
from parzax.lens.results.phrases import number
from parzax.lens.results.result import mean_and_error
from parzax.space import Categorical, Domain, Float, Int, Numeric, Ordinal, Space, Varying

# More values than this are not named one by one; more integers than this keep a domain's log axis.
_MOST_LABELS, _MOST_BESIDE_LOG = 20, 12
_MOST_BESIDE = 128  # more values than this are not drawn side by side
_FEW_CELLS = 20  # with more cells than this a curve needs no dots
_LEVEL_TEXT = 28  # labels with more characters than this in total are written at an angle


class ParameterAxis(NamedTuple):
    """The values of one parameter in a picture."""

    values: np.ndarray  # (g,) native values (codes of categories), one per cell
    places: np.ndarray  # (g,) positions of the values on the axis
    # (g,) factor from a density per native unit, or the mass of a value, to a density per unit of the axis
    # (per decade on a logarithmic one); 1 where values stand side by side.
    per_unit: np.ndarray
    log: bool = False  # whether the axis is logarithmic
    labels: Sequence[str] = ()  # (g,) names of values that stand side by side; none on a continuous axis

    @property
    def discrete(self) -> bool:
        """Whether values are drawn side by side, each in a cell of width 1."""
        return len(self.labels) > 0

    @property
    def edges(self) -> np.ndarray:
        """(g + 1,) ends of the cells."""
        return np.exp(get_edges(np.log(self.places))) if self.log else get_edges(self.places)

    def place(self, values: np.ndarray) -> np.ndarray:
        """Positions at which native ``values`` are drawn; NaN stays NaN."""
        if not self.discrete:
            return values
        nearest = np.abs(values[..., None] - self.values).argmin(axis=-1)
        return np.where(np.isnan(values), np.nan, self.places[nearest])


def get_edges(places: np.ndarray) -> np.ndarray:
    """(g + 1,) ends of cells: half-way between ``places``, and as far beyond the outermost places."""
    if len(places) == 1:
        return places + np.array([-0.5, 0.5])
    half = np.diff(places) / 2
    return np.concatenate([places[:1] - half[:1], places[:-1] + half, places[-1:] + half[-1:]])


def parameter_axis(space: Space, name: str, size: int) -> ParameterAxis:
    """The axis of a parameter over all its domains: ``size`` cells, or one per value if those are fewer."""
    domain = _unite(space[name])
    # Drawn side by side, many integers would hide the log scale.
    most = _MOST_BESIDE_LOG if isinstance(domain, Int) and domain.log else _MOST_BESIDE
    if isinstance(domain, Numeric) and (domain.n_values or np.inf) > min(size, most):
        return _cut(domain, size)
    values = domain.list_values()
    drawn = np.linspace(0, len(values) - 1, min(size, len(values))).round().astype(int)
    labels = _name_codes(space[name]) if isinstance(domain, Categorical) else [number(v) for v in values]
    return side_by_side(values[drawn], [labels[i] for i in drawn])


def side_by_side(values: np.ndarray, labels: list[str]) -> ParameterAxis:
    """Make cells of width 1 for ``values``, so that no cell is too thin to see."""
    return ParameterAxis(values, np.arange(len(values), dtype=float), np.ones(len(values)), labels=labels)


def on_scale(domain: Domain, values: np.ndarray) -> ParameterAxis:
    """Make cells around ``values``, on a logarithmic axis if the domain has one."""
    return ParameterAxis(values, values, np.ones(len(values)), getattr(domain, "log", False))


def _cut(domain: Numeric, size: int) -> ParameterAxis:
    """Cells of equal width on the domain's axis, or one cell around each value if there are few values."""
    step = 0.0 if isinstance(domain, Varying) else getattr(domain, "step", None) or 0.0
    low, high = domain.low, domain.high
    cut = np.geomspace if domain.log else np.linspace
    middles = cut(low - step / 2, high + step / 2, 2 * size + 1)[1::2]
    axis = on_scale(domain, domain.list_values() if (domain.n_values or np.inf) <= size else middles)
    if not step:
        return axis._replace(per_unit=axis.places * np.log(10)) if domain.log else axis
    values = np.clip(np.round((axis.places - low) / step) * step + low, low, high)
    lower, upper = values - step / 2, values + step / 2
    width = np.log10(upper / lower) if domain.log else upper - lower
    return axis._replace(values=values, per_unit=1 / width)


class Parameters(NamedTuple):
    """One or two parameters of a space, and their axes in a picture."""

    space: Space
    names: Sequence[str]
    axes: Sequence[ParameterAxis]

    def cells(self, others: np.ndarray) -> np.ndarray:
        """(..., d) native values in every cell, by row and column; ``others`` has the other parameters."""
        mesh = np.meshgrid(*(axis.values for axis in self.axes))
        x = np.tile(others, (*mesh[0].shape, 1))
        for name, values in zip(self.names, mesh, strict=True):
            x[..., self.space.index(name)] = values
        return x

    def places(self, x: np.ndarray) -> np.ndarray:
        """(n, k) positions at which (n, d) rows are drawn, NaN where a row lacks the parameter."""
        columns = [x[:, self.space.index(name)] for name in self.names]
        places = np.stack([axis.place(c) for axis, c in zip(self.axes, columns, strict=True)], axis=-1)
        # Equal rows would hide each other, so discrete values are shifted within their cells (fixed seed).
        shift = np.random.default_rng(0).uniform(-0.3, 0.3, places.shape)
        return places + shift * [axis.discrete for axis in self.axes]

    def label(self, ax: Axes) -> None:
        """Set the scales, ticks and names of the axes."""
        for which, axis, name in zip((ax.xaxis, ax.yaxis), self.axes, self.names, strict=False):
            which.set_label_text(shorten_name(name))
            if axis.log:
                _axes.set_log_scale(which, *axis.places[[0, -1]])
            if axis.discrete:
                n = len(axis.places)
                at = np.arange(n) if n <= _MOST_LABELS else np.linspace(0, n - 1, 6).round().astype(int)
                labels = [axis.labels[i] for i in at.tolist()]
                steep = which is ax.xaxis and sum(map(len, labels)) > _LEVEL_TEXT
                look = {"rotation": 40, "ha": "right", "fontsize": "small"}
                which.set_ticks(axis.places[at], labels, **(look if steep else {}))


def choose_parameters(space: Space, parameters: Any, sizes: Mapping[int, int]) -> Parameters:
    """The named parameters, by default the first two; ``sizes``: number of them -> cells of each."""
    names = check_names("parameters", space.names[:2] if parameters is None else parameters, space.names)
    if len(names) not in sizes:
        has_one = f"; the space has one parameter, {space.names[0]!r}" if len(space) == 1 else ""
        raise ValueError(f"parameters must be {' or '.join(map(str, sizes))} names, got {names!r}{has_one}.")
    size = sizes[len(names)]
    return Parameters(space, names, [parameter_axis(space, name, size) for name in names])


def draw_density(
    ax: Axes, axis: ParameterAxis, seeds: np.ndarray, *, filled: bool = False, slot: Any = (0, 1), **look: Any
) -> None:
    """Draw the mean of (s, g) densities: a curve with a ribbon for errors, or bars with whiskers.

    ``slot`` is the index and the number of bars side by side; ``look`` has the colour and the label.
    """
    values, errors = mean_and_error(seeds)
    if axis.discrete:
        width = 0.8 / slot[1]
        places = axis.places + (slot[0] - (slot[1] - 1) / 2) * width
        ax.bar(places, values, width, **look)
        _axes.draw_whiskers(ax, places, values, yerr=errors)
        return
    marker = "o" if len(values) <= _FEW_CELLS else None
    ax.plot(axis.places, values, linewidth=1.8, marker=marker, markersize=3.5, **look)
    _axes.draw_ribbon(ax, axis.places, values - errors, values + errors, look["color"])
    if filled:
        area = look | {"linewidth": 0, "alpha": 0.15, "zorder": 0.5, "label": "_area"}
        ax.fill_between(axis.places, values, **area)


def _unite(domains: Sequence[Domain]) -> Domain:
    """One domain with the values of all domains."""
    if len(domains) == 1:
        return domains[0]
    if isinstance(domains[0], Categorical):
        return max(domains, key=lambda domain: domain.n_values or 0)
    if sum(domain.n_values or np.inf for domain in domains) <= _MOST_BESIDE:
        return Ordinal(np.unique(np.concatenate([domain.list_values() for domain in domains])).tolist())
    ends = np.concatenate([[d.low, d.high] if isinstance(d, Numeric) else d.list_values() for d in domains])
    log = all(getattr(domain, "log", False) for domain in domains)
    return Float(float(ends.min()), float(ends.max()), log=log)


def _name_codes(domains: Sequence[Domain]) -> list[str]:
    """Name of every code of a category; several names for a code if the domains differ."""
    lists = [[shorten_name(c, 14) for c in d.choices] for d in domains if isinstance(d, Categorical)]
    # Lists may have different lengths; a name that occurs in several lists is written once.
    by_code = (dict.fromkeys(filter(None, names)) for names in zip_longest(*lists))
    return [" / ".join(names) for names in by_code]
