"""Count the changes of file and of layer on the road of a log: `parzax report` of a small table, traced.

python .ci/walk.py             # this checkout
python .ci/walk.py FOLDER/src  # another one

As a reader follows them: each call of one function by another counts when it first happens. A stay is an
unbroken run of calls within one file of src/parzax. A climb is a call from a folder to one that stands lower
in the table of DESIGN, such as from the core to the lens. Calls while modules are imported, and of generators
and comprehensions, do not count.
"""

import contextlib
import io
import os
import sys
import tempfile
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

# The folders in the order of DESIGN, with their names of before.
ORDER = (
    *(
        "_numerics",
        "_checks",
        "_entries",
        "_mesh",
        "_compile",
        "_html",
        "_words",
        "status",
        "space",
        "kernels",
    ),
    *("density", "parzen", "divergence", "importance", "pareto", "split", "acquisition", "samplers", "meta"),
    *("papers", "lens/_programs", "_programs", "lens/run", "chunks", "_progress", "lens/_files", "_files"),
    *(
        "lens/_html",
        "lens/_palette",
        "_palette",
        "lens/logs",
        "observations",
        "lens/tables",
        "tables",
        "lens/results",
    ),
    *("results", "lens/plotting", "plotting", "lens/page", "page", "lens/cli", "cli", "adapters", "__init__"),
)


def main() -> None:
    """Print how many stays and climbs there are."""
    folder = (
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src"
    ).resolve() / "parzax"
    sys.path.insert(0, str(folder.parent))
    os.environ["PARZAX_NO_CACHE"] = "1"
    cli = import_module("parzax.lens.cli" if (folder / "lens").is_dir() else "parzax.cli")
    files: list[str] = []
    seen: set[tuple[Any, Any]] = set()
    climbs = 0

    def file_of(frame: FrameType | None) -> str:
        """The file of a function of parzax, below src/parzax; "" for other functions."""
        if frame is None or frame.f_code.co_name.startswith("<"):
            return ""
        name = frame.f_code.co_filename
        return name[len(str(folder)) + 1 :] if name.startswith(f"{folder}{os.sep}") else ""

    def layer(file: str) -> int:
        return max(
            (i for i, name in enumerate(ORDER) if file.startswith((f"{name}/", f"{name}.py"))), default=0
        )

    def trace(frame: FrameType, event: str, _: Any) -> None:
        nonlocal climbs
        if event != "call" or not (called := file_of(frame)):
            return
        caller = frame.f_back
        while caller is not None and not file_of(caller):
            caller = caller.f_back
        if (pair := (caller and caller.f_code, frame.f_code)) in seen:
            return
        seen.add(pair)
        climbs += bool(caller) and layer(called) > layer(file_of(caller))
        files.append(called)

    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(io.StringIO()):
        table, page = Path(place, "log.csv"), Path(place, "page.html")
        rows = [f"{(i * 37 % 101) / 101},{(i * 53 % 97) / 97},{(i * 37 % 101 - 30) ** 2}" for i in range(200)]
        table.write_text("\n".join(["params_a,params_b,value", *rows]))
        command = ["report", str(table), "--direction", "minimize", "-o", str(page), "--resamples", "50"]
        with contextlib.redirect_stderr(io.StringIO()):
            status = cli.main(command)  # imports and compiles, before the trace
            sys.setprofile(trace)
            cli.main(command)
            sys.setprofile(None)
    stays = 1 + sum(before != after for before, after in pairwise(files))
    calls = f"{len(files):,} calls in {len(set(files))} files"
    print(f"status {status}: {calls}, {stays:,} stays, {climbs:,} climbs")


if __name__ == "__main__":
    main()
