"""The Optuna sampler: the scenarios that Optuna publishes for samplers, written anew, and what it adds.

Programs take seconds to compile, so nearly all studies that leave the start-up share one of four: one
numeric parameter, one of three choices, the conditional space of `mixed`, and two objectives with a
constraint of one parameter.
"""

import inspect
import math
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import jax
import numpy as np
import optuna
import pytest
from benchmarks.settings import adjusted
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import parzax as px
from parzax.adapters.optuna import sampler as sampler_module
from parzax.adapters.optuna.history import _loss

TPESampler = px.adapters.optuna.TPESampler
NUMERIC = [
    FloatDistribution(-1, 1),
    FloatDistribution(1e-7, 1, log=True),
    FloatDistribution(-10, 10, step=0.1),
    FloatDistribution(-10.2, 10.2, step=0.1),
    FloatDistribution(-1e-300, 1e-300),
    FloatDistribution(0, 1e6, step=1e-6),
    IntDistribution(-10, 10),
    IntDistribution(-10, 0, step=2),
    IntDistribution(1, 100, log=True),
    IntDistribution(0, 10**15),
    IntDistribution(-(2**60), 2**60),
    IntDistribution(1, 2**62, log=True),
]
LISTED = [
    CategoricalDistribution(c) for c in ([1, 2, 3], ["a", None, True], [1, 1.0, "1"], [math.nan, 0, -1])
]


def new_study(*, directions=("minimize",), storage=None, n_startup=3, **options):
    options = {"seed": 0, "n_startup_trials": n_startup, **options}
    return optuna.create_study(directions=directions, storage=storage, sampler=TPESampler(**options))


def add(study, value, *, state=TrialState.COMPLETE, **params):
    """A finished trial of parameters in [0, 1]."""
    distributions = {name: FloatDistribution(0, 1) for name in params}
    values = None if value is None else np.atleast_1d(value).tolist()
    study.add_trial(
        optuna.create_trial(params=params, distributions=distributions, values=values, state=state)
    )


def square(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2


def xs(study):
    return [t.params["x"] for t in study.trials]


# --- every kind of parameter -------------------------------------------------------------------


@pytest.mark.parametrize("n_startup", [0, 10], ids=["by density", "at random"])
@pytest.mark.parametrize("distribution", [*NUMERIC, *LISTED], ids=str)
@pytest.mark.some(4)
def test_suggestions_are_inside_their_distribution(distribution, n_startup):
    study = new_study(n_startup=n_startup)
    kind = {FloatDistribution: float, IntDistribution: int}.get(type(distribution))
    found = []
    for _ in range(20):
        trial = study.ask()
        value = study.sampler.sample_independent(study, trial._get_latest_trial(), "x", distribution)
        found.append(value)
        assert distribution._contains(distribution.to_internal_repr(value))
        assert type(value) is kind or (kind is None and any(value is c for c in distribution.choices))
    assert len({repr(v) for v in found}) > 1


@pytest.mark.parametrize(
    "distribution",
    [FloatDistribution(0, 1, step=0.25), pytest.param(IntDistribution(1, 9), marks=pytest.mark.slow)],
)
def test_at_random_is_uniform(distribution):
    study = new_study(n_startup=10)
    suggest = [study.sampler.sample_independent(study, study.ask()._get_latest_trial(), "x", distribution)
               for _ in range(900)]  # fmt: skip
    _, counts = np.unique(suggest, return_counts=True)
    expected = 900 / len(counts)
    # Chi-squared, beyond the 99.9th percentile with at most 8 degrees of freedom.
    assert ((counts - expected) ** 2 / expected).sum() < 26.1
    assert len(counts) == (5 if isinstance(distribution, FloatDistribution) else 9)


@pytest.mark.parametrize(
    "options", [{"n_startup": 10}, {"n_startup": 0, "space": px.Space({"x": px.Int(0, 9)})}]
)
def test_before_anything_is_known(options):
    """Nothing is sampled jointly in the start-up; then also from the prior alone."""
    study = new_study(**options)
    trial = study.ask()
    relative = study.sampler.infer_relative_search_space(study, trial._get_latest_trial())
    assert relative.keys() == ({"x"} if "space" in options else set())


def mixed(trial):
    """Least, 0, at kind = None, x = 0.7, n = 3, lr = 1e-2."""
    kind = trial.suggest_categorical("kind", ["a", None, True])
    loss = abs(math.log10(trial.suggest_float("lr", 1e-5, 1, log=True)) + 2)
    if kind is None:
        loss += abs(trial.suggest_float("x", -2, 2) - 0.7) + 0.2 * abs(
            trial.suggest_int("n", 1, 9, step=2) - 3
        )
    elif kind == "a":
        loss += 1
    else:
        loss += 2
    return loss


@pytest.mark.slow
def test_better_than_random():
    """60 trials of a conditional function: each seed beats the median of twenty random searches."""
    studies = [new_study(seed=seed, n_startup=10) for seed in (0, 1, 2)]
    for study in studies:
        study.optimize(mixed, n_trials=60)
    random = []
    for seed in range(20):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=seed))
        study.optimize(mixed, n_trials=60)
        random.append(study.best_value)
    found = [study.best_value for study in studies]
    assert max(found) < np.median(random)
    assert np.mean(found) < 0.5 * np.mean(random)


