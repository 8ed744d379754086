"""Rules for the bandwidth of categorical kernels: a fixed one, and Optuna's."""

from parzax.kernels.categorical import FixedTop, OptunaTop


def fixed_top(top: float = 0.8) -> FixedTop:
    """Every kernel gives its own category ``top`` (0.8 in c-TPE, 0.9 in meta-learning TPE)."""
    return FixedTop(top)


def optuna_top() -> OptunaTop:
    """Optuna 5's rule, which depends on the number of kernels; see `parzax.kernels.OptunaTop`."""
    return OptunaTop()
