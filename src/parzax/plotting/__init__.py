"""Pictures of importances, densities, runs and tasks; every function draws on Axes and returns them.

None shows or saves. Needs the extra ``parzax[plot]``.
"""

from parzax.plotting import _matplotlib as _matplotlib  # first: says what to install
from parzax.plotting._arguments import colours as colours
from parzax.plotting.acquisition import acquisition as acquisition
from parzax.plotting.attainment import attainment as attainment
from parzax.plotting.bars import importance_bars as importance_bars
from parzax.plotting.convergence import convergence as convergence
from parzax.plotting.density import density as density
from parzax.plotting.good_values import values as values
from parzax.plotting.observations import observations as observations
from parzax.plotting.regime_shares import regimes as regimes
from parzax.plotting.sweep import importance_sweep as importance_sweep
from parzax.plotting.task_similarity import task_similarity as task_similarity
