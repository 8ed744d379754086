"""Settings of a study's sampler: the preset, and advice on arguments of Optuna's sampler and of presets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from optuna.trial import FrozenTrial

from parzax import _checks
from parzax.acquisition import Relative
from parzax.lens.logs import Observations
from parzax.meta import MixedSmoothing
from parzax.meta.sources import source_rows
from parzax.samplers import RandomStart, Sampler, meta_learn_tpe, tpe
from parzax.samplers.presets import GUESSES
from parzax.space import Float, Space

ConstraintsFunc = Callable[[FrozenTrial], Sequence[float]]
Preset = Callable[..., Sampler]

_PRESET = "use preset=functools.partial(parzax.tpe, smoothing=parzax.density.Smoothing({}))"
# Arguments of Optuna's sampler that ours lacks, and what to do instead.
OPTUNAS = {
    "weights": "it gives older trials less weight, as ages do: " + _PRESET.format("ages=parzax.ages.Ramp()"),
    "consider_prior": "there is always a prior; its weight is prior_weight",
    "consider_magic_clip": _PRESET.format("parzax.bandwidth.Neighbours(consider_magic_clip=...)"),
    "consider_endpoints": _PRESET.format("parzax.bandwidth.Neighbours(consider_endpoints=...)"),
    "categorical_distance_func": "declare an ordered parameter as parzax.Ordinal in space",
    "warn_independent_sampling": "there is no such warning",
    "n_startup": "use n_startup_trials",
    "n_candidates": "use n_ei_candidates",
}
# Parts of the presets.
_PARTS = [name for name, p in signature(meta_learn_tpe).parameters.items() if p.kind is p.KEYWORD_ONLY]
_PARTS.remove("directions")
# The part that has an option of `TPESampler`.
_HOMES = {"n_candidates": "proposal", "prior_weight": "smoothing"}


class Settings:
    """A preset, and perhaps source tasks; a study adds its numbers of objectives and constraints."""

    def __init__(
        self, preset: Preset, options: Mapping[str, Any], sources: Mapping[str, Observations] | None = None
    ) -> None:
        """Raise for a wrong preset and for wrong options; an option of None is left to the preset."""
        _checks.instance("preset", preset, Callable, "a function such as parzax.tpe")
        function, given = partial(preset).func, dict(partial(preset).keywords)
        parameters = signature(function).parameters
        for option, value in options.items():
            if value is not None:
                part = _HOMES[option]
                if part not in parameters:
                    raise TypeError(f"preset has no argument {part!r}, which {option} is a part of.")
                given[part] = replace(given.get(part, parameters[part].default), **{option: value})
        self.sources = {} if sources is None else sources
        # Whether the preset takes source tasks and mixes the sources' densities into the study's density.
        self.mixes = "sources" in parameters
        if sources is not None and function is tpe:  # beside sources `tpe` has the score of `meta_learn_tpe`
            given.setdefault("acquisition", Relative())
        if self.mixes and "start" in parameters:
            given["start"] = RandomStart(0)  # the Optuna sampler itself chooses the first trials
        self._preset = self._alone = partial(preset, **given)
        if self.mixes:
            arguments = {name: p.default for name, p in parameters.items()} | given
            if sources is None:
                remedy = "give some, or use another preset, such as parzax.tpe"
                raise TypeError(f"preset compares source studies, but there are no source_studies; {remedy}.")
            # Only parzax's own presets have this argument.
            if arguments.get("task_weights", True) is None:
                raise TypeError(
                    "preset compares source studies, but without task_weights they give the first trials "
                    "alone: use parzax.tpe, or functools.partial(parzax.meta_learn_tpe, "
                    "task_weights=parzax.meta.Stacking())."
                )
            # The parts of the same preset without sources.
            shared = arguments.keys() & signature(tpe).parameters.keys() & set(_PARTS)
            self._alone = partial(tpe, **{name: arguments[name] for name in shared})
        self.sampler(Space({"x": Float(0, 1)}), 1, 0)

    def sampler(self, space: Space, n_objectives: int, n_constraints: int) -> Sampler:
        """The sampler of a study without sources, or of a parameter that is sampled without them."""
        sampler = self._alone(space, n_objectives=n_objectives, n_constraints=n_constraints)
        return replace(sampler, start=RandomStart(0))

    def with_sources(
        self, space: Space, n_objectives: int, n_constraints: int
    ) -> tuple[Sampler, tuple[str, ...]]:
        """The sampler of a study with sources, and a line per source on what could be used of it."""
        logs = self.sources
        if not self.mixes:
            # Sources that are used only for the first trials need not have the study's constraints.
            report = tuple(task.summary for task in source_rows(logs, space, n_objectives, 0))
            return self.sampler(space, n_objectives, n_constraints), report
        if not n_constraints:  # constraints may also be unknown so far
            logs = {name: replace(log, constraints=None) for name, log in logs.items()}
        sampler = self._preset(space, sources=logs, n_objectives=n_objectives, n_constraints=n_constraints)
        assert isinstance(sampler.smoothing, MixedSmoothing)
        return replace(sampler, start=RandomStart(0)), sampler.smoothing.sources.report


def refuse(others: Mapping[str, Any], always: Mapping[str, bool]) -> None:
    """Raise TypeError for unknown arguments, ValueError for arguments in ``always`` that are False."""
    for name in others:
        if name in OPTUNAS:
            raise TypeError(f"{name} is no argument of this sampler; {OPTUNAS[name]}.")
        part = f"{name}=..." if name in _PARTS else GUESSES.get(name, "")
        if name == "directions" or not part:
            raise TypeError(f"{name} is no argument.")
        is_of_tpe = part.split("=")[0] in signature(tpe).parameters
        preset = "parzax.tpe" if is_of_tpe else "parzax.meta_learn_tpe, task_weights=parzax.meta.Stacking()"
        remedy = f"TPESampler(preset=functools.partial({preset}, {part}))"
        raise TypeError(f"{name} is a setting of the preset: {remedy}.")
    for name, value in always.items():
        if not _checks.flag(name, value):
            raise ValueError(f"{name}=False is not possible: the sampler always behaves as with {name}=True.")
