"""Broken samplers of mixtures fail the checks that `test_samplers` makes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mixture_cases import (
    CASES,
    UNIT,
    Case,
    N,
    excess,
    failures,
    generator,
    key,
    sample,
    tree_regimes,
)
from reference.frequencies import Checks

import parzax as px
from parzax.density import mixture
from parzax.kernels import AitchisonAitken

MUTANTS = Checks(5e-7, 500)


def _sample_anew(pe: px.ParzenEstimator, seed: int) -> jax.Array:
    """`ParzenEstimator.sample` compiled anew, so that it sees what was patched."""

    def draw(basis, mixture, key):
        return basis.frame.decode(mixture.sample(key, basis, N))

    return eqx.filter_jit(draw)(pe.basis, pe.mixture, key(seed))


def _with(case: Case, where: Callable, new: Callable) -> tuple[Case, px.ParzenEstimator, Any]:
    """Draws of an estimator with one array changed, under the law of the right one."""
    pe = case.fit()
    return case, pe, sample(eqx.tree_at(where, pe, new(pe)), key(99))


def _key_reused(monkeypatch):
    """The component and every draw from one number."""
    original = mixture.open_uniform

    def open_uniform(*arguments):
        levels = original(*arguments)
        return levels.at[..., 1:].set(levels[..., :1])

    monkeypatch.setattr(mixture, "open_uniform", open_uniform)
    pe = CASES["no prior"].fit()
    return CASES["no prior"], pe, _sample_anew(pe, 0)


def _one_key_for_all_parameters(monkeypatch):
    """Parameters that share their number: right one by one, dependent within a component."""
    original = mixture.open_uniform

    def open_uniform(*arguments):
        levels = original(*arguments)
        return levels.at[..., 1:].set(levels[..., 1:2])

    monkeypatch.setattr(mixture, "open_uniform", open_uniform)
    case = replace(CASES["clusters"], bandwidth=px.bandwidth.Constant(0.3), scale=0.3)
    pe = case.fit()
    return case, pe, _sample_anew(pe, 1)


def _prior_dropped():
    return _with(CASES["narrow"], lambda pe: pe.mixture.prior_weight, lambda pe: 0 * pe.prior_weight)


def _weights_shifted():
    """The row before the one whose weight was drawn."""
    return _with(CASES["unequal weights"], lambda pe: pe.mixture.weight, lambda pe: jnp.roll(pe.weight, 1))


def _scale_off():
    case = Case(UNIT, [[0.375]], prior_weight=0)
    return _with(case, lambda pe: pe.mixture.scale, lambda pe: pe.scale * 1.03)


def _linear_axis():
    """Draws on the log axis, stretched to native values as if it were linear."""
    case = CASES["log"]
    pe = case.fit()
    axis = case.true_law(pe).axes[0, 0]
    unit = axis.unit(np.asarray(sample(pe, key(4)), float))
    return case, pe, axis.low + unit * (axis.high - axis.low)


def _kernels_of_other_regimes():
    """A row of another regime draws from a kernel at a made-up place, where the prior stands for it."""
    case = CASES["tree"]
    return _with(
        case,
        lambda pe: (pe.mixture.rows.regime, pe.mixture.scale),
        lambda pe: (jnp.maximum(pe.mixture.rows.regime, 0), jnp.where(pe.scale == 1, 0.1, pe.scale)),
    )


def _branches_independent():
    """Whether a parameter is active drawn apart from the parents, as Optuna samples branches."""
    case = CASES["tree"]
    pe = case.fit()
    draws = np.array(sample(pe, key(6)))
    draws[:, 4] = generator(3).permutation(draws[:, 4])
    return case, pe, draws


def _children_forget_the_component():
    """Conditions hold, but given its regime a child is drawn from any component."""
    case = CASES["tree"]
    pe = case.fit()
    draws = np.array(sample(pe, key(7)))
    rng = generator(4)
    for regime in (0, 1):
        here = np.flatnonzero(tree_regimes(draws)[:, 2] == regime)
        draws[here, 2] = rng.permutation(draws[here, 2])
    return case, pe, draws


def _own_category_among_others(monkeypatch):
    def quantile(cls, level, place, scale, n_values):
        n_values = n_values.astype(level.dtype)
        number = jnp.floor(level / scale * n_values)
        return jnp.where(level < scale, (number + 0.5) / n_values, place)

    monkeypatch.setattr(AitchisonAitken, "quantile", classmethod(quantile))
    case = replace(CASES["categories"], prior_weight=0)
    pe = case.fit()
    return case, pe, _sample_anew(pe, 8)


BROKEN = [
    _key_reused, _one_key_for_all_parameters, _prior_dropped, _weights_shifted, _scale_off,
    _linear_axis, _kernels_of_other_regimes, _branches_independent,
    _children_forget_the_component, _own_category_among_others,
]  # fmt: skip


FAST = (_prior_dropped, _weights_shifted, _branches_independent, _children_forget_the_component)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(f, id=f.__name__.strip("_"), marks=[] if f in FAST else [pytest.mark.slow])
        for f in BROKEN
    ],
)
def test_broken_samplers_fail(broken, monkeypatch, record_property):
    """The same checks at the same level notice each of these mistakes."""
    takes_patch = broken.__code__.co_argcount > 0
    found = failures(excess(*(broken(monkeypatch) if takes_patch else broken()), MUTANTS))
    assert found
    worst = max(found, key=found.get)
    name = broken.__name__.strip("_")
    record_property("tried", f"broken sampler {name}: {worst} at {found[worst]:.2f} of the allowance")
