"""The TPE sampler of parzax for Optuna studies, and the reader of its source studies."""

from parzax.adapters.optuna import sources
from parzax.adapters.optuna import TPESampler


__all__ = ["TPESampler", "sources"]
