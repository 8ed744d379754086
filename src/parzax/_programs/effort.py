"""How hard XLA works on a program: by how much the program has to do. The one place that decides."""

import os
from typing import Any

import jax

# Up to how many operations a program is small, and up to how many bytes that its operations read and write
# it is of middling size; by XLA's counts, which take the body of a loop once. A product of matrices is many
# operations and few bytes: a library does it, whatever the options.
_SMALL, _MIDDLING = 1.5e5, 1.5e8
# On CPUs LLVM and the fusion emitters take most of a compilation. Without either, arithmetic is up to ten
# times slower, and two to three times with LLVM alone: some 50 us a call of what is that small. The level
# above 1 gains nothing where it was measured, and several modules cost processor time to save the clock's.
_ONE_MODULE = {"xla_cpu_parallel_codegen_split_count": 1}
_PLAIN = {"xla_cpu_use_fusion_emitters": False, **_ONE_MODULE}
_OPTIONS: dict[str, dict[str, Any]] = {
    "small": {"xla_backend_optimization_level": 0, **_PLAIN},
    "middling": {"xla_backend_optimization_level": 1, **_PLAIN},
    "large": {"xla_backend_optimization_level": 1, **_ONE_MODULE},
}
EFFORTS = (*_OPTIONS, "auto")


def asked() -> str:
    """``PARZAX_COMPILE``: "auto", or the size that the user wants all programs to be taken for."""
    wanted = os.environ.get("PARZAX_COMPILE", "auto") or "auto"
    if wanted not in EFFORTS:
        raise ValueError(f"PARZAX_COMPILE must be one of {', '.join(EFFORTS)}, got {wanted!r}.")
    return wanted


def compiled(
    lowered: jax.stages.Lowered, size: str, weight: float = 1.0, library: float = 0.0
) -> jax.stages.Compiled:
    """Compile, with options by the size of the work where the backend is a CPU and the user sets none.

    Args:
        lowered: what is compiled.
        size: what its author says of the work, or "auto" to go by XLA's counts.
        weight: how much a byte counts, of a program that gains more from full optimisation than others.
        library: share of the operations that are of products of matrices.
    """
    options = _OPTIONS[_decided(lowered, size, weight, library)] if jax.default_backend() == "cpu" else {}
    # What the user has set for all of XLA stays.
    flags = os.environ.get("XLA_FLAGS", "")
    options = {name: value for name, value in options.items() if name not in flags}
    while options:
        try:
            return lowered.compile(compiler_options=options)
        except jax.errors.JaxRuntimeError as error:
            unknown = [name for name in options if name in str(error)]
            if not unknown:
                raise
            for name in unknown:
                del options[name]
    return lowered.compile()


def _decided(lowered: jax.stages.Lowered, size: str, weight: float, library: float) -> str:
    for decided in (asked(), size):
        if decided != "auto":
            return decided
    cost = lowered.cost_analysis() or {}
    if (1 - library) * float(cost.get("flops", 0.0)) <= _SMALL:
        return "small"
    return "middling" if weight * float(cost.get("bytes accessed", 0.0)) <= _MIDDLING else "large"
