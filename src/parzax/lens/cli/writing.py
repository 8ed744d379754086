"""The command's output: lines on the terminal, and files, checked before the work and written together."""

import csv
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import numpy as np

import parzax
from parzax._words import visible
from parzax.lens._files import can_write_in

Writer = Callable[[Path], Any]
_FIGURES = (".png", ".pdf", ".svg", ".jpg", ".jpeg", ".webp")
_ENDINGS = {"--plot": _FIGURES, "--out": _FIGURES, "-o": (".html", ".htm")}


def say(*lines: str, file: TextIO | None = None) -> None:
    """Print lines; characters that would move the cursor, or break a line, are printed as escapes."""
    for line in lines:
        print(visible(line), file=file)


def check_outputs(outputs: Mapping[str, Path], inputs: Mapping[str, Path]) -> None:
    """Refuse outputs (option -> path) that cannot be written, or are an input, before any work is done."""
    seen: dict[Path, str] = {}
    for option, path in outputs.items():
        folder, file = path.parent, path.resolve()
        same = next((what for what, source in inputs.items() if file == source.resolve()), None)
        endings = _ENDINGS.get(option, (path.suffix.lower(),))
        for wrong, problem in (
            (str(path) == "-", "- is not a file; give a path such as ./out"),
            (path.is_dir(), f"{str(path)!r} is a folder"),
            # A special file such as /dev/null would be replaced by an ordinary file.
            (path.exists() and not path.is_file(), f"{str(path)!r} is no regular file"),
            (not folder.is_dir(), f"there is no folder {str(folder)!r}"),
            (not can_write_in(folder), f"cannot write to the folder {str(folder)!r}"),
            (same is not None, f"{str(path)!r} is {same} itself"),
            (file in seen, f"it and {seen.get(file)} name the same file {str(path)!r}"),
            (path.suffix.lower() not in endings, f"{str(path)!r} must end in {' or '.join(endings)}"),
        ):
            if wrong:
                raise ValueError(f"{option}: {problem}.")
        seen[file] = option


def write_all(outputs: Sequence[tuple[Path, Writer]]) -> None:
    """Write every file under a temporary name in its folder, then rename all of them.

    After an error while files are written, no new file is left and every old file is as before.
    """
    with ExitStack() as cleaning:
        for i, (path, write) in enumerate(outputs):
            new = _beside(path, i)
            cleaning.callback(new.unlink, missing_ok=True)
            try:
                write(new)
            except OSError as error:  # it names the temporary file
                raise ValueError(f"cannot write {str(path)!r}: {error.strerror or error}.") from error
        for i, (path, _) in enumerate(outputs):
            os.replace(_beside(path, i), path)


def _beside(path: Path, i: int) -> Path:
    """The temporary name of the ``i``-th file."""
    return path.with_name(f".parzax-{os.getpid()}-{i}{path.suffix}")


def figure_writer(result: Any, kind: str | None = None, log: Any = None) -> Writer:
    """A picture of a result, or of the rows of a log and an objective; ImportError without matplotlib.

    Importances are by default bars for one level and a sweep for several; interactions are a map.
    """
    from parzax import plotting  # imported here: its error says what to install

    draw = {
        "sweep": lambda: plotting.importance_sweep(result),
        "bars": lambda: plotting.importance_bars(result),
        "regimes": lambda: plotting.regimes(result),
        "values": lambda: plotting.values(result, result.ranking()[0]),
        "effects": lambda: plotting.effects(result),
        "effect-map": lambda: plotting.effect_map(result),
        "pairs": lambda: plotting.interactions(result),
    }
    for name in ("history", "slices", "parallel"):
        draw[name] = partial(_draw_rows, getattr(plotting, name), log)
    usual = "pairs" if result.kind == "pair" else "bars" if len(result.levels) == 1 else "sweep"
    return draw_now(draw[kind or usual], result.names)


def _draw_rows(draw: Callable[..., Any], log: tuple[Any, int | str] | None) -> Any:
    if log is None:
        raise ValueError("--plot-kind: the rows of this log were only counted; --resamples 100 reads them.")
    return draw(log[0], objective=log[1])


def draw_now(draw: Callable[[], Any], names: Sequence[str]) -> Writer:
    """Draw a picture with the texts ``names`` now; return the writer that saves it, in its natural size."""
    plt = import_module("matplotlib.pyplot")
    # This backend of matplotlib opens no window.
    plt.switch_backend("Agg")
    with plt.rc_context({"font.family": _fonts_for("".join(names))}):
        ax = draw()
    figure = ax.figure.figure
    plt.close(figure)
    return lambda path: figure.savefig(path, dpi=160)


def _fonts_for(text: str) -> list[str]:
    """Matplotlib's font families, and another one with all characters of ``text`` if they lack some."""
    fonts, rc = import_module("matplotlib.font_manager"), import_module("matplotlib").rcParams
    families, wanted = list(rc["font.family"]), {ord(c) for c in text if c.isprintable()}
    missing = wanted - fonts.get_font(fonts.findfont(fonts.FontProperties())).get_charmap().keys()
    # The font "Last Resort" draws a box for every character, so it is not used.
    others = [(f.name, f.fname) for f in fonts.fontManager.ttflist if "Last" not in f.name] if missing else []
    for name, file in others:
        with suppress(OSError, RuntimeError):
            if missing <= fonts.get_font(file).get_charmap().keys():
                return [*families, name]
    if missing:
        some = "".join(map(chr, sorted(missing)[:8]))
        say(f"parzax: note: the picture lacks {some!r}: no font here has it; install one", file=sys.stderr)
    return families


def json_writer(result: Any) -> Writer:
    """Everything that `AbstractResult.to_dict` says, and the version of parzax."""
    content = {"version": parzax.__version__} | result.to_dict()
    lines = [
        f' "{k}": {json.dumps(v, default=np.ndarray.tolist, allow_nan=False)}' for k, v in content.items()
    ]
    return text_writer("{\n" + ",\n".join(lines) + "\n}")


def csv_writer(result: Any) -> Writer:
    """Write the long form, one line per seed, level and parameter."""
    columns = result.to_columns()

    def write(path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(columns)
            out.writerows(zip(*(x.tolist() for x in columns.values()), strict=True))

    return write


def text_writer(text: str) -> Writer:
    """Write a text and a line end."""
    return lambda path: path.write_text(text + "\n", encoding="utf-8")
