"""Other studies as sources of the Optuna sampler: reading, matching, first trials, whole runs."""

import math
import pickle
from dataclasses import replace
from functools import partial

import jax
import numpy as np
import optuna
import pytest
from benchmarks.settings import adjusted
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import parzax as px
from parzax.adapters.optuna.plan import from_log, from_space
from parzax.adapters.optuna.sampler import best_rows
from parzax.meta.sources import Sources

sources = px.adapters.optuna.sources
TPESampler = px.adapters.optuna.TPESampler


def study_of(name, objective, n=20, *, seed=0, storage=None, directions=("minimize",)):
    study = optuna.create_study(
        study_name=name,
        storage=storage,
        directions=directions,
        sampler=optuna.samplers.RandomSampler(seed=seed),
    )
    study.optimize(objective, n_trials=n)
    return study


def square(trial):
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2


def two(trial):
    return square(trial), trial.params["x"]


# --- reading -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three studies and one without trials, in an sqlite file and in a journal."""
    folder = tmp_path_factory.mktemp("studies")
    journal = optuna.storages.journal.JournalFileBackend(str(folder / "journal.log"))
    for storage in (f"sqlite:///{folder / 'study.db'}", optuna.storages.JournalStorage(journal)):
        for i in range(3):
            study_of(f"s{i}", square, 3, seed=i, storage=storage)
        study_of("empty", square, 0, storage=storage)
    return folder


@pytest.mark.parametrize("kind", ["study.db", "journal.log", "url", "storage", "list", "dict"])
def test_studies_of_every_kind(files, kind):
    """All are read; the empty one is named in a warning, and nothing is written."""
    url = f"sqlite:///{files / 'study.db'}"
    given = files / kind
    if kind == "url":
        given = url
    elif kind == "storage":
        given = optuna.storages.RDBStorage(url)
    elif kind in ("list", "dict"):
        given = [optuna.load_study(study_name=name, storage=url) for name in ("s0", "s2", "empty")]
        given = {study.study_name: study for study in given} if kind == "dict" else given
    before = sorted((path.name, path.read_bytes()) for path in files.iterdir())
    with pytest.warns(UserWarning, match="without a complete trial: 'empty'"):
        logs = sources(given, exclude="s1")
    assert sorted(logs) == ["s0", "s2"]
    assert all(log.n == 3 for log in logs.values())
    assert before == sorted((path.name, path.read_bytes()) for path in files.iterdir())
    assert sources(given, exclude=["s1", "empty"]).keys() == logs.keys()


def test_observations_take_the_place_of_studies():
    log = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), [[0.1]], [1.0])
    assert list(sources([log, study_of("a", square, 2)])) == ["task 1", "a"]
    assert sources({"own": log})["own"] is log


@pytest.mark.parametrize("read", [sources, lambda studies: TPESampler(source_studies=studies)])
def test_refusals(read, tmp_path):
    one = study_of("one", square, 2)
    for wrong in (one, 3, px.Observations):
        with pytest.raises(TypeError, match="studies must be a list of studies"):
            read(wrong)
    with pytest.raises(TypeError, match=r"studies: 'task 2' is 'study\.db'"):
        read([one, "study.db"])
    with pytest.raises(TypeError, match="studies: 'a' is None"):
        read({"a": None})
    for nothing in ([], {}, optuna.storages.InMemoryStorage()):
        with pytest.raises(ValueError, match="at least one study"):
            read(nothing)
    with pytest.raises(ValueError, match="without a complete trial: 'new'"):
        read([study_of("new", square, 0)])
    with pytest.raises(ValueError, match="two are named 'one'"):
        read([one, one])
    with pytest.raises(ValueError, match="no file"):
        read(tmp_path / "none.db")
    with pytest.raises(ValueError, match="'bare': study has no parameters"):
        read([study_of("bare", lambda t: 1.0, 1)])


