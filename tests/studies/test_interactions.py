"""What is promised of interactions over many logs of 1000 rows, by the benchmark's own problems."""

import numpy as np
import pytest
from benchmarks.studies import interactions as benchmark
from importance.pairs.test_oracle import closed_form


@pytest.mark.slow
def test_closed_forms_agree_with_those_of_the_tests():
    # Catches a slip in one of two derivations, against integration by sampling of the gated one.
    assert [benchmark.closed_form(level) for level in (0.1, 0.5)] == pytest.approx(
        [closed_form(level) for level in (0.1, 0.5)]
    )
    x = np.random.default_rng(0).uniform(-1, 1, (2000, 1))
    other = np.linspace(-1, 1, 4000)[None]
    losses = np.sort(np.concatenate([(x * other).ravel(), np.linspace(-1, 1, x.size * other.size)]))
    cut = losses[int(0.1 * losses.size)]
    of_x = (x * other <= cut).mean(axis=1)
    p = of_x.mean()
    expected = 0.5 * (p * (1 - p) - 2 * of_x.var())
    assert benchmark.closed_form(0.1, 0.5) == pytest.approx(expected, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", benchmark.ADDITIVE)
@pytest.mark.parametrize("skewed", [False, True])
def test_pairs_without_an_interaction_have_none_on_average(name, skewed):
    # Over 100 logs, at both levels: |mean| <= 0.001 (0.002 for skewed rows), and p-values at 5 % that are not
    # far from 5 %.
    found = benchmark.outcomes(benchmark.log_of(benchmark.ADDITIVE[name], 100, skewed), 200)
    assert len(found) == 6
    for pair, own in found.items():
        promised = benchmark.LARGEST_SKEWED_MEAN if skewed else benchmark.LARGEST_MEAN
        assert np.abs(own.mean).max() <= promised, pair
    often = np.mean([own.found for own in found.values()], axis=0)
    # 600 p-values, those of pairs of one log not independent: about 0.015 of standard error.
    assert (often >= 0.01).all()
    assert (often <= 0.095).all()


@pytest.mark.slow
def test_products_are_found_where_they_are_active():
    found = benchmark.outcomes(benchmark.log_of(lambda x, _: x[..., 0] * x[..., 1], 100), 100)["x", "y"]
    assert found.mean[0] >= 0.75 * benchmark.closed_form(0.1)
    assert found.mean[1] >= 0.9 * benchmark.closed_form(0.5)
    gated = benchmark.outcomes(benchmark.gated(100), 100)
    own = gated.pop(("x", "y"))
    assert min(own.found) >= 0.95
    assert {frozenset(pair) for pair in gated} == {frozenset(pair) for pair in ("cx", "cy", "cu", "cv", "uv")}
    for pair, other in gated.items():
        assert np.abs(other.mean).max() <= 0.001, pair