def test_a_given_space_is_sampled_from_the_first_trial():
    """Its conditions need no trials to be found; what it does not have is sampled independently."""
    space = px.Space(
        {
            "kind": px.Categorical(["a", None, True]),
            "lr": px.Float(1e-5, 1, log=True),
            "n": px.Int(1, 9, step=2, when=px.In("kind", [None])),
            "x": px.Float(-2, 2, when=px.In("kind", [None])),
        }
    )
    study = new_study(space=space, n_startup=0)
    study.optimize(lambda t: mixed(t) + 0 * t.suggest_float("more", 0, 1), n_trials=6)
    for trial in study.trials:
        assert trial.system_attrs["parzax:given"].keys() == trial.params.keys() - {"more"}


# --- states, values, ranges --------------------------------------------------------------------


def test_pruned_and_failed_trials():
    """Pruned ones are ranked after complete ones, by how far they came; failed ones are no rows."""
    study = new_study()

    def objective(trial):
        loss = square(trial)
        for step in range(trial.number % 4):
            trial.report(math.nan if trial.number % 8 == 1 else loss, step)
        if trial.number % 5 == 1:
            raise ValueError
        if trial.number % 3 == 2:
            raise optuna.TrialPruned
        return loss

    study.optimize(objective, n_trials=30, catch=ValueError)
    states = [t.state for t in study.trials]
    assert {TrialState.PRUNED, TrialState.FAIL, TrialState.COMPLETE} <= set(states)

    def key(n, **reports):
        trial = optuna.create_trial(
            state=TrialState.PRUNED, intermediate_values={int(k[1:]): v for k, v in reports.items()}
        )
        return _loss(trial, study.directions)

    complete = _loss(optuna.create_trial(value=1e300), study.directions)
    order = [complete, key(0, s3=9.0), key(0, s2=-1.0), key(0, s2=0.0), key(0, s2=math.nan), key(0)]
    assert order == sorted(order)
    assert len(set(order)) == len(order)


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e300])
def test_losses_that_are_hardly_numbers(value):
    study = new_study()
    for x in np.linspace(0.05, 0.95, 10):
        add(study, (x - 0.3) ** 2, x=x)
        add(study, value, x=1 - x)
    study.optimize(square, n_trials=5)
    assert all(0 <= x <= 1 for x in xs(study))


def test_directions():
    """Maximising is minimising the negative."""
    studies = [new_study(directions=[d]) for d in ("minimize", "maximize")]
    studies[0].optimize(square, n_trials=12)
    studies[1].optimize(lambda t: -square(t), n_trials=12)
    assert xs(studies[0]) == xs(studies[1])


def test_a_range_that_moves_in_every_trial():
    """Sampled by itself: values outside count at the bound."""
    study = new_study(n_startup=2)
    study.optimize(lambda t: t.suggest_float("x", t.number, t.number + 2), n_trials=12)
    study.optimize(lambda t: t.suggest_int("k", 0, t.number), n_trials=8)
    values = [next(iter(t.params.values())) for t in study.trials]
    assert all(n <= x <= n + 2 for n, x in enumerate(values[:12]))
    assert all(0 <= k <= n for n, k in enumerate(values[12:], 12))
    assert "x" not in study.sampler.infer_relative_search_space(study, study.ask()._get_latest_trial())


