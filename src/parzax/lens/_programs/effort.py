"""Choice of XLA's compiler options: a small program is compiled fast, a large one with full optimisation."""

import os

import jax

from parzax._compile import OPTIONS

# A program is small up to _SMALL operations, and middling up to _MIDDLING bytes read and written by its
# operations. XLA counts both, and counts the body of a loop once. A matrix product has many operations and
# few bytes; a library computes it, with any options.
_SMALL, _MIDDLING = 1.5e5, 1.5e8
EFFORTS = (*OPTIONS, "auto")


def asked() -> str:
    """The value of ``PARZAX_COMPILE``: "auto", or a size that the user sets for all programs."""
    wanted = os.environ.get("PARZAX_COMPILE", "auto") or "auto"
    if wanted not in EFFORTS:
        raise ValueError(f"PARZAX_COMPILE must be one of {', '.join(EFFORTS)}, got {wanted!r}.")
    return wanted


def compiled(
    lowered: jax.stages.Lowered, size: str, weight: float = 1.0, library: float = 0.0
) -> jax.stages.Compiled:
    """Compile a program, on a CPU with options that suit its size. Options that the user sets are kept.

    Args:
        lowered: the program.
        size: size of the program's work, from its author; "auto" decides by XLA's counts.
        weight: factor of the byte count, above 1 for a program that gains more than others from full
            optimisation.
        library: fraction of the operations that are in matrix products.
    """
    options = OPTIONS[_decided(lowered, size, weight, library)] if jax.default_backend() == "cpu" else {}
    # Options in the environment variable XLA_FLAGS are not overridden.
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
