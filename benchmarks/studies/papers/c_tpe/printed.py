"""What is printed in the paper's tables, from the folder of data."""

import csv
from typing import NamedTuple

from benchmarks.studies.papers import data


class Count(NamedTuple):
    """Wins, losses and ties."""

    wins: int
    losses: int
    ties: int

    def __str__(self) -> str:
        return "/".join(map(str, self))


def _lines(name: str) -> list[dict[str, str]]:
    folder = data.folder()
    path = folder / "papers" / name if folder else None
    if path is None or not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _count(line: dict[str, str]) -> Count:
    return Count(*(int(line[name]) for name in Count._fields))


def table_1() -> dict[str, dict[tuple[float, int], Count]]:
    """Method as printed -> quantile and budget -> c-TPE's count in 27 settings; empty without the folder."""
    found: dict[str, dict[tuple[float, int], Count]] = {}
    for line in _lines("ctpe_table1.csv"):
        cell = float(line["quantile"]), int(line["n_configs"])
        found.setdefault(line["method"], {})[cell] = _count(line)
    return found


def table_2() -> dict[tuple[float, int], Count]:
    """Quantile and budget -> count of c-TPE with augmentation in 18 settings; empty without the folder."""
    return {
        (float(line["quantile"]), int(line["n_configs"])): _count(line) for line in _lines("ctpe_table2.csv")
    }


def table_3() -> dict[tuple[str, str], tuple[str, ...]]:
    """Method and the other -> B, W or N after each budget; empty without the folder."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for line in _lines("ctpe_table3.csv"):
        if line["result"] != "-":
            pair = line["method"], line["versus"]
            found[pair] = (*found.get(pair, ()), line["result"])
    return found