def test_a_range_that_moves_three_times_is_sampled_jointly():
    """Optuna 6299 and 4037: catches a parameter that is sampled by itself, or without its earlier trials."""
    study, joint = new_study(n_startup=6), []

    def objective(trial):
        joint.append("x" in trial.relative_params)
        x = trial.suggest_float("x", 1e-5, 10.0 ** min(trial.number // 8 - 3, 0), log=True)
        return (math.log10(x) + 0.5) ** 2 + (trial.suggest_float("y", 0, 1) - 0.5) ** 2

    study.optimize(objective, n_trials=36)
    assert all(joint[6:])
    plan = study.sampler._history_of(study, study.trials, None).plan(study.trials)
    assert plan.distributions["x"] == FloatDistribution(1e-5, 1, log=True)
    rows = np.array([plan.row(trial.params) for trial in study.trials])
    assert plan.space.frame().nearest(rows).valid.all()
    assert abs(math.log10(study.best_params["x"]) + 0.5) < 0.5


def test_enqueued_trials_and_fixed_distributions():
    study = new_study()
    study.enqueue_trial({"x": 0.25})
    study.enqueue_trial({"x": 0.75})
    study.optimize(square, n_trials=6)
    assert xs(study)[:2] == [0.25, 0.75]
    study.enqueue_trial({"x": 0.5}, user_attrs={"still": "waiting"})
    trial = study.ask({"x": FloatDistribution(0, 1)})
    assert trial.params == {"x": 0.5}
    trial = study.ask({"x": FloatDistribution(0, 1)})
    assert 0 <= trial.params["x"] <= 1
    study.tell(trial, 0.1)


# --- pending, seeds, threads, storages ---------------------------------------------------------


def test_pending_trials_keep_others_away():
    """Trials that run at the same time differ, also before they have asked for their parameters."""
    study = new_study()
    for x in np.linspace(0, 1, 40):
        add(study, abs(x - 0.5), x=x)
    sampler, alone = study.sampler, []
    trials = [study.ask() for _ in range(8)]
    together = []
    for trial in trials:
        together.append(trial.relative_params["x"])  # nothing is asked for yet
        no_pending = [t for t in study.get_trials() if t.state != TrialState.RUNNING]
        history = sampler._history_of(study, no_pending, None)
        alone.append(history.suggest(no_pending, trial.number, study.directions, 0, 0)["x"])
    assert len(set(together)) == 8
    spread = [np.std(np.array(values)) for values in (together, alone)]
    assert spread[0] > spread[1]


def test_the_seed_decides():
    studies = [new_study(seed=seed) for seed in (1, 1, 2)]
    for study in studies:
        study.optimize(square, n_trials=12)
    assert xs(studies[0]) == xs(studies[1])
    assert not set(xs(studies[0])) & set(xs(studies[2]))
    free = [new_study(seed=None) for _ in range(2)]
    for study in free:
        study.optimize(square, n_trials=1)
    assert xs(free[0]) != xs(free[1])


def test_only_the_study_decides():
    """A sampler that saw the study grow, trials finishing in any order, and one that opens it: the same."""
    study, order = new_study(seed=5), np.random.default_rng(0)
    running = []
    for _ in range(40):
        running.append(study.ask())
        running[-1].suggest_float("x", 0, 1)
        if len(running) > 3:
            trial = running.pop(order.integers(len(running)))
            state = [None, None, TrialState.FAIL, None][trial.number % 4]
            study.tell(trial, None if state else (trial.params["x"] - 0.3) ** 2, state)
    study.enqueue_trial({"x": 0.9})
    trial = study.ask()
    for sampler in (TPESampler(seed=5, n_startup_trials=3), pickle.loads(pickle.dumps(study.sampler))):
        frozen = trial._get_latest_trial()
        space = sampler.infer_relative_search_space(study, frozen)
        for own in (study.sampler, sampler):
            own.reseed_rng()
        assert sampler.sample_relative(study, frozen, space) == study.sampler.sample_relative(
            study, frozen, space
        )


@pytest.mark.slow
def test_float64():
    """Also where JAX computes in float64, and where that changes on the way."""
    study = new_study()
    with jax.enable_x64(True):
        study.optimize(square, n_trials=8)
    study.optimize(square, n_trials=4)
    assert study.best_value < 0.05


def test_two_studies_with_one_sampler():
    """Nothing is carried from one study to the other."""
    sampler = TPESampler(seed=0, n_startup_trials=3)
    both = [optuna.create_study(sampler=sampler) for _ in range(2)]
    alone = new_study()
    for _ in range(10):
        for study in both:
            study.optimize(square, n_trials=1)
        alone.optimize(square, n_trials=1)
    assert xs(both[0]) == xs(both[1]) == xs(alone)


def test_threads():
    study = new_study(n_startup=5)
    study.optimize(square, n_trials=40, n_jobs=4)
    assert sorted(t.number for t in study.trials) == list(range(40))
    assert {t.state for t in study.trials} == {TrialState.COMPLETE}
    assert len(set(xs(study))) >= 36  # each thread may ask for the repeat that looks for noise
    assert study.best_value < 1e-2
    with ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(lambda _: study.ask({"x": FloatDistribution(0, 1)}).params["x"], range(8)))
    assert len(set(asked)) == 8


@pytest.mark.parametrize("kind", [pytest.param("sqlite", marks=pytest.mark.slow), "journal"])
def test_storages(kind, tmp_path):
    path = tmp_path / "study"
    if kind == "sqlite":
        storage = optuna.storages.RDBStorage(f"sqlite:///{path}")
    else:
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(path)))
    study, in_memory = new_study(storage=storage), new_study()
    for own in (study, in_memory):
        own.optimize(square, n_trials=5)
    assert xs(study) == xs(in_memory)
    again = optuna.load_study(
        study_name=study.study_name, storage=storage, sampler=TPESampler(seed=0, n_startup_trials=3)
    )
    for own in (again, in_memory):
        own.optimize(square, n_trials=2)
    assert xs(again) == xs(in_memory)


