"""Results as tables: a long-form DataFrame, and plain text for ``print``."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from parzax.importance.labels import short_names
from parzax.importance.seeds import mean_and_error, seeds_with_data
from parzax.status import Status

if TYPE_CHECKING:
    from parzax.importance.result import ImportanceResult

BACKENDS = ("pandas", "polars", "pyarrow")
# What fits a screen.
_MAX_LEVELS = 12
_LEVELS_SHOWN = 11
_COLUMNS_SHOWN = 8
_ROWS_SHOWN = 30
_INFERRED_SHOWN = 8
_WHERE_SHOWN = 60
# What holds for a level as a whole; the other statuses are those of single parameters.
_OF_LEVELS = (
    Status.NO_DATA
    | Status.ALL_EQUAL
    | Status.SAME_SETS
    | Status.TIED_CUTOFF
    | Status.LOW_DATA
    | Status.ALL_ZERO
)


def long_columns(result: "ImportanceResult") -> dict[str, np.ndarray]:
    """Columns of the long form, one entry per (seed, level, parameter), each of length s * q * d.

    ``seed`` is there only if the result has a seed axis; ``status_names`` is text such as
    "TIED_CUTOFF|LOW_DATA", "" where nothing is unusual.
    """
    shape = (result.n_seeds, *result.importance.shape[-2:])
    s, q, _ = shape

    def flat(x: Any) -> np.ndarray:
        return np.broadcast_to(x, shape).reshape(-1)

    columns: dict[str, np.ndarray] = {}
    if result.importance.ndim > 2:
        columns["seed"] = flat(np.arange(s)[:, None, None])
    columns["target_quantile"] = flat(result.target_quantile[:, None])
    columns["parameter"] = flat(np.array(result.names, dtype=object))
    for name in ("importance", "variance", "standard", "inter", "unweighted"):
        columns[name] = getattr(result, name).reshape(-1)
    columns["n_target"] = flat(result.n_target.reshape(s, q, 1))
    columns["n_region"] = flat(result.n_region.reshape(s, 1, 1))
    status = result.status.reshape(-1)
    columns["status"] = status
    seen, inverse = np.unique(status, return_inverse=True)
    columns["status_names"] = np.array([status_names(int(x)) for x in seen], dtype=object)[inverse]
    return columns


def status_names(status: int) -> str:
    """Names of the bits that are set, such as "TIED_CUTOFF|LOW_DATA"; "" for none.

    >>> status_names(int(Status.LOW_DATA | Status.TIED_CUTOFF))
    'TIED_CUTOFF|LOW_DATA'
    """
    return "|".join(str(bit.name) for bit in Status if bit and status & bit)


def to_dataframe(result: "ImportanceResult", backend: str | None = None) -> Any:
    """One row per (seed, level, parameter): seed (if there is a seed axis), target_quantile, parameter,
    importance, variance, standard, inter, unweighted, n_target, n_region, status, status_names.

    Args:
        result: of `cond_ped_anova` or `ped_anova`.
        backend: "pandas", "polars" or "pyarrow"; the first of these that is installed if not given.

    Raises:
        ValueError: for another backend.
        ImportError: without narwhals, or without the backend.
    """
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, BACKENDS))}, got {backend!r}.")
    try:
        import narwhals as nw
    except ImportError as error:
        raise ImportError(
            "to_dataframe needs narwhals; install it with pip install 'parzax[dataframe]'."
        ) from error
    columns = {
        name: x.tolist() if x.dtype == object else np.ascontiguousarray(x)
        for name, x in long_columns(result).items()
    }
    installed: list[Any] = [
        name for name in BACKENDS if backend in (None, name) and find_spec(name) is not None
    ]
    if not installed:
        raise ImportError(
            f"to_dataframe needs {backend or 'pandas, polars or pyarrow'}; "
            f"install it with pip install {backend or 'pyarrow'}."
        )
    return nw.from_dict(columns, backend=installed[0]).to_native()


def to_text(result: "ImportanceResult", inferred: bool = True) -> str:
    """A table for reading: levels down and parameters across, or parameters down for a single level.

    With several seeds the entries are mean ± standard error over those that have an importance, and where
    that are not all, it is said how many. Below stand the sizes of the sets, how the
    log was read and, for each status that is set, one sentence of advice, with the levels or parameters
    that it concerns where there are several levels.

    Args:
        result: of `cond_ped_anova` or `ped_anova`.
        inferred: whether to list what was inferred from the log; if not, only how many things.
    """
    several = len(result.target_quantile) > 1
    lines = _by_level(result) if several else _by_parameter(result)
    lines += ["", *_report(result, inferred)]
    for sentence in result.advice():
        name, text = sentence.split(": ", 1)
        where = _where(result, Status[name]) if several else ""
        lines.append(f"{name} ({where}): {text}" if where else sentence)
    return "\n".join(lines)


def _by_level(result: "ImportanceResult") -> list[str]:
    mean, _ = result.over_seeds()
    order = np.argsort(-mean.mean(axis=0), kind="stable")
    shown = order if len(order) <= _COLUMNS_SHOWN + 1 else order[:_COLUMNS_SHOWN]
    q = len(result.target_quantile)
    by_level = np.argsort(result.target_quantile, kind="stable")
    if q > _MAX_LEVELS:
        by_level = by_level[_shown_levels(result.target_quantile[by_level])]
    short = short_names(result.names, 18)
    header = ["level", *(short[result.names[j]] for j in shown)]
    if len(shown) < len(order):
        header.append(f"{len(order) - len(shown)} others")
    some_left_out = bool((result.seeds_counted < result.n_seeds).any()) and result.n_seeds > 1
    header += ["seeds", "n_target"] if some_left_out else ["n_target"]
    rows = []
    for level in by_level:
        row = [f"{result.target_quantile[level]:g}", *(_share(result, level, [j]) for j in shown)]
        if len(shown) < len(order):
            row.append(_share(result, level, order[len(shown) :]))
        if some_left_out:
            row.append(str(result.seeds_counted[level]))
        rows.append([*row, _size(result.n_target[..., level])])
    title = f"importance{_over_seeds(result, result.seeds_counted)}"
    if q > _MAX_LEVELS:
        title += f"; {len(by_level)} of {q} levels shown"
    return [title, *_aligned(header, rows)]


def _shown_levels(levels: np.ndarray) -> np.ndarray:
    """Indices of about eleven of many ascending levels: the tenths where they span most of (0, 1)."""
    tenths = np.arange(1, 10) / 10
    wanted = np.array([levels[0], *tenths[(tenths > levels[0]) & (tenths < levels[-1])], levels[-1]])
    if len(wanted) < _LEVELS_SHOWN - 2:
        return np.linspace(0, len(levels) - 1, _LEVELS_SHOWN).round().astype(int)
    return np.unique(np.abs(levels[:, None] - wanted).argmin(axis=0))


def _by_parameter(result: "ImportanceResult") -> list[str]:
    mean, _ = result.over_seeds()
    order = np.argsort(-mean[0], kind="stable")
    shown = order if len(order) <= _ROWS_SHOWN + 1 else order[:_ROWS_SHOWN]
    d = len(order)
    variance, _ = mean_and_error(result.variance.reshape(-1, d), seeds_with_data(result)[:, 0])
    active = (result.beta[..., 0, :, :-1].sum(axis=-1) * result.n_region[..., None]).reshape(-1, d)
    bits = np.bitwise_or.reduce(result.status.reshape(-1, d), axis=0)
    common = int(np.bitwise_and.reduce(bits))
    short = short_names(result.names, 40)
    rows = [
        [
            short[result.names[j]],
            _share(result, 0, [j]),
            f"{variance[j]:.3g}",
            _size(active[:, j]),
            # What holds for all of them is said once, in the advice.
            status_names(int(bits[j]) & ~common),
        ]
        for j in shown
    ]
    if len(shown) < d:
        rest = order[len(shown) :]
        rows.append([f"{len(rest)} others", _share(result, 0, rest), f"{variance[rest].sum():.3g}", "", ""])
    header = ["parameter", "importance", "variance", "n active", "status"]
    if not any(row[-1] for row in rows):
        header, rows = header[:-1], [row[:-1] for row in rows]
    of_seeds = _over_seeds(result, result.seeds_counted[:1])
    title = f"importance{of_seeds} at level {result.target_quantile[0]:g}"
    return [title, *_aligned(header, rows)]


def _share(result: "ImportanceResult", level: int, parameters: Any) -> str:
    per_seed = result.importance.reshape(-1, *result.importance.shape[-2:])[:, level, parameters].sum(axis=-1)
    mean, error = mean_and_error(per_seed, result.has_importance.reshape(len(per_seed), -1)[:, level])
    return f"{mean:.3f}" if np.isnan(error) else f"{mean:.3f} ± {error:.3f}"


def _over_seeds(result: "ImportanceResult", counted: np.ndarray) -> str:
    """For a title: over how many seeds, where there are several."""
    n = result.n_seeds
    if n == 1:
        return ""
    of = f"{n}" if (counted == n).all() else f"the {_size(counted)} of {n}"
    return f", mean ± standard error of {of} seeds" + ("" if of == f"{n}" else " that have one")


def _size(n: np.ndarray) -> str:
    low, high = np.min(n), np.max(n)
    return f"{low:.6g}" if np.isclose(low, high) else f"{low:.6g}-{high:.6g}"


def _report(result: "ImportanceResult", listed: bool) -> list[str]:
    one = len(result.target_quantile) == 1
    lines = [
        (f"target: {_size(result.n_target)} rows, " if one else "")
        + f"region: {_size(result.n_region)} rows (level {result.region_quantile:g})",
        *(["one run: no standard errors (they need several seeds)"] if result.n_seeds == 1 else []),
        *result.report.lines(result.n_seeds),
    ]
    inferred = [line for line in lines if line.startswith("inferred: ")]
    if inferred and not listed:
        lines = [line for line in lines if line not in inferred]
        several = len(inferred) > 1
        lines.append(f"inferred: {len(inferred)} thing{'s' * several}, see the note{'s' * several} above")
    elif len(inferred) > _INFERRED_SHOWN:
        lines = [line for line in lines if line not in inferred[_INFERRED_SHOWN:]]
        lines.append(f"inferred: {len(inferred) - _INFERRED_SHOWN} more, in report.inferred")
    return lines


def _where(result: "ImportanceResult", bit: Status) -> str:
    """The levels or the parameters at which ``bit`` is set, in about 60 characters; "" for all of them."""
    per_seed = (result.status.reshape(-1, *result.status.shape[-2:]) & int(bit)) != 0
    is_set = per_seed.any(axis=0)
    some = "" if (per_seed == is_set).all() else ", some seeds"
    if bit & _OF_LEVELS:
        return _levels(result.target_quantile, is_set.any(axis=1)) + some
    return _parameters(result, is_set) + some


def _levels(levels: np.ndarray, is_set: np.ndarray) -> str:
    """ "levels 0.01-0.05, 0.9": runs of the levels asked for."""
    if is_set.all():
        return "all levels"
    order = np.argsort(levels, kind="stable")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_set[order].astype(int), [0]])))
    ends = [(levels[order[a]], levels[order[b - 1]]) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    text = ", ".join(f"{a:g}" if a == b else f"{a:g}-{b:g}" for a, b in ends)
    text = f"level{'s' * int(is_set.sum() > 1)} {text}"
    return text if len(text) <= _WHERE_SHOWN else f"{is_set.sum()} of {len(levels)} levels"


def _parameters(result: "ImportanceResult", is_set: np.ndarray) -> str:
    """ "y at 45 of 99 levels": names, and at how many levels if not at all."""
    q, d = is_set.shape
    chosen = np.flatnonzero(is_set.any(axis=0))
    counts = is_set.sum(axis=0)[chosen]
    at = "" if (counts == q).all() else f" at {_size(counts)} of {q} levels"
    if len(chosen) == d > 1:
        return "all parameters" + at
    short = short_names(result.names, 18)
    names = [short[result.names[j]] for j in chosen]
    kept = min(len(names), _WHERE_SHOWN // 3)
    while kept > 1 and len(_listed(names, kept) + at) > _WHERE_SHOWN:
        kept -= 1
    return _listed(names, kept) + at


def _listed(names: list[str], kept: int) -> str:
    rest = len(names) - kept
    return ", ".join(names[:kept]) + (f" and {rest} other{'s' * (rest > 1)}" if rest else "")


def _aligned(header: list[str], rows: list[list[str]]) -> list[str]:
    """Lines of a table: the first column flush left if it is text, numbers flush right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    left = {0, len(header) - 1} if header[0] == "parameter" else set()
    if header[-1] != "status":
        left -= {len(header) - 1}

    def line(row: list[str]) -> str:
        padded = zip(row, widths, range(len(row)), strict=True)
        cells = [x.ljust(w) if i in left else x.rjust(w) for x, w, i in padded]
        return "  ".join(cells).rstrip()

    return [line(row) for row in [header, *rows]]
