"""Benchmark tables in the folder of data, found by their headers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.papers import data


@dataclass(frozen=True)
class Table:
    """What the header of a table says.

    Attributes:
        path: relative to the folder, as `parzax.problems.Tabular.load` takes it.
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
    found = []
    for header in sorted(folder.glob("*/*.json")) if folder else ():
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
    return found


def families(found: Sequence[Table]) -> dict[str, list[Table]]:
    """Tables by benchmark: those share their space, and so their programs."""
    names = sorted({table.family for table in found})
    return {name: [table for table in found if table.family == name] for name in names}
