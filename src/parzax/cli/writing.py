"""Output files: checked before the work, written together after it."""

import csv
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import parzax
from parzax.importance.table import long_columns, status_names
from parzax.space import Space

if TYPE_CHECKING:
    from parzax.importance import ImportanceResult

Writer = Callable[[Path], None]
KINDS = ("sweep", "bars", "regimes", "values")
FIGURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg", ".webp")


def check_outputs(outputs: Mapping[str, Path | None], inputs: Mapping[str, Path] | None = None) -> None:
    """Refuse outputs that cannot be written, before any work is done.

    Args:
        outputs: option -> path, or None where it is not asked for.
        inputs: what it is ("the log") -> path; never written to.
    """
    seen: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if str(path) == "-":
            raise ValueError(f"{option}: - is not a file; give a path such as ./out.")
        if path.is_dir():
            raise ValueError(f"{option}: {str(path)!r} is a folder.")
        if path.exists() and not path.is_file():
            # Such as /dev/null, which would be replaced by a file.
            raise ValueError(f"{option}: {str(path)!r} is no regular file.")
        if not path.parent.is_dir():
            raise ValueError(f"{option}: there is no folder {str(path.parent)!r}.")
        if not os.access(path.parent, os.W_OK):
            raise ValueError(f"{option}: cannot write to the folder {str(path.parent)!r}.")
        for what, source in (inputs or {}).items():
            if path.resolve() == source.resolve():
                raise ValueError(f"{option}: {str(path)!r} is {what} itself.")
        if (other := seen.setdefault(path.resolve(), option)) != option:
            raise ValueError(f"{option} and {other} name the same file {str(path)!r}.")
        if option in ("--plot", "--out") and path.suffix.lower() not in FIGURES:
            raise ValueError(f"{option}: {str(path)!r} must end in one of {', '.join(FIGURES)}.")


def write_all(outputs: Sequence[tuple[Path, Writer]]) -> None:
    """Write every file under a temporary name beside its own, then put all in place.

    After any error, also in putting them in place, nothing new is left, and what was there before still is.
    """
    new = [_beside(path, f"{i}-new") for i, (path, _) in enumerate(outputs)]
    old = [_beside(path, f"{i}-old") for i, (path, _) in enumerate(outputs)]
    touched: list[tuple[Path, Path]] = []
    try:
        for temporary, (path, write) in zip(new, outputs, strict=True):
            with _naming(path):
                write(temporary)
        for temporary, kept, (path, _) in zip(new, old, outputs, strict=True):
            with _naming(path):
                touched.append((path, kept))
                if path.is_file() or path.is_symlink():
                    os.replace(path, kept)
                os.replace(temporary, path)
    except BaseException:
        for temporary, (path, kept) in zip(new, touched, strict=False):
            if os.path.lexists(kept):
                os.replace(kept, path)
            elif not temporary.exists():
                path.unlink()
        raise
    finally:
        for temporary in (*new, *old):
            temporary.unlink(missing_ok=True)


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f".parzax-{os.getpid()}-{name}{path.suffix}")


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file that the user asked for in errors about it."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot write {str(path)!r}: {error.strerror or error}.") from error


def figure_writer(
    result: "ImportanceResult", kind: str | None = None, parameter: str | None = None
) -> Writer:
    """Draw now, save later, in the size that the picture chooses itself.

    Args:
        result: what to draw, at the first of its levels where a picture shows one.
        kind: one of `KINDS`; by default bars for one level and the sweep for several.
        parameter: whose values, for "values"; by default the most important one's.

    Raises:
        ImportError: without matplotlib.
    """
    from parzax import plotting  # says what to install

    plt = import_module("matplotlib.pyplot")
    # No window, whatever the machine has.
    plt.switch_backend("Agg")
    kind = kind or ("bars" if len(result.target_quantile) == 1 else "sweep")
    if kind == "sweep":
        ax = plotting.importance_sweep(result)
    elif kind == "bars":
        ax = plotting.importance_bars(result)
    elif kind == "regimes":
        ax = plotting.regimes(result)
    else:
        ax = plotting.values(result, parameter or result.ranking()[0])[0, 0]
    figure = ax.get_figure(root=True)
    assert figure is not None
    plt.close(figure)
    return lambda path: figure.savefig(path, dpi=160)


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
            "seeds_counted": result.seeds_counted,
            "per_seed": result.importance.reshape(shape),
        },
        "variance": result.variance.reshape(shape),
        "status": names,
        "n_target": result.n_target.reshape(shape[:2]),
        "n_region": result.n_region.reshape(shape[:1]),
        "report": result.report.lines(result.n_seeds),
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


def space_writer(space: Space) -> Writer:
    """The search space, as --space reads it."""
    text = space.to_json() + "\n"
    return lambda path: _write_text(path, text)


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
