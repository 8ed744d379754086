"""Benchmark tables as problems, and the log of the demo."""

from parzax.lens.problems.load_table import load_table as load_table
