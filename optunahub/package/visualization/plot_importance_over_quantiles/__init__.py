"""A plotly figure of the importance of parameters against the target quantile."""

from ._figure import plot_importance_over_quantiles


__all__ = ["plot_importance_over_quantiles"]
