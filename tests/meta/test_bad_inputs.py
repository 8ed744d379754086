"""Arguments of the array functions of meta-learning that are wrong: named errors; and those that look so."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parzax import meta

LOGS, NONE = np.zeros(4), np.zeros((3, 0))

REFUSED = {
    "quantile of 0": (lambda: meta.overlap_similarity(LOGS, LOGS, 0.0), ValueError, "^quantile.*0.0"),
    "quantile above 1": (lambda: meta.overlap_similarity(LOGS, LOGS, 1.5), ValueError, "^quantile.*1.5"),
    "quantile of NaN": (lambda: meta.overlap_similarity(LOGS, LOGS, np.nan), ValueError, "^quantile.*nan"),
    "quantile as text": (lambda: meta.overlap_similarity(LOGS, LOGS, "a"), TypeError, "^quantile"),
    "no points of sets": (lambda: meta.overlap_similarity(NONE, NONE), ValueError, "^log_p.*one point"),
    "no points": (lambda: meta.balanced_variation(LOGS, NONE), ValueError, "^of_q.*one point.*0"),
    "a number": (lambda: meta.balanced_variation(0.0, LOGS), ValueError, "^of_p.*one point"),
    "no uniform points": (
        lambda: meta.uniform_variation(LOGS, LOGS, NONE), ValueError, "^log_uniform.*one point",
    ),
    "similarity above 1": (lambda: meta.task_kernel([0.5, 1.5]), ValueError, "^similarities.*1.5"),
    "similarity below 0": (lambda: meta.task_kernel(np.array([-0.1])), ValueError, "^similarities.*-0.1"),
    "similarity of NaN": (lambda: meta.task_kernel(jnp.array([np.nan])), ValueError, "^similarities.*nan"),
    "one similarity": (lambda: meta.task_kernel(0.5), ValueError, "^similarities.*axis"),
}  # fmt: skip


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.usefixtures("as_installed")
def test_lists_and_whole_numbers():
    np.testing.assert_allclose(meta.task_kernel([1, 0]), [2 / 3, 1 / 3, 0], rtol=1e-6)
    np.testing.assert_allclose(meta.task_kernel([]), [1])
    assert float(meta.overlap_similarity([3, 2, 1, 0], [3, 2, 1, 0], 0.5)) == 1
    assert float(meta.balanced_variation([0.0, 0.0], [0.0]).value) == 0


def test_compiled_code_does_not_look():
    assert np.isnan(jax.jit(meta.task_kernel)(jnp.array([np.nan]))).all()


@pytest.mark.slow
def test_points_where_no_density_is_positive():
    """They count as points where the densities agree; where there are no others nothing is known."""
    nothing = np.full(100, np.nan)
    found = meta.balanced_variation(nothing, nothing)
    assert float(found.value) == 0
    assert float(found.error) > 0.5
    half = meta.balanced_variation(nothing, np.zeros(100))
    assert float(half.error) >= 0.5
    some = meta.balanced_variation(np.where(np.arange(100) < 50, np.nan, 0.0), np.zeros(100))
    assert (float(some.value), float(some.error)) == (0, pytest.approx(1.5 / 200))
