"""Cache of compiled functions: looked up in memory, then on disk, and compiled only if neither has them."""

from parzax._programs.programs import CachedJit, clear, origins, program

__all__ = ["CachedJit", "clear", "origins", "program"]
