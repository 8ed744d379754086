"""Benchmark tables in the folder of data, found by their headers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benchmarks.studies.papers import data


@dataclass(frozen=True)
class Table:
    """What the header of a table says.

    Attributes:
        path: relative to the folder, as `benchmarks.load_table` takes it.
        name, family: the table, and the benchmark that it is of.
        n_rows: configurations.
        objectives: arrays that are optimised.
        constraints: names of the constraints that have thresholds.
        ordinal: whether some parameter is.
    """

    path: str
    name: str
    family: str
    n_rows: int
    objectives: tuple[str, ...]
    constraints: tuple[str, ...]
    ordinal: bool


def tables() -> list[Table]:
    """All tables, by path; none without the folder."""
    folder = data.folder()
    return [*_tables_of(folder)] if folder else []


@lru_cache(maxsize=8)
def _tables_of(folder: Path) -> tuple[Table, ...]:
    """Read once: headers are large."""
    found = []
    for header in sorted(folder.glob("*/*.json")):
        own = json.loads(header.read_text(encoding="utf-8"))
        if not (isinstance(own, dict) and "hyperparameters" in own and header.with_suffix(".npz").is_file()):
            continue
        objectives = own.get("objectives") or [own["objective"]]
        found.append(
            Table(
                f"{header.parent.name}/{header.stem}.npz",
                own["name"],
                own["family"],
                own["n_configs"],
                tuple(one["array"] for one in objectives),
                tuple(own.get("constraints", {})),
                any(one["kind"] == "ordinal" for one in own["hyperparameters"]),
            )
        )
    return tuple(found)


def families(found: Sequence[Table]) -> dict[str, list[Table]]:
    """Tables by benchmark: those share their space, and so their programs."""
    names = sorted({table.family for table in found})
    return {name: [table for table in found if table.family == name] for name in names}
