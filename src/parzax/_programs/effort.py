"""How hard XLA works on a program: by how much the program has to do. The one place that decides."""

import os
from typing import Any

import jax

# Arithmetic operations up to which a program is small, and up to which it is of middling size; by XLA's
# count, which takes the body of a loop once.
_SMALL, _MIDDLING = 1.5e5, 2e6
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


def compiled(lowered: jax.stages.Lowered, size: str) -> jax.stages.Compiled:
    """Compile, with options by the size of the work where the backend is a CPU and the user sets none.

    Args:
        lowered: what is compiled.
        size: what its author says of the work, or "auto" to go by XLA's count.
    """
    options = _OPTIONS[_decided(lowered, size)] if jax.default_backend() == "cpu" else {}
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


def _decided(lowered: jax.stages.Lowered, size: str) -> str:
    decided = next((own for own in (asked(), size) if own != "auto"), None)
    if decided is not None:
        return decided
    work = float((lowered.cost_analysis() or {}).get("flops", 0.0))
    return "small" if work <= _SMALL else "middling" if work <= _MIDDLING else "large"
