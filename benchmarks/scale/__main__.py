"""Large work: ``python -m benchmarks.scale [PART ...] [--quick] [--rows N]``.

Each part prints its own figures, and what it claims. A part is a module of this folder with a function
``measure(options)`` that returns the claims that do not hold.
"""

import argparse
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks import command

PARTS = ("rows", "devices")


def main(argv: list[str] | None = None) -> int:
    """Measure the parts that are named, or all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--quick", action="store_true", help="small work, to see that it runs")
    parser.add_argument(
        "--rows", type=lambda text: int(float(text)), help="rows of the log (1e8; 3e6 if quick)"
    )
    folder = Path(tempfile.gettempdir()) / "parzax-scale"
    parser.add_argument("--folder", type=Path, default=folder, help="files that later runs use again")
    options = parser.parse_args(argv)
    failed = []
    for part in options.parts or PARTS:
        failed += import_module(f"benchmarks.scale.{part}").measure(options)
    return command.verdict(failed)


if __name__ == "__main__":
    sys.exit(main())