def test_hyperband_shows_a_part_of_the_study():
    study = new_study()
    study.pruner = optuna.pruners.HyperbandPruner(max_resource=9)

    def objective(trial):
        loss = square(trial)
        for step in range(9):
            trial.report(loss, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return loss

    study.optimize(objective, n_trials=25)
    assert len(set(xs(study))) == 25


# --- several objectives, constraints -----------------------------------------------------------


def two_objectives(trial):
    x = trial.suggest_float("x", 0, 1)
    trial.set_user_attr("excess", 0.2 - x)
    return x**2, -((x - 1) ** 2)


@pytest.mark.slow
def test_several_objectives_and_a_constraint():
    """Both the function and `Trial.set_constraint`; what they give is where Optuna looks for it."""
    study = new_study(
        directions=["minimize", "maximize"],
        n_startup=5,
        constraints_func=lambda trial: (trial.user_attrs["excess"],),
    )
    study.optimize(two_objectives, n_trials=30)
    assert [t.constraints["0"] for t in study.trials] == [0.2 - x for x in xs(study)]
    late = xs(study)[15:]
    assert np.mean(np.array(late) >= 0.2) > 0.75

    def objective(trial):
        values = two_objectives(trial)
        trial.set_constraint("0", trial.user_attrs["excess"])
        return values

    other = new_study(directions=["minimize", "maximize"], n_startup=5)
    other.optimize(objective, n_trials=30)
    assert xs(other) == xs(study)
    assert all(t.constraints["0"] <= 0 for t in study.best_trials)


def test_constraints_that_are_none():
    study = new_study(constraints_func=lambda trial: (math.nan,))
    with pytest.raises(ValueError, match=r"^constraints_func, trial 0: .*NaN"):
        study.optimize(square, n_trials=1)
    for returned in (None, ["a"], "12", [None]):
        study = new_study(constraints_func=lambda trial, returned=returned: returned)
        with pytest.raises(ValueError, match=r"^constraints_func, trial 0: "):
            study.optimize(square, n_trials=1)
    study = new_study(constraints_func=lambda trial: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        study.optimize(square, n_trials=1)
    study.optimize(lambda t: 1 / 0, n_trials=1, catch=ZeroDivisionError)  # not called for failed trials
    assert study.trials[-1].state == TrialState.FAIL


@pytest.mark.slow
@pytest.mark.parametrize("preset", [px.optuna_tpe, px.tpe, px.c_tpe])
def test_constraints_of_one_objective(preset):
    """The optimum 0 is infeasible; also a constraint that appears late, and trials that lack it."""
    late = []
    for seed in range(4):
        study = new_study(
            constraints_func=lambda t: [0.5 - t.params["x"]], n_startup=5, preset=preset, seed=seed
        )
        study.optimize(square, n_trials=40)
        late.append(xs(study)[15:])
        study.sampler = TPESampler(seed=0, constraints_func=lambda t: [0.5 - t.params["x"], -1.0])
        study.optimize(square, n_trials=2)
    late = np.array(late)
    # Random search has 0.1 and 0.2 of its trials in these ranges, which lie at the best feasible value, 0.5.
    assert np.mean((late >= 0.5) & (late < 0.6)) > 0.2
    assert np.mean(abs(late - 0.5) < 0.1) > 0.6
    # Each study finds this value; 25 random trials come as near in 0.22 of the studies.
    assert all(x[x >= 0.5].min() < 0.51 for x in late)


def test_the_preset_of_a_study():
    """Which engine settings stand behind the arguments."""
    space, options = px.Space({"x": px.Float(0, 1)}), {"n_candidates": 7, "prior_weight": 2.0}
    sampler = TPESampler(n_ei_candidates=7, prior_weight=2.0)._settings.sampler
    for m, c in ((1, 0), (2, 1)):
        assert sampler(space, m, c) == adjusted(px.tpe, n_startup=0, **options)(space, m, c)
    for preset, wanted, m, c in (
        (px.optuna_tpe, px.optuna_tpe, 1, 0),
        (px.optuna_tpe, px.optuna_tpe, 2, 1),
        (px.papers.tpe, px.papers.tpe, 1, 0),
        (px.papers.tpe, px.c_tpe, 1, 2),
        (px.c_tpe, px.c_tpe, 1, 2),
        (px.mo_tpe, px.mo_tpe, 3, 1),
    ):
        sampler = TPESampler(preset=preset)._settings.sampler
        assert sampler(space, m, c) == adjusted(wanted, n_startup=0)(space, n_objectives=m, n_constraints=c)


def test_a_preset_of_ones_own():
    """Any function of a space and the counts; its start does not count."""

    def narrow(space, n_objectives, n_constraints):
        return adjusted(px.tpe, top=0.9, n_startup=50)(space, n_objectives, n_constraints)

    study = new_study(preset=narrow, n_startup=2)
    study.optimize(square, n_trials=4)
    space = px.Space({"x": px.Float(0, 1)})
    assert study.sampler._settings.sampler(space, 1, 0) == adjusted(px.tpe, top=0.9, n_startup=0)(space)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"seed": -1}, ValueError, "seed must be"),
        ({"seed": 2**32}, ValueError, "seed must be"),
        ({"n_startup_trials": 1.5}, ValueError, "n_startup_trials must be"),
        ({"n_ei_candidates": 0}, ValueError, "n_ei_candidates must be"),
        (
            {"preset": "optuna_tpe"},
            TypeError,
            "^preset must be a function such as parzax.tpe, got 'optuna_tpe'",
        ),
        ({"space": {"x": (0, 1)}}, TypeError, "space must be"),
        ({"constraints_func": 3}, TypeError, "constraints_func must be"),
        ({"multivariate": False}, ValueError, "^multivariate=False is not possible: .* always"),
        ({"group": False}, ValueError, "^group=False is not possible: .* always"),
        ({"constant_liar": False}, ValueError, "^constant_liar=False is not possible: .* always"),
        ({"group": 1}, TypeError, "^group must be True or False"),
        ({"preset": partial(px.tpe, split=len)}, TypeError, "^split must be an instance of AbstractSplit"),
        ({"preset": partial(px.tpe, smoothing=1)}, TypeError, "^smoothing must be an instance of"),
        (
            {"preset": partial(px.tpe, gamma=len)},
            TypeError,
            "^tpe has no argument 'gamma'; use split=.*gamma=",
        ),
        ({"gamma": len}, TypeError, r"^gamma is no argument; .*partial\(parzax.tpe, gamma=\.\.\.\)"),
        ({"weights": len}, TypeError, "^weights is no argument.*docs/optuna.md"),
        ({"prior_weight": "1"}, TypeError, "^prior_weight must be a number"),
    ],
)
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        TPESampler(**options)


