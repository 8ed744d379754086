"""One search over two processes that train together: docs/scale.md, without a broadcast."""

import numpy as np
import pytest
from devices import run_together

SCRIPT = """
data = place(np.linspace(-1, 1, 8, dtype=np.float32))

@jax.jit
def mean_error(data, rate):  # each process has half of the data; the mean is over all of them
    return jnp.mean((data - rate) ** 2) + jnp.log10(rate) ** 2

space = px.Space({"rate": px.Float(1e-3, 1, log=True), "kind": px.Categorical(["a", "b"])})
sampler = px.tpe(space)
state = sampler.init()
for key in jax.random.split(jax.random.key(0), 20):
    x = sampler.ask(key, state)
    params = space.as_dict(x[0])
    loss = float(np.asarray(mean_error(data, params["rate"])))  # on every process
    state = sampler.tell(state, x, [loss + (params["kind"] == "b")])
rows = np.column_stack([state.x, state.losses])[:20].tolist()
print(json.dumps({"processes": jax.process_count(), "rows": rows}), flush=True)
"""


@pytest.mark.slow
def test_processes_suggest_the_same_configurations():
    """To the last bit, also after the random start; the losses are means over the data of both processes."""
    one, other = run_together(SCRIPT, 2)
    assert one == other
    assert one["processes"] == 2
    rate, kind, loss = np.array(one["rows"]).T
    data = np.linspace(-1, 1, 8)
    np.testing.assert_allclose(
        loss, ((data - rate[:, None]) ** 2).mean(axis=1) + np.log10(rate) ** 2 + kind, rtol=1e-5
    )
    assert len(set(rate)) == 20
