"""Other tasks: how similar they are, by which parameters, and what their densities then weigh."""

from parzax.tasks.estimators import total_variation as total_variation
from parzax.tasks.reduction import Importance as Importance
from parzax.tasks.reduction import ancestors_of as ancestors_of
from parzax.tasks.reduction import kept_parameters as kept_parameters
from parzax.tasks.reduction import n_kept as n_kept
from parzax.tasks.reduction import overall_importance as overall_importance
from parzax.tasks.reduction import raw_importance as raw_importance
from parzax.tasks.variation import Half as Half
from parzax.tasks.variation import Variation as Variation
from parzax.tasks.variation import balanced_variation as balanced_variation
from parzax.tasks.variation import half as half
from parzax.tasks.variation import of_halves as of_halves
from parzax.tasks.variation import overlap_similarity as overlap_similarity
from parzax.tasks.variation import uniform_variation as uniform_variation
from parzax.tasks.weights import similarity as similarity
from parzax.tasks.weights import task_kernel as task_kernel
