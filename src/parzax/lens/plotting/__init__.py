"""Pictures of importances, effects, interactions, good values, logs, runs and tasks.

Every function draws on the Axes ``ax``, or on those of a new figure, and returns them; a picture of several
panels returns the first. No function shows or saves: call ``plt.show()`` or ``plt.savefig(path)``. Install
the extra ``parzax[plot]``.

Common arguments: ``result`` comes from `parzax.cond_ped_anova`, except that `interactions` takes the result
of `parzax.interactions`. ``level`` is a target quantile: the nearest level of the result is drawn, and
a ValueError says if none is within 0.05 of it. By default it is the level nearest to 0.1 that
leaves more than ten rows in the target and outside it (``result.usual_level``). ``obs`` is a log
(`parzax.Observations`). ``traces`` comes from
`parzax.optimize` or `parzax.optimize_many` (all leading axes are runs), or maps names to such traces. An
argument of another type raises a TypeError. Unknown names, levels and runs, and empty or repeated names,
raise a ValueError.
"""

from parzax.lens.plotting import _axes as _axes  # first: says what to install
from parzax.lens.plotting.densities import values as values
from parzax.lens.plotting.effects import effect_map as effect_map
from parzax.lens.plotting.effects import effects as effects
from parzax.lens.plotting.importances import importance_bars as importance_bars
from parzax.lens.plotting.importances import importance_over_weights as importance_over_weights
from parzax.lens.plotting.importances import importance_sweep as importance_sweep
from parzax.lens.plotting.importances import regimes as regimes
from parzax.lens.plotting.pairs import interactions as interactions
from parzax.lens.plotting.pairs import task_similarity as task_similarity
from parzax.lens.plotting.plane import acquisition as acquisition
from parzax.lens.plotting.plane import observations as observations
from parzax.lens.plotting.rows import history as history
from parzax.lens.plotting.rows import parallel as parallel
from parzax.lens.plotting.rows import slices as slices
from parzax.lens.plotting.runs import attainment as attainment
from parzax.lens.plotting.runs import convergence as convergence
