"""Results for readers: named importances with tables, files, uncertainty and comparisons."""

from parzax.lens.results.comparison import Comparison as Comparison
from parzax.lens.results.comparison import compare as compare
from parzax.lens.results.estimator import GridEstimator as GridEstimator
from parzax.lens.results.pairs import InteractionResult as InteractionResult
from parzax.lens.results.pairs import interactions as interactions
from parzax.lens.results.ped_anova import cond_ped_anova as cond_ped_anova
from parzax.lens.results.ped_anova import ped_anova as ped_anova
from parzax.lens.results.result import ImportanceResult as ImportanceResult
from parzax.lens.results.result import RegimeDensity as RegimeDensity
from parzax.lens.results.several import ImportanceOverWeights as ImportanceOverWeights
from parzax.lens.results.several import importance_by_objective as importance_by_objective
from parzax.lens.results.several import importance_over_weights as importance_over_weights
from parzax.lens.results.uncertainty import Uncertainty as Uncertainty
