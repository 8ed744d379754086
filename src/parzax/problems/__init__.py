from parzax.problems.synthetic import SyntheticProblem as SyntheticProblem
from parzax.problems.synthetic import activation as activation
from parzax.problems.synthetic import nested as nested
from parzax.problems.synthetic import regime_dependent as regime_dependent
from parzax.problems.synthetic import three_way as three_way
