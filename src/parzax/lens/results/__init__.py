"""Results: importances, interactions and comparisons of logs; each has words, a table, columns and JSON."""

from parzax.lens.results.analysis import cond_ped_anova as cond_ped_anova
from parzax.lens.results.analysis import interactions as interactions
from parzax.lens.results.comparison import Comparison as Comparison
from parzax.lens.results.comparison import compare as compare
from parzax.lens.results.result import ImportanceResult as ImportanceResult
from parzax.lens.results.result import InteractionResult as InteractionResult
