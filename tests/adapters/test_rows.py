"""What the adapters' samplers share: labels for losses, spaces in unit coordinates, states that grow."""

import math

import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from compilations import compilations

import parzax as px
from parzax.adapters._codec import Codec
from parzax.adapters._order import Order
from parzax.adapters._rows import Row, Rows, Settings
from parzax.parzen.points import check_dtype


def test_labels_are_in_the_order_of_the_keys():
    """Also for losses that float32 cannot tell apart, equal ones, and infinite ones."""
    rng = np.random.default_rng(0)
    keys = [*(1e9 + rng.normal(size=300) * 1e-6), *rng.integers(0, 9, 50).tolist(), math.inf, -math.inf]
    order = Order()
    for i in range(0, len(keys), 7):
        order.add(keys[i : i + 7])
    ascending = [order.label(key) for key in sorted(set(keys))]
    assert all(np.diff(np.array(ascending, np.float32)) > 0)


def test_labels_are_spread_anew_when_they_run_out():
    """Keys that close in on a limit leave no room there, in one call or many."""
    one, many = Order(), Order()
    keys = [0.0, *(2.0**-i for i in range(300))]
    assert one.add(keys)
    times = sum(many.add([key]) for key in keys)
    assert 3 < times < 15
    for order in (one, many):
        assert not order.add(keys)
        labels = [order.label(key) for key in sorted(keys)]
        assert all(np.diff(np.array(labels, np.float32)) > 0)


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


def test_codec_there_and_back():
    codec = Codec(SPACE)
    rows = [
        [0, 12345.678, 25, 77, 123456789, 3e-295, 0.7, 5, 3, 4.5],
        [1, math.nan, 10, 1, -(10**9), 1e-300, 0.2, math.nan, 3, -2.5],
        [2, 3e6, 30, 1000, 10**9, 1e-290, 1, 7, 3, 7],
    ]
    for row in np.array(rows):
        inside = codec.encode(row)
        np.testing.assert_allclose(codec.decode(inside), row, rtol=1e-12)
        px.Observations.from_arrays(codec.space, np.stack([inside, inside]), [0.0, 1.0])
    check_dtype(codec.space, np.float32, native=True)  # float32 resolves every domain
    assert codec.encode(np.array([0, math.nan, *rows[0][2:]])) is None
    outside = codec.decode(codec.encode(np.array([0, -1e9, 12, 5000, 0, 1e-290, -3, 5, 3, -8])))
    np.testing.assert_allclose(outside, [0, -1e6, 10, 1000, 0, 1e-290, 0, math.nan, 3, -7])


def test_spaces_that_differ_in_names_and_bounds_are_one():
    def space(low, high, name, choices):
        return px.Space(
            {
                f"{name}1": px.Float(low, high),
                f"{name}2": px.Categorical(choices),
                f"{name}3": px.Int(5, 9, when=px.In(f"{name}2", choices[1:])),
            }
        )

    assert Codec(space(0, 1, "x", ["a", "b"])).space == Codec(space(-3, 1e9, "y", [None, True])).space
    kinds = (px.Float(1, 2, log=True), px.Int(3, 9), px.Int(1, 99, log=True), px.Float(0, 1, step=0.25))
    alike = {Codec(px.Space({"x": domain}), smooth=True).space for domain in kinds}
    assert len(alike) == 1


def test_smooth_levels_fall_into_equal_cells():
    codec = Codec(px.Space({"x": px.Int(0, 4)}), smooth=True)
    levels = (np.arange(1000) + 0.5) / 1000
    found = [codec.decode(codec.at_level(u))[0] for u in levels]
    np.testing.assert_array_equal(np.bincount(np.array(found, int)), [200] * 5)


ONE = px.optuna_tpe(px.Space({"p0": px.Float(0, 1)}), n_startup=0)


def rows_of(n, seed=0):
    x = np.random.default_rng(seed).uniform(size=n)
    return [Row(np.array([v]), (abs(v - 0.3),)) for v in x]


def test_growing_in_steps_is_told_at_once():
    """Rows told as they come, pending ones in between, labels spread anew: the same suggestion."""
    # Losses that close in on 0 make the labels run out.
    rows = [row._replace(loss=(2.0**-i,)) for i, row in enumerate(rows_of(40))]
    rows[0] = rows[0]._replace(loss=(0.0,))
    slow = Rows(ONE)
    for i, row in enumerate(rows):
        if i % 3 == 0:
            slow.ask([Row(row.x, None)], 1, i, 0)
        slow.append(row)
    fast = Rows(ONE)
    for row in rows:
        fast.append(row)
    pending = [Row(np.array([0.3]), None)]
    np.testing.assert_array_equal(slow.ask(pending, 7, 1, 2), fast.ask(pending, 7, 1, 2))
    assert fast.ask(pending, 7, 1, 2) != fast.ask(pending, 8, 1, 2)
    assert fast.ask(pending, 7, 1, 2) != fast.ask(pending, 7, 2, 2)
    assert fast.ask(pending, 7, 1, 2) != fast.ask(pending, 7, 1, 3)


def test_only_the_order_of_one_objective_matters():
    """Losses with a huge offset lose nothing in float32."""
    plain, offset = Rows(ONE), Rows(ONE)
    for row in rows_of(40):
        plain.append(row)
        offset.append(row._replace(loss=(1e9 + 1e-3 * row.loss[0],)))
    np.testing.assert_array_equal(plain.ask([], 0, 0, 0), offset.ask([], 0, 0, 0))


def test_equal_settings_are_one_program():
    """Settings that are numbers are part of the program, those that are arrays are not."""

    def settings(**options):
        return Settings(px.mo_tpe(px.Space({"p0": px.Float(0, 1)}), **options))

    assert settings() == settings()
    assert hash(settings()) == hash(settings())
    assert settings() != settings(epsilon=0.5)
    traced = [settings(epsilon=jnp.array(e)) for e in (0.1, 0.2)]
    assert traced[0] == traced[1] != settings()
    assert traced[1].sampler(traced[1].arrays).epsilon == jnp.array(0.2)


@pytest.mark.slow
def test_two_compilations_up_to_1024_rows():
    sampler = px.optuna_tpe(px.Space({"p0": px.Float(0, 1), "p1": px.Int(0, 2)}), n_startup=0)
    with compilations() as seen:
        for _ in range(2):
            rows = Rows(sampler)
            for i, row in enumerate(rows_of(1000)):
                rows.append(row._replace(x=np.array([row.x[0], i % 3])))
                if i % 50 == 0:
                    rows.ask([], 0, i, 0)
    assert len(seen) == 2


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
    assert 1 <= len(seen) <= 2
    assert study.best_value < 0.01
