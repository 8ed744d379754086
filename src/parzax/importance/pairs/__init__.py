"""Which pairs of parameters explain more together than each does alone."""

from parzax.importance.pairs.interaction import interactions as interactions
from parzax.importance.pairs.result import InteractionResult as InteractionResult
