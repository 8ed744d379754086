"""Problems to optimise: a user's function, toy functions of the papers, benchmark tables, a synthetic log."""

from parzax.problems.problem import AbstractProblem as AbstractProblem
from parzax.problems.problem import Problem as Problem
from parzax.problems.synthetic import SyntheticProblem as SyntheticProblem
from parzax.problems.synthetic import activation as activation
from parzax.problems.tabular import Oracle as Oracle
from parzax.problems.tabular import Tabular as Tabular
from parzax.problems.toy import discs as discs
from parzax.problems.toy import ellipsoid as ellipsoid
from parzax.problems.toy import ellipsoids as ellipsoids
