"""Counts of a large log in Parquet files, beside plain reading, the core, a loop in NumPy, Polars and DuckDB.

Every piece of work is a process of its own: its seconds without imports, and the largest anonymous memory
(RssAnon). The log is random: float64 columns, uniform parameters, row groups of 2^20 rows, as pyarrow writes
them by default. All answers must equal those of the core, block by block over all rows, and those of a loop
that does without parzax but for the borders of the cells. Both read by pyarrow and sort the losses in NumPy.
"""

import json
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

# Claims: times of plain reading, GiB of anonymous memory.
MOST_TIMES, MOST_MEMORY = 6.0, 2.0
CLAIMED = ("read", "parzax")
D, Q, CELLS = 8, 99, 96
SPACING = 1 / (CELLS - 1)


def make_log(folder: Path, n: int, d: int) -> Path:
    """The file of a log, written unless it exists."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{n}x{d}.parquet"
    if path.exists():
        return path
    schema = pa.schema([(name, pa.float64()) for name in (*(f"x{j}" for j in range(d)), "loss")])
    rng = np.random.default_rng(0)
    with pq.ParquetWriter(part := path.with_suffix(".part"), schema) as file:
        for start in range(0, n, 1 << 20):
            x = rng.random((d, min(1 << 20, n - start)))
            loss = (x[0] - 0.3) ** 2 + 0.5 * np.abs(x[1] - 0.6) + 0.1 * x[2]
            file.write_table(pa.table([*x, loss], schema=schema))
    part.rename(path)
    return path


def read(path: str, *_: Any) -> None:
    """Plain reading by pyarrow, in its own threads."""
    import pyarrow.dataset as ds

    for _ in ds.dataset(path).to_batches():
        pass


def parzax(path: str, d: int, levels: np.ndarray) -> np.ndarray:
    """`px.lens.count`."""
    import parzax as px

    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(d)})
    counts = px.lens.count(path, space, "loss", levels).counts.reshape(len(levels) + 1, d, -1)
    return counts[:, :, :CELLS]


def core(path: str, d: int, levels: np.ndarray) -> np.ndarray:
    """`px.encode` and `Counts.of` of blocks of rows."""
    import parzax as px

    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(d)})
    blocks, cutoffs = _blocks(path, levels)
    total = None
    for block in blocks:
        x = np.stack([block[f"x{j}"].to_numpy() for j in range(d)], axis=1)
        encoded = px.encode(space, x, block["loss"].to_numpy(), levels, cutoffs=cutoffs)
        part = px.importance.Counts.of(encoded)
        total = part if total is None else total.merge(part)
    assert total is not None
    return total.counts.reshape(len(levels) + 1, d, -1)[:, :, :CELLS]


def numpy_loop(path: str, d: int, levels: np.ndarray) -> np.ndarray:
    """Blocks of rows in NumPy alone: searches among the cell borders and the exact cut-offs."""
    import parzax as px

    blocks, cutoffs = _blocks(path, levels)
    (starts,) = px.importance.cell_starts(px.Space({"x": px.Float(0, 1)}))["x"]
    counts = np.zeros((d, len(levels) + 2, CELLS), np.int64)
    for block in blocks:
        level = np.searchsorted(cutoffs, block["loss"].to_numpy()) * CELLS
        for j, one in enumerate(counts):
            cell = np.searchsorted(starts, block[f"x{j}"].to_numpy(), "right")
            one += np.bincount(level + cell, minlength=one.size).reshape(one.shape)
    return _cumulated(counts)


def _blocks(path: str, levels: np.ndarray) -> tuple[Any, np.ndarray]:
    """Blocks of rows that pyarrow reads, and the exact cut-offs."""
    import pyarrow.dataset as ds

    rows = ds.dataset(path)
    losses = rows.to_table(columns=["loss"])["loss"].to_numpy()
    losses = losses if losses.flags.writeable else losses.copy()
    losses.sort()
    cutoffs = losses[[k - 1 for k in _ranks(levels, len(losses))]]
    return rows.to_batches(batch_size=1 << 17), cutoffs


def polars_groups(path: str, d: int, levels: np.ndarray) -> np.ndarray:
    """A streaming group-by of Polars for each parameter, all together."""
    import polars as pl

    scan, level = _levels(path, levels)
    queries = [
        scan.select(level.alias("level"), _cell(f"x{j}").alias("cell")).group_by("level", "cell").len()
        for j in range(d)
    ]
    return _of_groups(pl.collect_all(queries, engine="streaming"), len(levels))


def duckdb_groups(path: str, d: int, levels: np.ndarray) -> np.ndarray:
    """Grouping sets of DuckDB for all parameters; exact cut-offs by a sort of the losses."""
    import duckdb

    base = duckdb.connect()
    losses = base.sql(f"select loss from '{path}' order by loss").fetchnumpy()["loss"]
    level = _search(losses[[k - 1 for k in _ranks(levels, len(losses))]].tolist())
    names = [f"c{j}" for j in range(d)]
    cells = (f"cast(ceil((x{j} - 0.0) / {SPACING!r} - 0.5) as int) as c{j}" for j in range(d))
    groups = base.sql(
        f"select level, {', '.join(names)}, count(*) as n "
        f"from (select {level} as level, {', '.join(cells)} from '{path}') "
        f"group by grouping sets ({', '.join(f'(level, {name})' for name in names)})"
    ).fetchnumpy()
    counts = np.zeros((d, len(levels) + 2, CELLS), np.int64)
    for one, name in zip(counts, names, strict=True):
        grouped = ~np.ma.getmaskarray(groups[name])
        np.add.at(one, (groups["level"][grouped], groups[name][grouped]), groups["n"][grouped])
    return _cumulated(counts)


def _search(cuts: list[float], first: int = 0) -> str:
    """SQL of the number of cut-offs below a loss, by bisection."""
    if not cuts:
        return str(first)
    m = len(cuts) // 2
    below, above = _search(cuts[:m], first), _search(cuts[m + 1 :], first + m + 1)
    return f"case when loss <= {cuts[m]!r} then {below} else {above} end"


def _ranks(levels: np.ndarray, n: int) -> list[int]:
    from parzax.importance.levels import level_weights

    return level_weights((*levels.tolist(), 1.0), np.float64(n), True, False).astype(int).tolist()


def _levels(path: str, levels: np.ndarray) -> tuple[Any, Any]:
    """The scan, and the expression of the first level set; exact cut-offs by a sort of the losses."""
    import polars as pl

    scan = pl.scan_parquet(path)
    losses = scan.select(pl.col("loss").sort()).collect(engine="streaming")["loss"]
    cuts = losses.gather([k - 1 for k in _ranks(levels, len(losses))])
    return scan, pl.col("loss").cut(cuts.to_list()).to_physical().cast(pl.Int32)


def _cell(name: str) -> Any:
    import polars as pl

    return ((pl.col(name) - 0.0) / SPACING - 0.5).ceil().cast(pl.Int32)


def _of_groups(groups: list[Any], q: int) -> np.ndarray:
    counts = np.zeros((len(groups), q + 2, CELLS), np.int64)
    for one, table in zip(counts, groups, strict=True):
        np.add.at(one, (table["level"].to_numpy(), table["cell"].to_numpy()), table["len"].to_numpy())
    return _cumulated(counts)


def _cumulated(counts: np.ndarray) -> np.ndarray:
    return counts[:, :-1].cumsum(axis=1).swapaxes(0, 1)


WORK: dict[str, Callable[[str, int, np.ndarray], Any]] = {
    "read": read, "parzax": parzax, "core": core, "numpy_loop": numpy_loop, "polars_groups": polars_groups,
    "duckdb_groups": duckdb_groups,
}  # fmt: skip


def run_here(name: str, path: str, d: int, q: int) -> dict[str, Any]:
    """Seconds, GiB of anonymous memory at the worst moment, and a digest of the answer."""
    # The imports are not part of the work.
    import pyarrow.dataset  # noqa: F401

    modules = {"duckdb_groups": "duckdb", "polars_groups": "polars"}
    with suppress(ImportError):
        __import__(modules.get(name, "parzax.lens.tables.large"))
    before, most, ended = _anonymous(), [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            most[0] = max(most[0], _anonymous())

    watching = threading.Thread(target=watch)
    watching.start()
    start = time.perf_counter()
    answer = WORK[name](path, d, np.arange(1, q + 1) / (q + 1))
    seconds = time.perf_counter() - start
    ended.set()
    watching.join()
    weights = np.random.default_rng(1).integers(1, 1000, 0 if answer is None else answer.size)
    told = 0 if answer is None else int((answer.astype(np.int64).reshape(-1) * weights).sum())
    return {"seconds": seconds, "memory": max(most[0], before), "answer": told}


def _anonymous() -> float:
    """GiB of anonymous memory of this process."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) / 2**20


