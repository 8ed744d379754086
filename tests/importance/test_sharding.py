"""Eight forced CPU devices, Auto and Explicit meshes: the counts of one device, and which collectives."""

import json

import pytest
from devices import run_on_devices

COMMON = """
import json, re
from functools import partial
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import parzax as px

space = px.Space({
    "c": px.Float(0, 1),
    "x": (px.Float(-5, -2, when=px.Between("c", high=0.5)), px.Int(2, 9, when=px.Between("c", low=0.5))),
    "k": px.Categorical(["a", "b", "c"]),
})
rng, n = np.random.default_rng(0), 64
c, k = rng.uniform(size=(16, n)), rng.integers(0, 3, (16, n))
x = np.where(c < 0.5, rng.uniform(-5, -2, c.shape), rng.integers(2, 10, c.shape))
rows = np.stack([c, x, k], axis=-1).astype(np.float32)
losses = np.round(np.abs(x) + (k == 1), 1).astype(np.float32)
levels, grid = [0.1, 0.5], px.Grid(max_cells=12)

def importance(x, loss):
    return px.importance.estimate(px.encode(space, x, loss, levels, grid=grid))

def place(tree, kind, n_devices, spec=P("s")):
    types = getattr(AxisType, kind),
    mesh = jax.make_mesh((n_devices,), ("s",), axis_types=types, devices=jax.devices()[:n_devices])
    return jax.device_put(tree, NamedSharding(mesh, spec))

def collectives(compiled):
    kinds = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
    return re.findall(rf" ({kinds})(?:-start)?[(]", compiled.as_text())

def run(function, arrays, expected):
    # The results, and a report: collectives, and whether they equal the expected ones.
    compiled = jax.jit(function).lower(*arrays).compile()
    results = compiled(*arrays)
    pairs = [(a, np.asarray(a), np.asarray(b)) for a, b in
             zip(*map(jax.tree.leaves, (results, expected)), strict=True)]
    return results, {
        "collectives": sorted(collectives(compiled)),
        "gap": max(float(np.nanmax(abs(a.astype(float) - b))) for _, a, b in pairs),
        "integers": all((a == b).all() for _, a, b in pairs if a.dtype.kind in "iu"),
        "sharded": all(not a.sharding.is_fully_replicated for a, _, _ in pairs),
    }

out = {"devices": len(jax.devices())}
"""

SEEDS = """
seeds, alone = jax.vmap(importance), jax.jit(jax.vmap(importance))(rows, losses)
for kind, n_devices in MESHES:
    out[f"{kind} {n_devices}"] = run(seeds, place((rows, losses), kind, n_devices), alone)[1]
# Two vmaps, of which the outer one is sharded.
ranks = jax.vmap(jax.vmap(px.pareto.non_domination_rank))
points = np.round(rng.uniform(size=(4, 2, 60, 2)), 1).astype(np.float32)
expected = np.reshape(jax.jit(jax.vmap(px.pareto.non_domination_rank))(points.reshape(8, 60, 2)), (4, 2, 60))
out["ranks"] = [run(ranks, place((points,), kind, 4), expected)[1]["integers"] for kind in KINDS]
"""

ROWS = """
encode = lambda x, loss: px.encode(space, x, loss, levels, grid=grid)
log = rows.reshape(-1, 3)[:256], losses.reshape(-1)[:256]
encoded = jax.jit(encode)(*log)
alone = jax.jit(px.importance.estimate)(encoded)
for kind, n_devices in MESHES:
    sharded, out[f"encode {kind} {n_devices}"] = run(encode, place(log, kind, n_devices), encoded)
    _, out[f"estimate {kind} {n_devices}"] = run(px.importance.estimate, (sharded,), alone)
    out[f"types {kind} {n_devices}"] = [str(jax.typeof(a)) for a in (sharded.codes, sharded.level)]
"""

