"""What `benchmarks.batches` says of made-up runs, and that its rules do what they are called."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks import batches

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


@pytest.mark.slow
@pytest.mark.parametrize("name", batches.RULES)
def test_rules(name):
    """Catches suggestions of one key, and a batch that knows nothing of what it has told as pending."""
    sampler = px.tpe(SPACE, n_startup=2)
    x = jnp.linspace(0, 1, 12)[:, None]
    state = sampler.tell(sampler.init(64), x, jnp.abs(x - 0.5))
    found = jax.jit(lambda key: batches.RULES[name](sampler, key, state, 5))(jax.random.key(0))
    assert found.shape == (5, 1)
    assert len(np.unique(found)) == 5
    if name == "one by one, pending":
        # The same keys without that knowledge: the first is the same, and not all others are.
        alone = batches.each_alone(sampler, jax.random.key(0), state, 5)
        np.testing.assert_array_equal(np.isclose(found, alone).ravel()[:1], [True])
        assert not np.isclose(found, alone).all()
