"""Observations: rows of a log on the host, checked, in NumPy float64."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Float, Int

from parzax import _checks
from parzax._checks import Direction, axis_label, check_groups, check_weight, find_first, warn_of_normalised
from parzax._numerics import capacity
from parzax._words import plural
from parzax.importance import Encoded, Grid
from parzax.importance.levels import checked_levels
from parzax.lens._html import table
from parzax.lens._rows import row_mask
from parzax.lens.logs.bounds import check_bounds, read_bounds
from parzax.lens.logs.encoding import encode_log
from parzax.lens.logs.groups import find_repeats
from parzax.lens.logs.report import ImportReport
from parzax.space import INACTIVE, Categorical, Space
from parzax.space.checks import check_regimes

if TYPE_CHECKING:
    from parzax.lens.tables import Format
    from parzax.meta import SourceRows
    from parzax.samplers import Sampler, State, Trace

# The fields of `Observations` that hold rows.
_ARRAYS = "values", "regime", "losses", "constraints", "weight", "bounds", "groups"


@dataclass(frozen=True, eq=False)
class Observations:
    """The rows of a log, on the host: configurations and objectives, perhaps constraints and weights.

    Build it with `from_arrays`, `from_dataframe` or an adapter, never directly. It is not a pytree.

    Attributes:
        space: the search space; ``d`` parameters.
        values: (..., n, d) native values, NaN = inactive, categories as integer codes.
        regime: (..., n, d) int16, index of the domain that applied, -1 = inactive.
        losses: (..., n, m) objectives, negated where maximised; NaN in failed rows.
        constraints: (..., n, c) or None; feasible where <= 0. NaN only in failed rows.
        weight: (..., n) frequency weights or None for 1 each; 0 leaves a row out.
        bounds: name -> (..., n, 2) low and high in rows where the bounds of the parameter move, NaN in other
            rows; None if no bounds are given.
        groups: (..., n) int32 numbers of groups of rows that belong together, or None.
        report: how the log was read.
    """

    space: Space
    values: np.ndarray
    regime: np.ndarray
    losses: np.ndarray
    constraints: np.ndarray | None
    weight: np.ndarray | None
    bounds: dict[str, np.ndarray] | None
    groups: np.ndarray | None
    report: ImportReport

    @classmethod
    @_checks.known_arguments({})
    def from_arrays(
        cls,
        space: Space,
        values: Any,
        objectives: Any,
        directions: Direction | Sequence[Direction] = "minimize",
        *,
        regime: Any = None,
        constraints: Any = None,
        weight: Any = None,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        groups: Any = None,
        failed: str = "drop",
        keep: Any = None,
    ) -> "Observations":
        """Check arrays against a space and keep them.

        Args:
            space: the search space.
            values: (n, d), or (s, n, d) for s seeds: native values, NaN = inactive, categories as codes.
                Masked entries of any array (``numpy.ma``) are missing, as NaN is.
            objectives: (..., n) or (..., n, m). -inf (after negation of maximised objectives) is a legal
                best; NaN and +inf are failed rows.
            directions: "minimize" or "maximize", or one of them per objective; members of an enumeration
                are read by their names (Optuna's ``StudyDirection.MAXIMIZE``).
            regime: (..., n, d) int, -1 = inactive; needed only if the conditions do not determine it.
            constraints: (..., n) or (..., n, c), feasible where <= 0; infinities are legal, NaN only in
                rows without any objective.
            weight: (..., n) frequency weights, at least 0: a weight of 2 is two independent rows. Weights
                that sum to 1, as relative weights do, give a warning.
            bounds: name -> (low, high) for parameters whose bounds move (`parzax.Varying`). Low and high are
                each a number, an array (..., n), or the name of a parameter whose value is the bound, as in
                ``{"x": (0, "c")}``. Rows where the parameter has another domain, or is inactive, ignore them.
            groups: (..., n) labels, integers or text, equal for rows that belong together, such as the epochs
                of one configuration. Rows of a group with the same values count as one row together, and
                samples and shuffles take whole groups. By default exact repeats of a configuration with
                continuous values are a group, if a tenth of the rows are such repeats.
            failed: "drop" leaves failed rows out, "worst" ranks them last.
            keep: (..., n) mask of the rows that count; others get no loss, and only weights are checked.

        Raises:
            ValueError: for shapes that do not fit. With row and column: for a value outside its domain, a
                value of an inactive parameter, a missing value of an active one, and bounds that are missing,
                reversed or do not contain the value. Failed rows that are dropped are not checked.

        >>> import parzax as px
        >>> space = px.Space({"x": px.Float(0, 1)})
        >>> px.Observations.from_arrays(space, [[0.2], [0.7]], [1.0, 0.5]).n
        2
        """
        _checks.instance("space", space, Space, "a parzax.Space")
        _checks.one_of("failed", failed, ("drop", "worst"))
        values = _checks.float_array("values", _checks.ordered("values", values, space.names))
        if values.ndim < 2 or values.shape[-1] != len(space.names):
            wanted = f"(..., n, {len(space.names)}), one column per parameter"
            raise ValueError(f"values must have shape {wanted}, got {values.shape}.")
        if 0 in values.shape[:-2]:
            raise ValueError(f"values must have at least one seed, got shape {values.shape}.")
        shape = values.shape[:-1]
        objectives = _with_columns("objectives", objectives, shape)
        directions = _checks.directions(directions, objectives.shape[-1])
        losses = np.where([d == "maximize" for d in directions], -objectives, objectives)
        failing = ~(losses < np.inf)
        losses = np.where(failing, np.inf if failed == "worst" else np.nan, losses)
        # Rows of weight 0 are checked too: `with_weight` may bring them back.
        used = np.ones(shape, dtype=bool) if keep is None else np.asarray(keep, bool)
        _checks.check_shape("keep", used, *shape)
        losses = np.where(used[..., None], losses, np.nan)
        if failed == "drop":
            used = used & ~failing.all(axis=-1)
        if constraints is not None:
            constraints = _with_columns("constraints", constraints, shape)
            if where := find_first(np.isnan(constraints) & used[..., None]):
                which = f"{axis_label(where[:-1])}, constraint {where[-1]}"
                raise ValueError(f"constraints: {which} is NaN; use +inf for a violated one.")
        weight = None if weight is None else check_weight(weight, shape)
        warn_of_normalised(weight)
        regimes = check_regimes(space, values, regime, used)

        def read_parameter(what: str, name: str) -> np.ndarray:
            return values[..., space.index(_checks.one_of(f"the parameter of {what}", name, space.names))]

        moving = None
        if bounds is not None:
            moving = read_bounds(bounds, shape, space.names, read_parameter)
            moving = check_bounds(space, values, regimes, moving, used)
        groups = None if groups is None else check_groups(groups, shape)
        report = ImportReport(shape[-1], directions, failed, _count_failed(losses))
        return cls(space, values, regimes, losses, constraints, weight, moving, groups, report)

    @classmethod
    def from_trace(cls, trace: "Trace", *, pooled: bool = False) -> "Observations":
        """The evaluations of a run of `parzax.optimize`, or of several of `parzax.optimize_many`.

        Each run becomes a seed of the log: the best rows are chosen within each run, and importances are
        averaged over runs. With ``pooled=True`` the rows of all runs form one log, and the best rows are
        chosen among all of them. Rows that a stop left out are no rows of the log.

        Values rounded out of their domain are moved to the nearest value inside. ValueError if the trace has
        no space; TypeError if it is traced.
        """
        _checks.on_host("a run", trace.x, trace.losses)
        space, values = trace.space_and_values()
        constraints = np.asarray(trace.constraints) if trace.constraints.shape[-1] else None
        objectives, was_run = np.asarray(trace.losses), np.asarray(trace.was_run)
        if pooled or was_run.ndim == 1:
            values, objectives = values[was_run], objectives[was_run]
            constraints = None if constraints is None else constraints[was_run]
        elif not was_run.all():
            return stack_seeds([cls.from_trace(run) for run in trace.runs()])
        return cls.from_arrays(space, values, objectives, trace.directions, constraints=constraints)

    def to_source(self, name: str, space: Space, n_objectives: int, n_constraints: int) -> "SourceRows":
        """The log as a source task of `parzax.meta_learn_tpe`, which calls this: rows in the target's space.

        A source must have as many objectives as the target, and as many constraints or none. A row with NaN
        objectives is used only for constraints, so it is left out if the source has no constraints.
        ValueError for other numbers of objectives or constraints, for several seeds in one log and for
        fractional weights.
        """
        from parzax.lens.logs.sources import to_source  # sources are seldom needed, and slow to import

        return to_source(self, name, space, n_objectives, n_constraints)

    def to_state(self, sampler: "Sampler") -> "State":
        """The rows as a state of a sampler, which a run goes on from: ``px.optimize(..., state=state)``.

        Parameters and choices are matched by name. Failed rows count as bad ones. From a data frame it is
        ``px.Observations.from_dataframe(df, target="loss", space=space).to_state(sampler)``.

        Raises:
            ValueError: rows outside the sampler's space, other directions or numbers of objectives and
                constraints, several seeds, and weights other than 0 and 1.
        """
        from parzax.lens.logs.sources import to_state

        return to_state(self, sampler)

    @classmethod
    @_checks.known_arguments({})
    def from_dataframe(
        cls,
        df: Any,
        target: str | Sequence[str] = "value",
        *,
        directions: Direction | Sequence[Direction] | None = None,
        space: Space | None = None,
        failed: str = "drop",
        weight: str | None = None,
        constraints: str | Sequence[str] | None = None,
        exclude: Mapping[str, Any] | None = None,
        parameters: str | Sequence[str] | None = None,
        drop: str | Sequence[str] | None = None,
        bounds: Mapping[str, tuple[Any, Any]] | None = None,
        seed: str | None = None,
        pruned: str | None = None,
        trial: str | None = None,
        step: str | None = None,
        per_trial: str = "last",
        groups: str | None = None,
        format: "Format | None" = None,
        warn: bool = True,
    ) -> "Observations":
        """Read a table (pandas, polars, pyarrow, anything narwhals reads) or a file of one.

        The format of the tool that wrote the table says which columns are parameters, states of trials and
        bookkeeping: see `parzax.lens.tables.formats` and docs/tables.md. In any other table all columns
        without another role are parameters, unless ``parameters`` names them. If one of these looks like a
        result, a time, an identity, a counter or a copy, a ValueError lists all of these, with the call to
        copy. ``report.left_out`` names the columns left out. A missing value means inactive, or None.

        Args:
            df: the table, n rows; or a dictionary of columns, such as ``cv_results_`` of scikit-learn; or a
                list of dictionaries; or the path of a file, a folder, or a pattern of files.
            target: the objective column, or several. If no column is named "value", the default is all
                ``values_*``, or the only column that can be the objective in the format of a tool.
            directions: as in `from_arrays`; None takes them from the tool, or from the end of the objective's
                name ("loss", "accuracy"), else "minimize"; a name that says both, as accuracy_drop, is a
                ValueError.
            space: the search space. Its parameters are found by the prefix of the format, or by column name.
                A label matches the choice of the same type and value. If there is none, it matches the only
                choice that a file may have turned into it (1 into 1.0, True into "True"). Without a space,
                one is inferred by the rules of `parzax.lens.logs.inference.infer_domain`.
            failed: rows that did not complete, and rows without an objective value, are left out ("drop") or
                ranked last ("worst"); running and waiting ones are always left out.
            pruned: the same for pruned rows; by default as ``failed``.
            weight: column of frequency weights.
            constraints: columns of constraints, feasible where <= 0.
            exclude: reason -> (n,) mask of rows to leave out, counted in ``report.dropped``.
            parameters: columns of the parameters, if no space is given; they overrule the format.
            drop: columns to leave out.
            bounds: as in `from_arrays`; a text names a column (also one of ``drop``) or else a parameter.
                An inferred domain becomes a `parzax.Varying`.
            seed: column of seeds: each seed becomes a separate run, on a leading axis, for standard errors.
            trial: column that says to which trial a row belongs; by default the format's, if any.
            step: column that counts the rows of a trial, such as its epochs; by default the format's. Without
                a column of trials, rows with equal parameters are of one trial.
            per_trial: which rows count if a trial has several: "last", "best", or "all" (as one group).
            groups: column of labels of rows that belong together; see `from_arrays`.
            format: the table's `parzax.lens.tables.Format`; recognised by its columns if not given.
            warn: whether to warn of what was inferred; ``report.inferred`` has the same sentences.

        Raises:
            ValueError: for values that do not fit, with row (counted from 0 in ``df``) and column; for
                missing or repeated columns, and tables without rows or without any row to use; for columns
                that may not be parameters, an objective that is not named, and an unclear direction
                (`parzax.lens.tables.doubts.DoubtError`, with the call to copy).
            ImportError: without narwhals (``pip install 'parzax[dataframe]'``).

        >>> import pandas as pd, parzax as px
        >>> df = pd.DataFrame({"params_x": [0.1, 0.5, 0.9], "value": [3.0, 1.0, 2.0]})
        >>> px.Observations.from_dataframe(df, space=px.Space({"x": px.Float(0, 1)}), directions="minimize")
        Observations(3 rows, 1 parameter, minimize)
        """
        from parzax.lens.tables.reading import TableOptions, read_logs  # tables are read into logs

        options = TableOptions(
            target, directions, space, failed, weight, constraints, exclude, parameters, drop, bounds, seed,
            pruned, trial, step, per_trial, groups, format,
        )  # fmt: skip
        logs = read_logs(df, options, warn=warn)
        return logs[()] if seed is None else stack_seeds([*logs.values()])

    @classmethod
    def by_task(
        cls, df: Any, task: str, target: str | Sequence[str] = "value", *, warn: bool = True, **options: Any
    ) -> "dict[str, Observations]":
        """Read a table of several tasks as one log per task; all logs have the same space.

        Args:
            df: the table; the rows of a task stay in order.
            task: the column with the names of the tasks; it is not a parameter.
            target, warn, options: as in `from_dataframe`. Without ``space`` one is inferred from all tasks
                together.

        Returns:
            Name of the task -> log, in order of appearance.

        Raises:
            TypeError, ValueError: as `from_dataframe`; for rows without a task, and tasks without a row to
                use.
        """
        from parzax.lens.tables.reading import TableOptions, read_logs

        given = TableOptions(target, **options)
        _checks.instance("task", task, str, "a column name")
        logs = read_logs(df, given, task=task, warn=warn)
        runs = {task: [log for names, log in logs.items() if names[0] == task] for task, *_ in logs}
        return {task: one[0] if given.seed is None else stack_seeds(one) for task, one in runs.items()}

    def encode(
        self, levels: Any, region: float = 1.0, *, objective: int = 0, grid: Grid | None = None
    ) -> Encoded:
        """The rows on the grid and in level sets, as NumPy arrays, for `parzax.importance.estimate`.

        Args:
            levels, region, grid: as in `parzax.encode`.
            objective: index of the objective by which rows are ranked.

        Returns:
            `parzax.importance.Encoded`; its leading axes are the seeds of the log.
        """
        target, region = checked_levels(levels, region)
        shape = (math.prod(self.batch_shape), self.n)
        losses, grid = self.losses[..., objective].reshape(shape), Grid() if grid is None else grid
        encoded, _ = encode_log(self, losses, target, region, grid, rows=self.n, ranks=True)
        return jax.tree.map(lambda a: a.reshape((*self.batch_shape, *a.shape[1:])), encoded)

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

    repeats = cached_property(find_repeats)

    @property
    def feasible(self) -> np.ndarray:
        """(..., n) rows whose constraints are all given and <= 0; all rows if the log has no constraints."""
        if self.constraints is None:
            return np.ones(self.values.shape[:-1], dtype=bool)
        return np.asarray((self.constraints <= 0).all(axis=-1))

    def best_rows(self) -> np.ndarray:
        """(k,) numbers of the best feasible rows: one for one objective, the front for several.

        Rows with the same values are evaluations of one configuration, averaged as in
        `parzax.samplers.Sampler.best`. ValueError for several seeds.
        """
        if self.batch_shape:
            raise ValueError(f"best_rows is for one log, got seeds of shape {self.batch_shape}.")
        constraints = np.empty((self.n, 0)) if self.constraints is None else self.constraints
        counted = np.ones(self.n) if self.weight is None else self.weight
        return find_best(self.values, np.where(counted[:, None] > 0, self.losses, np.nan), constraints)

    def best_params(self) -> dict[str, Any] | None:
        """The best feasible configuration by name, as `parzax.Space.as_dict` gives it; None if there is none.

        ValueError for several objectives, which have a front (`best_rows`), and for several seeds.
        """
        if self.n_objectives > 1:
            raise ValueError("best_params is for one objective; best_rows gives the front of several.")
        rows = self.best_rows()
        return self.space.as_dict(self.values[rows[0]]) if len(rows) else None

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        seeds = f"{' x '.join(map(str, self.batch_shape))} seeds x " if self.batch_shape else ""
        what = f"{seeds}{plural(self.n, 'row')}, {plural(len(self.space), 'parameter')}"
        return f"Observations({what}, {' and '.join(self.report.directions)})"

    def _repr_html_(self) -> str:
        rows = [["parameter", "active rows", "smallest", "largest"]]
        rows += [self._summary(j) for j in range(len(self.space))]
        return table(repr(self), rows, left=(0,), notes=self.report.lines(math.prod(self.batch_shape)))

    def _summary(self, j: int) -> list[str]:
        """Texts on a parameter: name, number of active rows of all seeds, smallest and largest value."""
        values, domain = self.values[..., j][self.regime[..., j] >= 0], self.space.domains[j][0]
        is_numeric = values.size and not isinstance(domain, Categorical)
        ends = [f"{values.min():.4g}", f"{values.max():.4g}"] if is_numeric else ["", ""]
        return [self.space.names[j], str(values.size), *ends]

    def with_weight(self, weight: Any) -> "Observations":
        """The same rows with other frequency weights, (..., n); a filter is a weight of 0 or 1."""
        weight = check_weight(weight, self.values.shape[:-1])
        warn_of_normalised(weight)
        return replace(self, weight=weight)

    def select(self, keep: Any) -> "Observations":
        """The log in which rows outside the mask ``keep`` (..., n) have weight 0."""
        keep = row_mask("keep", keep, self.values.shape[:-1])
        return replace(self, weight=np.where(keep, 1.0 if self.weight is None else self.weight, 0.0))

    def take(self, rows: np.ndarray, **report: Any) -> "Observations":
        """A log without seeds, with these rows alone; keywords are new values of fields of the report."""
        taken = replace(self, **jax.tree.map(lambda array: array[rows], self._arrays()))
        return replace(taken, report=replace(self.report, n_failed=_count_failed(taken.losses), **report))

    def _arrays(self) -> dict[str, Any]:
        """The fields that hold rows."""
        return {name: getattr(self, name) for name in _ARRAYS}


def find_best(
    x: Float[np.ndarray, "n d"], losses: Float[np.ndarray, "n m"], constraints: Float[np.ndarray, "n c"]
) -> Int[np.ndarray, " k"]:
    """Numbers of the best rows, see `Observations.best_rows`."""
    from parzax.samplers.repeats import mark_best  # samplers are seldom needed, and slow to import

    # Padded, so that a few programs serve all logs.
    padding = (0, capacity(len(x)) - len(x)), (0, 0)
    rows: Any = [np.pad(part, padding, constant_values=np.nan) for part in (x, losses, constraints)]
    evaluated: Any = ~np.isnan(rows[1]).any(axis=-1)
    with jax.enable_x64(True):
        return np.flatnonzero(mark_best(rows[0], rows[1], rows[2], evaluated)[1])


def checked_log(name: str, log: Any) -> Observations:
    """Return ``log`` if it is `Observations`; otherwise raise TypeError with the line that makes them."""
    if hasattr(log, "trials"):
        line = "px.adapters.optuna.observations(study)"
    elif hasattr(log, "incumbent"):
        line = "px.Observations.from_trace(trace)"
    elif isinstance(log, str | Path):
        line = f"px.Observations.from_dataframe({str(log)!r}, target=...)"
        line += f", for an Optuna file px.adapters.optuna.observations({str(log)!r})"
    else:
        line = "px.Observations.from_dataframe(df, target=...), with the name of the objective's column"
    return _checks.instance(name, log, Observations, "parzax.Observations", f"; read it with {line}")


def stack_seeds(logs: Sequence[Observations]) -> Observations:
    """Join logs of one space as seeds of one log; shorter logs are filled up with rows without a loss."""
    sizes, reports = [log.n for log in logs], [log.report for log in logs]
    n = max(sizes)

    def stack(*parts: np.ndarray) -> np.ndarray:
        fill = INACTIVE if parts[0].dtype.kind == "i" else np.nan
        filled = np.full((len(parts), n, *parts[0].shape[1:]), fill, parts[0].dtype)
        for rows, part in zip(filled, parts, strict=True):
            rows[: len(part)] = part
        return filled

    note = f"{len(logs)} seeds of {min(sizes)} to {n} rows each" if min(sizes) < n else f"{len(logs)} seeds"
    n_rows = [report.n_rows for report in reports]
    report = replace(
        reports[0], n_rows=max(n_rows), n_failed=sum(report.n_failed for report in reports),
        n_total=sum(n_rows) if len(set(n_rows)) > 1 else None,
        dropped=dict(sum((Counter(report.dropped) for report in reports), Counter())),
        inferred=(*reports[0].inferred, note),
    )  # fmt: skip
    # Either all logs of a table have weights, or none has; likewise constraints and bounds.
    stacked = replace(logs[0], report=report, **jax.tree.map(stack, *(log._arrays() for log in logs)))
    return stacked if stacked.weight is None else replace(stacked, weight=np.nan_to_num(stacked.weight))


def _count_failed(losses: np.ndarray) -> int:
    """Number of rows (over all seeds) without a usable loss."""
    return int((~(losses < np.inf)).all(axis=-1).sum())


def _with_columns(name: str, array: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Read numbers of shape (..., n, m) for rows of ``shape`` (..., n); an array (..., n) is one column."""
    array = _checks.float_array(name, array)
    if array.ndim == len(shape):
        array = array[..., None]
    if array.shape[:-1] != shape:
        wanted = f"{shape} (plus one axis at most) to go with the rows of values"
        raise ValueError(f"{name} must have shape {wanted}, got leading shape {array.shape[:-1]}.")
    return array
