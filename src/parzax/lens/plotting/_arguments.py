"""Arguments of pictures as they are drawn: names, levels, colours and sums of parameters; runs; texts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax.lens._palette import PALETTE
from parzax.lens._words import join_names
from parzax.lens.results import ImportanceResult
from parzax.lens.results.result import mean_and_error
from parzax.lens.results.texts import CHOICE, NAME, number, short_names, shorten, size_text
from parzax.lens.tables.names import suggest
from parzax.samplers import Trace
from parzax.space import Categorical, Space

Look = dict[str, Any]
# A line or a bar: its name as it is drawn, the columns of the parameters whose sum it is, and its look.
Part = tuple[str, list[int], Look]
# A line that repeats a colour of the palette gets the next pattern of dashes.
_DASHES = ("solid", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
_OTHERS = {"color": "0.5", "linestyle": "solid"}
_NEAR = 0.05 + 1e-9  # largest distance between a level that is asked for and the one that is drawn


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


def choose_names(parameters: Any, ranking: Sequence[str]) -> list[str]:
    """The named parameters, or the first ones of ``ranking`` if ``parameters`` is their number."""
    if isinstance(parameters, (str, Sequence)):
        return check_names("parameters", parameters, ranking)
    return list(ranking[: _checks.whole_number("parameters", parameters, 1)])


def choose_parts(
    result: ImportanceResult, parameters: Any, ranking: Sequence[str], most: int | None = None
) -> list[Part]:
    """A part for each chosen parameter (at most ``most``), and one for the rest unless names were given.

    A parameter's colour depends on its place in the ranking over all levels.
    """
    chosen, rest = choose_names(parameters, ranking), []
    if not isinstance(parameters, (str, Sequence)):
        chosen = chosen[:most]
        rest = [name for name in ranking if name not in chosen]
    if len(rest) == 1:
        chosen, rest = chosen + rest, []
    looks, short = choose_looks(result), shorten_names(result.names)
    parts: list[Part] = [(short[name], [result.names.index(name)], looks[name]) for name in chosen]
    others = [result.names.index(name) for name in rest]
    return parts + [(f"{len(rest)} others", others, _OTHERS)] * bool(rest)


def sum_part(
    data: np.ndarray, counts: np.ndarray, columns: list[int], log: ImportanceResult | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(q,) mean of a part over the seeds that count, and the low and the high end of its interval.

    A sum of several parameters of a single log has no interval (NaN).

    Args:
        data: (s, q, d) values of all parameters.
        counts: (s, q) whether a seed counts at a level.
        columns: the parameters whose values are added.
        log: result of a single log, which has intervals; None takes one standard error to either side.
    """
    mean, error = mean_and_error(data[..., columns].sum(axis=-1), counts)
    if log is None:
        return mean, mean - error, mean + error
    interval = log.by_seed(log.importance_interval)[0, :, columns[0]]
    low, high = (interval if len(columns) == 1 else np.full(interval.shape, np.nan)).T
    return mean, low, high


def label_level(result: ImportanceResult, index: int) -> str:
    """The label of an axis of importances at one level."""
    quantile = result.levels[index]
    return f"importance for the best {100 * quantile:g} %, γ′ = {quantile:g}"


def describe_spread(counts: np.ndarray, log: ImportanceResult | None = None) -> str:
    """A line for the label of an axis: what ribbons and whiskers are, by arguments of `sum_part`; or ""."""
    if log is not None and log.n_resamples:
        return f"\n({100 * log.coverage:g} % interval, {log.n_resamples} {log.replicates_are})"
    n, counted = len(counts), counts.sum(axis=0)
    if n == 1:
        return ""
    shown = size_text(counted[counted > 0]) if counted.any() else "0"
    seeds = f"{n} seeds" if shown == str(n) else f"{shown} of {n} seeds"
    return f"\n(mean ± standard error, {seeds})"


def find_level(result: Any, level: Any) -> int:
    """Index of the level nearest to ``level``; None stands for `AbstractResult.usual_level`."""
    if level is None:
        return result.usual_level
    wanted = _checks.quantile("level", level)
    nearest = int(np.abs(result.levels - wanted).argmin())
    if abs(result.levels[nearest] - wanted) > _NEAR:
        raise ValueError(f"level: the result has none near {wanted:g}; try {result.levels[nearest]:g}.")
    return nearest


def rank_overall(result: ImportanceResult) -> list[str]:
    """Parameter names by importance, averaged over seeds and then over levels."""
    mean = result.mean.mean(axis=0)
    return [result.names[j] for j in np.argsort(-mean, kind="stable")]


def choose_look(i: int) -> Look:
    """Colour and dashes of the ``i``-th line."""
    return {"color": PALETTE[i % len(PALETTE)], "linestyle": _DASHES[i // len(PALETTE) % len(_DASHES)]}


def choose_looks(result: ImportanceResult) -> dict[str, Look]:
    """Colour and dashes of every parameter, by rank of its importance over all levels."""
    return {name: choose_look(i) for i, name in enumerate(rank_overall(result))}


def flatten_runs(trace: Trace) -> Trace:
    """A trace of s runs in NumPy float64: leading axes are merged, and a single run gets one."""
    _checks.on_host("a run", trace)
    arrays = jax.tree.map(lambda a: np.asarray(a, np.float64), replace(trace, state=None))
    return jax.tree.map(lambda a: a.reshape(math.prod(a.shape[:-2]), *a.shape[-2:]), arrays)


def check_runs(traces: Any) -> dict[str, Trace]:
    """Check the traces of pictures of runs; return them by the name that is drawn, "" for a single trace."""
    by_name = traces if isinstance(traces, Mapping) else {"": traces}
    if not by_name:
        raise ValueError("traces must hold at least one name and its parzax.samplers.Trace.")
    for name, trace in by_name.items():
        where = f"traces[{name!r}]" if by_name is traces else "traces"
        wanted = "a parzax.samplers.Trace (from px.optimize), or a mapping of names to such traces"
        _checks.instance(where, trace, Trace, wanted)
    short = shorten_names(list(map(str, by_name)))
    return {short[str(name)]: flatten_runs(trace) for name, trace in by_name.items()}


def get_signs(trace: Trace) -> np.ndarray:
    """(m,) factors of the objectives: -1 if maximised, else 1."""
    return np.array([-1.0 if direction == "maximize" else 1.0 for direction in trace.directions])


def escape(text: str) -> str:
    """``text`` drawn literally, on one line: control characters are replaced, dollar signs escaped."""
    shown = (c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return "".join(shown).replace("$", r"\$")


def shorten_name(name: Any, length: int = NAME) -> str:
    """A name given by the user, as it is drawn."""
    return escape(shorten(str(name), length))


def shorten_names(names: Sequence[str]) -> dict[str, str]:
    """Names given by the user, as they are drawn: about 24 characters each, all different."""
    return dict(zip(names, map(escape, short_names(names, 24)), strict=True))


def describe_settings(space: Space, values: Mapping[str, float], most: int = 4) -> str:
    """The first ``most`` native values with their names, such as "lr = 0.01, no momentum and 3 more"."""
    settings = []
    for name, value in values.items():
        short, domain, text = shorten(name, NAME), space[name][0], number(value)
        if isinstance(domain, Categorical) and not math.isnan(value):
            text = shorten(str(domain.choices[int(value)]), CHOICE)
        settings.append(f"no {short}" if math.isnan(value) else f"{short} = {text}")
    return escape(join_names(settings, most))
