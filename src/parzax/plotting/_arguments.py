"""What pictures take: names of parameters; results, their levels and colours; runs and rows."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.lines import Line2D

from parzax import _checks
from parzax._palette import PALETTE
from parzax.plotting import _text
from parzax.plotting._axes import Entry
from parzax.results import ImportanceOverWeights, ImportanceResult
from parzax.results.base import mean_and_error
from parzax.samplers import State, Trace

# A second and a third round through the palette differ by the kind of line.
_DASHES = ("solid", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
OTHERS = "0.5"
_NEAR = 0.05  # a level asked for as a float may differ by this much from the nearest one before a warning


def check_result(result: Any) -> ImportanceResult:
    """Return ``result`` if it is an `ImportanceResult`, or raise."""
    return _checks.instance(
        "result", result, ImportanceResult, "a parzax.ImportanceResult (from cond_ped_anova)"
    )


def check_names(argument: str, names: Any, of_space: Sequence[str]) -> list[str]:
    """``names``, or the only one, as a list, if they are different ones ``of_space``; or raise."""
    asked = [names] if isinstance(names, str) else names
    _checks.instance(argument, asked, Sequence, "names of parameters")
    for name in asked:
        if name not in of_space:
            raise ValueError(
                f"{argument}: no parameter {name!r}; there are {', '.join(map(repr, of_space))}."
            )
    if not asked or len(set(asked)) < len(asked):
        raise ValueError(f"{argument} must be different names, at least one, got {names!r}.")
    return list(asked)


def check_choice(result: ImportanceResult, names: Any, most: Any) -> tuple[list[str] | None, int]:
    """The parameters asked for, None for any, and how many are drawn at most."""
    most = _checks.whole_number("max_parameters", most, 1)
    if names is None:
        return None, most
    asked = check_names("parameters", names, result.names)
    return asked, len(asked)


class Level(NamedTuple):
    """One level of a result: its ``number``-th."""

    result: ImportanceResult
    number: int

    def of(self, array: np.ndarray) -> np.ndarray:
        """(s, ...) what a (..., q, ...) ``array`` of the result has at this level, by seed."""
        return self.result.by_seed(array.astype(np.float64))[:, self.number]

    def mean_and_error(self, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard error of (s, ...) values over the seeds that have an importance at the level."""
        return mean_and_error(array, self.of(self.result.has_importance) > 0)

    def label(self, kind: str, seeds: str) -> str:
        """Label of an axis of importances; how many of several seeds count is said in the words ``seeds``."""
        n, counted = self.result.n_seeds, int(self.result.seeds_counted[self.number])
        count = seeds.format(f"{n} seeds" if counted == n else f"{counted} of {n} seeds")
        quantile = self.result.target_quantile[self.number]
        return f"importance at γ′ = {quantile:g}{kind}" + (f" ({count})" if n > 1 else "")


def find_level(result: Any, level: Any) -> Level:
    """The level asked for, by index or (a float) the nearest target quantile; called by the picture."""
    return Level(check_result(result), level_number(result.target_quantile, level))


def level_number(quantiles: np.ndarray, level: Any) -> int:
    """Which of (q,) target quantiles is asked for, as in `find_level`."""
    if isinstance(level, (int, np.integer)):
        n = len(quantiles)
        return _checks.whole_number("level", level, -n, n - 1) % n
    wanted = _checks.quantile("level", level)
    nearest = int(np.abs(quantiles - wanted).argmin())
    if abs(quantiles[nearest] - wanted) > _NEAR + 1e-9:
        text = f"there is no level {wanted:g}: the nearest one, {quantiles[nearest]:g}, is drawn."
        warnings.warn(text, UserWarning, stacklevel=_checks.outside())
    return nearest


class Contribution(NamedTuple):
    """What is drawn as one: mostly one parameter, else the sum of several; their columns and its look."""

    name: str
    columns: list[int]
    colour: str
    dash: Any


