"""Settings of a study's sampler: the preset, and advice on arguments of Optuna's sampler and of presets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from optuna.trial import FrozenTrial

from parzax import _checks
from parzax.lens.logs import Observations
from parzax.meta import MixedSmoothing, source_rows
from parzax.samplers import RandomStart, Sampler, meta_learn_tpe, tpe
from parzax.samplers.meta_learning import check_mixing
from parzax.space import Float, Space

ConstraintsFunc = Callable[[FrozenTrial], Sequence[float]]
Preset = Callable[..., Sampler]

# Arguments of Optuna's sampler that ours lacks, and what to do instead.
OPTUNAS = {
    "weights": "ages is an option of the preset, and preset=functools.partial(parzax.tpe, "
    "ages=parzax.ages.Ramp()) gives older trials less weight, as Optuna's default does",
    "consider_prior": "there is always a prior; its weight is prior_weight",
    "consider_magic_clip": "use preset=functools.partial(parzax.tpe, "
    "bandwidth=parzax.bandwidth.Neighbours(consider_magic_clip=...))",
    "consider_endpoints": "use preset=functools.partial(parzax.tpe, "
    "bandwidth=parzax.bandwidth.Neighbours(consider_endpoints=...))",
    "categorical_distance_func": "declare an ordered parameter as parzax.Ordinal in space",
    "warn_independent_sampling": "there is no such warning",
    "n_startup": "use n_startup_trials",
    "n_candidates": "use n_ei_candidates",
}
# Arguments of Optuna's sampler that cannot be False.
_ALWAYS = {
    "multivariate": "parameters are always sampled jointly",
    "group": "conditional parameters are always sampled jointly",
    "constant_liar": "running trials always count as bad (the group above)",
}
# Options of the presets, except ``directions``, which the study has.
_OPTIONS = [name for name, p in signature(meta_learn_tpe).parameters.items() if p.kind is p.KEYWORD_ONLY]
_OPTIONS.remove("directions")


class Settings:
    """A preset; a study adds its numbers of objectives and constraints, and perhaps source tasks."""

    def __init__(self, preset: Preset, has_sources: bool, options: Mapping[str, Any]) -> None:
        """Raise for a wrong preset and for wrong options; an option of None is left to the preset."""
        _checks.instance("preset", preset, Callable, "a function such as parzax.tpe")
        given = {name: value for name, value in options.items() if value is not None}
        arguments, chosen_before = signature(partial(preset).func), partial(preset).keywords
        if has_sources and partial(preset).func is tpe and "share_power" not in chosen_before:
            given["share_power"] = signature(meta_learn_tpe).parameters["share_power"].default
        # Whether the preset takes source tasks and mixes the sources' densities into the study's density.
        self.mixes = "sources" in arguments.parameters
        if self.mixes and "start" in arguments.parameters:
            given["start"] = RandomStart()  # the Optuna sampler itself chooses the first trials
        self._preset = self._alone = partial(preset, **given)
        try:
            bound = arguments.bind_partial(**self._preset.keywords)
        except TypeError as error:
            raise TypeError(f"preset {error}.") from error
        if self.mixes:
            bound.apply_defaults()
            chosen = {name: value for name, value in bound.arguments.items() if name in _OPTIONS}
            if not has_sources:
                remedy = "give some, or use another preset, such as parzax.tpe"
                raise TypeError(f"preset compares source studies, but there are no source_studies; {remedy}.")
            # Only parzax's own presets have this option.
            if "task_weights" in chosen:
                if chosen["task_weights"] is None:
                    raise TypeError(
                        "preset compares source studies, but without task_weights they give the first trials "
                        "alone: use parzax.tpe, or functools.partial(parzax.meta_learn_tpe, "
                        "task_weights=parzax.meta.stacking())."
                    )
                check_mixing(chosen)
            # Options of the same preset without sources; `sampler` sets ``n_startup``.
            shared = chosen.keys() & signature(tpe).parameters.keys() - {"n_startup"}
            self._alone = partial(tpe, **{name: chosen[name] for name in shared})
        self.sampler(Space({"x": Float(0, 1)}), 1, 0)

    def sampler(self, space: Space, n_objectives: int, n_constraints: int) -> Sampler:
        """The sampler of a study without sources, or of a parameter that is sampled without them."""
        sampler = self._alone(space, n_objectives=n_objectives, n_constraints=n_constraints)
        return replace(sampler, n_startup=0)

    def with_sources(
        self, logs: Mapping[str, Observations], space: Space, n_objectives: int, n_constraints: int
    ) -> tuple[Sampler, tuple[str, ...]]:
        """The sampler of a study with sources, and a line per source on what could be used of it."""
        if not self.mixes:
            # Sources that are used only for the first trials need not have the study's constraints.
            rows = source_rows(space, logs, n_objectives, 0)
            report = tuple(task.summary(mixed=False) for task in rows)
            return self.sampler(space, n_objectives, n_constraints), report
        if not n_constraints:  # constraints may also be unknown so far
            logs = {name: replace(log, constraints=None) for name, log in logs.items()}
        sampler = self._preset(space, sources=logs, n_objectives=n_objectives, n_constraints=n_constraints)
        assert isinstance(sampler.smoothing, MixedSmoothing)
        return replace(sampler, n_startup=0), sampler.smoothing.sources.report


def refuse(others: Mapping[str, Any], always: Mapping[str, bool]) -> None:
    """Raise TypeError for unknown arguments, ValueError for arguments in ``always`` that are False."""
    for name in others:
        if name in OPTUNAS:
            raise TypeError(f"{name} is no argument of this sampler; {OPTUNAS[name]}.")
        if name not in _OPTIONS:
            raise TypeError(f"{name} is no argument.")
        preset = f"parzax.tpe, {name}=..."
        if name not in signature(tpe).parameters:
            preset = f"parzax.meta_learn_tpe, task_weights=parzax.meta.stacking(), {name}=..."
        raise TypeError(f"{name} is an option of the preset: TPESampler(preset=functools.partial({preset})).")
    for name, value in always.items():
        if not _checks.flag(name, value):
            raise ValueError(f"{name}=False is not possible: {_ALWAYS[name]}; leave it out.")
