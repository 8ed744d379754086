"""SMAC's ``runhistory.json``: configurations by number, and a list of runs."""

from dataclasses import dataclass
from typing import Any

from parzax.tables.formats.format import Format

_KEY = ("config_id", "instance", "seed", "budget")
# Numbers that version 2 writes; version 1 writes their names.
_STATES = ("RUNNING", "SUCCESS", "CRASHED", "TIMEOUT", "MEMORYOUT")


@dataclass(frozen=True)
class _Smac(Format):
    def records(self, document: Any) -> list[dict[str, Any]] | None:
        if not isinstance(document, dict) or not {"data", "configs"} <= document.keys():
            return None
        return [self._record(run, document["configs"]) for run in document["data"]]

    def _record(self, run: Any, configurations: dict[str, Any]) -> dict[str, Any]:
        """One run, which the versions write as two lists, as one list, or as an object."""
        if isinstance(run, dict):
            row = {name: run.get(name) for name in (*_KEY, "cost", "time", "status")}
        else:
            entries = [*run[0], *run[1]] if len(run) == 2 else list(run)
            after_key = entries[len(entries) - 6 :] if len(run) == 2 else entries[len(_KEY) :]
            # A list of eleven has the processor's time after the time.
            status = after_key[3 if len(entries) > 10 else 2]
            row = dict(zip(_KEY, entries, strict=False))
            row |= {"cost": after_key[0], "time": after_key[1], "status": status}
        costs = row["cost"]
        if isinstance(costs, list):
            row |= {f"cost_{i}": cost for i, cost in enumerate(costs)} | {"cost": None}
        return row | {
            "status": _state_name(row["status"]),
            "config": configurations[str(row["config_id"])],
        }


def _state_name(status: Any) -> str:
    if isinstance(status, dict):
        return str(status.get("__enum__")).rpartition(".")[2]
    return _STATES[status] if isinstance(status, int) and status < len(_STATES) else str(status)


SMAC = _Smac(
    "SMAC",
    needs=("config/*", "config_id", "cost|cost_0"),
    prefix="config/",
    state="status",
    file="runhistory.json",
)
