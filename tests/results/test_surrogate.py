"""Answers from a surrogate: when one answers, what it says, and what is refused."""

import functools
import json
import re
from dataclasses import replace

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import COARSE, QUICK
from page.test_content import Texts, page

import parzax as px
from parzax.lens.results import analysis, surrogates
from parzax.lens.results.surrogates import SurrogateResult, declare_conditions
from parzax.status import Status

# The one that answers by default, so that all tests share its programs.
PROCESS = px.surrogate.GaussianProcess(max_rows=surrogates.MOST_ROWS)
SPACE = px.Space(
    {
        "rate": px.Float(1e-4, 1, log=True),
        "kind": px.Categorical(["a", "b"]),
        "inside": px.Float(0, 1, when=px.In("kind", ["a"])),
        "idle": px.Float(0, 1),
    }
)


def loss_of(x):
    within = np.where(np.isnan(x[..., 2]), 0.0, x[..., 2] - 0.5) ** 2
    return (np.log10(x[..., 0]) + 2) ** 2 + 0.3 * x[..., 1] + within


def uniform(n, seed):
    return np.asarray(SPACE.sample(jax.random.key(seed), n), float)


def log(x, losses=None, **options):
    """Rows with these losses; by default those of an accuracy, which is maximised."""
    if losses is None:
        return px.Observations.from_arrays(SPACE, x, 90 - loss_of(x), "maximize", **options)
    return px.Observations.from_arrays(SPACE, x, losses, **options)


@functools.cache
def searched():
    """Ten random rows and fifty that close in on the best one, as those of a search that learns."""
    x, width = uniform(60, 0), np.maximum(0.95 ** np.arange(50), 0.2)
    x[10:, 0] = 10 ** (-2 + width * (np.log10(x[10:, 0]) + 2))
    x[10:, 1] *= x[10:, 3] < 2 * width
    x[10:, 2] = np.where(x[10:, 1] == 0, 0.5 + width * (np.nan_to_num(x[10:, 2], nan=0.5) - 0.5), np.nan)
    return x


@pytest.fixture(autouse=True, scope="module")
def _fewer_draws():
    """Of the draws of effects and of the next space, which are exact enough from fewer."""
    with pytest.MonkeyPatch.context() as patch:
        for name, n_points in (("effects", 64), ("region", 1024)):
            fewer = functools.partial(getattr(px.surrogate, name), n_draws=12, n_points=n_points)
            patch.setattr(surrogates, name, fewer)
        yield


@pytest.fixture(scope="module")
def answer():
    return px.cond_ped_anova(log(searched()))


@pytest.fixture(scope="module")
def rows_alone():
    return px.cond_ped_anova(log(searched()), 0.1, surrogate=None, n_resamples=0)


def test_the_whole_space_is_answered(answer, rows_alone):
    """Near the truth of many uniform rows, where the rows alone are far from it; intervals hold it."""
    x = uniform(1 << 14, 9)
    truth = px.cond_ped_anova(log(x), 0.1, surrogate=None, n_resamples=0).importance
    rows = rows_alone.importance
    assert isinstance(answer, SurrogateResult)
    assert np.abs(answer.importance - truth).sum() < 0.5 * np.abs(rows - truth).sum()
    low, high = np.moveaxis(answer.importance_interval, -1, 0)
    assert ((low - 0.02 <= truth) & (truth <= high + 0.02)).all()
    np.testing.assert_allclose(answer.importance.sum(axis=-1), 1, rtol=1e-6)
    assert answer.above[:, 0].all()
    assert not answer.above[:, 3].any()


def test_the_first_sentence_says_so(answer, rows_alone):
    step, mattered, sure = answer.sentences()
    assert (
        "of the space (largest value), by a surrogate of the rows (surrogate=None, or --surrogate no"
        in mattered
    )
    assert step.startswith("Do next: try rate ")
    assert "leave idle as it is" in step
    assert "; not idle" in mattered
    assert "48 draws from the posterior" in sure
    assert "% of the variance of rows that it is not fitted to" in sure
    assert "search that learns" not in sure
    assert "resamples" not in answer.text()
    assert answer.to_dict()["surrogate"]["n_draws"] == 48
    assert rows_alone.to_dict()["surrogate"] is None
    json.dumps(answer.to_dict(), default=np.ndarray.tolist, allow_nan=False)


def test_no_level_is_given(answer):
    """Rows are few, random configurations are not: the level is 0.1."""
    assert answer.levels.tolist() == [0.1]
    assert answer.facts == ()


def test_p_values_are_parts_of_the_draws(answer):
    shares = answer.importance_draws
    np.testing.assert_allclose(shares.mean(axis=0), answer.importance, atol=1e-7)
    np.testing.assert_allclose(answer.p_value, (1 + (shares <= 0.01).sum(axis=0)) / 49)
    np.testing.assert_array_equal(answer.p_adjusted, answer.p_value)


