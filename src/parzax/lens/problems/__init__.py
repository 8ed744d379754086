"""Benchmark tables as problems, synthetic problems, and the log of the demo."""

from parzax.lens.problems.load_table import load_table as load_table
from parzax.lens.problems.synthetic import SyntheticProblem as SyntheticProblem
from parzax.lens.problems.synthetic import activation as activation
