"""A progress bar on stderr."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from parzax import _checks

# Characters of a bar.
_BAR = 24


def is_shown(progress: bool | None) -> bool:
    """Whether to show a bar: as asked, or for None on a terminal alone."""
    return sys.stderr.isatty() if progress is None else _checks.flag("progress", progress)


@contextmanager
def progress_bar(
    total: int, what: str, shown: bool = True, *, first: int = 0, rate: bool = False
) -> Iterator[Callable[[int], None]]:
    """Yield a function that draws the bar for a given number of finished parts; the last bar stays.

    ``first`` parts were finished before. ``rate`` also shows how many are finished per second.
    """
    start = time.monotonic()
    since, width = (first, start), 0

    def update(done: int) -> None:
        nonlocal since, width
        now = time.monotonic()
        # The first call may have waited for a compilation, so the estimate starts after it.
        left = (now - since[1]) * (total - done) / max(done - since[0], 1)
        since = since if since[0] > first else (done, now)
        told = f"{what}, {(done - first) / (now - start):.2g} a second" if rate and done > first else what
        line = bar(done, total, told, now - start, left)
        # Spaces, not escape codes, erase the previous line.
        print("\r" + line.ljust(width), end="", file=sys.stderr, flush=True)
        width = len(line)

    if not shown:
        yield lambda _: None
        return
    update(first)
    try:
        yield update
    finally:
        print(file=sys.stderr)


def bar(done: int, total: int, what: str, elapsed: float, left: float) -> str:
    """The progress bar as one line of text.

    >>> bar(6, 12, "runs", 3600.0, 80.4)
    '[############------------] 6 of 12 runs, 1:00:00 elapsed, 1:20 left'
    """
    full = _BAR * done // total
    line = f"[{'#' * full}{'-' * (_BAR - full)}] {done} of {total} {what}, {_clock(elapsed)} elapsed"
    return f"{line}, {_clock(left)} left" if 0 < done < total else line


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds))).removeprefix("0:").removeprefix("0")
