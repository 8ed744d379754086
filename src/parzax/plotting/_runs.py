"""Runs and their rows as NumPy arrays: what the pictures of optimisation take."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from parzax.plotting._arguments import DASHES, PALETTE
from parzax.plotting._matplotlib import plain
from parzax.samplers import Sampler, State, Trace
from parzax.space import Space


class Named(NamedTuple):
    """Runs of one sampler, and how they look.

    Attributes:
        name: for the legend; "" for runs without a name.
        objectives: (s, n, m) float64.
        feasible: (s, n) whether a row satisfies all constraints and has no NaN among its objectives.
        constrained: whether there are constraints at all.
        colour, dash: of its lines.
    """

    name: str
    objectives: np.ndarray
    feasible: np.ndarray
    constrained: bool
    colour: str
    dash: Any


class Rows(NamedTuple):
    """The rows of one run, in order.

    Attributes:
        x: (n, d) native values.
        objectives: (n, m); NaN for pending or failed rows.
        constraints: (n, c).
    """

    x: np.ndarray
    objectives: np.ndarray
    constraints: np.ndarray

    @property
    def told(self) -> np.ndarray:
        """(n,) whether a row has all its objectives."""
        return np.asarray(~np.isnan(self.objectives).any(axis=-1))

    @property
    def satisfied(self) -> np.ndarray:
        """(n,) whether a row is known to satisfy all constraints."""
        return np.asarray((self.constraints <= 0).all(axis=-1))

    @property
    def best(self) -> int | None:
        """Number of the first best row: feasible, with the least first objective; None without one."""
        usable = self.told & self.satisfied
        return int(np.where(usable, self.objectives[:, 0], np.inf).argmin()) if usable.any() else None

    @property
    def nearest(self) -> int | None:
        """As `best`; where nothing is feasible, a row that violates fewest constraints; None without rows."""
        if self.best is not None or not self.told.any():
            return self.best
        violated = np.where(self.told, (~(self.constraints <= 0)).sum(axis=-1), np.inf)
        return int(np.lexsort((self.objectives[:, 0], violated))[0])


def named_runs(traces: Any) -> list[Named]:
    """The runs of every sampler, checked: of a trace, or of a mapping from names to traces."""
    several = isinstance(traces, Mapping)
    if several and not traces:
        raise ValueError("traces must hold at least one name and its parzax.samplers.Trace.")
    out = []
    for i, (name, trace) in enumerate(traces.items() if several else [("", traces)]):
        if not isinstance(trace, Trace):
            where = f"traces[{name!r}]" if several else "traces"
            hint = "" if several else ", or a mapping from names to them"
            raise TypeError(
                f"{where} must be a parzax.samplers.Trace (from px.optimize or px.optimize_many){hint}, "
                f"got {type(trace).__name__}."
            )
        objectives, constraints = _flat(trace.objectives), _flat(trace.constraints)
        feasible = np.asarray((constraints <= 0).all(axis=-1) & ~np.isnan(objectives).any(axis=-1))
        look = PALETTE[i % len(PALETTE)], DASHES[i // len(PALETTE) % len(DASHES)]
        out.append(Named(plain(str(name)), objectives, feasible, constraints.shape[-1] > 0, *look))
    return out


def rows_of(rows: Any, run: int | None) -> Rows:
    """The rows of a state, or of one run of a trace."""
    if isinstance(rows, State):
        if np.ndim(rows.count):
            raise ValueError(
                f"this is a batch of states of shape {np.shape(rows.count)}; "
                "choose one, as in jax.tree.map(lambda a: a[0], state)."
            )
        n = int(rows.count)
        parts = [np.asarray(a, np.float64)[:n] for a in (rows.x, rows.objectives, rows.constraints)]
        return Rows(*parts)
    if not isinstance(rows, Trace):
        raise TypeError(
            f"rows must be a sampler's State or a parzax.samplers.Trace, got {type(rows).__name__}."
        )
    parts = [np.asarray(a, np.float64) for a in (rows.x, rows.objectives, rows.constraints)]
    shape = parts[0].shape[:-2]
    if shape and run is None:
        raise ValueError(f"this trace has runs of shape {shape}; choose one with run=.")
    if not shape:
        return Rows(*parts)
    parts = [_flat(a) for a in parts]
    if isinstance(run, bool) or not isinstance(run, int) or not -len(parts[0]) <= run < len(parts[0]):
        raise ValueError(f"run must be a whole number below {len(parts[0])}, got {run!r}.")
    return Rows(*(a[run] for a in parts))


def _flat(values: Any) -> np.ndarray:
    """(s, n, columns) in float64: all leading axes as one, also of arrays without columns."""
    array = np.asarray(values, np.float64)
    return array.reshape(math.prod(array.shape[:-2]), *array.shape[-2:])


def space_of(space: Any) -> Space:
    """A space, or that of a sampler or a problem."""
    found = space if isinstance(space, Space) else getattr(space, "space", None)
    if not isinstance(found, Space):
        raise TypeError(
            f"space must be a parzax.Space, or a sampler or problem that has one, got {type(space).__name__}."
        )
    return found


def check_sampler(sampler: Any) -> Sampler:
    """Return ``sampler`` if it is one, or raise."""
    if not isinstance(sampler, Sampler):
        raise TypeError(f"sampler must be a parzax sampler such as px.tpe(space), got {sampler!r}.")
    return sampler
