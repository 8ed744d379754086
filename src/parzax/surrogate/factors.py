"""LAPACK for the covariances of a surrogate, safe in a batch, and their likelihood."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, cholesky, solve_triangular
from jaxtyping import Array, Float

CallT = TypeVar("CallT", bound=Callable[..., Any])


def one_at_a_time(function: CallT) -> CallT:
    """A function that on a CPU is called for one member of a batch after another under `jax.vmap`.

    On a CPU, jaxlib splits LAPACK's work for a batch over the threads that run the program, and waits. Two
    such batches at a time can occupy all threads, and then wait for each other for ever.
    """
    call: Any = jax.custom_batching.custom_vmap(function)

    def of_batch(size: int, is_batched: list[bool], *arrays: Array) -> tuple[Any, Any]:
        if not any(is_batched):  # where only tangents are a batch
            results = function(*arrays)
            return results, jax.tree.map(lambda _: False, results)

        def in_turn(*arrays: Array) -> Any:
            pairs = list(zip(arrays, is_batched, strict=True))
            return jax.lax.map(lambda i: call(*(a[i] if b else a for a, b in pairs)), jnp.arange(size))

        at_once = jax.vmap(function, [0 if b else None for b in is_batched])
        results = jax.lax.platform_dependent(*arrays, cpu=in_turn, default=at_once)
        return results, jax.tree.map(lambda _: True, results)

    call.def_vmap(of_batch)
    return call


@one_at_a_time
def eigh(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Eigenvalues of a symmetric matrix, and its eigenvectors as columns."""
    return tuple(jnp.linalg.eigh(matrix))


@one_at_a_time
def solve(covariance: Float[Array, "n n"], values: Float[Array, " n"]) -> Float[Array, " n"]:
    """What gives the values if it is multiplied by the covariance."""
    return cho_solve((cholesky(covariance, lower=True), True), values)


@one_at_a_time
def whitening(covariance: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of the lower Cholesky factor; its product with what has this covariance is white noise."""
    identity = jnp.eye(len(covariance), dtype=covariance.dtype)
    return solve_triangular(cholesky(covariance, lower=True), identity, lower=True)


@jax.custom_jvp
def deviance(covariance: Float[Array, "n n"], values: Float[Array, " n"]) -> Float[Array, ""]:
    """Minus the log likelihood of normal values with mean 0, without the constant n log(2 pi) / 2."""
    return _deviance_and_slopes(covariance, values)[0]


def _deviance_and_slopes(covariance: Any, values: Any) -> tuple[Any, Any, Any]:
    matrix = whitening(covariance)
    white = matrix @ values
    solved = white @ matrix
    height = (white**2).sum() / 2 - jnp.log(jnp.diag(matrix)).sum()
    # Rasmussen and Williams 2006, Eq. 5.9.
    return height, (matrix.T @ matrix - solved[:, None] * solved[None]) / 2, solved


@deviance.defjvp
def _deviance_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    height, *slopes = _deviance_and_slopes(*primals)
    return height, sum((slope * change).sum() for slope, change in zip(slopes, tangents, strict=True))
