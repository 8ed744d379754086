"""The space to search next, from logs of `px.tpe` on tables, for `benchmarks.studies.adaptive_logs`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.adaptive_problems import problem_of
from benchmarks.studies.adaptive_readings import fit_log
from benchmarks.studies.adaptive_searches import Logs, load
from benchmarks.studies.papers.runs import Arrays

# Trials of a further search.
N_MORE = 50
# The next space holds this best part of the space, as that of `parzax.cond_ped_anova`.
LEVEL = 0.002


def read_next(logs: Logs, n_logs: int, n_searched: int) -> Arrays:
    """A unit: the next spaces of the first logs, and further searches from fewer of them.

    Returns:
        "quality" (s,) of the surrogate. "holds" (s,): whether the next space has the best configuration of
        the table. "part" (s,): which part of the table it has. "before" (s,), "old", "new" (few,): by how
        much the best loss is above that of the table, as a part of the median's distance: after the log, and
        after `N_MORE` more trials in the old and in the new space, each of which begins with the log's rows.
    """
    table, arrays = problem_of(logs.problem), load(logs)
    losses = np.nanmean(np.asarray(table.losses)[..., 0], axis=1)
    every = np.asarray(jax.vmap(table.decode)(np.arange(len(losses))), float)
    best = np.nanargmin(losses)
    encode = jax.jit(jax.vmap(table.encode))

    def gap(x: np.ndarray) -> float:
        """Of the best of rows."""
        least = np.nanmin(losses[np.asarray(encode(jnp.asarray(x)))])
        return (least - losses[best]) / (np.nanmedian(losses) - losses[best])

    found: dict[str, list] = {name: [] for name in ("quality", "holds", "part", "before", "old", "new")}
    find_region = jax.jit(lambda key, posterior: px.surrogate.region(key, posterior, level=LEVEL))
    for i, (x, loss) in enumerate(zip(arrays["x"][:n_logs], arrays["loss"], strict=False)):
        key = jax.random.key(i)
        posterior = fit_log(table.space, x, loss)
        with jax.enable_x64(True):
            region = jax.tree.map(np.asarray, find_region(key, posterior))
        inside = _inside(region, every)
        found["quality"].append(posterior.quality)
        found["holds"].append(inside[best])
        found["part"].append(inside.mean())
        found["before"].append(gap(x))
        if i < n_searched:
            for name, space in (("old", table.space), ("new", region.narrowed())):
                rows = _inside(region, np.asarray(x, float)) if name == "new" else np.ones(len(x), bool)
                more = _search_on(key, space, table, x[rows], loss[rows])
                found[name].append(gap(np.concatenate([x, more])))
    return {name: np.asarray(values, np.float32) for name, values in found.items()}


def _inside(region: px.surrogate.Region, x: np.ndarray) -> np.ndarray:
    """Which rows (n, d) are in the region of an unconditional space."""
    inside = np.ones(len(x), bool)
    for j, (domain,) in enumerate(region.space.domains):
        if isinstance(domain, px.Categorical):
            inside &= np.asarray(region.choices)[j][x[:, j].astype(int)]
        else:
            near = 1e-5 * np.abs(x[:, j])  # logs are in float32
            inside &= (region.low[j] <= x[:, j] + near) & (x[:, j] - near <= region.high[j])
    return inside


def _search_on(key: Any, space: px.Space, table: Any, x: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """`N_MORE` further configurations (n, d) of `px.tpe` in a part of the table's space, from its rows."""
    to_part, to_table = _recode(table.space, space)
    sampler, evaluate = px.tpe(space), jax.jit(lambda key, x: table(key, x)[0])
    state = sampler.tell(sampler.init(len(x) + N_MORE), to_part(x), loss)
    rows = []
    for key_of_trial in jax.random.split(key, N_MORE):
        ask, train = jax.random.split(key_of_trial)
        suggestion = sampler.ask(ask, state)
        rows.append(to_table(np.asarray(suggestion))[0])
        state = sampler.tell(state, suggestion, evaluate(train, rows[-1])[None])
    return np.array(rows)


def _recode(space: px.Space, part: px.Space) -> tuple[Callable, Callable]:
    """Rows of a space as rows of a part of it, and back: codes count the choices that are left."""
    codes = {
        j: np.array([domain.choices.index(choice) for choice in kept.choices])
        for j, ((domain,), (kept,)) in enumerate(zip(space.domains, part.domains, strict=True))
        if isinstance(domain, px.Categorical) and isinstance(kept, px.Categorical)
    }

    def recoded(x: np.ndarray, *, back: bool) -> np.ndarray:
        x = np.array(x)
        for j, of_part in codes.items():
            x[:, j] = of_part[x[:, j].astype(int)] if back else np.searchsorted(of_part, x[:, j])
        return x

    return lambda x: recoded(x, back=False), lambda x: recoded(x, back=True)