def line_look(i: int) -> tuple[str, Any]:
    """Colour and dashes of the ``i``-th line."""
    return PALETTE[i % len(PALETTE)], _DASHES[i // len(PALETTE) % len(_DASHES)]


def overall_ranking(result: ImportanceResult) -> list[str]:
    """Parameter names by importance, the mean over levels of that over seeds."""
    mean = result.over_seeds()[0].mean(axis=0)
    return [result.names[j] for j in np.argsort(-mean, kind="stable")]


def contributions(
    result: ImportanceResult | ImportanceOverWeights, names: Sequence[str], most: int, ranking: Sequence[str]
) -> list[Contribution]:
    """The first ``most`` of ``names`` alone, and the others together, unless that is a single one.

    Their colours are those of their places in ``ranking``.
    """
    most += len(names) == most + 1
    columns = [result.names.index(name) for name in names]
    looks = [line_look(ranking.index(name)) for name in names]
    out = [Contribution(name, [j], *look) for name, j, look in zip(names, columns, looks, strict=True)][:most]
    if columns[most:]:
        out.append(Contribution(f"{len(columns) - most} others", columns[most:], OTHERS, "solid"))
    return out


def colours(result: ImportanceResult) -> dict[str, str]:
    """Colour of every parameter in all pictures of ``result``, by rank of its importance over all levels."""
    return {name: line_look(i)[0] for i, name in enumerate(overall_ranking(check_result(result)))}


class SamplerRuns(NamedTuple):
    """All runs of one sampler, and how they look."""

    name: str  # for the legend; "" for runs without a name
    objectives: np.ndarray  # (s, n, m) float64, as the problem gave them
    signs: np.ndarray  # (m,) -1 for objectives that are maximised, else 1
    feasible: np.ndarray  # (s, n) whether a row satisfies all constraints and has no NaN among its objectives
    constrained: bool  # whether there are constraints at all
    colour: str
    dash: Any

    def entry(self, remark: str) -> list[Entry]:
        """Of a key: the name, and a remark about the runs; none without either."""
        words = ": ".join(filter(None, (self.name, remark)))
        line = Line2D([], [], color=self.colour, linestyle=self.dash, linewidth=2.0)
        return [(line, words)] if words else []


class Rows(NamedTuple):
    """The rows of one run, in order."""

    x: np.ndarray  # (n, d) native values
    objectives: np.ndarray  # (n, m) of a state minimised, of a trace as the problem gave them; NaN without
    constraints: np.ndarray  # (n, c)
    constraint_only: np.ndarray  # (n,) whether only constraints were asked for
    evaluated: np.ndarray  # (n,) whether a row has all its objectives
    feasible: np.ndarray  # (n,) whether a row is evaluated and known to satisfy all constraints
    nearest: int | None  # first row that violates fewest constraints, then with the least first objective
    best: int | None  # that row if it is feasible


def named_runs(traces: Any) -> list[SamplerRuns]:
    """The runs of every sampler, checked: of a trace, or of a mapping from names to traces."""
    named = traces if isinstance(traces, Mapping) else {"": traces}
    if not named:
        raise ValueError("traces must hold at least one name and its parzax.samplers.Trace.")
    out = []
    for i, (name, trace) in enumerate(named.items()):
        where = f"traces[{name!r}]" if named is traces else "traces"
        wanted = "a parzax.samplers.Trace (from px.optimize), or a mapping of names to such"
        _checks.instance(where, trace, Trace, wanted)
        objectives, constraints, signs = _flat(trace.objectives), _flat(trace.constraints), signs_of(trace)
        feasible = np.asarray((constraints <= 0).all(axis=-1) & ~np.isnan(objectives).any(axis=-1))
        constrained = constraints.shape[-1] > 0
        out.append(SamplerRuns(_text.name(name), objectives, signs, feasible, constrained, *line_look(i)))
    return out


def rows_of(rows: Any, run: int | None) -> Rows:
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
    parts = (rows.x, rows.objectives, rows.constraints)
    x, objectives, constraints = (_flat(part)[chosen, :n] for part in parts)
    only = np.asarray(rows.constraint_only)[:n] if is_state else np.zeros(n, bool)
    losses = objectives if is_state else objectives * signs_of(rows)
    evaluated = np.asarray(~np.isnan(objectives).any(axis=-1))
    feasible = evaluated & (constraints <= 0).all(axis=-1)
    violated = np.where(evaluated, (~(constraints <= 0)).sum(axis=-1), np.inf)
    nearest = int(np.lexsort((losses[:, 0], violated))[0]) if evaluated.any() else None
    best = nearest if feasible.any() else None
    return Rows(x, objectives, constraints, only, evaluated, feasible, nearest, best)


def signs_of(trace: Trace) -> np.ndarray:
    """(m,) what objectives are multiplied by to be minimised."""
    return np.array([-1.0 if direction == "maximize" else 1.0 for direction in trace.directions])


def _flat(values: Any) -> np.ndarray:
    """(s, n, columns) in float64: all leading axes as one, also of arrays without columns."""
    array = np.asarray(values, np.float64)
    return array.reshape(math.prod(array.shape[:-2]), *array.shape[-2:])
