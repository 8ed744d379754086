"""Reading of benchmark tables: thresholds, the oracles of the headers, damaged files."""

import functools
import json
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.load_table import load_table
from reference import tables
from tabular_calls import both_ways, evaluate, keys_of, limits

pytestmark = pytest.mark.data

each = pytest.mark.parametrize("name", tables.names())
each_constrained = pytest.mark.parametrize("name", tables.names(constrained=True))
SMALL = "generated/small"


@functools.cache
def load(name, objectives=None, quantiles=(), thresholds=()):
    objectives = tables.OBJECTIVES[name] if objectives is None else objectives
    return load_table(
        tables.load(name).path,
        list(objectives),
        constraint_quantiles=dict(quantiles),
        constraint_thresholds=dict(thresholds),
    )


def test_float64():
    """Loaded in float64 the table loses nothing."""
    raw = tables.load(SMALL)
    with jax.enable_x64(True):
        problem = load_table(raw.path, ["runtime"], constraint_quantiles={"runtime": 0.5})
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
        load_table(tables.load(SMALL).path, **{"objectives": ["loss"], **arguments})


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
        load_table(path, ["loss"])
    assert "small." in str(error.value)
    assert not (tmp_path / "executed").exists()


def test_paths(tmp_path, monkeypatch):
    """A relative path is looked up where PARZAX_DATA says, and the message helps if that is not set."""
    header, arrays = tables.content()
    tables.write(tmp_path / "family", header, arrays)
    monkeypatch.setenv("PARZAX_DATA", str(tmp_path))
    assert load_table("family/small.npz", ["loss"]).name == "small"
    monkeypatch.delenv("PARZAX_DATA")
    with pytest.raises(ValueError, match="PARZAX_DATA, the folder of tables, is not set"):
        load_table("family/small.npz", ["loss"])
    assert json.loads((tmp_path / "family" / "small.json").read_text()) == header
