"""Cache of compiled functions: looked up in memory, then on disk, and compiled only if neither has them."""

from parzax.lens._programs.programs import CachedJit, clear, origins, program

__all__ = ["CachedJit", "clear", "origins", "program"]