@pytest.mark.parametrize("kind", ["random", "noise"])
def test_auto_reads_the_rows_alone(kind, monkeypatch):
    """Where no search learned, and where the surrogate predicts nothing."""
    x, losses = searched(), None
    if kind == "random":
        x = uniform(60, 1)
    else:
        # The order shows a search that learns, but a loss has nothing to do with its neighbours.
        losses = np.random.default_rng(0).normal(size=60)
        monkeypatch.setattr(analysis, "shows_learning", lambda obs, losses: True)
    result = px.cond_ped_anova(log(x, losses), 0.1, n_resamples=0)
    assert not isinstance(result, SurrogateResult)
    alone = px.cond_ped_anova(log(x, losses), 0.1, surrogate=None, n_resamples=0)
    np.testing.assert_array_equal(result.importance, alone.importance)
    assert {"random": "", "noise": "predicts too little"}[kind] in result.sentences()[1]
    with pytest.raises(AttributeError, match=r"effects needs a surrogate: surrogate=px.surrogate"):
        _ = result.effects


def test_a_poor_surrogate_that_was_asked_for():
    losses = np.random.default_rng(0).normal(size=60)
    result = px.cond_ped_anova(log(searched(), losses), 0.1, surrogate=PROCESS)
    assert (result.status & int(Status.POOR_SURROGATE) != 0).all()
    assert "the surrogate hardly predicts left-out rows" in result.sentences()[2]


@pytest.mark.slow
def test_where_the_best_values_are_at_a_bound():
    x = uniform(60, 3)
    losses = 3 * (1 - x[:, 3]) + np.log10(x[:, 0]) + x[:, 1]
    *_, rate, idle = px.cond_ped_anova(log(x, losses), 0.1, surrogate=PROCESS).next_steps()
    assert rate == "the best rate is at its lower bound, 0.0001: search down to 1e-05, if you can"
    assert idle == "the best idle is at its upper bound, 1: search up to 1.2, if you can"
    assert not surrogates._wider_text("layers", px.Int(1, 8), upper=False)  # 0 layers are none


def two_objectives(x):
    return log(x, np.stack([loss_of(x), x[:, 3]], axis=-1))


