"""Compiled functions: found in memory, then on disk, and compiled only where neither has them."""

from parzax._programs.programs import CachedJit, clear, program

__all__ = ["CachedJit", "clear", "program"]
