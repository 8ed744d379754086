"""What long work shows on stderr: a progress bar, or what it does."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Timer

from parzax import _checks
from parzax._words import visible

# Seconds after which a call says that it compiles: calls of compiled programs are faster.
_PATIENCE = 0.3


@contextmanager
def progress(what: str, after: float = 0.0) -> Iterator[None]:
    """Show ``what ...`` in a notebook or on a terminal while the work takes longer than ``after`` seconds."""
    if not _is_watched():
        yield
        return
    show = partial(print, end="", file=sys.stderr, flush=True)
    timer = Timer(after, show, [f"{visible(what)} ..."])
    timer.start()
    if not after:
        timer.join()
    try:
        yield
    finally:
        if timer.finished.is_set():
            show("\r\033[K")
        timer.cancel()


# A decorator of functions that compile when they are first called.
says_that_it_compiles = progress("parzax compiles and computes; the next such call is fast", _PATIENCE)


def is_shown(progress: bool | None) -> bool:
    """Whether to show a bar: as asked, or for None on a terminal and in a notebook alone."""
    return _is_watched() if progress is None else _checks.flag("progress", progress)


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


def _is_watched() -> bool:
    """Whether somebody sees the standard error: a terminal or a notebook shows it."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules
