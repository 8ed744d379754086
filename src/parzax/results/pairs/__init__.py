"""Which pairs of parameters explain more together than each does alone."""

from parzax.results.pairs.interaction import interactions as interactions
from parzax.results.pairs.result import InteractionResult as InteractionResult
