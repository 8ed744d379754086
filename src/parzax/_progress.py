"""The progress bar of long work, on stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from parzax import _checks


def is_shown(progress: bool | None) -> bool:
    """Whether to show a bar: as asked, or for None on a terminal and in a notebook alone."""
    watched = sys.stderr.isatty() or "ipykernel" in sys.modules
    return watched if progress is None else _checks.flag("progress", progress)


@contextmanager
def progress_bar(
    total: int, what: str, shown: bool = True, at_first: str | None = None
) -> Iterator[Callable[..., None]]:
    """Yield a function that draws the bar for a given number of finished parts; the last bar stays.

    The function also takes a text to write behind the bar. Before its first call the bar is titled
    ``at_first``, where that is given.
    """
    if not shown:
        yield lambda *_: None
        return
    from tqdm.auto import tqdm  # slow to import in a notebook

    with tqdm(total=total, desc=at_first or what) as bar:

        def update(n_done: int, text: str = "") -> None:
            bar.set_description(what, refresh=False)
            bar.set_postfix_str(text, refresh=False)
            bar.update(n_done - bar.n)

        yield update
