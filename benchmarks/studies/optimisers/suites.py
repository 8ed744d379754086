"""The suites by name."""

from collections.abc import Sequence
from functools import lru_cache

from benchmarks.studies.optimisers import bbob, constrained, discrete, mixed, tables, two
from benchmarks.studies.optimisers.problems import Group
from benchmarks.studies.papers.tables import families
from benchmarks.studies.papers.tables import tables as found_tables

N_SEEDS, N_EVALUATIONS = 30, 200
BUDGETS = 25, 50, 100, 200
# Where settings are compared, dozens of them, with fewer runs.
N_SEEDS_OF_SETTINGS = 12
OF_SETTINGS = (
    "bbob-05d", "bbob-10d", *discrete.SPACES, *mixed.SPACES, "hpolib", "nasbench201", "nmt_bench",
    constrained.BALL, "hpolib, both", "nasbench201, both", two.PAIRS, "hpolib, two metrics",
)  # fmt: skip

# Suites by what is asked of a sampler; methods are compared within each.
KINDS = {
    "one objective": ("bbob", "discrete", "mixed", "tables"),
    "constraints": ("constrained",),
    "two objectives": ("two",),
}
SUITES = tuple(suite for own in KINDS.values() for suite in own)


def names(suite: str) -> list[str]:
    """Groups of a suite; of tables those that PARZAX_DATA has."""
    return {
        "bbob": [f"bbob-{d:02}d" for d in bbob.DIMENSIONS],
        "discrete": list(discrete.SPACES),
        "mixed": list(mixed.SPACES),
        "tables": list(families(found_tables())),
        "constrained": constrained.names(),
        "two": two.names(),
    }[suite]


def parts(kind: str, cases: Sequence[str]) -> dict[str, list[str]]:
    """Cases of a kind in parts: by suite, and constrained ones by the share that is feasible."""
    if kind == "constraints":
        own = {f"feasible: {q}": [c for c in cases if c.endswith(f" at {q}")] for q in constrained.QUANTILES}
    else:
        own = {suite: [c for c in cases if c.split("/")[0] in names(suite)] for suite in KINDS[kind]}
    return {part: inside for part, inside in own.items() if inside}


def cases(group: str, half: str) -> list[str]:
    """Names of the problems of a group that are in a half."""
    if group.startswith("bbob-"):
        pairs = bbob.names(int(group[5:7]))
    elif group in discrete.SPACES:
        pairs = discrete.names(group)
    elif group in mixed.SPACES:
        pairs = mixed.names(group)
    elif group in constrained.names():
        pairs = constrained.cases(group)
    elif group in two.names():
        pairs = two.cases(group)
    else:
        pairs = tables.names(group, families(found_tables())[group])
    return [name for name, own in pairs if own == half]


@lru_cache(maxsize=2)
def build(name: str, n_seeds: int, half: str | None = None) -> Group:
    """A group by its name, with what differs between so many runs; made once in a process.

    With ``half`` problems of the other half may be missing.
    """
    if name.startswith("bbob-"):
        return bbob.group(int(name[5:7]), n_seeds, half)
    if name in discrete.SPACES:
        return discrete.group(name, n_seeds, half)
    if name in mixed.SPACES:
        return mixed.group(name, n_seeds)
    if name in constrained.names():
        return constrained.group(name, n_seeds)
    if name in two.names():
        return two.group(name, n_seeds)
    return next(own for own in tables.groups() if own.name == name)
