"""Methods of an estimator that `jax.jit` takes as they are."""

from collections.abc import Callable
from types import MethodType
from typing import Any

import jax


class EstimatorMethod:
    """A bound method as a pytree, with the hash and the equality of Python's bound methods.

    Equinox's own bound methods hash and compare the arrays of their module, so `jax.jit` refuses them. Here
    the estimator counts by identity for `jax.jit`, and as data for `equinox.filter_jit`.
    """

    def __init__(self, function: Callable[..., Any], estimator: Any) -> None:
        self.function, self.estimator = function, estimator
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.estimator, *args, **kwargs)

    @property
    def __wrapped__(self) -> MethodType:
        return MethodType(self.function, self.estimator)

    def __hash__(self) -> int:
        return hash(self.__wrapped__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EstimatorMethod) and self.__wrapped__ == other.__wrapped__


# The estimator is data, the function is static.
jax.tree_util.register_pytree_node(
    EstimatorMethod,
    lambda method: ((method.estimator,), method.function),
    lambda function, children: EstimatorMethod(function, *children),
)
