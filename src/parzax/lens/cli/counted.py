"""``parzax importance "big/*.parquet"``: the rows of large files are counted, and not held in memory.

The rows of one parameter do not depend on another one's when losses are shuffled, so counts are enough for
importances and p-values. They are not for intervals: a sample of the rows has its own cut-offs, and the same
rows for all parameters.
"""

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax.importance import Counts, estimate
from parzax.importance.estimate import from_counts
from parzax.lens.cli.reading import asking, table_arguments
from parzax.lens.cli.writing import say
from parzax.lens.logs import Observations
from parzax.lens.logs.groups import find_groups
from parzax.lens.results.replicates import UNIT, Replicates, default_shuffles, p_values, shuffled_counts
from parzax.lens.results.result import ImportanceResult, Method
from parzax.lens.results.targets import ranked
from parzax.lens.run.progress import progress
from parzax.lens.tables.files import find_files
from parzax.lens.tables.formats import bare_name
from parzax.lens.tables.large import count, loss_of, scan, total
from parzax.lens.tables.table import open_table

# Rows up to which a log is read into memory; and rows that say what the columns are.
_IN_MEMORY, _SAMPLE = 1 << 21, 1 << 17
# NumPy draws shuffles of fewer rows than this.
_MOST_SHUFFLED = 10**9
# The level if none is given, which leaves enough rows of so many.
_LEVEL = 0.1
# Options that need the rows if they have another value than this.
_NONE = ["filter", "constraints", "seed", "group", "trial", "step", "per_trial", "pruned", "study"]
_USUAL = dict.fromkeys(_NONE) | {"failed": "drop", "rows": "all", "objective": "0"}


def analyse_large(
    path: Path, args: Namespace, levels: list[float] | None, region: float, method: Method
) -> ImportanceResult | None:
    """Count the rows of large Parquet files, and analyse the counts as `parzax.cond_ped_anova` does.

    None if the log is another one, or its rows are needed.
    """
    options = {name: getattr(args, name) for name in _USUAL}
    if (
        options != _USUAL
        or args.resamples
        or args.surrogate == "yes"
        or len(args.target or ()) > 1
        or not _is_large(path)
    ):
        return None
    parts = scan(str(path))
    with progress(f"reading {path}"):
        table = open_table(sample := _sample(path, parts))
    with asking(path, args):
        obs = Observations.from_dataframe(table, **table_arguments(table, args))
    if why := _why_rows(obs, sample.columns):
        say(f"parzax: note: all rows are read into memory, because {why}", file=sys.stderr)
        return None
    (target,), (direction,) = obs.report.objectives, obs.report.directions
    loss = loss_of(target, direction)
    n, n_used = total(parts, loss.len()), total(parts, loss.is_not_nan().sum())
    source = f"the space is that of {table.n} rows, and --space gives the real one"
    with _checks.explain(repr(str(path)) if args.space else source, ValueError):
        ascending, grid = sorted(levels or [_LEVEL]), method.grid
        counts = count(str(path), obs.space, target, ascending, region, directions=direction, grid=grid)
    note = f"bounds are those of all {n} rows; kinds, choices and repeats were looked for in {table.n} rows"
    inferred = (*obs.report.inferred, note)
    with progress("compiling and computing"), jax.enable_x64(True):
        divergence, reference, balance, uniform = method.how
        how = {"reference": reference, "balance": balance, "uniform_when_undefined": uniform}
        estimates = estimate(counts, divergence, **how)
        replicates = Replicates.none(estimates.variance.shape)
        if args.resamples is None and estimates.n_region < _MOST_SHUFFLED:
            shuffles = default_shuffles(len(obs.space))
            p_value = _shuffled_p_values(counts, estimates.variance, method, shuffles)
            replicates = replicates._replace(p_value=p_value, n_shuffles=shuffles)
    return ImportanceResult(
        space=obs.space,
        levels=np.array(counts.levels),
        region=region,
        estimates=estimates,
        replicates=replicates,
        method=method,
        report=replace(obs.report, inferred=inferred, n_rows=n, n_failed=n - n_used),
        goal=ranked(obs, 0, None, [], raw=False)[1],
    )


def _shuffled_p_values(counts: Counts, variance: np.ndarray, method: Method, n: int) -> np.ndarray:
    """(q, d) p-values of variances, by ``n`` shuffles of the losses."""
    words, status = jax.random.key_data(jax.random.key(0)).tolist(), np.zeros((UNIT, len(variance)), np.int32)
    variances = jax.jit(lambda unit: from_counts(unit, status, counts.layout, method.how).variance)
    shuffled = (shuffled_counts([*words, 0, i], counts.counts, counts, UNIT) for i in range(0, n, UNIT))
    return p_values(variance[None], np.concatenate([*map(variances, shuffled)])[None, :n])[0]


def _is_large(path: Path) -> bool:
    """Whether the files are Parquet, with many rows by their footers."""
    files = find_files(path)
    if {file.suffix.lower() for file in files} - {".parquet", ".pq"}:
        return False
    parquet = _checks.optional("pyarrow.parquet", "Reading Parquet files", "dataframe")
    with _checks.explain(f"{str(path)!r} cannot be read as parquet", (OSError, ValueError)):
        return sum(parquet.read_metadata(file).num_rows for file in files) > _IN_MEMORY


def _sample(path: Path, parts: dict[str, Any]) -> Any:
    """The first rows of all parts, and the rows with the smallest and the largest number of each column."""
    import polars as pl

    with _checks.explain(f"{str(path)!r} cannot be read as one table", pl.exceptions.PolarsError):
        log = pl.concat(parts.values(), how="diagonal_relaxed")
        heads = [lazy.head(max(1, _SAMPLE // len(parts))) for lazy in parts.values()]
        sample = pl.concat(heads, how="diagonal_relaxed").collect(engine="streaming")
        numbers = pl.selectors.numeric().cast(pl.Float64).fill_nan(None)
        ends = pl.concat([log.select(numbers.min()), log.select(numbers.max())]).collect(engine="streaming")
        beyond = [
            pl.col(name) == end for name in ends.columns for end in {*ends[name]} - {None, *sample[name]}
        ]
        rows = log.filter(pl.any_horizontal(pl.lit(False), *beyond)).collect(engine="streaming")
    return pl.concat([sample, rows], how="diagonal_relaxed")


def _why_rows(obs: Observations, columns: list[str]) -> str:
    """Why counts of rows are not enough, by a sample of the log; "" if they are."""
    states = obs.report.dropped or any(note.startswith("state:") for note in obs.report.inferred)
    if obs.n_objectives > 1 or states:
        return "it has several objectives, or its rows have states"
    if not {*obs.space.names} <= {*columns, *map(bare_name, columns)}:
        return "some parameters are no columns of numbers or labels"
    return "some of its rows belong together" if find_groups(obs) is not None else ""
