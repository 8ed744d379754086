"""Domains that are inferred from values: log axes, and lists of few numbers."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import parzax as px


def infer(values: Any) -> Any:
    frame = pd.DataFrame({"x": values, "loss": np.random.default_rng(2).normal(size=len(values))})
    obs = px.Observations.from_dataframe(
        frame, target="loss", directions="minimize", parameters="x", warn=False
    )
    (domain,) = obs.space["x"]
    return domain


@pytest.mark.parametrize(("low", "high"), [(1e-4, 1e-1), (1e-5, 1e-2), (1e-3, 1.0), (1e-6, 1.0)])
@pytest.mark.parametrize("n", [30, 100, 1000])
def test_values_that_are_uniform_on_a_log_axis(low: float, high: float, n: int) -> None:
    rng = np.random.default_rng(0)
    drawn = [infer(np.exp(rng.uniform(np.log(low), np.log(high), n))) for _ in range(20)]
    # 30 values may span less than two decades of three, or be skewed by chance.
    assert np.mean([domain.log for domain in drawn]) >= (0.9 if n == 30 else 1)


@pytest.mark.parametrize("n", [30, 100, 1000])
@pytest.mark.parametrize("kind", ["uniform", "half-normal", "integers", "triangular"])
def test_values_that_are_spread_over_a_linear_axis(kind: str, n: int) -> None:
    rng = np.random.default_rng(1)
    draw = {
        "uniform": lambda: rng.uniform(0, 1, n),
        "half-normal": lambda: np.abs(rng.normal(size=n)),
        "integers": lambda: rng.integers(1, 1001, n),
        "triangular": lambda: rng.triangular(0, 0.2, 1, n),
    }[kind]
    assert not any(infer(draw()).log for _ in range(20))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([64, 128, 256, 512] * 5, px.Ordinal([64, 128, 256, 512])),
        ([0.1, 0.5, 0.9] * 5, px.Ordinal([0.1, 0.5, 0.9])),
        ([1, 10, 1000] * 3, px.Ordinal([1, 10, 1000], log=True)),
        ([16, 64] * 10, px.Ordinal([16, 64])),
        ([1, 2, 3, 4] * 10, px.Int(1, 4)),
        ([0, 1] * 10, px.Int(0, 1)),
        ([7] * 10, px.Int(7, 7)),
        ([0.1, 0.5, 0.9], px.Float(0.1, 0.9)),
        ([0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50] * 3, px.Int(0, 50)),
    ],
)
def test_few_numbers_are_listed(values: list, expected: px.space.Domain) -> None:
    """Few numbers that come again and again are an `Ordinal`, unless nothing lies between them."""
    assert infer(values) == expected


# --- gaps: inactive, or a choice of its own -----------------------------------------------------


def read(**columns: Any) -> px.Space:
    n = len(next(iter(columns.values())))
    frame = pd.DataFrame({**columns, "loss": np.random.default_rng(2).normal(size=n)})
    names = list(columns)
    obs = px.Observations.from_dataframe(
        frame, target="loss", directions="minimize", parameters=names, warn=False
    )
    return obs.space


def drawn(seed: int, choices: list, n: int = 60) -> list:
    return [choices[i] for i in np.random.default_rng(seed).integers(len(choices), size=n)]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (drawn(0, ["balanced", None]), px.Categorical(["balanced", None])),
        (drawn(0, [5, 10, 20, None]), px.Categorical([5, 10, 20, None])),
        (drawn(0, [0.5, None]), px.Categorical([0.5, None])),
        (drawn(0, [1, 2, 3, None]), px.Categorical([1, 2, 3, None])),
        (drawn(0, [True, False, None]), px.Categorical([False, True, None])),
    ],
)
def test_gaps_that_no_column_explains_are_a_choice(values: list, expected: px.Categorical) -> None:
    """Catches a decisive None, such as of ``class_weight``, that gets an importance of 0."""
    lr = np.random.default_rng(1).random(60)
    space = read(x=values, lr=lr, other=drawn(3, ["u", "v", "w"]), empty_too=drawn(4, ["p", None]))
    assert space["x"] == (expected,)


@pytest.mark.parametrize("absent", [None, "None", "auto", "unlimited", "sqrt", np.inf, -1, 0])
def test_none_or_a_number_is_a_choice(absent: Any) -> None:
    """Whether depth is limited decides; catches an importance of 1 of the other parameter."""
    rng = np.random.default_rng(0)
    depth, y = rng.integers(1, 31, 200).astype(object), rng.random(200)
    limited = np.arange(200) % 5 > 0
    depth[~limited] = absent
    df = pd.DataFrame({"max_depth": depth, "y": y, "loss": limited + 0.01 * y})
    obs = px.Observations.from_dataframe(df, "loss", warn=False, parameters=["max_depth", "y"])
    result = px.cond_ped_anova(obs, 0.1, n_resamples=0)
    gate, depth_itself, other = result.importance[0]
    word = "none" if absent in (None, "None") else str(absent)
    assert obs.space.names == (f"max_depth ({word} or number)", "max_depth", "y")
    assert obs.space["max_depth"][0] == px.Int(1, 30, when=px.In(obs.space.names[0], ["number"]))
    np.testing.assert_allclose([gate + depth_itself, other], [0.8, 0.2], atol=0.1)
    assert f"What mattered: {obs.space.names[0]} (" in str(result)  # nothing is cut where there is room


def test_zero_or_a_number_is_a_choice() -> None:
    """A weight decay of zero beside numbers over decades; catches a linear axis that hides it."""
    rng = np.random.default_rng(0)
    wd = np.where(rng.random(200) < 0.25, 0, 10 ** rng.uniform(-6, 0, 200))
    df = pd.DataFrame({"wd": wd, "y": rng.random(200)})
    df["loss"] = (wd != 0) + 0.01 * df.y
    obs = px.Observations.from_dataframe(df, "loss", warn=False, parameters=["wd", "y"])
    assert obs.space.names == ("wd (0 or number)", "wd", "y")
    assert obs.space["wd"][0].log
    labelled = df.assign(wd=np.where(wd == 0, "zero", "other"))
    by_labels = px.Observations.from_dataframe(labelled, "loss", warn=False, parameters=["wd", "y"])
    gate, _, y = px.cond_ped_anova(obs, 0.1, n_resamples=0).importance[0]
    np.testing.assert_allclose(
        [gate, y], px.cond_ped_anova(by_labels, 0.1, n_resamples=0).importance[0], atol=1e-5
    )
    # The space that was inferred reads the same table.
    space = px.Space.from_json(obs.space.to_json())
    again = px.Observations.from_dataframe(df, "loss", space=space, warn=False)
    np.testing.assert_array_equal(again.values, obs.values)


NUMBERS = [
    lambda rng, n: rng.uniform(0.01, 0.9, n),
    lambda rng, n: 10 ** rng.uniform(-6, 0, n),
    lambda rng, n: 10 ** rng.uniform(-2, -1, n),
    lambda rng, n: rng.integers(1, 31, n),
    lambda rng, n: np.exp(rng.uniform(np.log(16), np.log(1024), n)).astype(int),
    lambda rng, n: rng.integers(1, 21, n) / 20,
    lambda rng, n: rng.beta(2, 3, n),
]


@pytest.mark.parametrize("has_effect", [True, False])
def test_special_values_beside_numbers_are_gates(has_effect: bool) -> None:
    """One or two special values in a tenth of the rows or more each; catches a rule for one kind alone."""
    n_found = 0
    for number in range(60):
        rng = np.random.default_rng(number)
        n, share = int(rng.choice([60, 100, 200])), rng.uniform(0.12, 0.35)
        special = [[None, "auto", "sqrt", 0, -1, np.inf][i] for i in rng.permutation(6)[: 1 + number % 2]]
        kind = (rng.random(n) // share).astype(int)
        x = [
            special[k] if k < len(special) else v
            for k, v in zip(kind, NUMBERS[number % 7](rng, n).tolist(), strict=True)
        ]
        loss = rng.random(n) + 3 * has_effect * (kind == 0)
        df = pd.DataFrame({"x": pd.Series(x, dtype=object).infer_objects(), "y": rng.random(n), "loss": loss})
        obs = px.Observations.from_dataframe(df, "loss", parameters=["x", "y"], warn=False)
        words = {"none" if value is None else str(value) for value in special}
        gate: Any = obs.space.domains[0][0]
        n_found += len(obs.space) == 3 and {*gate.choices} == {*words, "number"}
    assert n_found >= 57


PLAIN = [
    lambda rng, n: rng.uniform(0, 1, n),
    lambda rng, n: 10 ** rng.uniform(-6, 0, n),
    lambda rng, n: rng.integers(0, 31, n),
    lambda rng, n: rng.integers(-1, 21, n),
    lambda rng, n: rng.integers(0, 101, n),
    lambda rng, n: rng.integers(0, 21, n) / 20,
    lambda rng, n: np.exp(rng.uniform(0, np.log(1000), n)).astype(int),
    lambda rng, n: rng.normal(size=n).round(1),
    # As in a search that learns, whose best value is 0.
    lambda rng, n: rng.geometric(0.2, n) - 1,
    lambda rng, n: np.where(
        rng.random(n) < 0.6, abs(rng.normal(0, 2, n)).astype(int), rng.integers(0, 31, n)
    ),
]


def test_plain_numbers_have_no_gate() -> None:
    """Catches a gate before a 0 that is the first of many values, or the best of them."""
    for number in range(60):
        rng = np.random.default_rng(number)
        x = PLAIN[number % 10](rng, int(rng.choice([40, 100, 200, 500])))
        assert read(x=x, y=rng.random(len(x))).names == ("x", "y")


@pytest.mark.parametrize("n", [15, 60, 300])
@pytest.mark.parametrize("kind", ["one value", "threshold", "one branch", "two conditions", "none of them"])
def test_gaps_of_conditional_parameters(n: int, kind: str) -> None:
    """Catches a condition that is taken for a choice, by each way in which a column can explain gaps."""
    n = max(n, 60) if kind == "two conditions" else n
    rng = np.random.default_rng(0)
    kernel, depth, shrink = rng.choice(["rbf", "poly", "linear"], n), rng.integers(1, 40, n), rng.random(n)
    active = {
        "one value": kernel == "poly",
        "threshold": depth > 20,
        "one branch": rng.random(n) < 0.5,
        "two conditions": (kernel != "rbf") & (shrink > 0.4),
        "none of them": rng.random(n) < 0.5,
    }[kind]
    x, twin = np.where(active, drawn(1, ["a", "b"], n), None), np.where(active, rng.random(n), np.nan)
    more = {"twin": twin} if kind == "one branch" else {}
    (domain,) = read(x=x, kernel=kernel, depth=depth, lr=rng.random(n), **more)["x"]
    assert (domain.conditions == (px.Recorded(),)) == (kind != "none of them")
