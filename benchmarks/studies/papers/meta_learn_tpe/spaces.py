"""Tables 1 and 2: the printed search spaces and their sizes."""

import csv
from collections.abc import Iterator, Sequence

import numpy as np

import parzax as px
from benchmarks.load_table import load_table
from benchmarks.studies.papers import data
from benchmarks.studies.papers.rows import Row, Verdict, missing
from benchmarks.studies.papers.tables import Table

# Names in the printed tables of spaces that are others in the headers of tables.
VALUES = {"constant": "const", "ReLU": "relu"}
PRINTED_SPACES = {
    "Table 1": ("metalearn_table1.csv", "hpolib"),
    "Table 2": ("metalearn_table2.csv", "nmt_bench"),
}
PRINTED_SIZES, N_PRINTED = {"Table 1": (62208, 4), "Table 2": (648, 1)}, {"Table 1": 4, "Table 2": 3}


def rows(tables: Sequence[Table]) -> Iterator[Row]:
    """Rows of both tables."""
    for where, (file, benchmark) in PRINTED_SPACES.items():
        of_family = [table for table in tables if table.family == benchmark]
        yield _space(where, file, of_family)
        yield _size(where, of_family)


def _space(where: str, file: str, tables: Sequence[Table]) -> Row:
    folder, key = data.folder(), f"space-{where}"
    path = folder / "papers" / file if folder else None
    if path is None or not path.is_file() or not tables:
        return missing(key, where, "the search space", "tables in PARZAX_DATA")
    with path.open(newline="", encoding="utf-8") as lines:
        printed = {line["table_name"]: line["choices"].split("|") for line in csv.DictReader(lines)}
    wrong = []
    for table in tables:
        space = load_table(table.path, [table.objectives[0]]).space
        if set(space.names) != set(printed):
            wrong.append(f"{table.name}: other names")
            continue
        for name, (domain,) in zip(space.names, space.domains, strict=True):
            if not same_values(choices(domain), printed[name]):
                wrong.append(f"{table.name}: {name}")
    text = f"{len(printed)} parameters of {len(tables)} tables" + (
        f"; not the same: {', '.join(wrong)}" if wrong else ""
    )
    return Row(key, where, "the search space", text, Verdict.DIFFERS if wrong else Verdict.AGREES)


def _size(where: str, tables: Sequence[Table]) -> Row:
    n, n_seeds = PRINTED_SIZES[where]
    key, printed = f"size-{where}", f"configurations and training seeds: {n}, {n_seeds}"
    if not tables:
        return missing(key, where, printed, "tables in PARZAX_DATA")
    sizes = {t.name: np.shape(load_table(t.path, [t.objectives[0]]).losses) for t in tables}
    text = "; ".join(f"{name} {own[0]}, {own[1]}" for name, own in sizes.items())
    same = all(own[:2] == (n, n_seeds) for own in sizes.values())
    note = f"{len(tables)} of the paper's {N_PRINTED[where]} tables"
    return Row(key, where, printed, text, Verdict.AGREES if same else Verdict.DIFFERS, note)


def choices(domain: object) -> list:
    """Values of an ordinal or categorical parameter."""
    return list(domain.values if isinstance(domain, px.Ordinal) else getattr(domain, "choices", ()))


def same_values(ours: Sequence, printed: Sequence[str]) -> bool:
    """As words, or as numbers up to one power of ten that a heading states."""
    if all(isinstance(value, str) for value in ours):
        return {VALUES.get(text, text) for text in printed} == set(ours)
    a, b = sorted(map(float, ours)), sorted(map(float, printed))
    if len(a) != len(b):
        return False
    factor = next((x / y for x, y in zip(a, b, strict=True) if y), 1.0)
    power = 10.0 ** round(np.log10(factor)) if factor > 0 else 1.0
    return bool(np.allclose(a, np.array(b) * power, rtol=1e-6))