def run_apart(name: str, path: Path, d: int = D, q: int = Q) -> dict[str, Any]:
    """`run_here` in a process of its own; the faster of two runs of what the claims are about."""
    words = [sys.executable, "-m", "benchmarks.scale.rows", name, str(path), str(d), str(q)]
    runs = []
    for _ in range(1 + (name in CLAIMED)):
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            return {"error": (done.stderr.strip().splitlines() or ["killed"])[-1]}
        runs.append(json.loads(done.stdout))
    return min(runs, key=lambda run: run["seconds"])


def measure(options: Namespace) -> list[str]:
    """Print the table, and return the claims that do not hold."""
    n = options.rows or (3 * 10**6 if options.quick else 10**8)
    path, failed = make_log(options.folder, n, D), []
    print(f"rows: {n:.3g} rows x {D} parameters x {Q} levels, float64, {path.stat().st_size / 1e9:.2f} GB")
    results = {name: run_apart(name, path) for name in WORK if name != "duckdb_groups" or find_spec("duckdb")}
    plain = results["read"]["seconds"]
    for name, result in results.items():
        if "error" in result:
            print(f"  {name}: {result['error']}")
            continue
        times = f"{result['seconds'] / plain:.2f} times reading"
        print(f"  {name}: {result['seconds']:.2f} s, {times}, {result['memory']:.2f} GiB", flush=True)
    ours = results["parzax"]
    for name in ("core", "numpy_loop", "polars_groups", "duckdb_groups"):
        if "answer" in results.get(name, {}):
            equal = results[name]["answer"] == ours["answer"]
            print(f"  parzax has {'the counts' if equal else 'OTHER COUNTS than those'} of {name}")
            failed += [] if equal else [f"parzax has other counts than {name}"]
    failed += [
        f"{name}: {results[name]['error']}" for name in ("core", "numpy_loop") if "error" in results[name]
    ]
    if ours["memory"] > MOST_MEMORY:
        failed.append(f"memory: {ours['memory']:.2f} GiB, at most {MOST_MEMORY}")
    if not options.quick and ours["seconds"] > MOST_TIMES * plain:
        failed.append(f"time: {ours['seconds'] / plain:.2f} times reading, at most {MOST_TIMES}")
    small = n // 4
    for text, work in (
        (f"{small:.3g} rows", (make_log(options.folder, small, D), D, Q)),
        (f"{small:.3g} rows, 3 parameters", (make_log(options.folder, small, 3), 3, Q)),
        (f"{small:.3g} rows, 9 levels", (make_log(options.folder, small, D), D, 9)),
        (f"{small:.3g} rows, 999 levels", (make_log(options.folder, small, D), D, 999)),
    ):
        grown = run_apart("parzax", *work)
        print(f"  parzax, {text}: {grown['seconds']:.2f} s, {grown['memory']:.2f} GiB", flush=True)
    return failed


if __name__ == "__main__":
    print(json.dumps(run_here(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
