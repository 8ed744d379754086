"""Conditions of define-by-run spaces, found from which parameters each trial had."""

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import parzax as px
from parzax.adapters.optuna.plan import from_log, from_space, roundest


def trials_of(suggest, n=60, states=()):
    """Finished trials of a define-by-run function under random search."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))

    def objective(trial):
        suggest(trial)
        if trial.number in states:
            raise optuna.TrialPruned
        return 0.0

    study.optimize(objective, n_trials=n)
    return study.trials


def conditions(plan):
    return {name: plan.space[name][0].conditions for name in plan.space.names}


def test_a_choice_explains_its_branches():
    def suggest(t):
        if t.suggest_categorical("kind", ["a", None, True, 1.5]) == "a":
            t.suggest_float("x", 0, 1)
        elif t.params["kind"] in (None, True):
            t.suggest_int("n", 1, 9)
        t.suggest_float("z", 0, 1)

    found = conditions(from_log(trials_of(suggest), None))
    assert found == {"kind": (), "n": (px.In("kind", [None, True]),), "x": (px.In("kind", ["a"]),), "z": ()}


def test_thresholds_come_out_round():
    def suggest(t):
        layers = t.suggest_int("layers", 1, 4)
        for i in range(layers):
            t.suggest_float(f"dropout{i}", 0, 0.5)
        if t.suggest_float("c", 0, 1) < 0.3:
            t.suggest_float("low", 0, 1)
        else:
            t.suggest_float("high", 0, 1)

    found = conditions(from_log(trials_of(suggest), None))
    assert found["dropout0"] == ()
    assert found["dropout1"] == (px.Between("layers", low=2),)
    assert found["dropout3"] == (px.Between("layers", low=4),)
    assert found["low"] == (px.Between("c", high=0.3),)
    assert found["high"] == (px.Between("c", low=0.3),)


def test_few_values_of_an_integer_and_nested_branches():
    def suggest(t):
        if t.suggest_int("k", 0, 5) in (1, 4) and t.suggest_categorical("on", [True, False]):
            t.suggest_float("x", 0, 1)

    found = conditions(from_log(trials_of(suggest), None))
    assert found == {"k": (), "on": (px.In("k", [1, 4]),), "x": (px.In("on", [True]),)}


def test_two_conditions_at_once():
    def suggest(t):
        both = t.suggest_categorical("a", [0, 1, 2]), t.suggest_categorical("b", [0, 1])
        if both[0] != 1 and both[1]:
            t.suggest_float("x", 0, 1)

    found = conditions(from_log(trials_of(suggest), None))
    assert found["x"] == (px.In("a", [0, 2]), px.In("b", [1]))


def test_what_is_not_explained_is_left_out_with_what_depends_on_it():
    def suggest(t):
        t.suggest_float("x", 0, 1)
        if t.number % 2:
            t.suggest_categorical("odd", ["a", "b"])
            if t.params["odd"] == "a":
                t.suggest_float("below", 0, 1)

    assert conditions(from_log(trials_of(suggest), None)) == {"x": ()}


def test_a_pruned_trial_may_have_ended_before_it_asked():
    def suggest(t):
        t.suggest_float("x", 0, 1)
        if t.number in (3, 4):
            raise optuna.TrialPruned
        t.suggest_float("y", 0, 1)

    assert conditions(from_log(trials_of(suggest), None)) == {"x": (), "y": ()}


def test_the_last_range_counts_and_a_moving_one_is_left_out():
    def suggest(t):
        t.suggest_float("widened", 0, 1 if t.number < 30 else 2)
        t.suggest_float("grown", 0, 1 + t.number // 12)
        t.suggest_float("moving", 0, 1 + t.number)
        t.suggest_int("alternating", 0, 1 + t.number % 2)
        t.suggest_float("only", 1, 1)

    plan = from_log(trials_of(suggest), None)
    assert plan.distributions == {"grown": FloatDistribution(0, 5), "widened": FloatDistribution(0, 2)}


@pytest.mark.parametrize(
    "high",
    [lambda n: 1 + n // 7, lambda n: 1 + min(n, 10), lambda n: 1 + n * 7919 % 2, lambda n: 9 - n // 20],
)
def test_moving_ranges_make_a_plan_of_the_trials_alone(high):
    """Catches a plan that depends on when it was made: a range settles, or trials finish in another order."""
    trials = trials_of(lambda t: (t.suggest_float("x", 0, high(t.number)), t.suggest_float("y", 0, 1)), 70)
    orders = trials, [*trials[:20], *trials[21:60], trials[20], *trials[60:]]
    for order in orders:
        for n in range(1, 69, 3):
            plan = from_log(sorted(order[:n], key=lambda t: t.number), None)
            for m in range(n + 1, 69, 5):
                if not plan.agrees_with(order[n:m]):
                    break
                after = from_log(sorted(order[:m], key=lambda t: t.number), None)
                assert plan.distributions == after.distributions


def test_the_plan_stays_while_new_trials_agree_with_it():
    """Looking at new trials alone gives what looking at all of them would."""

    def suggest(t):
        if t.suggest_categorical("kind", ["a", "b"]) == "a":
            t.suggest_float("x", 0, 1)
        if t.number > 30:
            t.suggest_float("late", 0, 1)

    trials = trials_of(suggest)
    plan = from_log(trials[:30], None)
    assert all(plan.agrees_with([t]) for t in trials[:31])
    assert not plan.agrees_with([trials[31]])
    for n in range(1, 60):
        before, after = from_log(trials[:n], None), from_log(trials[: n + 1], None)
        if before.agrees_with([trials[n]]):
            assert before.space == after.space


def test_a_trial_without_the_child_decides_for_a_better_explanation():
    """A parent that explains nothing yet, since the child was never missing beside it."""
    kind, c = CategoricalDistribution(["a", "b"]), FloatDistribution(0, 1)
    own = {"kind": kind, "c": c, "x": c}

    def trial(**params):
        return optuna.create_trial(params=params, distributions={k: own[k] for k in params}, value=0.0)

    seen = [trial(kind="a", c=0.9, x=0.5), trial(c=0.1), trial(kind="a", c=0.8, x=0.1)]
    plan = from_log(seen, None)
    assert conditions(plan)["x"] == (px.Between("c", low=0.8),)
    new = trial(kind="b", c=0.95)
    assert not plan.agrees_with([new])
    assert conditions(from_log([*seen, new], None))["x"] == (px.In("kind", ["a"]),)


def place(plan, *params):
    """The configuration that a trial counts as; None where it lacks a value."""
    frame = plan.space.frame()
    at = frame.nearest(np.array([plan.row(*params)]))
    return frame.decode(at)[0].tolist() if at.valid.all() else None


def test_rows_of_trials():
    def suggest(t):
        if t.suggest_categorical("kind", ["a", "b"]) == "a":
            t.suggest_float("x", 10, 20)
            t.suggest_int("n", 0, 8, step=2)

    plan = from_log(trials_of(suggest), None)
    assert plan.space.names == ("kind", "n", "x")
    assert place(plan, {"kind": "a", "x": 12.5, "n": 6}) == [0, 6, 12.5]
    assert place(plan, {"kind": "a", "x": 50.0, "n": 3.9}) == [0, 4, 20]
    np.testing.assert_array_equal(place(plan, {"kind": "b", "x": 12.5}), [1, np.nan, np.nan])
    assert place(plan, {"kind": "a", "x": 12.5}) is None
    assert place(plan, {"x": 12.5, "n": 2}) is None
    assert place(plan, {"kind": "a"}, plan.given({"x": 12.5, "n": 6})) == [0, 6, 12.5]
    assert plan.params(np.array([0, 6.2, 12.5])) == {"kind": "a", "n": 6, "x": 12.5}
    assert isinstance(plan.params(np.array([0, 6.2, 12.5]))["n"], int)
    assert plan.params(np.array([1, np.nan, np.nan])) == {"kind": "b"}


def test_a_given_space_decides():
    space = px.Space(
        {
            "kind": px.Categorical(["b", "a"]),
            "x": px.Float(1e-3, 1, log=True, when=px.In("kind", ["a"])),
            "units": px.Ordinal([16, 64, 128]),
        }
    )
    plan = from_space(space, [], None)
    assert plan.distributions["x"] == FloatDistribution(1e-3, 1, log=True)
    assert plan.distributions["units"] == CategoricalDistribution((16, 64, 128))
    own = {
        "kind": CategoricalDistribution(["a", "b", "c"]),
        "x": FloatDistribution(1e-4, 1, log=True),
        "units": IntDistribution(16, 128),
        "other": FloatDistribution(0, 1),
    }
    trial = optuna.create_trial(
        params={"kind": "a", "x": 1e-3, "units": 64, "other": 0.1}, distributions=own, value=0.0
    )
    assert not plan.agrees_with([trial])
    plan = from_space(space, [trial], None)
    assert plan.agrees_with([trial])
    assert plan.distributions == {name: own[name] for name in space.names}
    assert place(plan, trial.params) == [1, pytest.approx(1e-3), 64]
    assert plan.params(np.array([1, 1e-3, 64])) == {"kind": "a", "x": pytest.approx(1e-3), "units": 64}
    assert place(plan, {**trial.params, "kind": "c"}) is None
    assert from_space(space, [trial], {"x", "units"}).distributions.keys() == {"units"}


@pytest.mark.parametrize(
    ("domain", "distribution"),
    [
        (px.Categorical(["a", "b"]), CategoricalDistribution(["a"])),
        (px.Categorical([1, 2]), IntDistribution(1, 2)),
        (px.Categorical([True, False]), CategoricalDistribution([1, 0])),
        (px.Float(0, 1), CategoricalDistribution([0.0, 1.0])),
    ],
)
def test_a_space_that_contradicts_the_study_is_refused(domain, distribution):
    value = distribution.choices[0] if isinstance(distribution, CategoricalDistribution) else 1
    trial = optuna.create_trial(params={"p": value}, distributions={"p": distribution}, value=0.0)
    with pytest.raises(ValueError, match="'p'"):
        from_space(px.Space({"p": domain}), [trial], None)


def test_states_that_are_no_log():
    """Nothing to explain: no trial, no parameter."""
    assert from_log([], None).space is None
    trial = optuna.create_trial(params={}, distributions={}, state=TrialState.COMPLETE, value=0.0)
    assert from_log([trial], None).distributions == {}


@pytest.mark.parametrize(
    ("above", "upto", "expected"),
    [
        (0.28, 0.33, 0.3), (0.301, 0.309, 0.309), (2, 3, 3), (7, 12, 10), (-0.2, 0.4, 0), (-0.4, -0.2, -0.2),
        (0, 1e-7, 1e-7), (1234.5, 1234.6, 1234.6), (1e-5, 3e-4, 3e-4), (1e-5, 2.7e-4, 2e-4),
        (99, 101, 100), (-12, -7, -10),
    ],
)  # fmt: skip
def test_roundest_numbers(above, upto, expected):
    assert roundest(above, upto) == expected


def test_a_round_number_stays_while_the_gap_closes_around_it():
    rng = np.random.default_rng(0)
    above, upto, seen = -5.0, 9.0, []
    for _ in range(200):
        x = rng.uniform(-5, 9)
        above, upto = (max(above, x), upto) if x < 1.37 else (above, min(upto, x))
        seen.append(roundest(above, upto))
        assert above < seen[-1] <= upto
    assert len(set(seen)) <= 8


def test_values_outside_the_last_range_explain_as_the_nearest_inside():
    """Catches a condition that fails at every parent's value from before the range was narrowed."""

    def suggest(t):
        if t.suggest_int("layers", 1, 9 if t.number < 20 else 4) > 2:
            t.suggest_float("x", 0, 1)

    trials = trials_of(suggest)
    assert max(t.params["layers"] for t in trials) > 4
    plan = from_log(trials, None)
    assert conditions(plan) == {"layers": (), "x": (px.Between("layers", low=3),)}
    assert all(plan.agrees_with([t]) for t in trials[20:])


def test_equal_choices_of_different_types_are_different_branches():
    """In("m", [1]) equals In("m", [True]); catches a look-up that mistakes one for the other."""
    choices, unit = CategoricalDistribution((1, True, "c")), FloatDistribution(0, 1)

    def trial(k):
        child = {"a": unit} if k == 0 else {"b": unit} if k == 1 else {}
        params = {"m": choices.choices[k]} | dict.fromkeys(child, 0.5)
        return optuna.trial.create_trial(params=params, distributions={"m": choices} | child, value=0.0)

    trials = [trial(i % 3) for i in range(30)]
    plan = from_log(trials, None)
    assert set(plan.space.names) == {"m", "a", "b"}
    assert all(plan.agrees_with([t]) for t in trials)