def test_settings_reach_the_engine():
    """Catches an argument that is taken and goes nowhere."""
    space, options = px.Space({"x": px.Float(0, 1)}), {
        "gamma": px.gamma.Linear(0.3), "bandwidth": px.bandwidth.Scott(), "top": 0.7, "joint": False,
        "epsilon": 0.1, "ages": px.ages.Ramp(), "unsatisfied": "all", "repeats": True,
        "merit": None, "share_power": 2.0,
    }  # fmt: skip
    preset = adjusted(px.tpe, **options)
    sampler = TPESampler(multivariate=True, group=True, constant_liar=True, preset=preset)._settings.sampler
    assert sampler(space, 1, 1) == adjusted(px.tpe, n_startup=0, **options)(space, 1, 1)
    ties = px.pareto.Hypervolume()
    sampler = TPESampler(preset=adjusted(preset, ties=ties))._settings.sampler
    assert sampler(space, 2, 0) == adjusted(px.tpe, n_startup=0, ties=ties, **options)(space, 2, 0)


def test_every_argument_of_either_sampler_is_explained():
    text, page = inspect.getdoc(TPESampler), Path(__file__).parents[2].joinpath("docs/optuna.md").read_text()
    ours = inspect.signature(TPESampler).parameters
    assert [name for name in ours if name not in text] == []
    theirs = inspect.signature(optuna.samplers.TPESampler).parameters
    assert [name for name in theirs if f"`{name}`" not in page] == []