def test_refusals_of_the_sampler():
    one, other = study_of("one", square, 2), study_of("two", two, 2, directions=["minimize"] * 2)
    for logs in ([one, other], [other]):
        study = optuna.create_study(study_name="new", sampler=TPESampler(source_studies=logs))
        with pytest.raises(ValueError, match="'two' has 2 objectives, but 1 are needed"):
            study.optimize(square, n_trials=1)
    study = optuna.create_study(study_name="one", sampler=TPESampler(source_studies=[one]))
    with pytest.raises(ValueError, match=r"'one' is the name of the study itself.*exclude='one'"):
        study.optimize(square, n_trials=1)
    log = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), np.zeros((2, 3, 1)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="one log per task"):
        TPESampler(source_studies=[log])
    for options, message in (({"eta": 1.0}, "eta"), ({"estimate": "no"}, "estimate")):
        with pytest.raises(ValueError, match=message):
            TPESampler(source_studies=[one], preset=adjusted(px.papers.authors_meta_learn_tpe, **options))
    with pytest.raises(TypeError, match="optuna_tpe has no argument 'task_weights'"):
        TPESampler(source_studies=[one], preset=partial(px.optuna_tpe, task_weights=px.meta.Stacking()))
    with pytest.raises(TypeError, match="preset compares source studies, but there are no source_studies"):
        TPESampler(preset=adjusted(px.meta_learn_tpe, eta=3.0))


def test_what_is_sampled_by_itself_has_the_options_of_the_preset():
    """Catches options that are lost where a preset does without its sources."""
    log = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), [[0.1], [0.9]], [0.0, 1.0])
    settings = TPESampler(preset=px.papers.authors_meta_learn_tpe, source_studies=[log])._settings
    assert settings.sampler(log.space, 2, 1) == adjusted(px.mo_tpe, n_startup=0, epsilon=0.05)(
        log.space, 2, 1
    )
    preset = adjusted(px.meta_learn_tpe, task_weights=px.meta.Stacking(), top=0.7, n_candidates=3)
    settings = TPESampler(preset=preset, source_studies=[log], n_ei_candidates=9)._settings
    wanted = adjusted(px.tpe, n_startup=0, top=0.7, n_candidates=9, share_power=1.0, infeasible="better")(
        log.space
    )
    assert settings.sampler(log.space, 1, 0) == wanted


def test_presets_beside_sources():
    """Without weights all are those of a study without sources; constraints of sources need not agree."""
    log = px.Observations.from_arrays(
        px.Space({"x": px.Float(0, 1)}), [[0.1], [0.9]], [0.0, 1.0], constraints=np.zeros((2, 3))
    )
    for preset in (px.tpe, px.optuna_tpe):
        own = TPESampler(preset=preset, source_studies=[log])._settings
        # Here `tpe` has the split and the score of `meta_learn_tpe`; they differ under constraints.
        split = {"split": px.Split(infeasible="better")} if preset is px.tpe else {}
        plain = TPESampler(preset=partial(preset, **split))._settings
        for m, c in ((1, 0), (1, 1), (2, 1)):
            wanted = plain.sampler(log.space, m, c)
            wanted = replace(wanted, acquisition=px.acquisition.Relative())
            assert own.sampler(log.space, m, c) == wanted
        found, report = own.with_sources(log.space, 1, 1)
        assert found == replace(plain.sampler(log.space, 1, 1), acquisition=px.acquisition.Relative())
        assert report == ("task 1: 2 rows",)
    # Without task weights this preset takes only its first trials from sources.
    alone = TPESampler(preset=px.meta_learn_tpe, source_studies=[log])._settings
    assert alone.sampler(log.space, 1, 1) == TPESampler(source_studies=[log])._settings.sampler(
        log.space, 1, 1
    )
    with pytest.raises(ValueError, match=r"^n_startup_trials must be positive with source_studies"):
        TPESampler(source_studies=[log], n_startup_trials=0)
    heavy = px.Observations.from_arrays(log.space, [[0.1]], [0.0], weight=[0.5])
    with pytest.raises(ValueError, match="has weights other than 0 and 1"):
        TPESampler(source_studies=[heavy])


@pytest.mark.slow
def test_constraints_of_sources_that_the_study_does_not_have_yet():
    """Catches an error in the first trials, before the study knows its constraints."""
    log = px.Observations.from_arrays(
        px.Space({"x": px.Float(0, 1)}), [[0.1], [0.9]], [0.0, 1.0], constraints=np.zeros((2, 1))
    )
    preset = partial(px.meta_learn_tpe, task_weights=px.meta.Stacking())
    settings = TPESampler(preset=preset, source_studies=[log])._settings
    assert settings.with_sources(log.space, 1, 0)[0].n_constraints == 0


