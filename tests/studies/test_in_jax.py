"""Benchmarks beside neighbours: their problems' optima, ratios, and what their pages say of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.studies import compatibility, in_jax
from benchmarks.studies.in_jax_problems import CONDITIONAL, MIXED, task

import parzax as px


@jax.numpy_dtype_promotion("standard")
@pytest.mark.parametrize(("name", "domains"), [("mixed", MIXED), ("conditional", CONDITIONAL)])
def test_no_configuration_is_below_the_optimum(name, domains):
    target, rng = task(name), np.random.default_rng(0)

    def drawn(domain):
        if not isinstance(domain, px.Float):
            return rng.choice(np.asarray(domain.list_values()), 2000)
        low, high = (np.log(x) if domain.log else x for x in (domain.low, domain.high))
        places = rng.uniform(low, high, 2000)
        return np.exp(places) if domain.log else places

    params = {key: jnp.asarray(drawn(domain)) for key, domain in domains.items()}
    losses = jax.jit(jax.vmap(lambda params: target.fn((), None, params)))(params)
    assert float(losses.min()) >= target.least
    best = {
        "mixed": {"rate": 10**-3.5, "dropout": 0.15, "decay": 1e-8 * 10**2.1, "activation": 2},
        "conditional": {"model": 1, "share": 0.3, "c": 1.0, "gamma": 1.0},
    }[name]
    integers = {k: d.list_values() for k, d in domains.items() if isinstance(d, px.Int)}
    grid = jnp.meshgrid(*map(jnp.asarray, integers.values()))
    params = best | dict(zip(integers, grid, strict=True))
    if name == "mixed":  # the activation moves the best rate by 0.2 of its axis
        params["rate"] = 10 ** (-5 + 5 * 0.5)
    losses = jax.jit(target.fn)((), None, {k: jnp.asarray(v) for k, v in params.items()})
    np.testing.assert_allclose(losses.min(), target.least, atol=1e-5)


def _arrays(gap, first=1.0):
    return {"gaps": gap * np.exp([-0.1, 0.0, 0.1]), "first": np.array(first), "later": np.array([0.1, 0.1])}


def test_the_page_says_who_is_ahead_and_what_does_not_hold():
    found = {}
    for problem, gap in (("mixed", 0.1), ("conditional", 10.0)):
        found |= {f"{problem}/16/{in_jax.OURS}": _arrays(gap), f"{problem}/16/{in_jax.RANDOM}": _arrays(1.0)}
        found[f"{problem}/16/{in_jax.GP}"] = _arrays(1.0, 20.0 if problem == "mixed" else 9.0)
    page = in_jax.written(found)
    assert page.failed == [
        "conditional: the mean gap of hyperoptax, GP is smaller",
        "conditional: the mean gap of hyperoptax, random is smaller",
    ]
    text = "\n".join(page.blocks)
    assert "* conditional: 1.0 s of 9.0 s of hyperoptax, GP" in text
    assert "mixed: 1.0 s" not in text
    found["mixed/16/parzax"] = _arrays(0.1, 11.0)
    assert "mixed: 11.0 s of 20.0 s of hyperoptax, GP" in in_jax.written(found).failed
    found["mixed/16/parzax"] = _arrays(0.1)
    words = "(k in brackets): parzax is ahead on mixed (16); hyperoptax, GP is ahead on conditional (16)."
    assert words in text
    mean, low, high = in_jax.ratio(found["mixed/16/parzax"], found["mixed/16/hyperoptax, GP"])
    assert low < mean < high < 1
    np.testing.assert_allclose(mean, 0.1)


def test_evaluators_are_compared_by_value_and_order():
    assert compatibility._difference(1.0 + 1e-9, 1.0) == pytest.approx(1e-9, rel=1e-3)
    assert compatibility._difference(1e-3, 0.0) == 1e-3
    theirs = {"a": 0.5, "b": 0.25, "c": 0.25}
    assert compatibility._same_order({"a": 0.5, "c": 0.25, "b": 0.25}, theirs)
    assert not compatibility._same_order({"b": 0.25, "a": 0.5, "c": 0.25}, theirs)
