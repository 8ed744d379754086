"""The folders for OptunaHub: their form, and that they load and work as packages of a registry."""

import runpy
from functools import partial
from pathlib import Path

import numpy as np
import optuna
import pytest
import yaml  # Optuna needs it

import parzax as px
from parzax.lens._palette import PALETTE

# Not "optunahub": without the library that is this repository's folder.
hub = pytest.importorskip("optunahub.hub")
REGISTRY = Path(__file__).parents[1] / "optunahub" / "package"
SAMPLER = "samplers/parzax_tpe"
FIGURE = "visualization/plot_importance_over_quantiles"
load = partial(hub.load_local_module, registry_root=str(REGISTRY))


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture(scope="module")
def study():
    """60 random trials, in which "c" does not matter."""

    def loss(trial):
        a, b, _ = (trial.suggest_float(name, -1, 1) for name in "abc")
        return abs(a) + 0.2 * b**2

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(loss, n_trials=60)
    return study


@pytest.mark.parametrize(("package", "tag"), [(SAMPLER, "sampler"), (FIGURE, "visualization")])
def test_form(package, tag):
    """The registry's checks of the front matter; its only licence; pictures within the folder."""
    folder = REGISTRY / package
    text = (folder / "README.md").read_text(encoding="utf-8")
    _, front, body = text.split("---\n", 2)
    header = yaml.safe_load(front)
    assert set(header) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert all(isinstance(header[name], str) for name in ("author", "title", "description", "license"))
    assert all(isinstance(item, str) for item in header["tags"] + header["optuna_versions"])
    assert tag in header["tags"]
    assert header["license"] == "MIT License"
    assert (folder / "LICENSE").read_text().startswith("MIT License\n\nCopyright (c) ")
    sections = [line for line in body.splitlines() if line.startswith("## ")]
    assert sections == ["## Abstract", "## APIs", "## Installation", "## Example", "## Others"]
    assert (folder / "requirements.txt").read_text().startswith("parzax[")
    pictures = [line.split("](")[1].rstrip(")") for line in body.splitlines() if line.startswith("![")]
    assert all((folder / picture).stat().st_size < 100_000 for picture in pictures)
    assert f'load_module(package="{package}")' in body
    assert f'load_module(package="{package}")' in (folder / "example.py").read_text()


def test_sampler():
    """A study of 10 trials, of which 5 leave the start-up, with a constraint and sources."""
    module = load(SAMPLER)
    assert module.TPESampler is px.adapters.optuna.TPESampler
    functions = runpy.run_path(str(REGISTRY / SAMPLER / "example.py"))
    sampler = module.TPESampler(seed=0, n_startup_trials=5, constraints_func=functions["constraints"])
    study = optuna.create_study(sampler=sampler)
    study.optimize(functions["objective"], n_trials=10)
    assert len(study.trials) == 10
    assert all(len(trial.constraints) == 1 for trial in study.trials)
    assert list(module.sources([study])) == [study.study_name]


@pytest.mark.slow
def test_figure(study):
    """One complete curve and one entry of the legend per parameter; shares sum to 1."""
    plot = load(FIGURE).plot_importance_over_quantiles
    figure = plot(study, target_quantile=[0.2, 0.4, 0.6, 0.8], n_resamples=50)
    curves = {trace.name: trace for trace in figure.data if trace.meta == "importance"}
    assert sorted(curves) == ["a", "b", "c"]
    np.testing.assert_allclose(np.sum([trace.y for trace in curves.values()], axis=0), 1, rtol=1e-5)
    entries = [trace.name for trace in figure.data if trace.showlegend is not False]
    assert sorted(set(entries) - {"not above chance"}) == ["a", "b", "c"]
    assert len(entries) == len(set(entries))
    # "a" has the first colour of the page, and its interval contains its curve.
    (line,) = (trace for trace in figure.data if (trace.meta, trace.name) == ("above chance", "a"))
    assert line.line.color == PALETTE[0]
    (ribbon,) = (trace for trace in figure.data if (trace.meta, trace.name) == ("interval", "a"))
    ends = np.array(ribbon.y[:-1], float).reshape(2, -1)
    assert (ends[0] <= curves["a"].y).all()
    assert (curves["a"].y <= ends[1, ::-1]).all()
    assert "90 % interval" in figure.layout.yaxis.title.text


def test_figure_of_other_sources(study):
    """Observations and results give the curves of the study; few curves leave the sum of the others."""
    plot = load(FIGURE).plot_importance_over_quantiles
    obs = px.adapters.optuna.observations(study)
    options = {"target_quantile": [0.2, 0.4, 0.6, 0.8], "n_resamples": 0}
    expected = plot(study, **options | {"n_resamples": 50})
    assert plot(obs, **options | {"n_resamples": 50}) == expected
    without = plot(px.cond_ped_anova(obs, options["target_quantile"], n_resamples=0))
    assert not [trace for trace in without.data if trace.meta == "interval"]
    kept = {trace.name: trace.y for trace in expected.data if trace.meta == "importance"}
    for trace in without.data:
        if trace.meta == "importance":
            np.testing.assert_array_equal(trace.y, kept[trace.name])
    few = plot(obs, max_parameters=1, **options)
    curves = {trace.name: trace.y for trace in few.data if trace.meta == "importance"}
    assert list(curves) == ["a", "2 others together"]
    np.testing.assert_allclose(np.sum(list(curves.values()), axis=0), 1, rtol=1e-5)
    target = plot(
        study, target=lambda trial: trial.params["c"], direction="maximize", **options | {"n_resamples": 0}
    )
    (line,) = (t for t in target.data if (t.meta, t.name) == ("importance", "c"))
    assert min(line.y) > 0.8
    with pytest.raises(TypeError, match="target and direction need"):
        plot(obs, direction="maximize")
    with pytest.raises(TypeError, match="source must be"):
        plot("study.db")
