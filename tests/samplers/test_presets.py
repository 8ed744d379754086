"""Presets: parts that are values, shown with their defaults, and errors that name the right part."""

import inspect
import pickle
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest

import parzax as px

SPACE = px.Space({"x": px.Float(0, 1)})
PLACES = np.linspace(0, 1, 12)[:, None]
LOG = px.Observations.from_arrays(SPACE, PLACES, PLACES[:, 0])
# Presets, and what they are called with beside the space.
PRESETS = {
    px.tpe: (),
    px.papers.tpe: (),
    px.papers.naive_c_tpe: (),
    px.c_tpe: (),
    px.mo_tpe: (),
    px.optuna_tpe: (),
    px.meta_learn_tpe: ([LOG],),
}
SOURCES = {"sources", "task_weights", "comparison", "max_candidates"}


def arguments_of(preset):
    """Name -> argument, in order, without those for sources."""
    return {name: p for name, p in inspect.signature(preset).parameters.items() if name not in SOURCES}


@pytest.mark.parametrize(
    "preset", [*PRESETS, px.papers.authors_meta_learn_tpe, px.papers.c_tpe, px.papers.mo_tpe]
)
def test_every_preset_takes_what_tpe_takes_in_its_order(preset):
    assert list(arguments_of(preset)) == list(arguments_of(px.tpe))
    assert len(arguments_of(px.tpe)) <= 10


@pytest.mark.parametrize("preset", PRESETS)
def test_the_defaults_that_are_shown_are_those_that_count(preset):
    given = {name: p.default for name, p in arguments_of(preset).items() if name != "space"}
    assert repr(preset(SPACE, *PRESETS[preset], **given)) == repr(preset(SPACE, *PRESETS[preset]))


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_with_another_part_is_a_value(preset):
    """Presets are functions of a module, so that they are pickled by name."""
    parts = {"smoothing": px.density.Smoothing(top=0.7), "proposal": px.samplers.Proposal(12)}
    wider = pickle.loads(pickle.dumps(partial(preset, **parts)))
    sampler = wider(SPACE, *PRESETS[preset])
    assert sampler.smoothing.top == px.bandwidth.FixedTop(0.7)
    assert sampler.n_candidates == 12
    assert sampler == preset(SPACE, *PRESETS[preset], **parts)


def test_presets_of_papers_take_any_counts():
    """As adapters call them: what a preset is for is no limit."""
    for preset in (px.tpe, px.papers.tpe, px.c_tpe, px.mo_tpe, px.optuna_tpe):
        sampler = preset(SPACE, n_objectives=2, n_constraints=1)
        assert (sampler.n_objectives, sampler.n_constraints) == (2, 1)
    assert px.papers.tpe(SPACE, 1, 2) == px.c_tpe(SPACE, n_constraints=2)
    assert px.tpe(SPACE, directions=("minimize", "maximize")).n_objectives == 2


def test_an_argument_that_there_is_not():
    """Settings of a part are named with their part, and near words with what was meant."""
    for preset in (*PRESETS, px.papers.meta_learn_tpe):
        with pytest.raises(TypeError, match="has no argument 'gama'"):
            preset(SPACE, *PRESETS.get(preset, ([LOG],)), gama=1)
    homes = {"gamma": "split=parzax.Split", "bandwidth": "smoothing=parzax.density.Smoothing",
             "share_power": "acquisition=parzax.acquisition.Relative",
             "n_startup": "start=parzax.samplers.RandomStart",
             "n_candidates": "proposal=parzax.samplers.Proposal", "direction": "directions="}  # fmt: skip
    for name, home in homes.items():
        with pytest.raises(TypeError, match=f"has no argument '{name}'; use {home}"):
            px.tpe(SPACE, **{name: 1})
    with pytest.raises(TypeError, match=r"no argument 'n_startup'; use start=\.\.\., a number"):
        px.meta_learn_tpe(SPACE, [LOG], n_startup=3)  # pyright: ignore


def test_a_sampler_changes_by_its_parts():
    start = px.samplers.RandomStart(2)
    sampler = replace(px.tpe(SPACE), start=start, space=px.Space({"y": px.Int(0, 3)}))
    assert sampler.start.n_startup == sampler.without_space().start.n_startup == 2
    assert sampler == px.tpe(px.Space({"y": px.Int(0, 3)}), start=start)
    assert sampler.without_space() == replace(px.tpe(SPACE), start=start).without_space()


def test_parts_are_documented():
    """Each field of a part is named in the docstring of its class."""
    for part in (
        px.Split,
        px.density.Smoothing,
        px.samplers.Proposal,
        px.acquisition.Relative,
        px.meta.Comparison,
    ):
        for field in fields(part):
            assert field.name in part.__doc__, (part, field.name)
