"""Tables as problems, against look-ups in NumPy float64 and the oracles of the headers."""

import functools
import json
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import tables

import parzax as px

pytestmark = pytest.mark.data

each = pytest.mark.parametrize("name", tables.names())
each_constrained = pytest.mark.parametrize("name", tables.names(constrained=True))
SMALL = "generated/small"


@functools.cache
def load(name, objectives=None, quantiles=(), thresholds=()):
    objectives = tables.OBJECTIVES[name] if objectives is None else objectives
    return px.problems.load_table(
        tables.load(name).path,
        list(objectives),
        constraint_quantiles=dict(quantiles),
        constraint_thresholds=dict(thresholds),
    )


@jax.jit
def evaluate(problem, keys, x):
    return jax.vmap(problem)(keys, x)


@jax.jit
def both_ways(problem, rows):
    x = jax.vmap(problem.decode)(rows)
    return x, jax.vmap(problem.encode)(x)


def keys_of(n, seed=0):
    return jax.random.split(jax.random.key(seed), n)


def limits(name, level):
    """Excess over the threshold in float64, by constraint."""
    raw = tables.load(name)
    entries = raw.header["constraints"]
    return {c: raw.metric(e["array"]) - e["thresholds"][str(level)] for c, e in entries.items()}


# --- values --------------------------------------------------------------------------------------


@each
def test_values_of_the_whole_table(name):
    """Every configuration gives the values of one of its seeds, the same for both metrics.

    Catches a wrong order of rows or columns, rounding of native values in float32, and seeds mixed up.
    """
    raw, objectives = tables.load(name), tables.OBJECTIVES[name]
    quantiles = () if name.startswith("nmt") else (("size", 0.1), ("runtime", 0.5))
    problem = load(name, quantiles=quantiles)
    native = raw.native().astype(np.float32)
    values, excess = map(np.asarray, evaluate(problem, keys_of(len(native)), native))
    truth = np.stack([raw.metric(metric) for metric in objectives], axis=-1).astype(np.float32)
    same = (values[:, None] == truth).all(axis=-1)
    if quantiles:
        size, runtime = limits(name, 0.1)["size"], limits(name, 0.5)["runtime"]
        bounds = np.stack([size, runtime], axis=-1)
        near = np.abs(excess[:, None] - bounds) <= 1e-6 * np.abs(bounds)  # of float32
        same &= (near & ((excess[:, None] <= 0) == (bounds <= 0))).all(axis=-1)
    assert same.any(axis=1).all()
    assert problem.n_objectives == 2
    assert problem.n_constraints == excess.shape[1] == len(quantiles)


@each
def test_rows_and_values(name):
    """Native values to rows and back in float32: catches strides, and limits between values."""
    problem, native = load(name), tables.load(name).native()
    rows = np.arange(len(native))
    x, found = both_ways(problem, rows)
    np.testing.assert_array_equal(x, native.astype(np.float32))
    np.testing.assert_array_equal(found, rows)


def test_nearest_ordinal_values():
    """Values off by rounding, and between two values the nearer one, on the log axis where there is one."""
    problem, native = load(SMALL), tables.load(SMALL).native()
    ordinal = np.array([h["kind"] == "ordinal" for h in tables.SPACE])
    for factor in (1 - 1e-4, 1 + 1e-4):
        x = np.where(ordinal, native * factor, native).astype(np.float32)
        np.testing.assert_array_equal(jax.jit(jax.vmap(problem.encode))(x), np.arange(tables.N))
    # rate (log): 0.001 and 0.01 meet at 0.00316; units (log): 64 and 512 at 181; dropout: 0.3, 0.6 at 0.45.
    nearest = jax.jit(lambda x: problem.decode(problem.encode(x)))
    low, high = np.float32([0.0031, 0, 180.0, 0.449]), np.float32([0.0032, 0, 182.0, 0.451])
    np.testing.assert_array_equal(nearest(low), np.float32([0.001, 0, 64, 0.3]))
    np.testing.assert_array_equal(nearest(high), np.float32([0.01, 0, 512, 0.6]))


