"""Results for readers: named importances with tables, files, uncertainty and comparisons."""

from parzax.results.comparison import Comparison as Comparison
from parzax.results.comparison import compare as compare
from parzax.results.pairs import InteractionResult as InteractionResult
from parzax.results.pairs import interactions as interactions
from parzax.results.ped_anova import cond_ped_anova as cond_ped_anova
from parzax.results.ped_anova import ped_anova as ped_anova
from parzax.results.result import ImportanceResult as ImportanceResult
from parzax.results.result import RegimeDensity as RegimeDensity
from parzax.results.several import ImportanceOverWeights as ImportanceOverWeights
from parzax.results.several import importance_by_objective as importance_by_objective
from parzax.results.several import importance_over_weights as importance_over_weights
from parzax.results.uncertainty import Uncertainty as Uncertainty
