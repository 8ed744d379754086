"""The grid of the importance: cells, codes, counts, and the densities that estimators make of them."""

from parzax.importance.grid.codes import PointCells as PointCells
from parzax.importance.grid.codes import grid_codes as grid_codes
from parzax.importance.grid.counts import level_counts as level_counts
from parzax.importance.grid.counts import sweep_counts as sweep_counts
from parzax.importance.grid.density import GridEstimator as GridEstimator
from parzax.importance.grid.density import density_of as density_of
from parzax.importance.grid.density import grid_density as grid_density
from parzax.importance.grid.layout import Block as Block
from parzax.importance.grid.layout import GridSpec as GridSpec
from parzax.importance.grid.layout import Group as Group
from parzax.importance.grid.layout import Layout as Layout
from parzax.importance.grid.layout import cell_values as cell_values
from parzax.importance.grid.layout import layout as layout
from parzax.importance.grid.pools import in_pools as in_pools
from parzax.importance.grid.resolutions import Resolutions as Resolutions
