"""Interactions: which pairs of parameters explain more together than each parameter explains alone."""

from parzax.lens.results.pairs.interaction import interactions as interactions
from parzax.lens.results.pairs.result import InteractionResult as InteractionResult
