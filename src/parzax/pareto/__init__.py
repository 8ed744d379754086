"""Several objectives: non-domination ranks, crowding, hypervolume, subset selection, attainment.

All objectives are minimised. Rows are padded and masked: a row whose mask or weight is not positive is
absent. A row with a NaN comes after all fronts and adds nothing to a hypervolume. Infinite values are
ordinary values.
"""

from parzax.pareto.attainment import AttainmentSurface as AttainmentSurface
from parzax.pareto.attainment import attainment_surface as attainment_surface
from parzax.pareto.crowding import crowding_distance as crowding_distance
from parzax.pareto.crowding import order_by_rank_and_crowding as order_by_rank_and_crowding
from parzax.pareto.host import greedy_hypervolume_order_host as greedy_hypervolume_order_host
from parzax.pareto.host import hypervolume_host as hypervolume_host
from parzax.pareto.hypervolume import hypervolume as hypervolume
from parzax.pareto.hypervolume import hypervolume_status as hypervolume_status
from parzax.pareto.hypervolume import log_hypervolume as log_hypervolume
from parzax.pareto.ranks import ABSENT as ABSENT
from parzax.pareto.ranks import non_domination_rank as non_domination_rank
from parzax.pareto.ranks import non_domination_rank_host as non_domination_rank_host
from parzax.pareto.ranks import rank_status as rank_status
from parzax.pareto.subset import greedy_hypervolume_order as greedy_hypervolume_order
