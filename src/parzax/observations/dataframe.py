"""Observations from a table: pandas, polars, pyarrow, anything that narwhals reads."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parzax import _checks
from parzax.observations.columns import listed, open_table, read_column
from parzax.observations.inference import infer_domain
from parzax.observations.labels import encode_columns
from parzax.observations.observations import Observations
from parzax.observations.roles import find_parameters, find_space_columns, find_targets, named_columns
from parzax.space import Domain, Space

# Names of Optuna's trial states.
_STATES = frozenset(("COMPLETE", "FAIL", "PRUNED", "RUNNING", "WAITING"))
# A warning shows this many sentences; the report has them all.
_SHOWN = 30


def read_dataframe(
    df: Any,
    target: str | Sequence[str] = "value",
    *,
    direction: str | Sequence[str] | None = None,
    space: Space | None = None,
    failed: str = "drop",
    weight: str | None = None,
    constraints: str | Sequence[str] | None = None,
    warn: bool = True,
    exclude: Mapping[str, np.ndarray] | None = None,
) -> Observations:
    """Read a log from a table, one row per configuration.

    Columns are as in Optuna's ``trials_dataframe()``: ``params_*``, ``value`` or ``values_*``, ``state``
    and bookkeeping. Where no column starts with ``params_``, every column is a parameter except
    the targets, weight, constraints and bookkeeping (``number``, ``state``, ``datetime_*``, ``duration``,
    ``user_attrs_*``, ``system_attrs_*``). A missing value (null or NaN) of a parameter means inactive.
    ``state`` holds trial states if one of its values is COMPLETE, FAIL, PRUNED, RUNNING or WAITING (in any
    case, also "TrialState.COMPLETE"); otherwise it is a column like any other.

    Args:
        df: the table, n rows.
        target: the objective column, or several; "value" stands for all of ``values_*`` where there
            is no such column.
        direction: "minimize" or "maximize", or one per target; "minimize" if not given.
        space: the search space. Its parameters are looked up as ``params_<name>`` or ``<name>``, and other
            columns ignored. Labels match choices by type and value, else by what a file may have made of
            them (1.0 for 1, "True"), if only one choice fits. A parameter with several `Recorded` domains
            takes its regime from ``regimes_<name>`` (integers, -1 = inactive). Without a
            space one is inferred, by the rules of `parzax.observations.inference.infer_domain`.
        failed: rows whose ``state`` is not COMPLETE, and rows without an objective value, are left out
            ("drop") or ranked last ("worst"); running and waiting ones are always left out.
        weight: column of frequency weights.
        constraints: columns of constraints, feasible where <= 0.
        warn: whether to issue one `UserWarning` that says what was inferred; ``report.inferred`` has the
            same sentences.
        exclude: reason -> (n,) mask of rows to leave out, counted in ``report.dropped``.

    Raises:
        ValueError: naming row (counted from 0 in ``df``) and column, for values that do not fit; for
            missing or repeated columns, and tables without rows or without any row to use.
        ImportError: without narwhals (``pip install 'parzax[dataframe]'``).

    >>> import pandas as pd, parzax as px
    >>> df = pd.DataFrame({"params_x": [0.1, 0.5, 0.9], "value": [3.0, 1.0, 2.0]})
    >>> px.Observations.from_dataframe(df, space=px.Space({"x": px.Float(0, 1)}), direction="minimize")
    Observations(3 rows, 1 parameters, minimize)
    """
    _checks.one_of("failed", failed, ("drop", "worst"))
    if space is not None and not isinstance(space, Space):
        raise TypeError(f"space must be a parzax.Space, got {type(space).__name__}.")
    table = open_table(df)
    targets = find_targets(table.columns, target)
    weights = [] if weight is None else named_columns("weight", weight, table.columns)
    if len(weights) > 1:
        raise TypeError(f"weight must be one column, got {weights!r}.")
    constrained = [] if constraints is None else named_columns("constraints", constraints, table.columns)
    inferred: list[str] = []
    if direction is None:
        direction = "minimize"
        inferred.append(f"direction: not given, so {listed(targets)} is minimised")

    states = _states(table)
    ordinary = [] if states is not None or "state" not in table.columns else ["state"]
    keep, dropped = _kept(len(table), states, failed, exclude or {})
    objectives = np.stack([read_column(table, t).take(keep).as_numbers() for t in targets], axis=-1)
    if states is not None and "state" not in targets:
        # Rows that failed although they are kept; their objective, if any, does not count.
        objectives[states[keep] != "COMPLETE"] = np.nan
    used: np.ndarray = np.ones(len(objectives), dtype=bool)
    if failed == "drop":
        used = np.logical_not(np.isnan(objectives).all(axis=-1))
    if space is None:
        where, ignored = find_parameters(table.columns, [*targets, *weights, *constrained], ordinary)
        if ignored:
            inferred.append(f"not parameters: the columns {listed(ignored)}")
    else:
        where = find_space_columns(table.columns, space.names)
    asked_for = (*targets, *weights, *constrained, *(where.values() if space is not None else ()))
    if ordinary and "state" not in asked_for:
        what = "a parameter" if "state" in where.values() else "ignored"
        inferred.append(f"state: none of its values is a trial state, so it leaves out no row and is {what}")
    columns = {name: read_column(table, column).take(keep) for name, column in where.items()}
    if space is None:
        space = _infer_space(columns, inferred)
    given = _recorded_regimes(table, space, keep)
    values, regime = encode_columns(space, columns, used, given)

    def build(rows: np.ndarray | None) -> Observations:
        """From the kept rows; with ``rows`` from all of the table's, the others at weight 0."""

        def spread(kept: Any, fill: float) -> Any:
            if kept is None or rows is None:
                return kept
            full = np.full((len(rows), *kept.shape[1:]), fill, dtype=kept.dtype)
            full[rows] = kept
            return full

        kept_weight = read_column(table, weights[0]).take(keep).as_numbers() if weights else None
        if rows is not None and kept_weight is None:
            kept_weight = np.ones(len(values))
        cons = [read_column(table, c).take(keep).as_numbers() for c in constrained]
        return Observations.from_arrays(
            space,
            spread(values, np.nan),
            spread(objectives, np.nan),
            direction,
            regime=spread(regime, -1),
            constraints=spread(np.stack(cons, axis=-1), 0.0) if cons else None,
            weight=spread(kept_weight, 0.0),
            failed=failed,
        )

    try:
        obs = build(None)
    except ValueError:
        if not keep.all():
            # The same complaint, with rows numbered as in the table.
            build(keep)
        raise
    report = replace(obs.report, n_rows=len(table), dropped=dropped, inferred=tuple(inferred))
    if warn and inferred:
        warnings.warn(inference_message(inferred), UserWarning, stacklevel=3)
    return replace(obs, report=report)


