"""Output files: checked before the work, written together after it."""

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import parzax
from parzax.importance.table import long_columns, status_names

if TYPE_CHECKING:
    from parzax.importance import ImportanceResult

Writer = Callable[[Path], None]
FIGURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg", ".webp")


def check_outputs(outputs: Mapping[str, Path | None], source: Path | None = None) -> None:
    """Refuse outputs that cannot be written, before any work is done.

    Args:
        outputs: option -> path, or None where it is not asked for.
        source: the input, which is never written to.
    """
    seen: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if str(path) == "-":
            raise ValueError(f"{option}: - is not a file; give a path such as ./out.")
        if path.is_dir():
            raise ValueError(f"{option}: {str(path)!r} is a folder.")
        if not path.parent.is_dir():
            raise ValueError(f"{option}: there is no folder {str(path.parent)!r}.")
        if not os.access(path.parent, os.W_OK):
            raise ValueError(f"{option}: cannot write to the folder {str(path.parent)!r}.")
        if source is not None and path.resolve() == source.resolve():
            raise ValueError(f"{option}: {str(path)!r} is the log itself.")
        if (other := seen.setdefault(path.resolve(), option)) != option:
            raise ValueError(f"{option} and {other} name the same file {str(path)!r}.")
        if option in ("--plot", "--out") and path.suffix.lower() not in FIGURES:
            raise ValueError(f"{option}: {str(path)!r} must end in one of {', '.join(FIGURES)}.")


def write_all(outputs: Sequence[tuple[Path, Writer]]) -> None:
    """Write every file under a temporary name beside its own, then put all in place; an error leaves none."""
    written: list[tuple[Path, Path]] = []
    try:
        for path, write in outputs:
            temporary = path.with_name(f".parzax-{os.getpid()}-{len(written)}{path.suffix}")
            written.append((temporary, path))
            try:
                write(temporary)
            except OSError as error:
                raise ValueError(f"cannot write {str(path)!r}: {error.strerror or error}.") from error
        for temporary, path in written:
            os.replace(temporary, path)
    finally:
        for temporary, _ in written:
            temporary.unlink(missing_ok=True)


def figure_writer(result: "ImportanceResult") -> Writer:
    """Draw now, save later: bars for one level, lines against the level for several.

    Raises:
        ImportError: without matplotlib.
    """
    from parzax import plotting  # first: says what to install

    draw = plotting.importance_bars if len(result.target_quantile) == 1 else plotting.importance_sweep
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    draw(result, ax=figure.subplots())

    def write(path: Path) -> None:
        figure.savefig(path, dpi=160)

    return write


def json_writer(result: "ImportanceResult") -> Writer:
    """Levels, importances, variances, statuses and the import report as JSON; NaN becomes null."""
    shape = (result.n_seeds, *result.importance.shape[-2:])
    mean, error = result.over_seeds()
    names = np.vectorize(status_names, otypes=[object])(result.status.reshape(shape))
    content = {
        "version": parzax.__version__,
        "names": list(result.names),
        "levels": result.target_quantile.tolist(),
        "region_quantile": result.region_quantile,
        "reference": result.reference,
        "importance": {
            "mean": mean,
            "standard_error": error,
            "per_seed": result.importance.reshape(shape),
        },
        "variance": result.variance.reshape(shape),
        "status": names,
        "n_target": result.n_target.reshape(shape[:2]),
        "n_region": result.n_region.reshape(shape[:1]),
        "report": result.report.lines(),
        "advice": result.advice(),
    }
    lines = [f" {json.dumps(k)}: {json.dumps(_plain(v), allow_nan=False)}" for k, v in content.items()]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    return lambda path: _write_text(path, text)


def csv_writer(result: "ImportanceResult") -> Writer:
    """The long form, one line per seed, level and parameter."""
    columns = long_columns(result)

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(columns)
            out.writerows(zip(*(x.tolist() for x in columns.values()), strict=True))

    return write


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, list):
        return [_plain(x) for x in value]
    return None if isinstance(value, float) and value != value else value
