"""Observations: rows of a log on the host, checked, in NumPy float64."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parzax import _checks
from parzax.observations.report import ImportReport
from parzax.observations.validation import checked_regimes
from parzax.space import Space

if TYPE_CHECKING:
    from parzax.observations.encoding import Encoded
    from parzax.observations.grid import GridSpec

DIRECTIONS = ("minimize", "maximize")


@dataclass(frozen=True, eq=False)
class Observations:
    """What was seen: configurations and objectives, with optional constraints and weights.

    Built by `from_arrays`, `from_dataframe` or an adapter, never directly. Lives on the host in NumPy
    float64 (not a pytree); `encode` gives the device form.

    Attributes:
        space: the search space; ``d`` parameters.
        values: (..., n, d) native values, NaN = inactive, categories as integer codes.
        regime: (..., n, d) int16, index of the domain that applied, -1 = inactive.
        losses: (..., n, m) objectives, negated where maximised, so that lower is better. NaN marks a
            failed row.
        constraints: (..., n, c) or None; feasible where <= 0. NaN where not known, in failed rows alone.
        weight: (..., n) frequency weights or None for 1 each; 0 leaves a row out.
        report: how the log was read.
    """

    space: Space
    values: np.ndarray
    regime: np.ndarray
    losses: np.ndarray
    constraints: np.ndarray | None
    weight: np.ndarray | None
    report: ImportReport

    @classmethod
    def from_arrays(
        cls,
        space: Space,
        values: Any,
        objectives: Any,
        direction: str | Sequence[str] = "minimize",
        *,
        regime: Any = None,
        constraints: Any = None,
        weight: Any = None,
        failed: str = "drop",
    ) -> "Observations":
        """Check arrays against a space and keep them.

        Args:
            space: the search space.
            values: (n, d), or (s, n, d) for s seeds: native values, NaN = inactive, categories as codes.
            objectives: (..., n) or (..., n, m). -inf (after negation of maximised objectives) is a legal
                best; NaN and +inf are failed rows.
            direction: "minimize" or "maximize", or one of them per objective.
            regime: (..., n, d) int, -1 = inactive; only where the conditions cannot tell.
            constraints: (..., n) or (..., n, c), feasible where <= 0; infinities are legal, NaN is only in
                rows without any objective.
            weight: (..., n) frequency weights, at least 0.
            failed: "drop" leaves failed rows out, "worst" ranks them last.

        Raises:
            ValueError: shapes that do not fit; with row and column, a value outside its domain, a value
                where the parameter is inactive, none where it is active. Failed rows that are
                dropped are not checked.

        >>> import parzax as px
        >>> space = px.Space({"x": px.Float(0, 1)})
        >>> px.Observations.from_arrays(space, [[0.2], [0.7]], [1.0, 0.5]).n
        2
        """
        if not isinstance(space, Space):
            raise TypeError(f"space must be a parzax.Space, got {type(space).__name__}.")
        _checks.one_of("failed", failed, ("drop", "worst"))
        values = _checks.float_array("values", _checks.ordered("values", values, space.names))
        if values.ndim < 2 or values.shape[-1] != len(space):
            raise ValueError(
                f"values must have shape (..., n, {len(space)}), one column per parameter, "
                f"got {values.shape}."
            )
        if 0 in values.shape[:-2]:
            raise ValueError(f"values must have at least one seed, got shape {values.shape}.")
        objectives = _checks.float_array("objectives", objectives)
        if objectives.ndim == values.ndim - 1:
            objectives = objectives[..., None]
        _check_rows("objectives", objectives.shape[:-1], values)
        directions = _directions(direction, objectives.shape[-1])
        losses = np.where([d == "maximize" for d in directions], -objectives, objectives)
        failing = ~(losses < np.inf)
        losses = np.where(failing, np.inf if failed == "worst" else np.nan, losses)
        if constraints is not None:
            constraints = _constraints(constraints, values, losses)
        if weight is not None:
            weight = _weight(weight, values)
        # Rows of weight 0 are checked too: `with_weight` may bring them back.
        used = ~failing.all(axis=-1) if failed == "drop" else np.ones(values.shape[:-1], dtype=bool)
        regimes, values = checked_regimes(space, values, regime, used)
        report = ImportReport(
            n_rows=values.shape[-2],
            direction=directions,
            failed=failed,
            n_failed=int(failing.all(axis=-1).sum()),
        )
        return cls(space, values, regimes, losses, constraints, weight, report)

    @classmethod
    def from_dataframe(
        cls,
        df: Any,
        target: str | Sequence[str] = "value",
        *,
        direction: str | Sequence[str] | None = None,
        space: Space | None = None,
        failed: str = "drop",
        weight: str | None = None,
        constraints: str | Sequence[str] | None = None,
        warn: bool = True,
    ) -> "Observations":
        """Read a table (pandas, polars, pyarrow, anything narwhals reads); see `read_dataframe`.

        Args:
            df: one row per configuration, columns as in Optuna's ``trials_dataframe()``: ``params_*``
                (or, where no column has that prefix, every column but the target and bookkeeping),
                ``value`` or ``values_*``, ``state``. NaN or null = inactive.
            target: the objective column, or several.
            direction: "minimize" or "maximize", or one of them per objective.
            space: the search space; inferred, with a warning, when None.
            failed: what becomes of rows without an objective, "drop" or "worst".
            weight, constraints: columns that hold them.
            warn: whether to warn of what was inferred.
        """
        from parzax.observations.dataframe import read_dataframe

        return read_dataframe(
            df,
            target,
            direction=direction,
            space=space,
            failed=failed,
            weight=weight,
            constraints=constraints,
            warn=warn,
        )

    @classmethod
    def by_task(
        cls, df: Any, task: str = "task", target: str | Sequence[str] = "value", **options: Any
    ) -> "dict[str, Observations]":
        """Read a table of several tasks: one log per task, all of one space; see `from_dataframe`.

        Args:
            df: the table; the rows of a task stay in order.
            task: the column with the names of the tasks, which is no parameter.
            target: the objective column, or several.
            **options: of `from_dataframe`; a space that is not given is inferred from all tasks together.

        Returns:
            Name of the task -> log, in order of appearance.

        Raises:
            ValueError: as `from_dataframe`; without the column, for rows that name no task, and for tasks
                without a row to use.
        """
        from parzax.observations.tasks import read_tasks

        return read_tasks(df, task, target, **options)

    # --- shapes --------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of rows (per seed)."""
        return self.values.shape[-2]

    @property
    def n_objectives(self) -> int:
        """Number of objectives."""
        return self.losses.shape[-1]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Leading axes before the rows: () for one log, (s,) for s seeds."""
        return self.values.shape[:-2]

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        seeds = f"{' x '.join(map(str, self.batch_shape))} seeds x " if self.batch_shape else ""
        return (
            f"Observations({seeds}{self.n} rows, {len(self.space)} parameters, "
            f"{' and '.join(self.report.direction)})"
        )

    def with_weight(self, weight: Any) -> "Observations":
        """The same rows under other frequency weights, (..., n); a filter is a weight of 0 or 1."""
        return replace(self, weight=_weight(weight, self.values))

    def select(self, keep: Any) -> "Observations":
        """The rows where ``keep`` (..., n) is true, the others at weight 0."""
        keep = np.asarray(keep)
        if keep.shape != self.values.shape[:-1]:
            raise ValueError(f"keep must have shape {self.values.shape[:-1]}, got {keep.shape}.")
        if keep.dtype != bool:
            raise TypeError(f"keep must be a boolean mask, got dtype {keep.dtype}.")
        weight = np.ones(self.values.shape[:-1]) if self.weight is None else self.weight
        return self.with_weight(np.where(keep, weight, 0.0))

    def encode(self, grid: "GridSpec | None" = None) -> "Encoded":
        """The device pytree: unit coordinates, regimes, grid codes, losses, mask; padded to a capacity."""
        from parzax.observations.encoding import encode
        from parzax.observations.grid import GridSpec

        return encode(self, GridSpec() if grid is None else grid)


def _check_rows(name: str, shape: tuple[int, ...], values: np.ndarray) -> None:
    if shape != values.shape[:-1]:
        raise ValueError(
            f"{name} must have shape {values.shape[:-1]} (plus one axis at most) to go with values of "
            f"shape {values.shape}, got leading shape {shape}."
        )


def _directions(direction: str | Sequence[str], n_objectives: int) -> tuple[str, ...]:
    if not isinstance(direction, (str, Sequence)):
        raise TypeError(
            f'direction must be "minimize" or "maximize", one or one per objective, got {direction!r}.'
        )
    directions = (direction,) * n_objectives if isinstance(direction, str) else tuple(direction)
    if len(directions) != n_objectives:
        raise ValueError(f"direction has {len(directions)} entries for {n_objectives} objectives.")
    return tuple(_checks.one_of("direction", d, DIRECTIONS) for d in directions)


def _constraints(constraints: Any, values: np.ndarray, losses: np.ndarray) -> np.ndarray:
    constraints = _checks.float_array("constraints", constraints)
    if constraints.ndim == values.ndim - 1:
        constraints = constraints[..., None]
    _check_rows("constraints", constraints.shape[:-1], values)
    bad = np.argwhere(np.isnan(constraints) & ~np.isnan(losses).all(axis=-1, keepdims=True))
    if len(bad):
        *row, column = bad[0]
        raise ValueError(
            f"constraints: {_checks.axis_label(tuple(row))}, constraint {column} is NaN; "
            "use +inf for a violated one."
        )
    return constraints


def _weight(weight: Any, values: np.ndarray) -> np.ndarray:
    weight = _checks.float_array("weight", weight)
    if weight.shape != values.shape[:-1]:
        raise ValueError(f"weight must have shape {values.shape[:-1]}, got {weight.shape}.")
    bad = np.argwhere(~((weight >= 0) & (weight < np.inf)))
    if len(bad):
        where = tuple(bad[0])
        raise ValueError(
            f"weight: {_checks.axis_label(where)} is {weight[where]!r}; "
            "weights must be finite and at least 0."
        )
    return weight