def _kept(
    n: int, states: np.ndarray | None, failed: str, exclude: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, dict[str, int]]:
    """Rows that stay in, and reason -> number of those left out."""
    keep, dropped = np.ones(n, dtype=bool), {}
    masks = dict(exclude)
    if states is not None:
        for state in np.unique(states):
            pending = state in ("RUNNING", "WAITING")
            if state != "COMPLETE" and (failed == "drop" or pending):
                masks[f"state {state}"] = states == state
    for reason, mask in masks.items():
        new = np.asarray(mask, dtype=bool) & keep
        if new.any():
            dropped[reason] = int(new.sum())
            keep &= ~new
    if not keep.any():
        reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        raise ValueError(f"no row of the table is left ({reasons}).")
    return keep, dropped


def _states(table: Any) -> np.ndarray | None:
    """(n,) trial states as upper-case names, or None without a column of them."""
    if "state" not in table.columns:
        return None
    found, index = read_column(table, "state").distinct()
    names = [str(getattr(x, "name", x)).rsplit(".", 1)[-1].upper() for x in found]
    if _STATES.isdisjoint(names):
        return None
    return np.array([*names, "MISSING"], dtype=object)[index].astype(str)


def _infer_space(columns: dict[str, Any], inferred: list[str]) -> Space:
    domains: dict[str, Domain | Sequence[Domain]] = {}
    inferred.append("bounds and choices are those seen in the data; a space with the real ones is better")
    for name, column in columns.items():
        domain, sentence = infer_domain(column)
        inferred.append(f"{name}: {sentence}")
        if domain is not None:
            domains[name] = domain
    if not domains:
        raise ValueError(f"none of the columns {listed([c.name for c in columns.values()])} has a value.")
    return Space(domains)


def _recorded_regimes(table: Any, space: Space, keep: np.ndarray) -> dict[str, np.ndarray]:
    present, given = set(table.columns), {}
    for name in space.names:
        if f"regimes_{name}" in present:
            column = read_column(table, f"regimes_{name}").take(keep)
            regime = np.nan_to_num(column.as_numbers(), nan=-1.0)
            bad = np.flatnonzero((regime != np.floor(regime)) | (regime < -1) | (regime >= len(space[name])))
            if len(bad):
                raise ValueError(
                    f"{column.where(bad[0])}: {float(regime[bad[0]])!r} is no regime of {name!r}; "
                    f"use -1 (inactive) to {len(space[name]) - 1}."
                )
            given[name] = regime.astype(np.int16)
    return given


def inference_message(inferred: Sequence[str]) -> str:
    """What was inferred, as the text of a warning."""
    lines = list(inferred[:_SHOWN])
    if len(inferred) > _SHOWN:
        lines.append(f"... and {len(inferred) - _SHOWN} more in report.inferred")
    return "parzax inferred from the table:\n  " + "\n  ".join(lines)
