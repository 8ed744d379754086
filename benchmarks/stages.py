"""Where the time of a first answer goes: imports, JAX's stages, reading from disk."""

import builtins
import contextlib
import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from jax import monitoring

STAGES = {
    "/jax/core/compile/jaxpr_trace_duration": "tracing",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
    "/jax/core/compile/backend_compile_duration": "XLA",
    "/jax/compilation_cache/cache_retrieval_time_sec": "reading",
}


@contextlib.contextmanager
def stages() -> Iterator[dict[str, float]]:
    """Seconds of imports, reading executables, and JAX's stages; filled at the end.

    Stages lie within each other, so every moment counts to the one that began last. On one core, of which
    nobody else has a share, the clock's seconds are the processor's.
    """
    spans: list[tuple[float, float, str]] = []
    spent: dict[str, float] = {}

    def timed(function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            begun = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spans.append((begun, time.perf_counter(), stage))

        return call

    def listen(event: str, duration_secs: float, **_: Any) -> None:
        if event in STAGES:
            spans.append((time.perf_counter() - duration_secs, time.perf_counter(), STAGES[event]))

    monitoring.register_event_duration_secs_listener(listen)
    places: list[tuple[Any, str, str]] = [
        (builtins, "__import__", "imports"),
        (importlib, "import_module", "imports"),
    ]
    before = [getattr(owner, name) for owner, name, _ in places]
    for (owner, name, stage), own in zip(places, before, strict=True):
        setattr(owner, name, timed(own, stage))
    try:
        yield spent
    finally:
        for (owner, name, _), own in zip(places, before, strict=True):
            setattr(owner, name, own)
        spent |= exclusive(spans)


def exclusive(spans: list[tuple[float, float, str]]) -> dict[str, float]:
    """Seconds of each stage without those of the stages that began within it."""
    spent: dict[str, float] = {}
    open_: list[tuple[float, str]] = []  # when it ends, and what it is
    now = 0.0

    def until(moment: float) -> None:
        nonlocal now
        while open_ and now < moment:
            end, stage = open_[-1]
            spent[stage] = spent.get(stage, 0.0) + max(min(end, moment) - now, 0.0)
            now = max(now, min(end, moment))
            if end <= moment:
                open_.pop()
        now = max(now, moment)

    for begun, ended, stage in sorted(spans, key=lambda span: (span[0], -span[1])):
        until(begun)
        open_.append((ended, stage))
    until(float("inf"))
    return spent


def again(answer: Callable[[], Any], calls: int = 7) -> float:
    """Median seconds of the answer once everything is compiled."""
    seconds = []
    for _ in range(calls):
        begun = time.perf_counter()
        answer()
        seconds.append(time.perf_counter() - begun)
    return float(np.median(seconds))
