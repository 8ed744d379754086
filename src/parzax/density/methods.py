"""Bound methods of an estimator that can be passed to `jax.jit`."""

from collections.abc import Callable
from types import MethodType
from typing import Any

import jax


class EstimatorMethod:
    """A bound method that is a pytree and that hashes and compares like Python's bound methods.

    Bound methods of an Equinox module hash and compare its arrays, so `jax.jit` refuses them. With this
    class `jax.jit` compares the estimator by identity, and `equinox.filter_jit` traces its arrays.
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


# The estimator is traced data; the function is static.
jax.tree_util.register_pytree_node(
    EstimatorMethod,
    lambda method: ((method.estimator,), method.function),
    lambda function, children: EstimatorMethod(function, *children),
)
