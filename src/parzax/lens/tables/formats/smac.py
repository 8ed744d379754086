"""SMAC's ``runhistory.json``: configurations by number, and a list of runs."""

from operator import itemgetter
from typing import Any

from parzax.lens.tables.formats.format import Format, Records

_KEY = ("config_id", "instance", "seed", "budget")
# Numbers that version 2 writes; version 1 writes their names.
_STATES = ("RUNNING", "SUCCESS", "CRASHED", "TIMEOUT", "MEMORYOUT")


def _read(document: Any) -> Records | None:
    if not isinstance(document, dict) or not {"data", "configs"} <= document.keys():
        return None
    return _average([_record(run, document["configs"]) for run in document["data"]])


def _average(runs: Records) -> Records:
    """Mean cost of each configuration and budget, over instances and seeds.

    If some of the runs succeeded, the others do not count.
    """
    key = itemgetter("config_id", "budget")
    succeeded = {key(run) for run in runs if run["status"] == "SUCCESS"}
    means: dict[Any, list[dict[str, Any]]] = {}
    for number, run in enumerate(runs):
        failed = run["status"] != "SUCCESS"
        if not (failed and key(run) in succeeded):
            means.setdefault((*key(run), failed and number), []).append(run)
    for same in means.values():
        for name in (name for name in same[0] if name.startswith("cost") and same[0][name] is not None):
            same[0][name] = sum(run[name] for run in same) / len(same)
    return [same[0] for same in means.values()]


def _record(run: Any, configurations: dict[str, Any]) -> dict[str, Any]:
    """One run as a record. Depending on the version it is two lists, one list, or an object."""
    if isinstance(run, dict):
        row = {name: run.get(name) for name in (*_KEY, "cost", "time", "status")}
    else:
        key, result = run if len(run) == 2 else (run[:4], run[4:])
        # A list with eleven entries also has the processor time, which shifts the state by one.
        status = result[3 if len(run) > 10 else 2]
        row = dict(zip(_KEY, key, strict=False))
        row |= {"cost": result[0], "time": result[1], "status": status}
    if isinstance(costs := row["cost"], list):
        row |= {f"cost_{i}": cost for i, cost in enumerate(costs)} | {"cost": None}
    return row | {"status": _state_name(row["status"]), "config": configurations[str(row["config_id"])]}


def _state_name(status: Any) -> str:
    if isinstance(status, dict):
        return str(status.get("__enum__")).rpartition(".")[2]
    return _STATES[status] if isinstance(status, int) and status < len(_STATES) else str(status)


SMAC = Format(
    "SMAC",
    needs=("config/*", "config_id", "cost|cost_0", "instance|seed"),
    prefix="config/",
    results=r"cost(_\d+)?",
    directions={"cost*": "minimize"},
    state="status",
    trial="config_id",
    empty_is_inactive=True,
    step="budget",
    file="runhistory.json",
    records=_read,
)
