"""Interactions: which pairs of parameters explain more together than each parameter explains alone."""

from parzax.results.pairs.interaction import interactions as interactions
from parzax.results.pairs.result import InteractionResult as InteractionResult
