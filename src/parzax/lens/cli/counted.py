"""``parzax importance "big/*.parquet"``: the rows of large files are counted, and not held in memory."""

import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax._words import plural, visible
from parzax.importance import Counts, Grid
from parzax.lens.cli.reading import table_arguments
from parzax.lens.cli.writing import progress, say
from parzax.lens.logs import Observations
from parzax.lens.logs.groups import find_groups
from parzax.lens.logs.inference import describe_range
from parzax.lens.logs.parquet import ParquetLog
from parzax.lens.results.analysis import candidate_levels
from parzax.lens.results.default_level import explain_level, pick_level
from parzax.lens.run.chunks import Chunks
from parzax.lens.tables import recognise
from parzax.lens.tables.columns import listed
from parzax.lens.tables.files import find_files
from parzax.lens.tables.frames import open_table
from parzax.lens.tables.parquet import ParquetFiles, UnfitRowError
from parzax.lens.tables.parquet_sample import Sample
from parzax.lens.tables.roles import bare_name
from parzax.space import Float, Int, Space

# Rows up to which a log is read into memory; and rows that say what the columns are.
_IN_MEMORY, _SAMPLE = 1 << 21, 1 << 17
# Options that need the rows, and the values that do not.
_UNFIT: dict[str, Any] = {
    **dict.fromkeys(("filter", "constraints", "seed", "group", "per_trial", "pruned", "study")),
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
    files = _open(path, args)
    if files is None:
        return None
    with progress(f"reading {path}"):
        sample = Sample.of(files, _SAMPLE)
        with _checks.explain(repr(str(path)), ValueError):
            table = open_table(sample.table)
        arguments = table_arguments(table, path, args)
        with sample.explain():
            obs = Observations.from_dataframe(table, **arguments)
    if why := _needs_rows(obs, table.names, files):
        if args.resume is not None:
            problem = f"--resume counts the rows of {str(path)!r} in parts, but {why}"
            raise ValueError(f"{problem}. Leave out --resume.")
        say(f"parzax: note: all rows are read into memory, because {why}", file=sys.stderr)
        return None
    (target,), (direction,) = obs.report.objectives, obs.report.direction
    with _checks.explain(
        "every file needs numbers as the objective, and each parameter (--drop NAME leaves one out)",
        ValueError,
    ):
        log = ParquetLog.of(files, obs.space, target, direction, grid)
    log = replace(log, shown=sys.stderr.isatty())
    log = log.widened() if args.space is None else log
    candidates = candidate_levels(region) if levels is None else np.array(levels)
    work = log.work(candidates, region, automatic_level=levels is None)
    log = replace(log, chunks=None if args.resume is None else Chunks(args.resume, work))
    cutoffs, level = log.find_cutoffs([*candidates, region]), ""
    if levels is None:
        sizes = cutoffs.sizes[:-1], cutoffs.sizes[-1]
        number = pick_level(candidates, *sizes)
        why = explain_level(candidates[number], sizes[0][number], sizes[1])
        level = why and f"no level was given: {candidates[number]:g} is {why}"
        chosen = [number, -1]
        candidates = candidates[[number]]
        values, sizes, status = (array[chosen] for array in cutoffs[:3])
        cutoffs = cutoffs._replace(values=values, sizes=sizes, status=status)
    try:
        counts = log.count(cutoffs, candidates, region)
    except UnfitRowError as error:
        if args.space is not None:
            raise
        source = f"The space was inferred from a sample of {plural(table.n, 'row')}"
        raise ValueError(f"{error} {source}; give the real one: --space space.json.") from error
    if args.resamples is None:
        remedy = "--resamples 100 computes them, and reads all rows into memory"
        say(f"parzax: note: logs that are counted have no intervals; {remedy}", file=sys.stderr)
    notes = obs.report.inferred
    if args.space is None:
        notes = _describe_bounds(notes, obs.space, log.space)
    if table.n < files.n:
        some = f"{plural(table.n, 'row')} of {files.n}"
        notes += (f"these notes are about {some}; bounds are of all rows",) * (args.space is None)
        notes += (f"rows that belong together, such as repeats, were looked for in {some} alone",)
    report = replace(obs.report, level=level, inferred=notes, n_rows=files.n, n_failed=files.n - cutoffs.n)
    return replace(obs, space=log.space, report=report), counts


def _open(path: Path, args: Namespace) -> ParquetFiles | None:
    """The files, if they are Parquet, many rows or to be resumed, and no option needs their rows."""
    asked = args.resume is not None
    if not asked and not any(word in str(path).lower() for word in ("parquet", ".pq")) and not path.is_dir():
        return None
    if any(file.suffix.lower() not in (".parquet", ".pq") for file in find_files(path)):
        if asked:
            raise ValueError(f"--resume goes with Parquet files alone; {str(path)!r} holds others.")
        return None
    files = ParquetFiles.open(path)
    if not asked and files.n <= _IN_MEMORY:
        return None
    unfit = [name for name, usual in _UNFIT.items() if getattr(args, name) != usual]
    unfit += ["resamples"] * bool(args.resamples) + ["target"] * (len(args.target or ()) > 1)
    if unfit and asked:
        option = unfit[0].replace("_", "-")
        raise ValueError(f"--{option} needs all rows in memory, so it does not go with --resume.")
    return None if unfit else files


def _needs_rows(obs: Observations, names: tuple[str, ...], files: ParquetFiles) -> str:
    """Why counts of rows are not enough, by a sample of the log; "" if they are."""
    states = [name for name in names if bare_name(name).lower() in ("state", "status")]
    states += [name for name in names if name == recognise(names).state]
    if obs.n_objectives > 1:
        return "it has several objectives"
    columns = {name for schema in files.schemas for name in schema.names}
    columns |= set(map(bare_name, columns))
    if nested := [name for name in (*obs.space.names, *obs.report.objectives) if name not in columns]:
        return f"some of its columns hold records (with {listed(nested)})"
    if states or obs.report.dropped:
        return f"its rows have states ({', '.join(dict.fromkeys([*states, *obs.report.dropped]))})"
    together = "some of its rows belong together (px.count_parquet counts every row by itself)"
    return together if find_groups(obs) is not None else ""


def _describe_bounds(notes: tuple[str, ...], sample: Space, space: Space) -> tuple[str, ...]:
    """The notes on the space of a sample, with the bounds and scales of the space of all rows."""
    texts = {}
    for name in space.names:
        (old,), (new,) = sample[name], space[name]
        if isinstance(old, (Float, Int)) and isinstance(new, (Float, Int)):
            why = "; no log scale, because not all values are above 0" * (old.log and not new.log)
            texts[f"{visible(name)}: {describe_range(old)}"] = f"{visible(name)}: {describe_range(new)}{why}"
    starts = [next((text for text in texts if note.startswith(text)), "") for note in notes]
    return tuple(texts.get(text, "") + note[len(text) :] for text, note in zip(starts, notes, strict=True))
