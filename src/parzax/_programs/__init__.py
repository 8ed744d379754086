"""Compiled functions: found in memory, then on disk, and compiled only where neither has them."""

from parzax._programs.programs import Program, clear, program

__all__ = ["Program", "clear", "program"]
