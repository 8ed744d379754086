"""Reads benchmark tables: an npz file with metrics, and a JSON header with the same name in its folder."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parzax import _checks
from parzax.lens._files import UNREADABLE
from parzax.space import Categorical, Ordinal, Space

_SIGNS = {"minimize": 1.0, "maximize": -1.0}
_UNSET = " (the path is relative, and PARZAX_DATA, the folder of tables, is not set)"


class Metric(NamedTuple):
    """One metric of a table: float64 values (n, s) or (n, 1), NaN if missing; sign is -1 if maximised."""

    values: np.ndarray
    sign: float


class TableFile(NamedTuple):
    """A checked table: each configuration of the space once, in C order of the choice indices.

    ``constraints`` maps names in the header to a metric and its thresholds by quantile.
    """

    name: str
    space: Space
    metrics: dict[str, Metric]
    constraints: dict[str, tuple[str, dict[float, float]]]


def read_table(path: str | Path) -> TableFile:
    """Read ``path`` (npz without pickles) and its header.

    A relative path starts at the folder PARZAX_DATA, if this environment variable is set. ValueError names
    the file if one of the two is missing, damaged or in another format.
    """
    folder = os.environ.get("PARZAX_DATA")
    file = Path(folder or "", path)
    if file.suffix != ".npz":
        raise ValueError(f"path must name a .npz file, got {str(path)!r}.")
    beside = file.with_suffix(".json")
    where = "" if folder or file.is_absolute() else _UNSET
    with _checks.explain(f"cannot read the header {str(beside)!r}{where}", UNREADABLE):
        header = json.loads(beside.read_text(encoding="utf-8"))
    # The file is opened here, because np.load does not close a truncated file.
    with (
        _checks.explain(f"cannot read a table from {str(file)!r}", UNREADABLE),
        open(file, "rb") as stream,
        np.load(stream, allow_pickle=False) as data,
    ):
        return _build_table(header, {name: data[name] for name in data.files if name in header["arrays"]})


def _build_table(header: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> TableFile:
    space, shape = _build_space(header["hyperparameters"]), tuple(int(n) for n in header["shape"])
    sizes = tuple(domains[0].n_values for domains in space.domains)
    n = math.prod(shape)
    if shape != sizes:
        raise ValueError(f"shape {shape} is not that of the hyperparameters, {sizes}")
    if n != header["n_configs"] or n >= 2**31:
        raise ValueError(f"n_configs is {header['n_configs']}, but the hyperparameters have {n} combinations")
    index = arrays["index"]
    if index.shape != (n, len(shape)) or not np.array_equal(index.T, np.unravel_index(np.arange(n), shape)):
        raise ValueError("index is not the full factorial in C order")
    metrics = {}
    for name, entry in header["arrays"].items():
        if "direction" in entry:
            direction = _checks.one_of(f"the direction of {name!r}", entry["direction"], _SIGNS)
            metrics[name] = Metric(_check_values(name, arrays[name], n), _SIGNS[direction])
    widths = {metric.values.shape[1] for metric in metrics.values()} - {1}
    if len(widths) > 1:
        raise ValueError(f"metrics have different numbers of seeds, {sorted(widths)}")
    constraints = {}
    for name, entry in header.get("constraints", {}).items():
        thresholds = {float(q): _checks.real_number(name, t) for q, t in entry["thresholds"].items()}
        constraints[name] = _checks.one_of(f"the array of {name!r}", entry["array"], metrics), thresholds
    return TableFile(str(header["name"]), space, metrics, constraints)


def _build_space(entries: Any) -> Space:
    parameters = {}
    for entry in entries:
        kind = _checks.one_of("the kind of a hyperparameter", entry["kind"], ("categorical", "ordinal"))
        if entry["name"] in parameters:
            raise ValueError(f"hyperparameter {entry['name']!r} appears twice")
        values = entry["values"]
        domain = Ordinal(values, log=bool(entry["log"])) if kind == "ordinal" else Categorical(values)
        parameters[entry["name"]] = domain
    return Space(parameters)


def _check_values(name: str, array: np.ndarray, n: int) -> np.ndarray:
    if array.dtype.kind not in "fiu" or array.ndim not in (1, 2) or len(array) != n or array.size == 0:
        expected, given = f"({n},) or ({n}, seeds)", f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"array {name!r} must hold numbers of shape {expected}, got {given}")
    values = array.astype(np.float64).reshape(n, -1)
    if np.isinf(values).any():
        raise ValueError(f"array {name!r} holds infinite values")
    return values