# --- matching ----------------------------------------------------------------------------------


def session_of(logs, space):
    """A sampler with these sources, and its session for the joint draw."""
    weights = px.meta.BySimilarity()
    preset = adjusted(px.meta_learn_tpe, n_samples=10, max_candidates=1024, task_weights=weights)
    sampler = TPESampler(preset=preset, source_studies=logs)
    return sampler, sampler._session_of(True, space, 1, 0)


@pytest.fixture
def captured(monkeypatch):
    """The rows that are fitted."""
    seen, fit = [], Sources.fit

    def fitted(space, given, *args, **settings):
        seen.extend(given)
        return fit(space, given, *args, **settings)

    monkeypatch.setattr(Sources, "fit", fitted)
    return seen


def native(rows, space):
    """Native values (n, d) of the rows of a source, NaN where there is none."""
    return np.where(rows.at.regime < 0, np.nan, space.frame().decode(rows.at))


def source(trial):
    """The target's parameters: choices in another order and one more, no n, an extra one."""
    kind = trial.suggest_categorical("kind", [True, "other", "a", None])
    loss = trial.suggest_float("lr", 1e-6, 1, log=True) + trial.suggest_float("extra", 0, 1)
    return loss + (trial.suggest_float("x", -2, 2) if kind is None else 0)


def target(trial):
    kind = trial.suggest_categorical("kind", ["a", None, True])
    loss = trial.suggest_float("lr", 1e-5, 1, log=True) + trial.suggest_int("n", 1, 9, step=2)
    return loss + (trial.suggest_float("x", -2, 2) if kind is None else 0)


@pytest.mark.parametrize(
    "declared",
    [pytest.param(False, marks=pytest.mark.slow, id="inferred"), pytest.param(True, id="declared")],
)
def test_rows_are_matched_by_name_label_and_domain(captured, declared):
    """Catches codes taken for labels, labels for codes, values outside, a child without its parent."""
    trials = study_of("target", target, 30).trials
    space = px.Space(
        {
            "kind": px.Categorical(["a", None, True]),
            "lr": px.Float(1e-5, 1, log=True),
            "n": px.Int(1, 9, step=2),
            "x": px.Float(-2, 2, when=px.In("kind", [None])),
        }
    )
    plan = from_space(space, trials, None) if declared else from_log(trials, None)
    study = study_of("source", source, 40, seed=1)
    sampler, session = session_of([study], plan.space)
    (report,) = sampler.source_report
    assert "; no n; extra not used;" in report
    assert report.endswith("; the prior stands for missing values")
    assert sampler._session_of(True, plan.space, 1, 0) is session
    (rows,) = captured  # fitted once
    at = {p.name: j for j, p in enumerate(plan.parameters)}
    kinds = ["a", None, True]
    assert rows.absent.any(axis=1).all()
    used = [t for t in study.trials if t.params["kind"] != "other" or t.params["lr"] >= 1e-5]
    assert len(used) == len(rows) > 20
    for i, trial in enumerate(used):
        regime, unit, params = rows.at.regime[i], rows.at.unit[i], trial.params
        assert regime[at["n"]] == -1
        if params["kind"] == "other":
            assert regime[at["kind"]] == -1
            assert regime[at["x"]] == -1
        else:
            assert kinds[rows.at.index[i, at["kind"]]] is params["kind"]
        if params["lr"] < 1e-5:
            assert regime[at["lr"]] == -1
        else:
            assert unit[at["lr"]] == pytest.approx(math.log10(params["lr"]) / 5 + 1, abs=1e-12)
        if "x" in params:
            assert unit[at["x"]] == pytest.approx((params["x"] + 2) / 4, abs=1e-12)
            assert regime[at["x"]] == 0
    assert (np.argsort(rows.losses[:, 0]) == np.argsort([t.value for t in used])).all()


