"""Several objectives: non-domination ranks, crowding, hypervolume, subset selection.

All objectives are minimised. JAX arrays are computed where they are, NumPy arrays on the host in float64.
Rows are padded and masked: a row whose mask or weight is not positive is absent. A row with a NaN comes after
all fronts and adds nothing to a hypervolume. Infinite values are ordinary values.
"""

from parzax.pareto.crowding import crowding_distance as crowding_distance
from parzax.pareto.hypervolume import hypervolume as hypervolume
from parzax.pareto.ranks import ABSENT as ABSENT
from parzax.pareto.ranks import non_domination_rank as non_domination_rank
from parzax.pareto.subset import greedy_hypervolume_order as greedy_hypervolume_order
from parzax.pareto.ties import AbstractTies as AbstractTies
from parzax.pareto.ties import Crowding as Crowding
from parzax.pareto.ties import Hypervolume as Hypervolume
from parzax.pareto.ties import reference_point as reference_point
