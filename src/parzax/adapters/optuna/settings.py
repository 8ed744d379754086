"""How a study is sampled: the presets and their arguments, and what became of those of Optuna's sampler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, Literal

from optuna.trial import FrozenTrial

from parzax import _checks
from parzax.meta import MixedSmoothing, source_rows
from parzax.meta.comparison import check_comparison
from parzax.meta.reduction import check_count
from parzax.meta.weights import check_weights
from parzax.observations import Observations
from parzax.samplers import (
    RandomStart,
    Sampler,
    c_tpe,
    meta_learn_tpe,
    mo_tpe,
    optuna_tpe,
    paper_meta_learn_tpe,
    paper_tpe,
    tpe,
)
from parzax.space import Float, Space

ConstraintsFunc = Callable[[FrozenTrial], Sequence[float]]
Preset = Literal["tpe", "optuna_tpe", "paper_tpe"]

# What became of arguments of Optuna's own sampler.
OPTUNAS = {
    "weights": "ages=parzax.ages.ramp() gives older trials less weight, as Optuna's default does",
    "consider_prior": "there is always a prior; its weight is prior_weight",
    "consider_magic_clip": "use bandwidth=parzax.bandwidth.neighbours(consider_magic_clip=...)",
    "consider_endpoints": "use bandwidth=parzax.bandwidth.neighbours(consider_endpoints=...)",
    "categorical_distance_func": "declare an ordered parameter as parzax.Ordinal in space",
    "warn_independent_sampling": "there is no such warning",
    "n_startup": "use n_startup_trials",
    "n_candidates": "use n_ei_candidates",
}
# What is always so here.
_ALWAYS = {
    "multivariate": "parameters are always sampled jointly",
    "group": "conditional parameters are always sampled jointly",
    "constant_liar": "running trials are always above",
}
_DEFAULTS = signature(meta_learn_tpe).parameters


@dataclass(frozen=True)
class Settings:
    """Arguments of a preset (None is its own), and how sources are compared, see `parzax.meta_learn_tpe`."""

    preset: Preset | None
    arguments: Mapping[str, Any]
    comparison: Mapping[str, Any]
    has_sources: bool

    def __post_init__(self) -> None:
        """Raise for what some preset would not take."""
        own = self.comparison
        if self.preset is not None:
            _checks.one_of("preset", self.preset, ("tpe", "optuna_tpe", "paper_tpe"))
        mo_tpe(Space({"x": Float(0, 1)}), 2, 1, **self._given())
        if self.mixes:
            check_comparison(own["eta"], own["estimate"], own["n_samples"], None)
            if own["max_candidates"] is not None:
                _checks.whole_number("max_candidates", own["max_candidates"], 1)
            _checks.one_of("importance", own["importance"], ("mean", "sum"))
            check_count(own["n_good"])
            if own["task_weights"] is not None:
                check_weights(own["task_weights"])
            if self.preset == "optuna_tpe":
                raise ValueError(
                    "preset='optuna_tpe' has no densities that mix tasks; leave task_weights out."
                )
            return
        why = "there are no source_studies"
        if self.has_sources:
            why = "without task_weights they give the first trials alone"
        for name, x in own.items():
            if x != _DEFAULTS[name].default:
                raise TypeError(f"{name} compares source studies, but {why}.")

    @property
    def mixes(self) -> bool:
        """Whether the densities are mixtures over the sources."""
        return self.has_sources and (
            self.preset == "paper_tpe" or self.comparison["task_weights"] is not None
        )

    def sampler(self, space: Space, n_objectives: int, n_constraints: int) -> Sampler:
        """The sampler of a study without sources, or of a parameter whose density does not see them."""
        if self.preset != "paper_tpe":
            preset = optuna_tpe if self.preset == "optuna_tpe" else tpe
            return preset(space, n_objectives, n_constraints, n_startup=0, **self._given())
        if self.has_sources:
            # As random as where the sources count.
            own = {"epsilon": signature(paper_meta_learn_tpe).parameters["epsilon"].default} | self._given()
            return mo_tpe(space, n_objectives, n_constraints, n_startup=0, **own)
        if n_objectives > 1:
            return mo_tpe(space, n_objectives, n_constraints, n_startup=0, **self._given())
        if n_constraints:
            return c_tpe(space, n_constraints, n_startup=0, **self._given(c_tpe))
        return paper_tpe(space, n_startup=0, **self._given(paper_tpe))

    def with_sources(
        self, space: Space, logs: Mapping[str, Observations], n_objectives: int, n_constraints: int
    ) -> tuple[Sampler, tuple[str, ...]]:
        """The sampler of a study with sources, and what could be used of each."""
        if not self.mixes:
            # Of the first trials each constraint counts as it is.
            rows = source_rows(space, logs, n_objectives, 0)
            found = self.sampler(space, n_objectives, n_constraints)
            return found, tuple(one.summary(mixed=False) for one in rows)
        preset = paper_meta_learn_tpe if self.preset == "paper_tpe" else meta_learn_tpe
        own_of_preset = ("task_weights", "max_candidates")
        own: dict[str, Any] = dict(self.comparison)
        own = {name: x for name, x in own.items() if x is not None or name not in own_of_preset}
        own |= {**self._given(), "n_startup": 0, "start": RandomStart()}
        found = preset(space, logs, n_objectives, n_constraints, **own)
        assert isinstance(found.smoothing, MixedSmoothing)
        return found, found.smoothing.sources.report

    def _given(self, preset: Callable[..., Sampler] = mo_tpe) -> dict[str, Any]:
        names = signature(preset).parameters
        return {name: x for name, x in self.arguments.items() if x is not None and name in names}


def refuse(others: Mapping[str, Any], always: Mapping[str, bool]) -> None:
    """Raise for arguments that are none, and for what cannot be switched off."""
    for name in others:
        why = f"is no argument of this sampler; {OPTUNAS[name]}" if name in OPTUNAS else "is no argument"
        raise TypeError(f"{name} {why}.")
    for name, value in always.items():
        if not _checks.flag(name, value):
            raise ValueError(f"{name}=False is not possible: {_ALWAYS[name]}; leave it out.")