@pytest.mark.slow
def test_what_is_prepared_changes_nothing(monkeypatch):
    """Suggestions depend on the study alone; catches a session that was made of what a few trials had."""

    def objective(trial):
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        for name in ("b", "a") if trial.number % 2 else ("a", "b"):
            trial.set_constraint(name, x - 0.5 if name == "a" else 0.2 - y)
        return (x - 0.3) ** 2 + y

    found = []
    for prepare in (True, False):
        if not prepare:
            monkeypatch.setattr(TPESampler, "_prepare", lambda *_: None)
        study = optuna.create_study(sampler=TPESampler(seed=3, n_startup_trials=6))
        study.optimize(objective, n_trials=14)
        found.append([trial.params for trial in study.trials])
    assert found[0] == found[1]


@pytest.mark.parametrize(("choices", "first"), [((), 1), (("a", "b"), 10)])
def test_prepared_once(monkeypatch, choices, first):
    """However the space changes during the start-up; catches a compilation for every trial, or a late one."""
    prepared = []

    def prepare(session, n_numbers):
        prepared.append((len(study.trials) - 1, session.sampler.space.names))

    monkeypatch.setattr(sampler_module, "prepare", prepare)

    def objective(trial):
        if trial.number > 12:
            trial.suggest_float(f"rare{trial.number}", 0, 1)
        if choices:
            trial.suggest_categorical("c", choices)
        return trial.suggest_float("x", 0, 1)

    study = optuna.create_study(sampler=TPESampler(seed=0, n_startup_trials=20))
    study.optimize(objective, n_trials=20)
    assert prepared == [(first, ("c", "x") if choices else ("x",))]


def test_what_the_adapter_lacks_is_named():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = px.adapters.optuna.nothing


@pytest.mark.slow
def test_the_sampler_does_not_wait_for_importances():
    """Optuna's evaluators load scikit-learn where it is installed; ours is there when it is asked for."""
    code = (
        "import sys, parzax as px; px.adapters.optuna.TPESampler(seed=0); "
        "print('optuna.importance' in sys.modules); px.adapters.optuna.CondPedAnovaImportanceEvaluator()"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
