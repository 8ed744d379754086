from parzax.parzen.grid import GridEstimator as GridEstimator
from parzax.parzen.grid import fit_kernel as fit_kernel
from parzax.parzen.grid import grid_density as grid_density
from parzax.parzen.grid import in_grid as in_grid
from parzax.parzen.grid import prior_density as prior_density
from parzax.parzen.grid import uniform_density as uniform_density
from parzax.parzen.mixture import ParzenEstimator as ParzenEstimator
