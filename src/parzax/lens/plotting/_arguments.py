"""Arguments of pictures: names of parameters; results, their levels and colours; runs and rows."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from parzax import _checks
from parzax.lens._palette import PALETTE
from parzax.lens.plotting import _axes, _text
from parzax.lens.results import ImportanceResult
from parzax.lens.results.result import mean_and_error
from parzax.lens.tables.table import suggest
from parzax.samplers import State, Trace

# A line that repeats a colour of the palette gets the next pattern of dashes.
_DASHES = ("solid", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
_OTHERS = {"color": "0.5", "linestyle": "solid"}
_NEAR = 0.05  # A float level that is further than this from the nearest target quantile gives a warning.


def check_result(result: Any) -> ImportanceResult:
    """Return ``result`` if it is an `ImportanceResult`, or raise."""
    wanted = "a parzax.ImportanceResult (from cond_ped_anova)"
    return _checks.instance("result", result, ImportanceResult, wanted)


def check_names(argument: str, names: Any, options: Sequence[str]) -> list[str]:
    """Return ``names`` (one or several) as a list; raise unless they are different and among ``options``."""
    chosen = [names] if isinstance(names, str) else names
    _checks.instance(argument, chosen, Sequence, "names of parameters")
    for name in chosen:
        if name not in options:
            raise ValueError(f"{argument}: no parameter {name!r}; {suggest([name], options, 'there are')}")
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{argument} must be different names, at least one, got {names!r}.")
    return list(chosen)


def choose_names(result: Any, names: Any, most: Any, ranking: list[str]) -> tuple[list[str], int]:
    """The names to draw (by default ``ranking``), and the number of them that are drawn separately."""
    most = _checks.whole_number("max_parameters", most, 1)
    chosen = ranking if names is None else check_names("parameters", names, result.names)
    return chosen, most if names is None else len(chosen)


class Level(NamedTuple):
    """One level of a result; ``number`` is its index."""

    result: ImportanceResult
    number: int

    def by_seed(self, array: np.ndarray) -> np.ndarray:
        """(s, ...) entries of a (..., q, ...) ``array`` of the result at this level, by seed."""
        return self.result.by_seed(array.astype(np.float64))[:, self.number]

    def mean_and_error(self, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error of (s, ...) values, over the seeds that have an importance at the level."""
        return mean_and_error(array, self.by_seed(self.result.has_importance) > 0)

    def label(self, kind: str, seeds: str) -> str:
        """Label of an axis of importances; ``seeds`` has the words for the number of seeds that count."""
        n, n_counted = self.result.n_seeds, int(self.result.seeds_counted[self.number])
        count = seeds.format(f"{n} seeds" if n_counted == n else f"{n_counted} of {n} seeds")
        quantile = self.result.levels[self.number]
        best = f"importance for the best {100 * quantile:g} %, γ′ = {quantile:g}{kind}"
        return best + (f" ({count})" if n > 1 else "")


def find_level(result: Any, level: Any) -> Level:
    """The requested level: an index, or a float for the nearest target quantile. Only pictures call this.

    None stands for the level that tables and the page show first, `ImportanceResult.usual_level`.
    """
    return Level(check_result(result), find_index(result, level))


def find_index(result: Any, level: Any) -> int:
    """Index of the requested level in the result, as in `find_level`."""
    quantiles = result.levels
    if level is None:
        return result.usual_level
    if isinstance(level, (int, np.integer)):
        n = len(quantiles)
        return _checks.whole_number("level", level, -n, n - 1) % n
    wanted = _checks.quantile("level", level)
    nearest = int(np.abs(quantiles - wanted).argmin())
    if abs(quantiles[nearest] - wanted) > _NEAR + 1e-9:
        text = f"there is no level {wanted:g}: the nearest one, {quantiles[nearest]:g}, is drawn."
        warnings.warn(text, UserWarning, stacklevel=_checks.outside())
    return nearest


