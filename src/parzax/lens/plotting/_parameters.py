"""Parameters as axes of a picture: cells, positions of values, ticks."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.ticker import MaxNLocator

from parzax.lens.plotting import _axes
from parzax.lens.plotting._arguments import check_names, shorten_name
from parzax.lens.results.texts import number
from parzax.space import Categorical, Domain, Float, Int, Numeric, Ordinal, Space

# More values than this are not named one by one.
_MOST_LABELS = 20
_LEVEL_TEXT = 28  # labels with more characters than this in total are written at an angle


class ParameterAxis(NamedTuple):
    """The values of one parameter in a picture."""

    values: np.ndarray  # (g,) native values (codes of categories), one per cell
    log: bool = False  # whether the axis is logarithmic
    labels: Sequence[str] = ()  # (g,) names of values that stand side by side; none on a continuous axis
    integer: bool = False  # whether values are whole numbers
    periodic: bool = False  # whether values are on a circle

    @property
    def discrete(self) -> bool:
        """Whether values are drawn side by side, each in a cell of width 1."""
        return len(self.labels) > 0

    @property
    def places(self) -> np.ndarray:
        """(g,) positions of the values on the axis."""
        return np.arange(len(self.values), dtype=float) if self.discrete else self.values

    @property
    def edges(self) -> np.ndarray:
        """(g + 1,) ends of the cells."""
        return np.exp(get_edges(np.log(self.places))) if self.log else get_edges(self.places)

    def curves(self, *curves: np.ndarray) -> tuple[np.ndarray, ...]:
        """Positions of curves, and the curves; on a circle both of their ends are at the seam and agree."""
        if not self.periodic:
            return self.places, *curves
        half = (self.places[-1:] - self.places[:1]) / (len(self.places) - 1) / 2
        seams = [(curve[:1] + curve[-1:]) / 2 for curve in curves]
        places = np.concatenate([self.places[:1] - half, self.places, self.places[-1:] + half])
        return places, *(np.concatenate([s, curve, s]) for s, curve in zip(seams, curves, strict=True))

    def place(self, values: np.ndarray) -> np.ndarray:
        """Positions at which native ``values`` are drawn; NaN stays NaN."""
        if not self.discrete:
            return values
        nearest = np.abs(values[..., None] - self.values).argmin(axis=-1)
        return np.where(np.isnan(values), np.nan, self.places[nearest])

    def label(self, which: XAxis | YAxis, name: str) -> None:
        """Set the scale, the ticks and the name of an axis of the picture."""
        which.set_label_text(shorten_name(name))
        if self.log:
            _axes.set_log_scale(which, *self.places[[0, -1]])
        elif self.integer:
            which.set_major_locator(MaxNLocator(6, integer=True))
        if self.discrete:
            n = len(self.places)
            at = np.arange(n) if n <= _MOST_LABELS else np.linspace(0, n - 1, 6).round().astype(int)
            labels = [self.labels[i] for i in at.tolist()]
            steep = which is which.axes.xaxis and sum(map(len, labels)) > _LEVEL_TEXT
            look = {"rotation": 40, "ha": "right", "fontsize": "small"}
            which.set_ticks(self.places[at], labels, **(look if steep else {}))


def get_edges(places: np.ndarray) -> np.ndarray:
    """(g + 1,) ends of cells: half-way between ``places``, and as far beyond the outermost places."""
    if len(places) == 1:
        return places + np.array([-0.5, 0.5])
    half = np.diff(places) / 2
    return np.concatenate([places[:1] - half[:1], places[:-1] + half, places[-1:] + half[-1:]])


def parameter_axis(space: Space, name: str, size: int) -> ParameterAxis:
    """The axis of a parameter over all its domains: ``size`` cells, or one per value if those are fewer."""
    domain = _unite(space[name], size)
    if (domain.n_values or np.inf) <= size:
        return choose_axis(domain, domain.list_values())
    places = domain.axis.drawn((np.arange(size) + 0.5) / size)
    return choose_axis(domain, np.unique(domain.axis.native(*places)))


def choose_axis(domain: Domain, values: np.ndarray) -> ParameterAxis:
    """Cells for ``values``: side by side if they are codes, or all of a few numbers; else on the scale."""
    if isinstance(domain, Categorical):
        return ParameterAxis(values, labels=[shorten_name(domain.choices[int(i)], 14) for i in values])
    if len(values) == domain.n_values and len(values) <= _MOST_LABELS:
        return ParameterAxis(values, labels=list(map(number, values)))
    log = getattr(domain, "log", False)
    return ParameterAxis(values, log, integer=isinstance(domain, Int), periodic=domain.periodic)


class Plane(NamedTuple):
    """Two parameters of a space, and their axes in a picture."""

    space: Space
    names: Sequence[str]
    axes: Sequence[ParameterAxis]

    def cells(self, others: np.ndarray) -> np.ndarray:
        """(rows, columns, d) native values in every cell; ``others`` has the other parameters."""
        mesh = np.meshgrid(*(axis.values for axis in self.axes))
        x = np.tile(others, (*mesh[0].shape, 1))
        for name, values in zip(self.names, mesh, strict=True):
            x[..., self.space.index(name)] = values
        return x

    def places(self, x: np.ndarray) -> np.ndarray:
        """(n, 2) positions at which (n, d) rows are drawn, NaN where a row lacks the parameter."""
        columns = [x[:, self.space.index(name)] for name in self.names]
        places = np.stack([axis.place(c) for axis, c in zip(self.axes, columns, strict=True)], axis=-1)
        # Equal rows would hide each other, so discrete values are shifted within their cells (fixed seed).
        shift = np.random.default_rng(0).uniform(-0.3, 0.3, places.shape)
        return places + shift * [axis.discrete for axis in self.axes]

    def label(self, ax: Axes) -> None:
        """Set the scales, ticks and names of the axes."""
        for which, axis, name in zip((ax.xaxis, ax.yaxis), self.axes, self.names, strict=True):
            axis.label(which, name)


def check_pair(parameters: Any, space: Space) -> list[str]:
    """Return ``parameters`` if they are the names of two parameters, or raise."""
    names = check_names("parameters", parameters, space.names)
    if len(names) != 2:
        has_one = f"; the space has one parameter, {space.names[0]!r}" if len(space) == 1 else ""
        raise ValueError(f"parameters must be 2 names, got {names!r}{has_one}.")
    return names


def choose_plane(space: Space, parameters: Any, size: int) -> Plane:
    """The two named parameters, by default the first two; continuous ones have ``size`` cells."""
    names = check_pair(space.names[:2] if parameters is None else parameters, space)
    return Plane(space, names, [parameter_axis(space, name, size) for name in names])


def _unite(domains: Sequence[Domain], size: int) -> Domain:
    """One domain with the values of all domains; of more than ``size`` numbers, their range.

    A code of a category gets several names if the domains differ.
    """
    if len(domains) == 1:
        return domains[0]
    if isinstance(domains[0], Categorical):
        # Lists may have different lengths; a name that occurs in several lists is written once.
        by_code = zip_longest(*[map(str, d.choices) for d in domains if isinstance(d, Categorical)])
        return Categorical([" / ".join(dict.fromkeys(filter(None, names))) for names in by_code])
    if sum(domain.n_values or np.inf for domain in domains) <= size:
        return Ordinal(np.unique(np.concatenate([domain.list_values() for domain in domains])).tolist())
    ends = np.concatenate([[d.low, d.high] if isinstance(d, Numeric) else d.list_values() for d in domains])
    log = all(getattr(domain, "log", False) for domain in domains)
    return Float(float(ends.min()), float(ends.max()), log=log)
