"""A progress bar on stderr: a widget in a notebook, a line on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

from parzax import _checks


def is_shown(progress: bool | None) -> bool:
    """Whether to show a bar: as asked, or for None on a terminal and in a notebook alone."""
    return sys.stderr.isatty() if progress is None else _checks.flag("progress", progress)


@contextmanager
def progress_bar(total: int, what: str, shown: bool = True) -> Iterator[Callable[[int], object]]:
    """Yield a function that draws the bar for a given number of finished parts; the last bar stays."""
    with tqdm(total=total, desc=what, disable=not shown) as bar:
        yield lambda n_done: bar.update(n_done - bar.n)
