"""Good values: the ranges and choices that are over-represented, against counting rows."""

import json
import re
from functools import cache

import jax
import numpy as np
import pytest

import parzax as px
from parzax.lens.cli import main
from parzax.lens.results.result import good_text

N = 4000
SPACE = px.Space(
    {
        "c": px.Categorical(["a", "b", "c"]),
        "x": (
            px.Float(-1, 0, when=px.In("c", ["a"])),
            px.Float(1e-3, 1e3, log=True, when=px.In("c", ["b", "c"])),
        ),
        "k": px.Int(0, 9),
        "one": px.Float(2, 2),
    }
)


def observations(n_seeds: int | None = None) -> px.Observations:
    """c matters, x in both of its regimes, k is best at 3 to 5."""
    shape = (N,) if n_seeds is None else (n_seeds, N)
    rng = np.random.default_rng(0)
    c, k = rng.integers(0, 3, shape), rng.integers(0, 10, shape)
    low, high = rng.uniform(-1, 0, shape), 10 ** rng.uniform(-3, 3, shape)
    x = np.where(c == 0, low, high)
    bad = np.where(c == 0, np.abs(low + 0.2) > 0.1, np.abs(np.log10(high) - 1) > 0.5)
    losses = 2.0 * bad + 1.0 * (np.abs(k - 4) > 1) + 0.5 * (c == 2) + 1e-3 * rng.uniform(size=shape)
    values = np.stack([c, x, k, np.full(shape, 2.0)], axis=-1)
    return px.Observations.from_arrays(SPACE, values, losses)


@cache
def result(n_seeds: int | None = None) -> px.ImportanceResult:
    """Of two levels; two resolutions are enough, and compile in half the time of the default ones."""
    estimator = {"divergence": px.divergence.Explained((12,), ())}
    return px.cond_ped_anova(observations(n_seeds), [0.02, 0.5], n_resamples=20, **estimator)


def _check_shares(own, obs, n_target):
    """Of the regime's rows, in the target and in all, those that have the values: no density, but counts."""
    values = np.atleast_3d(obs.values.T).T if obs.values.ndim == 2 else obs.values
    values, losses = values.reshape(-1, N, 4), obs.losses[..., 0].reshape(-1, N)
    c, x = values[..., 0], values[..., SPACE.index(own.parameter)]
    regime = np.ones_like(c, bool) if own.parameter != "x" else (c == 0) == (own.regime == 0)
    ranked = np.argsort(np.argsort(losses, axis=1), axis=1)
    best = ranked < np.reshape(n_target, (-1, 1))
    if own.parameter == "c":
        has = np.isin(x, ["abc".index(choice) for choice in own.values])
    else:
        has = (own.values[0] <= x) & (x <= own.values[1])
    for share, rows in ((own.target, best & regime), (own.region, regime)):
        np.testing.assert_allclose(share, has[rows].mean(), atol=1e-6)


@pytest.mark.parametrize("n_seeds", [None, pytest.param(3, marks=pytest.mark.slow)])
def test_good_values_are_those_of_the_problem(n_seeds):
    """Ranges end where the problem's do, within cells; catches a range of the wrong regime or parameter."""
    obs, goods = observations(n_seeds), result(n_seeds).good_values()
    found = {(own.parameter, own.regime): own for own in goods}
    assert set(found) == {("c", 0), ("x", 0), ("x", 1), ("k", 0)}
    assert set(found["c", 0].values) <= {"a", "b"}
    assert found["k", 0].values == (3, 5)
    np.testing.assert_allclose(found["x", 0].values, (-0.3, -0.1), atol=0.05)
    np.testing.assert_allclose(np.log10(found["x", 1].values), (0.5, 1.5), atol=0.3)
    for own in found.values():
        assert 0 <= own.region < own.target <= 1 + 1e-6
        _check_shares(own, obs, result(n_seeds).n_target[..., 0])
    order = result(n_seeds).ranking()
    assert [own.parameter for own in goods] == sorted((own.parameter for own in goods), key=order.index)


def test_shares_of_a_domain_say_which_rows_they_are_of():
    """Catches "momentum 0.6 to 1 (71 % of the best)" where 7 of 30 of them have a momentum."""
    own = next(own for own in result().good_values() if (own.parameter, own.regime) == ("x", 0))
    text = good_text(own, SPACE["x"])
    assert " of the best on this domain, " in text
    assert text.endswith(" of all there)")
    one = (px.Float(-1, 0, when=px.In("c", ["a"])),)
    assert text.replace("on this domain", "where it is active") == good_text(own, one)
    assert good_text(own, (px.Float(-1, 0),)).endswith(" of all)")


@pytest.mark.slow
def test_ranges_end_where_rows_do_in_any_precision():
    """Catches ends that rounding chooses, among cells without any row."""
    x = np.random.default_rng(0).uniform(0.3, 0.7, (200, 2))
    space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    obs = px.Observations.from_arrays(space, x, abs(x[:, 0] - 0.7))
    found = []
    for x64 in (False, True):
        with jax.enable_x64(x64):
            good = px.cond_ped_anova(obs, 0.3, n_resamples=0).good_values()[0]
        found.append(good)
    assert found[0] == found[1]
    np.testing.assert_allclose(good.values, (0.58, 0.7), atol=0.1)


def test_nothing_is_good_without_a_test():
    """Of forty rows of noise and one parameter that decides, read by the default call."""
    x = np.random.default_rng(1).uniform(size=(40, 4))
    space = px.Space({name: px.Float(0, 1) for name in "abcd"})
    answer = px.cond_ped_anova(px.Observations.from_arrays(space, x, (x[:, 1] - 0.3) ** 2))
    assert [good.parameter for good in answer.good_values()] == ["b"]
    assert (answer.p_adjusted[0, [0, 2, 3]] > 0.05).all()


@pytest.mark.slow
def test_command_line(tmp_path, capsys):
    """The sentences name them, and JSON has them and null where an importance is not defined."""
    x = np.random.default_rng(0).uniform(size=200)
    form = {"delimiter": ",", "header": "x,value", "comments": ""}
    np.savetxt(tmp_path / "t.csv", np.stack([x, (x - 0.3) ** 2], 1), **form)
    assert main(["importance", str(tmp_path / "t.csv"), "--json", str(tmp_path / "o.json")]) == 0
    found = re.search(r"Do next: try x (0\.\d+) to (0\.\d+)", capsys.readouterr().out)
    assert found
    assert abs(float(found[1]) - 0.25) < 0.06
    assert abs(float(found[2]) - 0.35) < 0.06
    (own,) = json.loads((tmp_path / "o.json").read_text())["good_values"]
    assert own["parameter"] == "x"
    assert 0.19 < own["values"][0] < own["values"][1] < 0.41
    np.savetxt(tmp_path / "flat.csv", np.stack([x, np.zeros(200)], 1), **form)
    assert main(["importance", str(tmp_path / "flat.csv"), "--json", str(tmp_path / "flat.json")]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("x "))
    assert row.split()[1] == "-"
    (record,) = json.loads((tmp_path / "flat.json").read_text())["records"]
    assert record["importance"] is None