# Batch axes of other functions, each under one vmap, or points that are sharded themselves.
OTHERS = """
keys = jax.random.split(jax.random.key(0), 8)
logs = jax.jit(jax.vmap(lambda x, loss: px.encode(space, x, loss, levels, grid=grid)))(rows[:8], losses[:8])
log = jax.tree.map(lambda a: a[0], logs)
flat = px.Space({"a": px.Float(-5, 5), "k": px.Categorical(["u", "v"])})
problem = px.Problem(lambda key, x: (x[0] - 1) ** 2 + x[1], flat)
fit = lambda x: px.ParzenEstimator.fit(space, x)
pe = fit(jnp.asarray(rows[0]))
cases = {
    "resample": (jax.vmap(lambda key: px.importance.resample(key, log, 3)), (keys,)),
    "shuffle": (jax.vmap(lambda key, log: px.importance.shuffle(key, log, 3)), (keys, logs)),
    "interactions": (
        jax.vmap(lambda key, log: px.importance.interactions(log, key, n_draws=3)),
        (keys, logs),
    ),
    "counts": (jax.vmap(px.importance.Counts.of), (logs,)),
    "grid_density": (
        jax.vmap(px.divergence.grid_density),
        (np.abs(rng.normal(size=(8, 16))).astype(np.float32),),
    ),
    "fit": (jax.vmap(lambda x: fit(x).mixture), (rows[:8],)),
    "conditional": (jax.vmap(lambda x: fit(x).conditional({"k": 0}).mixture), (rows[:8],)),
    "log_prob of seeds": (jax.vmap(lambda x: fit(x).log_prob(x[:8])), (rows[:8],)),
    "log_prob of points": (pe.log_prob, (rows[1],)),
    "sample": (jax.vmap(lambda key: pe.sample(key, 3)), (keys,)),
    "optimize": (jax.vmap(lambda key: px.optimize(key, px.tpe(flat), problem, 14).x), (keys,)),
    "gradient": (jax.vmap(jax.grad(lambda w, x, loss: px.importance.estimate(
        px.encode(space, x, loss, levels, weight=w, grid=grid)).variance[0, 1])),
        (np.ones((8, n), np.float32), rows[:8], losses[:8])),
}
for name, (function, arrays) in cases.items():
    expected = jax.jit(function)(*arrays)
    for kind in KINDS:
        out[f"{name} {kind}"] = run(function, place(arrays, kind, 8), expected)[1]
"""


def _run(*parts, meshes=(), kinds=("Auto", "Explicit")):
    settings = f"MESHES = {json.dumps(meshes)}\nKINDS = {json.dumps(kinds)}\n"
    out = run_on_devices("".join([COMMON, settings, *parts, "print(json.dumps(out))"]), 8)
    assert out.pop("devices") == 8
    return out


_ALL = [(kind, n) for kind in ("Auto", "Explicit") for n in (1, 2, 4, 8)]


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.slow)])
def found(request):
    """Seeds and rows over the devices of some meshes."""
    if request.param == "all":
        return _ALL, _run(SEEDS, ROWS, meshes=_ALL)
    meshes = [("Explicit", 8)]
    return meshes, _run(SEEDS, ROWS, meshes=meshes, kinds=["Auto"])


@pytest.mark.slow
def test_seeds_need_no_collective(found):
    """Integers (counts, statuses) are those of one device; the rest too but for rounding.

    XLA rounds differently where a device has another number of seeds. The answer lies as the input does.
    """
    meshes, out = found
    for kind, n in meshes:
        report = out[f"{kind} {n}"]
        assert report.pop("gap") < 1e-5
        assert report == {"collectives": [], "integers": True, "sharded": n > 1}


@pytest.mark.slow
def test_rows_need_one_sum_of_counts(found):
    """Cut-offs gather the losses and add two numbers; counts are one all-reduce.

    Cut-offs and integers are those of one device; what is computed from the counts too but for rounding, as
    XLA fuses it otherwise on some machines.
    """
    meshes, out = found
    for kind, n in meshes:
        cut_offs, counts = out[f"encode {kind} {n}"], out[f"estimate {kind} {n}"]
        assert cut_offs["gap"] == 0
        assert counts["gap"] < 1e-6
        assert counts["integers"]
        assert cut_offs["collectives"] == ["all-gather", "all-reduce", "all-reduce"][: 3 * (n > 1)]
        assert counts["collectives"] == ["all-reduce"][: n > 1]
        if kind == "Explicit":
            assert out[f"types {kind} {n}"] == ["uint8[3,256@s]", "int32[256@s]"]


@pytest.mark.slow
def test_ranks_under_two_vmaps(found):
    """JAX 0.10's searchsorted(method="scan_unrolled") is wrong here, silently; ranks must not use it."""
    assert all(found[1]["ranks"])


@pytest.mark.slow
def test_other_batch_axes():
    """Resamples, points, kernels, runs: no collective, and the values of one device but for rounding."""
    for name, report in _run(OTHERS).items():
        assert report["collectives"] == [], name
        assert report["gap"] < 1e-5, name
