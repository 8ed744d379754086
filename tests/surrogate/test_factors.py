"""Factors of covariance matrices beside SciPy, their derivatives, and batches of them."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.linalg import cholesky, solve_triangular
from scipy.stats import multivariate_normal

from parzax.surrogate.factors import deviance, eigh, solve, whitening


def matrices(m, n):
    """m covariances (m, n, n), and values (m, n)."""
    rng = np.random.default_rng(n)
    roots = rng.normal(size=(m, n, n))
    return roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(n), rng.normal(size=(m, n))


@pytest.mark.parametrize("n", [1, 2, 30])
def test_beside_scipy(n):
    (covariance,), (values,) = matrices(1, n)
    with jax.enable_x64(True):
        white = np.asarray(whitening(jnp.asarray(covariance)))
        height = deviance(jnp.asarray(covariance), jnp.asarray(values))
        solved = np.asarray(solve(jnp.asarray(covariance), jnp.asarray(values)))
    np.testing.assert_allclose(white @ covariance @ white.T, np.eye(n), atol=1e-10)
    np.testing.assert_array_equal(white, np.tril(white))
    np.testing.assert_allclose(covariance @ solved, values, atol=1e-10)
    expected = -multivariate_normal(cov=covariance).logpdf(values) - n * np.log(2 * np.pi) / 2
    assert float(height) == pytest.approx(expected, rel=1e-10)


def plain(covariance, values):
    """The same as `deviance`, with the derivatives that JAX has for its factorisation."""
    lower = cholesky(covariance, lower=True)
    return (solve_triangular(lower, values, lower=True) ** 2).sum() / 2 + jnp.log(jnp.diag(lower)).sum()


def test_derivatives():
    """First and second ones, by both modes; of `solve` along one direction."""

    def changes(function):
        # A covariance is symmetric, and so are its changes.
        def of_both(both):
            return function(both[:, :3] + both[:, :3].T, both[:, 3])

        return jax.jit(lambda both: (jax.grad(of_both)(both), jax.hessian(of_both)(both)))

    (covariance,), (values,) = matrices(1, 3)
    with jax.enable_x64(True):
        k, w = jnp.asarray(covariance), jnp.asarray(values)
        both = jnp.concatenate([k, w[:, None]], axis=1)
        expected = changes(plain)(both)
        for function in (deviance, lambda k, w: jax.vmap(deviance)(k[None], w[None])[0]):
            chex.assert_trees_all_close(changes(function)(both), expected, rtol=1e-9, atol=1e-10)
        change = jax.jvp(solve, (k, w), (k, w))[1]  # K^-1 (dw - dK K^-1 w)
        np.testing.assert_allclose(change, np.zeros(3), atol=1e-12)


def test_batches_of_batches():
    """One call for every matrix, in any nesting, gives what single calls give; so do derivatives."""

    def everything(covariance, values):
        return (
            deviance(covariance, values),
            jax.grad(deviance)(covariance, values),
            eigh(covariance)[1] @ values,
            solve(covariance, values),
        )

    covariance, values = matrices(6, 5)
    with jax.enable_x64(True):
        k, w = jnp.asarray(covariance.reshape(2, 3, 5, 5)), jnp.asarray(values.reshape(2, 3, 5))
        batch = jax.jit(jax.vmap(jax.vmap(everything)))(k, w)
        single = jax.jit(everything)
        for i in np.ndindex(2, 3):
            chex.assert_trees_all_close(
                jax.tree.map(lambda a, i=i: a[i], batch), single(k[i], w[i]), rtol=1e-10
            )