@pytest.mark.slow
def test_numbers_and_choices_are_matched_by_value(captured):
    """A list of batch sizes is a categorical in Optuna, and an ordinal or integer elsewhere."""
    study = study_of("a", lambda t: t.suggest_categorical("batch", [64, 16, 32]), 10)
    space = px.Space({"batch": px.Ordinal([16, 32, 64])})
    plan = from_space(space, study.trials, None)
    session_of([study], plan.space)
    assert native(captured[0], plan.space)[:, 0].tolist() == [t.params["batch"] for t in study.trials]
    log = px.Observations.from_arrays(px.Space({"batch": px.Int(1, 64)}), [[64], [17], [16]], [0, 1, 2])
    plan = from_log(study.trials, None)
    session_of({"b": log}, plan.space)
    assert native(captured[1], plan.space)[:, 0].tolist() == [0, 1]  # 17 is no choice


# --- the first trials --------------------------------------------------------------------------


def test_the_first_trials_are_the_best_of_the_sources():
    """Each of another row, by label and within the distribution; nothing is compiled."""
    studies = [study_of(f"s{i}", source, 30, seed=i) for i in range(2)]
    study = optuna.create_study(sampler=TPESampler(seed=3, source_studies=studies))
    best = [t.params for s in studies for t in sorted(s.trials, key=lambda t: t.value)[:3]]
    asked = [study.ask() for _ in range(5)]  # at the same time
    found = []
    for trial in asked:
        target(trial)
        found += [i for i, b in enumerate(best) if math.isclose(b["lr"], trial.params["lr"], rel_tol=1e-12)]
        if found and math.isclose(best[found[-1]]["lr"], trial.params["lr"]):
            own = {name: x for name, x in best[found[-1]].items() if name in ("kind", "x") and x != "other"}
            assert {name: trial.params.get(name) for name in own} == own
    within = sum(b["lr"] >= 1e-5 for b in best)
    assert len(set(found)) == len(found) >= within - 1 > 1
    again = optuna.create_study(sampler=pickle.loads(pickle.dumps(study.sampler)))
    others = [again.ask() for _ in range(5)]
    for trial in others:
        target(trial)
    assert [t.params for t in others] == [t.params for t in asked]
    assert TPESampler()._n_startup == 10
    assert study.sampler._n_startup == 5
    limited = TPESampler(source_studies=studies, constraints_func=lambda _: [0.0])
    assert limited._n_startup == 7
    given = TPESampler(source_studies=studies, preset=adjusted(px.tpe, share_power=2.0))
    assert given._settings.sampler(px.Space({"x": px.Float(0, 1)}), 1, 1).acquisition.share_power == 2
    assert study.sampler.source_report == ()


def test_first_trials_of_several_objectives_are_feasible():
    """The first front of the feasible rows; a choice that is None is a value too."""
    space = px.Space({"c": px.Categorical([None, "a"]), "x": px.Float(0, 1)})
    x = np.array([[0, 0.1], [0, 0.2], [0, 0.3], [1, 0.9]])
    log = px.Observations.from_arrays(
        space, x, np.stack([x[:, 1], 1 - x[:, 1]], axis=1), constraints=[1.0, -1, 0, 1]
    )
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=TPESampler(seed=0, n_startup_trials=2, source_studies=[log])
    )
    trials = [study.ask() for _ in range(2)]
    found = {(t.suggest_categorical("c", ["a", None]), t.suggest_float("x", 0, 1)) for t in trials}
    assert found == {(None, 0.2), (None, 0.3)}


def test_first_trials_where_a_study_has_failed():
    """Catches ceil(5 / 2) rows where one of two tasks has none."""
    failed = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), [[0.1]], [math.nan])
    assert len(best_rows([*sources([study_of("a", square)]).values(), failed], 5)) == 5


# --- whole runs --------------------------------------------------------------------------------


