"""A result as one npz file: arrays and JSON text, no pickles."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parzax import _checks
from parzax.observations import GridSpec, ImportReport
from parzax.parzen import GridEstimator
from parzax.space import Space

if TYPE_CHECKING:
    from parzax.importance.result import ImportanceResult

_FORMAT = 1
_ARRAYS = (
    "target_quantile", "importance", "variance", "divergence", "inter", "unweighted", "status",
    "regime_target", "regime_region", "counts",
)  # fmt: skip


def save_result(result: "ImportanceResult", path: str | Path) -> None:
    """Write all fields of a result."""
    meta = {
        "format": _FORMAT,
        "space": json.loads(result.space.to_json()),
        "region_quantile": result.region_quantile,
        "estimator": asdict(result.estimator),
        "reference": result.reference,
        "report": asdict(result.report),
    }
    arrays = {name: getattr(result, name) for name in _ARRAYS}
    with open(path, "wb") as file:
        np.savez_compressed(file, meta=np.asarray(json.dumps(meta)), **arrays)


def read_result(path: str | Path) -> dict[str, Any]:
    """The fields of a result written by `save_result`; ValueError for any other file."""
    try:
        # Opened here, as np.load leaves a truncated file open.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as data:
            meta = json.loads(str(data["meta"]))
            arrays = {name: data[name] for name in _ARRAYS}
        fields = _fields(meta)
        shape = (len(arrays["target_quantile"]), len(fields["space"]))
        for name in ("importance", "variance", "inter", "unweighted", "status"):
            if arrays[name].shape[-2:] != shape:
                raise ValueError(f"{name} has shape {arrays[name].shape}, not (..., {shape[0]}, {shape[1]})")
        return arrays | fields
    except _checks.UNREADABLE as error:
        raise ValueError(f"cannot read an importance result from {str(path)!r}: {error}.") from error


def _fields(meta: dict[str, Any]) -> dict[str, Any]:
    if meta["format"] != _FORMAT:
        raise ValueError(f"format {meta['format']} is not {_FORMAT}")
    estimator: dict[str, Any] = dict(meta["estimator"])
    estimator["grid"] = GridSpec(**estimator["grid"])
    report = dict(meta["report"])
    for key in ("direction", "inferred"):
        report[key] = tuple(report[key])
    return {
        "space": Space.from_json(meta["space"]),
        "region_quantile": float(meta["region_quantile"]),
        "estimator": GridEstimator(**estimator),
        "reference": str(meta["reference"]),
        "report": ImportReport(**report),
    }
