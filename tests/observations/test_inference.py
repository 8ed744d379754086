"""Domains that are inferred from values: log axes, and lists of few numbers."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import parzax as px


def infer(values: Any) -> Any:
    frame = pd.DataFrame({"x": values, "loss": np.random.default_rng(2).normal(size=len(values))})
    obs = px.Observations.from_dataframe(
        frame, target="loss", direction="minimize", parameters="x", warn=False
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