@each
def test_space(name):
    """The space of the header: kinds, choices and log axes; its values are accepted as observations."""
    problem, raw = load(name), tables.load(name)
    for entry, (domain,) in zip(raw.header["hyperparameters"], problem.space.domains, strict=True):
        assert type(domain).__name__.lower() == entry["kind"]
        assert list(domain.choices if entry["kind"] == "categorical" else domain.values) == entry["values"]
        assert getattr(domain, "log", False) == entry["log"]
    assert problem.name == raw.header["name"]
    px.Observations.from_arrays(problem.space, raw.native()[:50], np.arange(50.0))


def test_seeds_are_uniform():
    """Each existing seed is drawn equally often, whether the first or the last is missing; none gives NaN."""
    loss = tables.load(SMALL).metric("loss")
    problem, native = load(SMALL, objectives=("loss",)), tables.load(SMALL).native()
    n = 3000
    for row in (0, 1, 6):
        values = np.asarray(
            evaluate(problem, keys_of(n, row), np.repeat(native[row : row + 1], n, axis=0))[0]
        )
        there = loss[row][~np.isnan(loss[row])].astype(np.float32)
        drawn, counts = np.unique(values, return_counts=True)
        assert sorted(drawn) == sorted(there)
        # 5 standard deviations of a binomial count.
        share = 1 / len(there)
        assert np.abs(counts - n * share).max() < 5 * np.sqrt(n * share * (1 - share))
    np.testing.assert_array_equal(problem.n_seeds, (~np.isnan(loss)).sum(axis=1))


def test_float64():
    """Loaded in float64 the table loses nothing."""
    raw = tables.load(SMALL)
    with jax.enable_x64(True):
        problem = px.problems.load_table(raw.path, ["runtime"], constraint_quantiles={"runtime": 0.5})
        one = evaluate(problem, keys_of(1), jnp.asarray(raw.native()[4:5]))
        values, excess = one[0][0], one[1][0]
        x, found = both_ways(problem, np.arange(tables.N))
    np.testing.assert_array_equal(x, raw.native())
    np.testing.assert_array_equal(found, np.arange(tables.N))
    assert values.dtype == excess.dtype == np.float64
    assert float(values[0]) in raw.metric("runtime")[4]
    assert float(excess[0]) in limits(SMALL, 0.5)["runtime"][4]


def test_maximised_metrics_and_failed_rows():
    """Negated once; feasible at or above a threshold; a failed training is NaN and in no oracle."""
    raw = tables.load(SMALL)
    score = raw.arrays["score"]
    problem = load(SMALL, objectives=("score",), thresholds=(("score", 0.25), ("size_mb", 10.0)))
    native = raw.native()
    values, excess = map(np.asarray, evaluate(problem, keys_of(len(native)), native))
    np.testing.assert_array_equal(values[:, 0], -score.astype(np.float32))
    failed = np.isnan(score)
    np.testing.assert_array_equal(np.isnan(excess[:, 0]), failed)
    feasible = (score >= 0.25) & (raw.arrays["size_mb"] <= 10)
    np.testing.assert_array_equal((excess <= 0).all(axis=1), feasible)
    assert problem.oracle.best[0] == problem.feasible_optimum[0] == -score[feasible].max()
    assert problem.constraint_names == ("score", "size_mb")


# --- thresholds and oracles ----------------------------------------------------------------------


