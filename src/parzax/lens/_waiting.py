"""What work without a bar says on stderr while it lasts."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import Timer

from parzax._progress import is_shown
from parzax._words import visible

# Seconds after which a call says that it compiles: calls of compiled programs are faster.
_PATIENCE = 0.3


@contextmanager
def saying(what: str, after: float = 0.0) -> Iterator[None]:
    """Show ``what ...`` in a notebook or on a terminal while the work takes longer than ``after`` seconds."""
    if not is_shown(None):
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
says_that_it_compiles = saying("parzax compiles and computes; the next such call is fast", _PATIENCE)
