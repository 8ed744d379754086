"""What adapters share: rows on their way to the device, ranks of losses, programs."""

import math

import jax
import numpy as np
import optuna
import pytest
from benchmarks.settings import adjusted
from compilations import compilations

import parzax as px
from parzax.adapters import Row, Session
from parzax.adapters.optuna.plan import inferred, single
from parzax.lens.run.session import smoothed

SPACE = px.Space(
    {
        "a": px.Categorical(["u", None, True]),
        "x": px.Float(-1e6, 3e6, when=px.In("a", ["u", True])),
        "n": px.Int(10, 30, step=5),
        "k": px.Int(1, 1000, log=True),
        "many": px.Int(-(10**9), 10**9),
        "tiny": px.Float(1e-300, 1e-290, log=True),
        "c": px.Float(0, 1),
        "o": px.Ordinal([1, 5, 7], when=px.Between("c", low=0.5)),
        "one": px.Float(3, 3),
        "two": (px.Float(-7, -2, when=px.Between("c", high=0.5)), px.Float(2, 7)),
    }
)


def test_rows_there_and_back():
    """Every kind of domain, also those that float32 does not resolve; what is outside goes to the nearest."""
    frame, native = smoothed(SPACE).frame(), SPACE.frame()
    rows = np.array(
        [
            [0, 12345.678, 25, 77, 123456789, 3e-295, 0.7, 5, 3, 4.5],
            [1, math.nan, 10, 1, -(10**9), 1e-300, 0.2, math.nan, 3, -2.5],
            [2, 3e6, 30, 1000, 10**9, 1e-290, 1, 7, 3, 7],
        ]
    )
    at = frame.nearest(rows)
    assert at.valid.all()
    np.testing.assert_allclose(native.decode(native.nearest(frame.decode(at))), rows, rtol=1e-12)
    lacking = np.array([[0, math.nan, *rows[0][2:]]])
    assert not frame.nearest(lacking).valid.all()
    outside = np.array([[0, -1e9, 12, 5000, 0, 1e-290, -3, 5, 3, -8]])
    found = native.decode(native.nearest(frame.decode(frame.nearest(outside))))
    np.testing.assert_allclose(found, [[0, -1e6, 10, 1000, 0, 1e-290, 0, math.nan, 3, -7]])
    # A value below a log domain is nearest to its low end, and not a number to no value at all.
    wide = px.Space({"x": px.Float(1e-3, 1, log=True)}).frame()
    np.testing.assert_array_equal(
        wide.nearest(np.array([[-1.0], [0], [9], [-math.inf]])).unit[:, 0], [0, 0, 1, 0]
    )


@pytest.mark.slow
def test_a_session_takes_every_kind_of_domain():
    """Native values out: inside, on steps, of active parameters; a row that lacks one counts for nothing."""
    session = Session(adjusted(px.optuna_tpe, n_startup=0)(SPACE))
    lacking = Row([0, math.nan, 25, 77, 123456789, 3e-295, 0.7, 5, 3, 4.5], (-1.0,))
    other = Session(session.sampler)
    found = []
    for i in range(12):
        x = session.ask(0, i, pending=[lacking])
        np.testing.assert_array_equal(other.ask(0, i), x)
        assert SPACE.frame().encode(x[None]).valid.all()
        found.append(x)
        session.tell([lacking, Row(x, (float(i),))])
        other.tell([Row(x, (float(i),))])
    assert len({x[4] for x in found}) > 6
    between = px.Float(0, 1, when=px.Between("x", low=1e9 + 1e-4))
    with pytest.raises(ValueError, match="float32 cannot tell the values of 'x' apart"):
        Session(px.tpe(px.Space({"x": px.Float(1e9, 1e9 + 1e-3), "y": between})))


def program(space, most=2**16, **options):
    """What of a session is static in its program."""
    model = Session(adjusted(px.optuna_tpe, **options)(smoothed(space, most)))._model
    return jax.tree.structure(model), [x for x in jax.tree.leaves(model) if not isinstance(x, jax.Array)]


def test_spaces_that_differ_in_names_and_bounds_share_a_program():
    def space(low, high, name, choices, least, log):
        return px.Space(
            {
                f"{name}1": px.Float(low, high, log=log),
                f"{name}2": px.Categorical(choices),
                f"{name}3": px.Int(5, 9, when=px.In(f"{name}2", choices[1:])),
                f"{name}4": px.Float(0, 1, when=px.Between(f"{name}3", low=least)),
            }
        )

    first = program(space(0, 1, "x", ["a", "b"], 6, False))
    assert first == program(space(1e-3, 1e9, "y", [None, True], 8, True))
    assert first != program(px.Space({"x": px.Float(0, 1)}))
    kinds = (px.Float(1, 2, log=True), px.Int(3, 9), px.Int(1, 99, log=True), px.Float(0, 1, step=0.25))
    alike = [program(px.Space({"x": domain}), 1) for domain in kinds]
    assert all(one == alike[0] for one in alike)


def test_smoothed_steps_fall_into_equal_cells():
    plan = single(inferred("x", optuna.distributions.IntDistribution(0, 4)))
    levels = (np.arange(1000) + 0.5) / 1000
    frame = plan.space.frame()
    found = [plan.params(row)["x"] for row in frame.decode(frame.drawn(levels[:, None]))]
    np.testing.assert_array_equal(np.bincount(np.array(found, int)), [200] * 5)
    wide = px.Space({"n": px.Int(0, 10**6), "x": px.Float(0, 1, when=px.Between("n", low=5))})
    assert smoothed(wide) is wide  # a step on which something depends stays one


ONE = adjusted(px.optuna_tpe, n_startup=0)(px.Space({"x": px.Float(0, 1)}))


def rows_of(n, seed=0):
    x = np.random.default_rng(seed).uniform(size=n)
    return [Row(np.array([v]), (abs(v - 0.3),)) for v in x]


def test_told_and_pending_rows():
    """Rows told as they come or at once give the same suggestion; the numbers and pending rows matter."""
    slow, fast, pending = Session(ONE), Session(ONE), [Row([0.3], None)]
    for row in rows_of(40):
        slow.tell([row])
    slow.ask(1, 0, 0, pending=pending)
    fast.tell(rows_of(40))
    first = slow.ask(7, 1, 2, pending=pending)
    np.testing.assert_array_equal(first, fast.ask(7, 1, 2, pending=pending))
    for numbers in ((8, 1, 2), (7, 2, 2), (7, 1, 3)):
        assert fast.ask(*numbers, pending=pending) != first


def test_only_the_order_of_one_objective_matters():
    """Losses with a huge offset lose nothing in float32."""
    plain, offset = Session(ONE), Session(ONE)
    for row in rows_of(40):
        plain.tell([row])
        offset.tell([row._replace(losses=(1e9 + 1e-3 * row.losses[0],))])
    np.testing.assert_array_equal(plain.ask(0, 0, 0), offset.ask(0, 0, 0))


@pytest.mark.slow
def test_one_compilation_up_to_1024_rows():
    sampler = adjusted(px.optuna_tpe, n_startup=0)(px.Space({"x": px.Float(0, 1), "n": px.Int(0, 2)}))
    with compilations() as seen:
        for _ in range(2):
            rows = Session(sampler)
            for i, row in enumerate(rows_of(1000)):
                rows.tell([row._replace(x=np.array([row.x[0], i % 3]))])
                if i % 50 == 0:
                    rows.ask(0, i, 0)
    assert len(seen) == 1


@pytest.mark.slow
def test_two_compilations_in_a_study_of_300_trials():
    """Through Optuna: catches a trial that reaches the program in another form, and a plan made anew."""

    def objective(trial):
        loss = (trial.suggest_float("x", 0, 1.5) - 0.3) ** 2 + 0.1 * trial.suggest_int("n", 0, 6)
        if trial.number % 20 == 19:
            raise optuna.TrialPruned
        return loss

    study = optuna.create_study(sampler=px.adapters.optuna.TPESampler(seed=0))
    with compilations() as seen:
        study.optimize(objective, n_trials=300)
    assert len(seen) == 2  # one finds repeats
    assert study.best_value < 0.01


@pytest.mark.slow
def test_repeats_are_rows_to_the_last_bit():
    """With noise after 20 rows and at every fifth one; without noise only the first of them, so far."""
    sampler = px.tpe(px.Space({"x": px.Float(1e-5, 1, log=True)}), start=px.samplers.RandomStart(5))
    for noise, wanted in ((0.1, [20, 25, 30]), (0.0, [20])):
        session, rng, x = Session(sampler), np.random.default_rng(0), []
        for i in range(32):
            x.append(float(session.ask(i)[0]))
            session.tell([Row(x[-1:], (math.log(x[-1]) + noise * rng.normal(),))])
        assert [i for i in range(32) if x[i] in x[:i]] == wanted
