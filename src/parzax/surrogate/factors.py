"""Factors of covariance matrices that are safe in a batch, and derivatives that cost little."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cholesky, solve_triangular
from jaxtyping import Array, Float


def one_at_a_time(function: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """A function of one matrix that on a CPU is called for one matrix after another under `jax.vmap`.

    On a CPU, jaxlib splits LAPACK's work for a batch over the threads that run the program, and waits. Two
    such batches at a time can occupy all threads, and then wait for each other for ever.
    """
    in_turn = jax.custom_batching.sequential_vmap(function)

    @jax.custom_batching.custom_vmap
    def call(matrix: Array) -> Any:
        return function(matrix)

    @call.def_vmap
    def of_batch(_: int, __: list[bool], matrices: Array) -> tuple[Any, Any]:
        results = jax.lax.platform_dependent(matrices, cpu=jax.vmap(in_turn), default=jax.vmap(function))
        return results, jax.tree.map(lambda _: True, results)

    return call


@one_at_a_time
def _inverse_factor(covariance: Float[Array, "n n"]) -> Float[Array, "n n"]:
    identity = jnp.eye(len(covariance), dtype=covariance.dtype)
    return solve_triangular(cholesky(covariance, lower=True), identity, lower=True)


@one_at_a_time
def eigh(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Eigenvalues of a symmetric matrix, and its eigenvectors as columns."""
    return tuple(jnp.linalg.eigh(matrix))


@jax.custom_jvp
def whitening(covariance: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The inverse of the lower Cholesky factor; its product with what has this covariance is white noise."""
    return _inverse_factor(covariance)


@whitening.defjvp
def _whitening_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    # K = L L' gives L^-1 dL = the lower triangle of M dK M', with half of its diagonal.
    matrix = whitening(*primals)
    change = jnp.tril(matrix @ tangents[0] @ matrix.T)
    return matrix, (jnp.diag(jnp.diag(change) / 2) - change) @ matrix


@jax.custom_jvp
def deviance(covariance: Float[Array, "n n"], values: Float[Array, " n"]) -> Float[Array, ""]:
    """Minus the log likelihood of normal values with mean 0, without the constant n log(2 pi) / 2."""
    matrix = whitening(covariance)
    return ((matrix @ values) ** 2).sum() / 2 - jnp.log(jnp.diag(matrix)).sum()


@deviance.defjvp
def _deviance_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (covariance, values), (of_covariance, of_values) = primals, tangents
    matrix = whitening(covariance)
    white = matrix @ values
    solved = white @ matrix
    height = (white**2).sum() / 2 - jnp.log(jnp.diag(matrix)).sum()
    # Rasmussen and Williams 2006, Eq. 5.9: the slope is (K^-1 - K^-1 y y' K^-1) / 2.
    slope = (matrix.T @ matrix - solved[:, None] * solved[None]) / 2
    return height, (slope * of_covariance).sum() + solved @ of_values
