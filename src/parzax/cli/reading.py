"""From the FILE argument to observations; nothing in a file is executed, and no file is written to."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from parzax.cli.filters import filter_mask, parse_filter
from parzax.cli.tables import COLUMNAR, SEPARATORS, read_table
from parzax.observations import Observations
from parzax.observations.columns import Column, listed, open_table, read_column
from parzax.observations.dataframe import read_dataframe
from parzax.space import Categorical, Space

# Formats that run code from the file when read, or may.
_REFUSED = (".pkl", ".pickle", ".joblib", ".npy", ".yaml", ".yml", ".pt", ".pth", ".dill")


@dataclass(frozen=True)
class Source:
    """What the arguments say about the log; None where they say nothing."""

    path: Path
    study: str | None = None
    target: list[str] | None = None
    direction: str | None = None
    space: str | None = None
    filter: str | None = None
    failed: str = "drop"


def read_log(source: Source) -> Observations:
    """The log of any supported kind.

    Raises:
        ValueError, OSError, ImportError: with one sentence that names the file.
    """
    text = str(source.path)
    if text.startswith("sqlite:/"):
        source = replace(source, path=Path("/" * text.startswith("sqlite:////") + text[7:].lstrip("/")))
    path, suffix = source.path, source.path.suffix.lower()
    if suffix in _REFUSED:
        raise ValueError(
            f"{str(path)!r}: {suffix} files are never read, since that could run code from them; export the "
            "log as CSV or Parquet."
        )
    if not path.exists():
        raise ValueError(f"there is no file {str(path)!r}.")
    if not path.is_file():
        raise ValueError(f"{str(path)!r} is not a file.")
    if path.stat().st_size == 0:
        raise ValueError(f"{str(path)!r} is empty.")
    if source.filter is not None:
        parse_filter(source.filter)
    if suffix in SEPARATORS or suffix in COLUMNAR:
        _refuse_options(source, "a table", study=source.study)
        return _read_table(source)
    if suffix == ".npz":
        _refuse_options(source, "an npz file", study=source.study)
        return _read_npz(source)
    from parzax.adapters.optuna import is_optuna_file

    if not is_optuna_file(path):
        raise ValueError(
            f"{str(path)!r} is of no known kind: an Optuna sqlite or journal file, .csv, .tsv, .parquet, "
            ".feather, .arrow or .npz." + (" A search space goes to --space." if suffix == ".json" else "")
        )
    options = {"target": source.target, "direction": source.direction, "space": source.space}
    _refuse_options(source, "an Optuna file, which says it itself", **options)
    return _read_optuna(source)


def _refuse_options(source: Source, kind: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"--{name} does not go with {kind} ({str(source.path)!r}).")


def _read_space(source: Source) -> tuple[Space | None, str | None]:
    """The space, and the direction that its file may name."""
    if source.space is None:
        return None, None
    try:
        data = json.loads(Path(source.space).read_text(encoding="utf-8"))
        space = Space.from_json(data)
    except (OSError, ValueError, TypeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"--space {source.space!r}: {reason}") from error
    direction = data.get("direction")
    if direction not in (None, "minimize", "maximize"):
        raise ValueError(
            f'--space {source.space!r}: "direction" must be minimize or maximize, got {direction!r}.'
        )
    return space, direction


def _read_table(source: Source) -> Observations:
    space, direction = _read_space(source)
    table = open_table(read_table(source.path))
    names = table.columns
    if source.target is None and not any(name == "value" or name.startswith("values_") for name in names):
        raise ValueError(
            f"{str(source.path)!r} has no column 'value' or 'values_*'; name the objective column with "
            f"--target COL, one of {listed(names)}."
        )
    exclude = {}
    if source.filter is not None:

        def find(name: str) -> Column | None:
            column = next((c for c in (name, f"params_{name}") if c in names), None)
            return None if column is None else read_column(table, column)

        exclude["filter"] = ~filter_mask(source.filter, find, listed(names), len(table))
    return read_dataframe(
        table.to_native(),
        source.target or "value",
        direction=source.direction or direction,
        space=space,
        failed=source.failed,
        warn=False,
        exclude=exclude,
    )


def _read_npz(source: Source) -> Observations:
    """Arrays ``values``, ``objective``, ``names`` and perhaps ``regime``, with or without a seed axis."""
    space, direction = _read_space(source)
    if space is None:
        raise ValueError(
            f"{str(source.path)!r} needs --space: an npz file does not say what its numbers mean."
        )
    targets = source.target or ["objective"]
    try:
        # NumPy does not close a damaged file that it opened itself.
        with source.path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            wanted = ["values", *targets, *(x for x in ("names", "regime") if x in data)]
            absent = [name for name in wanted if name not in data]
            if absent:
                raise ValueError(f"it has no array {listed(absent)}; there are {listed(list(data))}")
            arrays = {name: data[name] for name in wanted}
    except Exception as error:  # zipfile, zlib and NumPy each raise their own kinds
        raise ValueError(f"{str(source.path)!r} cannot be read as npz: {error}.") from error
    values, regime = arrays["values"], arrays.get("regime")
    if "names" in arrays:
        stored = [str(x) for x in np.ravel(arrays["names"])]
        absent = [name for name in space.names if name not in stored]
        if absent:
            raise ValueError(
                f"{str(source.path)!r} has no column {listed(absent)}; there are {listed(stored)}."
            )
        if values.ndim < 2 or values.shape[-1] != len(stored):
            raise ValueError(
                f"{str(source.path)!r}: values has shape {values.shape} for {len(stored)} names."
            )
        at = [stored.index(name) for name in space.names]
        values = values[..., at]
        regime = regime if regime is None or regime.shape[-1:] != (len(stored),) else regime[..., at]
    objectives = np.stack([arrays[t] for t in targets], axis=-1)
    chosen = source.direction or direction
    obs = Observations.from_arrays(
        space, values, objectives, chosen or "minimize", regime=regime, failed=source.failed
    )
    if chosen is None:
        note = f"direction: not given, so {listed(targets)} is minimised"
        obs = replace(obs, report=replace(obs.report, inferred=(note,)))
    return obs if source.filter is None else _filtered(obs, source.filter, targets, objectives)


def _filtered(obs: Observations, text: str, targets: list[str], objectives: np.ndarray) -> Observations:
    """Rows that pass, by the values of parameters and objectives; the others at weight 0."""
    rows = np.broadcast_to(np.arange(obs.n), obs.values.shape[:-1]).reshape(-1)

    def find(name: str) -> Column | None:
        if name in obs.space:
            j = obs.space.index(name)
            value, domains = obs.values[..., j].reshape(-1), obs.space[name]
            if not isinstance(domains[0], Categorical):
                return Column(name, rows, numbers=value)
            choices = [d.choices if isinstance(d, Categorical) else () for d in domains]
            regime = obs.regime[..., j].reshape(-1)
            pairs = zip(value, regime, strict=True)
            return Column(name, rows, labels=[None if r < 0 else choices[r][int(v)] for v, r in pairs])
        if name in targets or (name == "value" and len(targets) == 1):
            i = targets.index(name) if name in targets else 0
            return Column(name, rows, numbers=objectives[..., i].reshape(-1))
        return None

    keep = filter_mask(text, find, listed([*targets, *obs.space.names]), len(rows))
    if not keep.any():
        raise ValueError("--filter: no row is left.")
    dropped = {"filter": int((~keep).sum())} if not keep.all() else {}
    obs = obs.select(keep.reshape(obs.values.shape[:-1]))
    return replace(obs, report=replace(obs.report, dropped=dropped))


def _read_optuna(source: Source) -> Observations:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        return _read_study(source)
    except ValueError as error:
        # The adapter speaks of its own argument.
        raise ValueError(
            str(error).replace("choose one with study_name:", "choose one with --study:")
        ) from error


def _read_study(source: Source) -> Observations:
    from parzax.adapters.optuna import observations

    if source.filter is None:
        return observations(source.path, source.study, failed=source.failed)
    from parzax.adapters.optuna_storage import read_study
    from parzax.adapters.optuna_trials import observations_from_trials, parameter_names

    trials, directions = read_study(source.path, source.study)
    rows = np.array([t.number for t in trials], dtype=int)
    objectives = ["value"] if len(directions) == 1 else [f"values_{i}" for i in range(len(directions))]
    names = parameter_names(trials)

    def find(name: str) -> Column | None:
        if name == "number":
            return Column(name, rows, numbers=rows.astype(float))
        if name == "state":
            return Column(name, rows, labels=[t.state.name for t in trials])
        if name in objectives:
            i = objectives.index(name)
            return Column(
                name, rows, numbers=np.array([(t.values or [np.nan] * 9)[i] for t in trials], float)
            )
        name = name.removeprefix("params_") if name not in names else name
        return Column(name, rows, labels=[t.params.get(name) for t in trials]) if name in names else None

    known = listed(["state", "number", *objectives, *names])
    keep = filter_mask(source.filter, find, known, len(trials))
    if not keep.any():
        raise ValueError("--filter: no trial is left.")
    kept = [t for t, k in zip(trials, keep, strict=True) if k]
    obs = observations_from_trials(kept, directions, failed=source.failed)
    dropped = dict(obs.report.dropped) | ({"filter": int((~keep).sum())} if not keep.all() else {})
    return replace(obs, report=replace(obs.report, n_rows=len(trials), dropped=dropped))
