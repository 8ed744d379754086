"""Presets: options written once, shown with their defaults, and changed as values."""

import inspect
import pickle
from dataclasses import replace
from functools import partial
from typing import get_type_hints

import numpy as np
import pytest

import parzax as px
from parzax.samplers.meta_learning import SourceOptions
from parzax.samplers.presets import Options

SPACE = px.Space({"x": px.Float(0, 1)})
PLACES = np.linspace(0, 1, 12)[:, None]
LOG = px.Observations.from_arrays(SPACE, PLACES, PLACES[:, 0])
# Presets, and what they are called with beside the space.
PRESETS = {
    px.tpe: (),
    px.paper_tpe: (),
    px.c_tpe: (),
    px.mo_tpe: (),
    px.optuna_tpe: (),
    px.meta_learn_tpe: ([LOG],),
}


def options_of(preset):
    """Name -> parameter of the options."""
    parameters = inspect.signature(preset).parameters.values()
    others = {"directions", "direction", "naive", "n_objectives"}
    return {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in others}


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(("preset", "options"), [(px.tpe, Options), (px.meta_learn_tpe, SourceOptions)])
def test_type_checkers_know_every_option(preset, options):
    """Catches an option, or a type, that is in the signature alone or for type checkers alone."""
    hints, shown = get_type_hints(options), get_type_hints(preset)
    assert hints.keys() == options_of(preset).keys()
    narrower = {"start", "task_weights"}  # None has a meaning for one preset alone
    narrower |= {"n_startup"} if preset is px.meta_learn_tpe else set()
    for name in hints.keys() - narrower:
        if name in shown:
            assert hints[name] == shown[name], name


@pytest.mark.parametrize("preset", [*PRESETS, px.paper_meta_learn_tpe])
def test_every_preset_shows_every_option(preset):
    assert options_of(preset).keys() >= options_of(px.tpe).keys()


@pytest.mark.parametrize("preset", PRESETS)
def test_the_defaults_that_are_shown_are_those_that_count(preset):
    given = {name: option.default for name, option in options_of(preset).items()}
    assert repr(preset(SPACE, *PRESETS[preset], **given)) == repr(preset(SPACE, *PRESETS[preset]))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_with_another_option_is_a_value(preset):
    """Presets are functions of a module, so that they are pickled by name."""
    wider = pickle.loads(pickle.dumps(partial(preset, top=0.7, n_startup=3)))
    sampler = wider(SPACE, *PRESETS[preset])
    assert sampler.smoothing.top == px.bandwidth.FixedTop(0.7)
    assert sampler.n_startup == 3
    assert repr(sampler) == repr(preset(SPACE, *PRESETS[preset], top=0.7, n_startup=3))


def test_presets_of_papers_take_any_counts():
    """As adapters call them: what a preset is for is no limit."""
    for preset in (px.tpe, px.paper_tpe, px.c_tpe, px.mo_tpe, px.optuna_tpe):
        sampler = preset(SPACE, n_objectives=2, n_constraints=1)
        assert (sampler.n_objectives, sampler.n_constraints) == (2, 1)
    assert px.paper_tpe(SPACE, 1, 2) == px.c_tpe(SPACE, 2)


def test_an_option_that_there_is_not():
    for preset in PRESETS:
        with pytest.raises(TypeError, match="unexpected keyword argument 'gama'"):
            preset(SPACE, *PRESETS[preset], gama=1)


def test_a_sampler_changes_by_its_parts():
    """Parts that come from a base class are parts all the same."""
    sampler = replace(px.tpe(SPACE), n_startup=2, space=px.Space({"y": px.Int(0, 3)}))
    assert sampler.n_startup == sampler.strategy.n_startup == 2
    assert sampler == replace(px.tpe(px.Space({"y": px.Int(0, 3)})), n_startup=2)
    with pytest.raises(ValueError, match="n_startup must be"):
        replace(sampler, n_startup=-1)
