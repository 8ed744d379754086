"""A bar on stderr while many things of one kind are done."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_WIDTH = 24


@contextmanager
def progress_bar(total: int, what: str, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Give a function of the number done that draws the bar over the last one.

    The rest is foreseen from what came after the first call, which may have waited for a compilation. The
    last bar stays, with the time that all took, and so does that of a work that an error ended.
    """
    start = time.monotonic()
    since, width = (0, start), 0

    def update(done: int) -> None:
        nonlocal since, width
        now = time.monotonic()
        left = (now - since[1]) * (total - done) / max(done - since[0], 1)
        since = since if since[0] else (done, now)
        line = bar(done, total, what, now - start, left)
        # Spaces over what was there before: codes that erase a line would stay in a file.
        print("\r" + line.ljust(width), end="", file=sys.stderr, flush=True)
        width = len(line)

    if not shown:
        yield lambda done: None
        return
    update(0)
    try:
        yield update
    finally:
        print(file=sys.stderr)


def bar(done: int, total: int, what: str, elapsed: float, left: float) -> str:
    """One line; times in seconds.

    >>> bar(6, 12, "runs", 3600.0, 80.4)
    '[############------------] 6 of 12 runs, 1:00:00 elapsed, 1:20 left'
    """
    full = _WIDTH * done // total
    line = f"[{'#' * full}{'-' * (_WIDTH - full)}] {done} of {total} {what}, {_clock(elapsed)} elapsed"
    return f"{line}, {_clock(left)} left" if 0 < done < total else line


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