MIXED = {"preset": adjusted(px.papers.authors_meta_learn_tpe, n_samples=100)}


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, MIXED], ids=["first trials", "mixed"])
def test_a_run(options):
    """One parameter: inside its range, by seed, not of the sources' order, with a report."""
    studies = [study_of(f"s{i}", square, 30, seed=i) for i in range(2)]

    def run(seed):
        study = optuna.create_study(
            direction="maximize", sampler=TPESampler(seed=seed, source_studies=studies, **options)
        )
        study.optimize(lambda t: -square(t), n_trials=12)
        return study

    one, same, other = run(0), run(0), run(1)
    xs = [[t.params["x"] for t in study.trials] for study in (one, same, other)]
    assert xs[0] == xs[1] != xs[2]
    assert np.mean(np.abs(np.array(xs[0]) - 0.3) < 0.2) > 0.6
    assert one.sampler.source_report == ("s0: 30 rows", "s1: 30 rows")
    opened = optuna.create_study(
        direction="maximize", sampler=TPESampler(seed=0, source_studies=studies, **options)
    )
    opened.add_trials(one.trials[:11])
    opened.optimize(lambda t: -square(t), n_trials=1)
    assert opened.trials[-1].params == one.trials[11].params


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, MIXED], ids=["first trials", "mixed"])
def test_spaces_that_differ_and_conditions(options):
    """Define-by-run with a log, an integer and a condition, float64 on the way; a declared space."""
    studies = [study_of(f"s{i}", source, 40, seed=i) for i in range(2)]
    for space in (
        None,
        px.Space(
            {
                "kind": px.Categorical(["a", None, True]),
                "lr": px.Float(1e-5, 1, log=True),
                "n": px.Int(1, 9, step=2),
                "x": px.Float(-2, 2, when=px.In("kind", [None])),
            }
        ),
    ):
        study = optuna.create_study(
            sampler=TPESampler(seed=0, source_studies=studies, space=space, **options)
        )
        study.optimize(target, n_trials=25)
        if space is None:
            with jax.enable_x64(True):
                study.optimize(target, n_trials=2)
            study.optimize(target, n_trials=2)
        for trial in study.trials:
            assert trial.distributions["kind"] == CategoricalDistribution(["a", None, True])
            assert all(
                d._contains(d.to_internal_repr(trial.params[k])) for k, d in trial.distributions.items()
            )
        assert study.trials[0].distributions["n"] == IntDistribution(1, 9, step=2)
        assert all("no n" in line and "extra not used" in line for line in study.sampler.source_report)


@pytest.mark.slow
def test_two_objectives_and_a_constraint():
    """One source has the constraint, the other none."""

    def objective(trial):
        values = two(trial)
        trial.set_constraint("c", 0.2 - trial.params["x"])
        return values

    minimise = ["minimize"] * 2
    studies = [
        study_of("with", objective, 30, directions=minimise),
        study_of("without", two, 30, directions=minimise),
    ]
    study = optuna.create_study(
        directions=minimise, sampler=TPESampler(seed=0, source_studies=studies, **MIXED)
    )
    study.optimize(objective, n_trials=25)
    xs = np.array([t.params["x"] for t in study.trials])
    assert np.mean((xs >= 0.2) & (xs <= 0.45)) > 0.5


def bowl(centre):
    return lambda t: sum((t.suggest_float(f"x{i}", -5, 5) - centre) ** 2 for i in range(3))


@pytest.mark.slow
def test_sooner_than_without():
    """A shifted bowl: the median over seeds of the best value after 10 trials."""
    studies = [study_of(f"s{i}", bowl(centre), 100, seed=i) for i, centre in enumerate((1.5, 2.5))]
    found = {True: [], False: []}
    for seed in range(8):
        for helped in found:
            own = {"source_studies": studies} if helped else {}
            study = optuna.create_study(sampler=TPESampler(seed=seed, **own))
            study.optimize(bowl(2.0), n_trials=10)
            found[helped].append(study.best_value)
    assert np.median(found[True]) < 0.75 * np.median(found[False])


@pytest.mark.slow
def test_one_compilation_up_to_1024_trials():
    """The sources are fitted once, and one program serves 1024 trials."""
    studies = [study_of("s", square, 30)]
    study = optuna.create_study(sampler=TPESampler(seed=0, source_studies=studies, **MIXED))
    programs, fits = [], []

    def listen(event, _, fun_name=None, **__):
        if "backend_compile" in event:
            programs.append(fun_name)
            fits.append("compared_rows" in str(fun_name))

    jax.monitoring.register_event_duration_secs_listener(listen)
    rng = np.random.default_rng(0)
    for _ in range(20):
        study.add_trials(
            optuna.create_trial(
                params={"x": x}, distributions={"x": FloatDistribution(0, 1)}, value=(x - 0.3) ** 2
            )
            for x in rng.random(50)
        )
        study.optimize(square, n_trials=1)
    assert sum("suggest" in str(name) for name in programs) == 1
    assert sum(fits) == 1
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
