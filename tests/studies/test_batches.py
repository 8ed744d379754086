"""What `benchmarks.studies.batches` says of made-up runs, and that its rules do what they are called."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from benchmarks.studies import batches, batches_constrained

import parzax as px

SPACE = px.Space({"x": px.Float(0, 1)})


def runs(factor: float) -> dict[str, dict[str, np.ndarray]]:
    """Gaps of 20 runs on 9 problems: `ask(n)` has so many times those of all others."""
    rng, found = np.random.default_rng(0), {}
    for rule, n in [(batches.OURS, 1), (batches.PEER, 1), *((r, 4) for r in (*batches.RULES, batches.PEER))]:
        times = factor if (rule, n) == (batches.OURS, 4) else 1.0
        gaps = np.exp(0.01 * rng.normal(size=(9, 20, 1))) * np.linspace(2, 1, 64) * times
        found[f"{rule}/{n}/mixed"] = {f"mixed/{i}": own for i, own in enumerate(gaps)}
    return found


def test_verdict():
    """Catches a batch that costs more and passes, and one that costs as much and does not."""
    assert batches.behind(runs(1.0), 4, 64) == []
    lost = batches.behind(runs(1.3), 4, 64)
    assert [text.split(": ")[1].split(", by")[0] for text in lost] == [*[*batches.RULES][1:], batches.PEER]
    assert all(text.endswith(("1.29", "1.30", "1.31")) for text in lost)
    assert "| 4 | ask(n) | 1.3" in batches.table(runs(1.3), [4], [64])
    assert batches.log_ratios(runs(1.3), batches.OURS, 1, 64) == {f"mixed/{i}": 0.0 for i in range(9)}


def test_page_of_kinds():
    """Catches groups under the wrong heading, and a verdict over all kinds together."""
    found = {}
    for group, times in (("mixed in a ball", 1.3), ("pairs of bbob-05d", 1.0)):
        for name, cases in runs(times).items():
            own = {case.replace("mixed", group): gaps for case, gaps in cases.items()}
            found[name.replace("mixed", group)] = own
    page = batches_constrained.written({k: v for k, v in found.items() if batches.PEER not in k})
    assert page.shape == (20, 64)
    assert [block for block in page.blocks if block.startswith("##")] == [
        "## Constraints",
        "## Two objectives",
    ]
    assert len(page.failed) == len(batches.RULES) - 1
    assert page.blocks[-1].endswith("None has.")


def test_liar():
    """Catches lies that come from infeasible rows, and lies where no row is feasible."""
    lies = []

    class Told:
        """Notes what is told."""

        n_objectives = n_constraints = 1

        def ask(self, key, state):
            return jnp.zeros((1, 1))

        def tell(self, state, x, objectives, constraints):
            lies.append((objectives, constraints))
            return state

    sampler = px.tpe(SPACE, 1, 1)
    x = jnp.array([[0.1], [0.2], [0.6], [0.9]])
    rule = batches.LIARS["one by one, median"]
    for limits, wanted in (([-2.0, -1.0, -4.0, 1.0], (0.4, -2.0)), ([1.0] * 4, (np.nan, np.nan))):
        state = sampler.tell(
            sampler.init(8), x, 1 - x - jnp.array([[0.7], [0], [0], [0]]), jnp.array([limits]).T
        )
        with jax.disable_jit():
            rule(Told(), jax.random.key(0), state, 2)
        np.testing.assert_allclose(np.ravel(lies[-1]), wanted, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*batches.RULES, *batches.LIARS])
def test_rules(name):
    """Catches suggestions of one key, and a batch that knows nothing of what it has told as pending."""
    sampler = adjusted(px.tpe, n_startup=2)(SPACE)
    x = jnp.linspace(0, 1, 12)[:, None]
    state = sampler.tell(sampler.init(64), x, jnp.abs(x - 0.5))
    found = jax.jit(lambda key: {**batches.RULES, **batches.LIARS}[name](sampler, key, state, 5))(
        jax.random.key(0)
    )
    assert found.shape == (5, 1)
    assert len(np.unique(found)) == 5
    if name.startswith("one by one"):
        # The same keys without that knowledge: the first is the same, and not all others are.
        alone = batches.each_alone(sampler, jax.random.key(0), state, 5)
        np.testing.assert_array_equal(np.isclose(found, alone).ravel()[:1], [True])
        assert not np.isclose(found, alone).all()