def check_oracles(name, levels):
    raw, objective = tables.load(name), tables.OBJECTIVES[name][:1]
    for kind in ("size", "runtime", "both"):
        for level in levels:
            entry = raw.header["oracle"][kind][str(level)]
            constraints = ("size", "runtime") if kind == "both" else (kind,)
            problem = load.__wrapped__(name, objective, tuple((c, level) for c in constraints))
            oracle = problem.oracle
            assert oracle.best == problem.feasible_optimum == entry["best"]
            assert oracle.worst == entry["worst"]
            # The same from what is on the device, in float32.
            exists = np.arange(problem.losses.shape[1]) < np.asarray(problem.n_seeds)[:, None]
            feasible = exists & (np.asarray(problem.excess) <= 0).all(axis=-1)
            assert feasible.sum() / exists.sum() == pytest.approx(entry["feasible_fraction"], rel=1e-14)
            assert np.asarray(problem.losses)[feasible].min() == np.float32(entry["best"])


@each_constrained
def test_oracles_of_the_header(name):
    """Best, worst, share of feasible entries: catches thresholds, and constraints judged by another seed."""
    check_oracles(name, (0.1, 0.5))
    problem, raw = load(name, tables.OBJECTIVES[name][:1]), tables.load(name)
    assert problem.oracle.best == raw.header["oracle"]["none"]["best"]


@pytest.mark.slow
@each_constrained
def test_every_oracle_of_the_header(name):
    check_oracles(name, [float(q) for q in tables.load(name).header["constraints"]["size"]["thresholds"]])


@each_constrained
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_signs_in_float32(name, level):
    """Each entry is as feasible in the float32 table as in float64: catches rounding at the threshold."""
    problem = load(name, tables.OBJECTIVES[name][:1], (("size", level), ("runtime", level)))
    exists = np.arange(problem.losses.shape[1]) < np.asarray(problem.n_seeds)[:, None]
    assert problem.excess.dtype == np.float32
    for c, bound in enumerate(limits(name, level).values()):
        # Existing seeds come first, in their order.
        there = ~np.isnan(tables.load(name).metric(tables.OBJECTIVES[name][0]))
        np.testing.assert_array_equal(np.asarray(problem.excess[..., c])[exists] <= 0, bound[there] <= 0)


def test_signs_of_the_smallest_differences():
    """One unit in the last place of float64 is infeasible, equality is feasible, compiled too."""
    raw = tables.load(SMALL)
    native, n = raw.native(), len(raw.native())
    runtime = np.sort(raw.metric("runtime").ravel())
    for threshold in runtime[[0, 1, 100, -1]]:
        for limit in (threshold, np.nextafter(threshold, 0), np.nextafter(threshold, np.inf)):
            problem = load(SMALL, ("runtime",), thresholds=(("runtime", float(limit)),))
            np.testing.assert_array_equal(
                np.asarray(problem.excess[..., 0]) <= 0, raw.metric("runtime") <= limit
            )
            assert np.array_equal(problem.thresholds, [limit])
    # A denormal difference: float32 has no such number, and XLA may flush those that it has.
    problem = load(SMALL, ("loss",), thresholds=(("tiny", 0.0),))
    excess = evaluate(problem, keys_of(n), native)[1]
    np.testing.assert_array_equal(jax.jit(lambda a: a <= 0)(excess)[:, 0], raw.arrays["tiny"] <= 0)


@each
def test_fronts_of_the_header(name):
    """The Pareto front and the reference point recorded with the table."""
    header = tables.load(name).header
    if "pareto_front" not in header:
        return
    problem = load(name)
    losses = np.asarray(problem.losses, dtype=np.float64).reshape(-1, 2)
    points = np.array(header["pareto_front"]["points"])
    worst = np.array(header["pareto_front"]["reference_point"])
    directions = [header["arrays"][metric]["direction"] for metric in tables.OBJECTIVES[name]]
    sign = np.where(np.array(directions) == "minimize", 1.0, -1.0)
    if name != SMALL:  # its runtimes are equal in float32
        expected = tables.front((sign * points).astype(np.float32).astype(np.float64))
        np.testing.assert_array_equal(tables.front(losses[~np.isnan(losses[:, 0])]), expected)
    np.testing.assert_array_equal(problem.oracle.best, (sign * points).min(axis=0))
    np.testing.assert_array_equal(problem.oracle.worst, sign * worst)


