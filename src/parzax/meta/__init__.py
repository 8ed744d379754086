"""Meta-learning from other tasks: their rows, task similarities, and weights of the tasks' densities."""

from parzax.meta.comparison import Comparison as Comparison
from parzax.meta.sources import SourceRows as SourceRows
from parzax.meta.variation import Variation as Variation
from parzax.meta.variation import balanced_variation as balanced_variation
from parzax.meta.variation import overlap_similarity as overlap_similarity
from parzax.meta.variation import similarity as similarity
from parzax.meta.variation import task_kernel as task_kernel
from parzax.meta.variation import uniform_variation as uniform_variation
from parzax.meta.weights import AbstractTaskWeights as AbstractTaskWeights
from parzax.meta.weights import BySimilarity as BySimilarity
from parzax.meta.weights import MixedSmoothing as MixedSmoothing
from parzax.meta.weights import Stacking as Stacking
