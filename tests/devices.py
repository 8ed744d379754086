"""Run a script in a process of its own with several CPU devices."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_on_devices(script: str, n_devices: int = 4) -> dict[str, Any]:
    """The JSON object that the script prints last."""
    flags = os.environ.get("XLA_FLAGS", "") + f" --xla_force_host_platform_device_count={n_devices}"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1] / "src"), *sys.path])
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])
