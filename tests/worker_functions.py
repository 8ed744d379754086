"""Functions that worker processes import, so it needs neither JAX nor parzax."""

import os
import signal
import time
from pathlib import Path


def bowl(params):
    return (params["x"] - 0.3) ** 2 + (params["kind"] == "slow")


def dies_once(params, marker):
    """End its process in the first call that finds no file ``marker``, but not before 8 calls are done."""
    time.sleep(0.02)
    path = Path(marker)
    calls = path.with_suffix(".calls")
    with open(calls, "a") as file:
        file.write("x")
    if calls.stat().st_size > 8 and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(params)