def test_nothing_feasible():
    problem = load(SMALL, ("loss",), thresholds=(("size_mb", 0.0),))
    assert np.isnan(problem.feasible_optimum).all()
    assert (np.asarray(problem.excess) > 0).all()


# --- transforms ----------------------------------------------------------------------------------


def test_batches_equal_loops():
    """jit = eager, vmap over keys and over thresholds = loop, as the carry of a scan."""
    problems = [load(SMALL, ("loss",), (("size", q), ("runtime", q))) for q in (0.1, 0.5, 0.9)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *problems)
    x, keys = tables.load(SMALL).native()[40], keys_of(5)
    over = jax.vmap(jax.vmap(lambda p, k: p(k, x), in_axes=(None, 0)), in_axes=(0, None))
    values, excess = jax.jit(over)(batch, keys)
    assert values.shape == (3, 5, 1)
    single = jax.jit(lambda problem, key, x: problem(key, x))
    for one, eager in zip(single(problems[0], keys[0], x), problems[0](keys[0], x), strict=True):
        np.testing.assert_array_equal(one, eager)
    assert excess.shape == (3, 5, 2)
    for i, problem in enumerate(problems):
        for j, key in enumerate(keys):
            one, two = single(problem, key, x)
            np.testing.assert_array_equal(values[i, j], one)
            np.testing.assert_array_equal(excess[i, j], two)

    def step(carry, key):
        losses, constraints = carry(key, x)
        return carry, jnp.concatenate([losses, constraints])

    _, trace = jax.lax.scan(step, problems[1], keys)
    np.testing.assert_array_equal(trace, np.concatenate([values[1], excess[1]], axis=-1))


