"""Source tasks of a study that is under way: in its plan's space, fitted once per plan, and to begin with."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parzax.adapters._codec import Codec
from parzax.adapters.optuna_parameters import Parameter
from parzax.adapters.optuna_plan import Plan
from parzax.adapters.optuna_regimes import choice_label
from parzax.observations import Observations
from parzax.samplers import Sampler
from parzax.samplers.source_rows import SourceRows, in_space, source_rows
from parzax.samplers.sources import Sources, fit_sources
from parzax.samplers.warm import best
from parzax.space import Categorical, Condition, Domain, In, Ordinal, Space, choice_key

# Fits that are kept: a study of two branches may go back and forth between plans.
_MOST_FITS = 4


class SourceTasks:
    """Source tasks of a sampler of studies.

    Attributes:
        report: a line per task, of what was used of it in the last fit.
    """

    def __init__(self, logs: Mapping[str, Observations], n_first: int, comparison: dict[str, Any]) -> None:
        """Keep the logs.

        Args:
            logs: by name, at least one.
            n_first: number of trials that take the values of good source rows.
            comparison: settings, see `parzax.samplers.presets.comparison_of`.

        Raises:
            ValueError: logs of several seeds, or of different numbers of objectives.
        """
        self._logs, self._comparison = dict(logs), comparison
        self.n_objectives = next(iter(self._logs.values())).n_objectives
        for name in self._logs:
            self._check(name, self.n_objectives)
        self._first = _distinct(_best(list(self._logs.values()), n_first))
        self._forget()

    def _forget(self) -> None:
        self.report: tuple[str, ...] = ()
        self._fits: dict[Any, Sources] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("report", "_fits")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()

    def check(self, study_name: str, n_objectives: int) -> None:
        """Raise ValueError where the sources cannot be those of a study."""
        if study_name in self._logs:
            raise ValueError(
                f"source_studies: {study_name!r} is the name of the study itself; leave it out with "
                f"parzax.adapters.optuna.sources(storage, exclude={study_name!r}), or, where it is another "
                "study of that name, give a dict with another one."
            )
        if self.n_objectives != n_objectives:
            self._check(next(iter(self._logs)), n_objectives)

    def _check(self, name: str, n_objectives: int) -> None:
        log = self._logs[name]
        if log.batch_shape:
            raise ValueError(f"source_studies: {name!r} has {log!r}; give one log per task.")
        if log.n_objectives != n_objectives:
            raise ValueError(
                f"source_studies: {name!r} has {log.n_objectives} objectives, but {n_objectives} are wanted."
            )

    def first(self, seed: int, number: int, parameter: Parameter) -> float:
        """The native value that trial ``number`` takes from a good source row, NaN where there is none.

        The rows are in an order that the seed decides, one for each number, so that trials that run at the
        same time differ.
        """
        if number >= len(self._first):
            return np.nan
        row = self._first[np.random.default_rng(seed).permutation(len(self._first))[number]]
        native = parameter.to_native(row[parameter.name]) if parameter.name in row else np.nan
        return np.nan if parameter.domains[0].outside(np.asarray(native)) else native

    def fitted(self, sampler: Sampler, plan: Plan) -> Sampler:
        """The sampler of a plan's codec with the densities of the sources, fitted at most once per plan."""
        codec = plan.codec
        assert codec is not None
        codes = tuple((p.name, tuple((p.codes or {}).items())) for p in plan.parameters)
        m, c = sampler.n_objectives, sampler.n_constraints
        key = (codec.native, codes, m, c, jnp.result_type(float))
        if key not in self._fits:
            rows = source_rows(_labelled(plan), self._logs, m, c)
            fit = fit_sources(
                sampler, [_travelling(codec, one) for one in rows], key=jax.random.key(0), **self._comparison
            )
            kept = list(self._fits.items())[-_MOST_FITS + 1 :]
            self._fits = {**dict(kept), key: fit}
        self.report = self._fits[key].report
        return replace(sampler, sources=self._fits[key])


def _best(logs: list[Observations], n: int) -> list[dict[str, Any]]:
    """The best rows of all logs as name -> value."""
    tasks = []
    for log in logs:
        feasible = np.ones(log.n, bool) if log.constraints is None else (log.constraints <= 0).all(axis=-1)
        tasks.append((log.losses, feasible, ~np.isnan(log.losses).any(axis=-1)))
    out = []
    for log, index in zip(logs, best(tasks, n), strict=True):
        for i in index:
            row = zip(log.space.names, log.values[i].tolist(), log.regime[i].tolist(), strict=True)
            out.append({name: _external(log.space[name][r], x) for name, x, r in row if r >= 0})
    return out


def _external(domain: Domain, value: float) -> Any:
    if isinstance(domain, Categorical):
        return domain.choices[int(value)]
    whole = domain.kind == "int" or (isinstance(domain, Ordinal) and isinstance(domain.values[0], int))
    return round(value) if whole else value


def _distinct(rows: Any) -> list[dict[str, Any]]:
    return list({tuple(sorted((name, repr(x)) for name, x in row.items())): row for row in rows}.values())


def _labelled(plan: Plan) -> Space:
    """The plan's native space with the study's labels for choices: an inferred one has numbers instead."""
    assert plan.codec is not None
    native = plan.codec.native
    labels = {p.name: _labels(p.choices) for p in plan.parameters if p.codes is not None}

    def condition(own: Condition) -> Condition:
        if not isinstance(own, In) or own.parent not in labels:
            return own
        parent = native[own.parent][0]
        assert isinstance(parent, Categorical)
        return replace(own, values=[labels[own.parent][parent.codes[choice_key(v)]] for v in own.values])

    def domain(name: str, own: Domain) -> Domain:
        own = replace(own, when=tuple(condition(c) for c in own.conditions))
        return replace(own, choices=labels[name]) if isinstance(own, Categorical) else own

    return Space({name: tuple(domain(name, own) for own in native[name]) for name in native.names})


def _labels(choices: Sequence[Any]) -> list[Any]:
    """Labels that differ: of choices that Optuna takes twice, and of NaN, their number is part."""
    out: dict[Any, Any] = {}
    for number, choice in enumerate(choices):
        label = choice_label(choice)
        again = label != label or choice_key(label) in out
        label = f"{label!r}, choice {number}" if again else label
        out[choice_key(label)] = label
    return list(out.values())


def _travelling(codec: Codec, rows: SourceRows) -> SourceRows:
    """Rows of the native space in the codec's."""
    placed = in_space(codec.space, codec.encode_rows(rows.x, np.asarray(rows.at.regime)))
    return replace(rows, x=placed.x, at=placed.at)
