"""``parzax importance "big/*.parquet"``: the rows of large files are counted, and not held in memory."""

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from parzax import _checks
from parzax._words import plural
from parzax.importance import Counts, Grid
from parzax.lens.cli.reading import asking, table_arguments
from parzax.lens.cli.writing import progress, say
from parzax.lens.logs import Observations
from parzax.lens.logs.groups import find_groups
from parzax.lens.logs.inference import describe_range
from parzax.lens.logs.large import UnfitRowError, count, count_rows_of, scan, widen
from parzax.lens.tables.files import find_files, open_table
from parzax.lens.tables.formats import bare_name
from parzax.space import Float, Int

# Rows up to which a log is read into memory; and rows that say what the columns are.
_IN_MEMORY, _SAMPLE = 1 << 21, 1 << 17
# The level if none is given, which leaves enough rows of so many.
_LEVEL = 0.1
# Options that need the rows, and the values that do not.
_UNFIT: dict[str, Any] = {
    **dict.fromkeys(
        ("filter", "constraints", "seed", "group", "trial", "step", "per_trial", "pruned", "study")
    ),
    "failed": "drop",
    "rows": "all",
    "objective": "0",
}


def count_log(
    path: Path, args: Namespace, levels: list[float] | None, region: float, grid: Grid
) -> tuple[Observations, Counts] | None:
    """Count the rows of large Parquet files; None if the log is another one, or its rows are needed.

    The observations that are returned have a sample of the rows, and the report of the whole log.
    """
    unfit = [name for name, usual in _UNFIT.items() if getattr(args, name) != usual]
    if unfit or args.resamples or len(args.target or ()) > 1 or not _is_large(path):
        return None
    parts = scan(str(path))
    with progress(f"reading {path}"), _checks.explain(f"{str(path)!r} cannot be read as one table"):
        table = open_table(sample := _sample(parts))
    with asking(path, args):
        obs = Observations.from_dataframe(table, **table_arguments(table, args))
    if why := _why_rows(obs, sample.columns):
        say(f"parzax: note: all rows are read into memory, because {why}", file=sys.stderr)
        return None
    (target,), (direction,), n = obs.report.objectives, obs.report.direction, count_rows_of(parts)
    space = widen(obs.space, parts) if args.space is None else obs.space
    options = {"directions": direction, "grid": grid}
    try:
        counts = count(str(path), space, target, levels or [_LEVEL], region, **options)
    except UnfitRowError as error:
        source = f"The space was inferred from a sample of {plural(table.n, 'row')}"
        remedy = f" {source}; give the real one: --space space.json." if args.space is None else ""
        raise ValueError(f"{error}{remedy}") from error
    ranges = [(name, space[name][0]) for name in space.names]
    texts = [f"{name}: {describe_range(d)}" for name, d in ranges if isinstance(d, Float | Int)]
    notes = (f"bounds of all {n} rows: {'; '.join(texts)}",) * (args.space is None and bool(texts))
    notes += (f"kinds, choices and repeats were looked for in {plural(table.n, 'row')}",)
    inferred = obs.report.inferred + notes
    n_failed = n - count_rows_of(parts, target, direction)
    report = replace(obs.report, inferred=inferred, n_rows=n, n_failed=n_failed)
    return replace(obs, space=space, report=report), counts


def _is_large(path: Path) -> bool:
    """Whether the files are Parquet, with many rows by their footers."""
    if not path.is_dir() and "parquet" not in str(path).lower() and ".pq" not in str(path).lower():
        return False
    files = find_files(path)
    if any(file.suffix.lower() not in (".parquet", ".pq") for file in files):
        return False
    parquet = _checks.optional("pyarrow.parquet", "Reading Parquet files", "dataframe")
    with _checks.explain(f"{str(path)!r} cannot be read as parquet", (OSError, ValueError)):
        return sum(parquet.read_metadata(file).num_rows for file in files) > _IN_MEMORY


def _sample(parts: dict[str, Any]) -> Any:
    """The first rows of all parts."""
    import polars as pl

    heads = [lazy.head(max(1, _SAMPLE // len(parts))) for lazy in parts.values()]
    with _checks.explain("their columns differ", pl.exceptions.PolarsError):
        return pl.concat(heads, how="diagonal_relaxed").collect(engine="streaming")


def _why_rows(obs: Observations, columns: list[str]) -> str:
    """Why counts of rows are not enough, by a sample of the log; "" if they are."""
    states = obs.report.dropped or any(note.startswith("state:") for note in obs.report.inferred)
    if obs.n_objectives > 1 or states:
        return "it has several objectives, or its rows have states"
    if not {*obs.space.names} <= {*columns, *map(bare_name, columns)}:
        return "some parameters are no columns of numbers or labels"
    return "some of its rows belong together" if find_groups(obs) is not None else ""
