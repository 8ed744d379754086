"""A synthetic log for the demo, toy functions of the papers, files of benchmark tables."""

from parzax.lens.problems.synthetic import SyntheticProblem as SyntheticProblem
from parzax.lens.problems.synthetic import activation as activation
from parzax.lens.problems.toy import discs as discs
from parzax.lens.problems.toy import ellipsoid as ellipsoid
from parzax.lens.problems.toy import ellipsoids as ellipsoids