def test_one_compilation_for_all_thresholds():
    """Thresholds are leaves: another level compiles nothing again."""
    traces = []

    @jax.jit
    def run(problem, key, x):
        traces.append(1)
        return problem(key, x)

    for q in (0.1, 0.5, 0.9):
        run(load(SMALL, ("loss",), (("size", q),)), jax.random.key(0), jnp.zeros(4))
    assert len(traces) == 1


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [[np.nan, 0, 16, 0], [0.001, 3, 16, 0], [0.001, -1, 16, 0], [0.001, 0.5, 16, 0], [0.001, np.nan, 16, 0]],
)
def test_values_that_are_none(x):
    """NaN and codes of no category give NaN, not a neighbour's values."""
    problem = load(SMALL, quantiles=(("size", 0.1),))
    x = jnp.array(x)
    assert int(problem.encode(x)) == -1
    values, excess = jax.jit(problem.__call__)(jax.random.key(0), x)
    assert np.isnan(values).all()
    assert np.isnan(excess).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objectives": ["accuracy"]}, "an objective must be one of 'loss', .*got 'accuracy'"),
        ({"objectives": ["index"]}, "got 'index'"),
        ({"objectives": []}, "objectives must be a list"),
        ({"objectives": "loss"}, "objectives must be a list"),
        ({"constraint_quantiles": {"weight": 0.1}}, "one of 'size', 'runtime', got 'weight'"),
        ({"constraint_quantiles": {"size": 0.15}}, r"\['size'\] must be one of 0.1, 0.5, 0.9, got 0.15"),
        ({"constraint_quantiles": {"size": np.nan}}, "must be finite"),
        ({"constraint_thresholds": {"weight": 0.1}}, "constraint_thresholds must be one of"),
        ({"constraint_thresholds": {"size_mb": np.inf}}, "must be finite"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        px.problems.load_table(tables.load(SMALL).path, **{"objectives": ["loss"], **arguments})


def changed(path, part, value):
    header, arrays = tables.content()
    if part in arrays:
        arrays[part] = value
        if value is None:
            del arrays[part]
    elif value is None:
        del header[part]
    else:
        header[part] = value
    tables.write(path.parent, header, arrays)


def truncated(path, suffix, share):
    changed(path, "name", "small")
    file = path.with_suffix(suffix)
    file.write_bytes(file.read_bytes()[: int(share * file.stat().st_size)])


class Executes:
    """Unpickling this creates a file."""

    def __reduce__(self):
        return (open, ("executed", "w"))


def overwritten(path, data, suffix=".npz"):
    changed(path, "name", "small")
    path.with_suffix(suffix).write_bytes(data)


BAD = {
    "no npz": (lambda p: (changed(p, "name", "small"), p.unlink()), "No such file"),
    "no header": (lambda p: (changed(p, "name", ""), p.with_suffix(".json").unlink()), "header.*No such"),
    "truncated npz": (lambda p: truncated(p, ".npz", 0.6), "cannot read a table"),
    "empty npz": (lambda p: truncated(p, ".npz", 0), "cannot read a table"),
    "truncated header": (lambda p: truncated(p, ".json", 0.6), "cannot read the header"),
    "header of bytes": (lambda p: overwritten(p, b"\xff\xfe\x00", ".json"), "cannot read the header"),
    "header is a list": (lambda p: overwritten(p, b"[1]", ".json"), "cannot read a table"),
    "pickle": (lambda p: overwritten(p, pickle.dumps(Executes())), "cannot read a table"),
    "objects": (lambda p: changed(p, "loss", np.array([Executes()] * tables.N)), "allow_pickle"),
    "not numbers": (lambda p: changed(p, "loss", np.array(["a"] * tables.N)), "'loss' must hold numbers"),
    "wrong length": (lambda p: changed(p, "loss", np.zeros((tables.N - 1, 3))), r"shape \(107, 3\)"),
    "infinite": (lambda p: changed(p, "size_mb", np.full(tables.N, np.inf)), "must hold finite numbers"),
    "no such array": (lambda p: changed(p, "loss", None), "key 'loss' is missing"),
    "no index": (lambda p: changed(p, "index", None), "key 'index' is missing"),
    "other order": (lambda p: changed(p, "index", tables.content()[1]["index"][::-1]), "C order"),
    "no space": (lambda p: changed(p, "hyperparameters", None), "key 'hyperparameters' is missing"),
    "unknown kind": (lambda p: changed(p, "hyperparameters", [{"kind": "float"}]), "got 'float'"),
    "direction": (
        lambda p: changed(p, "arrays", {"index": {}, "loss": {"direction": "up"}}),
        "direction of 'loss' must be one of 'minimize', 'maximize', got 'up'",
    ),
    "constraint": (
        lambda p: changed(p, "constraints", {"size": {"array": "mass", "thresholds": {"0.1": 1}}}),
        "got 'mass'",
    ),
    "threshold": (
        lambda p: changed(p, "constraints", {"size": {"array": "size_mb", "thresholds": {"0.1": "x"}}}),
        "could not convert",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files(case, tmp_path, monkeypatch):
    """Damaged and foreign files: a ValueError that names the file; nothing is executed."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tables" / "small.npz"
    make, message = BAD[case]
    make(path)
    with pytest.raises(ValueError, match=message) as error:
        px.problems.load_table(path, ["loss"])
    assert "small." in str(error.value)
    assert not (tmp_path / "executed").exists()


def test_paths(tmp_path, monkeypatch):
    """A relative path is looked up where PARZAX_DATA says, and the message helps if that is not set."""
    header, arrays = tables.content()
    tables.write(tmp_path / "family", header, arrays)
    monkeypatch.setenv("PARZAX_DATA", str(tmp_path))
    assert px.problems.load_table("family/small.npz", ["loss"]).name == "small"
    monkeypatch.delenv("PARZAX_DATA")
    with pytest.raises(ValueError, match="PARZAX_DATA, the folder of tables, is not set"):
        px.problems.load_table("family/small.npz", ["loss"])
    assert json.loads((tmp_path / "family" / "small.json").read_text()) == header