REFUSED = {
    "several seeds": (lambda: log(np.stack([searched(), searched()])), {}, "one log, not for several seeds"),
    "pareto": (lambda: two_objectives(searched()), {"objective": "pareto"}, "give an objective or weights"),
    "groups": (lambda: log(searched(), groups=np.arange(60) // 2), {}, "give one row of each"),
    "weights": (lambda: log(searched(), weight=np.arange(60) + 1.0), {}, "repeat the rows instead"),
    "feasible": (
        lambda: log(searched(), constraints=np.zeros((60, 1))), {"rows": "feasible"}, "give rows='all'",
    ),
    "parity": (lambda: log(searched()), {"grid": px.Grid.optuna()}, "give another grid"),
    "equal": (lambda: log(searched(), np.zeros(60)), {}, "two different losses"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_surrogate_cannot_answer(kind):
    """It is refused with the remedy, and "auto" reads the rows alone."""
    make, options, remedy = REFUSED[kind]
    with pytest.raises(ValueError, match=f"surrogate: .*{remedy}.*; or read the rows alone, surrogate=None"):
        px.cond_ped_anova(make(), 0.2, surrogate=PROCESS, **options)
    assert not isinstance(px.cond_ped_anova(make(), 0.1, n_resamples=0, **options), SurrogateResult)


def test_what_is_no_surrogate():
    for wrong in ("yes", 3):
        with pytest.raises(TypeError, match='surrogate must be "auto", None or a parzax'):
            px.cond_ped_anova(log(searched()), surrogate=wrong)


@pytest.mark.slow
def test_objectives_regions_and_divergences(answer, few_draws):
    """Weights of objectives, a region and the papers' divergence go through the same road."""
    result = px.cond_ped_anova(
        two_objectives(searched()),
        0.1,
        region=0.5,
        objective=[1, 0],
        divergence=px.divergence.Pearson(),
        grid=COARSE,
    )
    assert isinstance(result, SurrogateResult)
    assert "of the best 50 % of the space" in result.sentences()[1]
    assert result.ranking()[0] == answer.ranking()[0]


@pytest.mark.slow
def test_failed_rows_and_thinning(few_draws):
    losses = loss_of(searched())
    losses[40:45] = np.inf
    few = px.surrogate.GaussianProcess(max_rows=40)
    result = px.cond_ped_anova(log(searched(), losses), 0.1, surrogate=few, **QUICK)
    assert len(result.posterior.z) == 40
    n_fitted = int(result.posterior.used.sum())
    assert 30 < n_fitted <= 40
    assert result.facts == (f"the surrogate is fitted to {n_fitted} of 55 rows",)


def test_conditions_that_the_log_implies(answer):
    """A parameter that is recorded in the rows of one choice is active with that choice."""
    recorded = dict(zip(SPACE, SPACE.domains, strict=True)) | {"inside": px.Float(0, 1, when=px.Recorded())}
    space = px.Space(recorded)
    obs = px.Observations.from_arrays(space, searched(), 90 - loss_of(searched()), "maximize")
    assert declare_conditions(obs) == SPACE
    result = px.cond_ped_anova(obs, 0.1)
    np.testing.assert_allclose(result.importance, answer.importance, atol=1e-7)
    assert "inside: taken as [0, 1] if kind = a, which holds in all rows" in result.facts
    x = searched().copy()
    x[x[:, 1] == 0, 2] = np.where(np.arange((x[:, 1] == 0).sum()) % 2, np.nan, 0.5)
    unexplained = px.Observations.from_arrays(space, x, loss_of(x))
    assert declare_conditions(unexplained) is None
    with pytest.raises(ValueError, match="give a space with their conditions"):
        px.cond_ped_anova(unexplained, surrogate=PROCESS)
    always = px.Observations.from_arrays(space, np.nan_to_num(searched(), nan=0.5), loss_of(searched()))
    declared = declare_conditions(always)
    assert declared is not None
    assert declared["inside"] == (px.Float(0, 1),)


@pytest.mark.slow
def test_effects_in_units_of_the_objective(answer):
    """The mean over each parameter and the worth of choosing it, of an accuracy and of a loss."""
    effects = {effect.parameter: effect for effect in answer.effects}
    rate = effects["rate"]
    assert answer.effects[0] is rate
    # Mean of (log10 rate + 2)^2 over [-4, 0] is 4 / 3.
    assert rate.worth[1] <= 4 / 3 <= rate.worth[2]
    assert rate.worth[1] <= rate.worth[0] <= rate.worth[2]
    assert -3 < np.log10(rate.values[int(rate.mean.argmax())]) < -1
    assert 88 < rate.mean.max() < 90.5
    assert effects["kind"].values == ("a", "b")
    assert effects["idle"].worth[0] < 0.2
    assert re.fullmatch(r"choosing rate well is worth about 1\.\d of value", str(rate))
    assert f"worth: {rate}" in answer.text(verbose=True)
    turned = {effect.parameter: effect for effect in replace(answer, maximised=False).effects}["rate"]
    np.testing.assert_allclose(turned.mean, -rate.mean)
    assert turned.worth == rate.worth


def test_the_next_space_is_searched(answer):
    """Around the best rate; "idle" may have one value."""
    space, fixed = answer.next_space(), answer.next_space(fix=True)
    (rate,), (idle,) = space["rate"], fixed["idle"]
    assert 1e-4 < rate.low < 1e-2 < rate.high < 1
    assert space["idle"] == SPACE["idle"]
    assert idle.low == idle.high
    assert fixed["rate"] == space["rate"]
    steps = answer.next_steps()
    assert steps[0].startswith("search next: rate [")
    assert f"idle at {idle.low:.4g}" in steps[1]
    assert len(steps) == 2
    assert set(steps) < set(answer.text(verbose=True).split("\n"))
    assert px.Space.from_json(space.to_json()) == space
    assert px.tpe(space).init().x.shape[-1] == len(space)


def test_the_page_of_an_answer(answer, rows_alone, tmp_path):
    """It says what choosing well is worth, with a curve for each domain."""
    html = page(tmp_path, answer)
    texts = Texts(html)
    assert "by a surrogate of the rows" in texts.ids["short"]
    for effect in answer.effects:
        assert str(effect) in texts.ids["effects"]
    assert all(step in texts.ids["next"] for step in answer.next_steps())
    curves = re.findall(r'class="best" d="(M[^"]*)"', html)
    assert len(curves) == len(answer.effects)
    assert all(0 <= float(y) <= 60 for curve in curves for y in re.findall(r"[ML][0-9.]+ ([0-9.]+)", curve))
    assert "effects" not in Texts(page(tmp_path, rows_alone)).ids


def test_the_picture_of_effects(answer):
    """A panel for each domain, the most worth first; catches the curve of another parameter."""
    ax = px.plotting.effects(answer, parameters=["rate", "idle"])
    effects = {f"{effect.parameter} {effect.regime}": effect for effect in answer.effects}
    panels = ax.figure.axes
    assert [panel.get_label() for panel in panels] == ["rate 0", "idle 0"]
    for panel in panels:
        effect = effects[panel.get_label()]
        np.testing.assert_allclose(panel.lines[0].get_ydata(), effect.mean)
        np.testing.assert_allclose(panel.lines[0].get_xdata(), effect.values)
        assert panel.get_title() == effect.worth_text
    assert ax.get_xscale() == "log"
    plt.close("all")