def choose_look(i: int) -> dict[str, Any]:
    """Colour and dashes of the ``i``-th line."""
    return {"color": PALETTE[i % len(PALETTE)], "linestyle": _DASHES[i // len(PALETTE) % len(_DASHES)]}


def rank_overall(result: ImportanceResult) -> list[str]:
    """Parameter names by importance, averaged over seeds and then over levels."""
    mean = result.mean.mean(axis=0)
    return [result.names[j] for j in np.argsort(-mean, kind="stable")]


def split_names(
    result: ImportanceResult, names: list[str], most: int, ranking: list[str]
) -> list[tuple[str, list[int], dict[str, Any]]]:
    """Name, columns and look of each line or bar: one for each of the first ``most`` names, one for the rest.

    A parameter's colour depends on its place in ``ranking``.
    """
    most += len(names) == most + 1
    columns = [result.names.index(name) for name in names]
    looks = [choose_look(ranking.index(name)) for name in names[:most]]
    parts = [(name, [j], look) for name, j, look in zip(names, columns, looks, strict=False)]
    if columns[most:]:
        parts.append((f"{len(columns) - most} others", columns[most:], _OTHERS))
    return parts


def colours(result: ImportanceResult) -> dict[str, str]:
    """Colour of every parameter in all pictures of ``result``, by rank of its importance over all levels."""
    return {name: choose_look(i)["color"] for i, name in enumerate(rank_overall(check_result(result)))}


class SamplerRuns(NamedTuple):
    """All runs of one sampler, and the look of their lines."""

    name: str  # for the legend; "" for runs without a name
    losses: np.ndarray  # (s, n, m) float64, as the problem gave them
    signs: np.ndarray  # (m,) -1 for objectives that are maximised, else 1
    feasible: np.ndarray  # (s, n) whether a row satisfies all constraints and has no NaN among its objectives
    constrained: bool  # whether there are constraints at all
    look: dict[str, Any]  # colour and dashes

    def make_entries(self, remark: str) -> list[_axes.Entry]:
        """The entry of a legend, with the name and a remark about the runs; [] if both are empty."""
        words = ": ".join(filter(None, (self.name, remark)))
        return [(_axes.make_handle(linewidth=2.0, **self.look), words)] if words else []


class Rows(NamedTuple):
    """The rows of one run, in order."""

    x: np.ndarray  # (n, d) native values
    objectives: np.ndarray  # (n, m) minimised for a state, as the problem gave them for a trace; may be NaN
    constraints: np.ndarray  # (n, c)
    constraint_only: np.ndarray  # (n,) whether only the constraints were evaluated
    evaluated: np.ndarray  # (n,) whether a row has all its objectives
    feasible: np.ndarray  # (n,) whether a row is evaluated and known to satisfy all constraints
    nearest: int | None  # first row that violates fewest constraints, then with the least first objective
    best: np.ndarray  # (n,) true at the row ``nearest`` if it is feasible


def check_runs(traces: Any) -> list[SamplerRuns]:
    """Check the traces of pictures of runs, and return the runs of each sampler."""
    by_name = traces if isinstance(traces, Mapping) else {"": traces}
    if not by_name:
        raise ValueError("traces must hold at least one name and its parzax.samplers.Trace.")
    samplers = []
    for i, (name, trace) in enumerate(by_name.items()):
        where = f"traces[{name!r}]" if by_name is traces else "traces"
        wanted = "a parzax.samplers.Trace (from px.optimize), or a mapping of names to such traces"
        _checks.instance(where, trace, Trace, wanted)
        objectives, constraints = _flatten(trace.losses), _flatten(trace.constraints)
        feasible = (constraints <= 0).all(axis=-1) & ~np.isnan(objectives).any(axis=-1)
        facts = objectives, _get_signs(trace), np.asarray(feasible), constraints.shape[-1] > 0
        samplers.append(SamplerRuns(_text.shorten_name(name), *facts, choose_look(i)))
    return samplers


def take_rows(rows: Any, run: int | None) -> Rows:
    """The rows of a state, or of one run of a trace."""
    _checks.instance("rows", rows, (State, Trace), "a sampler's State or a parzax.samplers.Trace")
    batch, is_state = np.shape(rows.x)[:-2], isinstance(rows, State)
    if batch and is_state:
        hint = "choose one, as in jax.tree.map(lambda a: a[0], state)"
        raise ValueError(f"this is a batch of states of shape {batch}; {hint}.")
    if batch and run is None:
        raise ValueError(f"this trace has runs of shape {batch}; choose one with run=.")
    n_runs = math.prod(batch)
    chosen = _checks.whole_number("run", run, -n_runs, n_runs - 1) if batch else 0
    n = int(rows.count) if is_state else np.shape(rows.x)[-2]
    arrays = (rows.x, rows.losses, rows.constraints)
    x, objectives, constraints = (_flatten(array)[chosen, :n] for array in arrays)
    constraint_only = np.asarray(rows.constraint_only)[:n] if is_state else np.zeros(n, bool)
    losses = objectives if is_state else objectives * _get_signs(rows)
    evaluated = np.asarray(~np.isnan(objectives).any(axis=-1))
    feasible = evaluated & (constraints <= 0).all(axis=-1)
    n_violated = np.where(evaluated, (~(constraints <= 0)).sum(axis=-1), np.inf)
    nearest = int(np.lexsort((losses[:, 0], n_violated))[0]) if evaluated.any() else None
    best = feasible & (np.arange(n) == nearest)
    return Rows(x, objectives, constraints, constraint_only, evaluated, feasible, nearest, best)


def _get_signs(trace: Trace) -> np.ndarray:
    """(m,) factors of the objectives: -1 if maximised, else 1."""
    return np.array([-1.0 if direction == "maximize" else 1.0 for direction in trace.directions])


def _flatten(values: Any) -> np.ndarray:
    """(s, n, columns) in float64: leading axes are merged, and arrays without columns get one."""
    _checks.on_host("a run", values)
    array = np.asarray(values, np.float64)
    return array.reshape(math.prod(array.shape[:-2]), *array.shape[-2:])
