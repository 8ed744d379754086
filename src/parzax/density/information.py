"""Information between densities, in nats: entropy, divergences, and mutual information.

A space of one or two parameters without conditions is integrated by quadrature, which is exact to rounding
for kernels of at least the default width, 0.01 (total variation, whose integrand has kinks, to about 1e-5).
Elsewhere the mean over n draws estimates the integral, without bias, and comes with its standard error. The
draws do not move with the parameters of a density, but their weights do: derivatives are unbiased too.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax._mesh import jit_on_meshes
from parzax._numerics import divisor
from parzax.density.cut import CutRows
from parzax.density.estimator import ParzenEstimator
from parzax.density.quadrature import quadrature
from parzax.density.restriction import with_ancestors
from parzax.space import Points

LogDensity = Callable[[Points], Float[Array, " j"]]


class Estimate(NamedTuple):
    """An integral and its standard error, which is 0 for a quadrature."""

    value: Float[Array, ""]
    standard_error: Float[Array, ""]


@jit_on_meshes("n", "rows")
def entropy(key: PRNGKeyArray, p: ParzenEstimator, *, n: int = 4096, rows: bool = False) -> Estimate:
    """Entropy of a density, - E_p[log p], in the native units of its continuous parameters.

    Args:
        key: a typed PRNG key for the draws.
        p: the density, on any space.
        n: number of draws.
        rows: take the mean over the rows of p instead, each with the density of all others (leave one out).
            That estimates the entropy of what the rows were drawn from, with a bias upwards by the divergence
            from it to p.
    """
    log_p, frame = _log_density(p, rows), p.arrays().frame

    def integrand(at: Points) -> Float[Array, " j"]:
        return -log_p(at) - frame.log_jacobian(at)

    return _mean_over_rows(p, integrand) if rows else _mean(key, (p,), integrand, n)


@jit_on_meshes("n", "rows")
def kl(
    key: PRNGKeyArray, p: ParzenEstimator, q: ParzenEstimator, *, n: int = 4096, rows: bool = False
) -> Estimate:
    """Kullback-Leibler divergence D(p || q) = E_p[log(p / q)]; infinite where q has no density and p has.

    Args:
        key: a typed PRNG key for the draws.
        p, q: densities on the same space.
        n: number of draws.
        rows: take the mean over the rows of p instead, each with the density p of all others. Its bias is
            minus the divergence to p from what the rows were drawn from.

    Raises:
        ValueError: the spaces differ.
    """
    log_p, log_q = _log_density(p, rows), _log_density(_on_same_space(p, q))

    def integrand(at: Points) -> Float[Array, " j"]:
        return log_p(at) - log_q(at)

    return _mean_over_rows(p, integrand) if rows else _mean(key, (p,), integrand, n)


@jit_on_meshes("n")
def jensen_shannon(key: PRNGKeyArray, p: ParzenEstimator, q: ParzenEstimator, *, n: int = 4096) -> Estimate:
    """Jensen-Shannon divergence, the mean of D(p || m) and D(q || m) for m = (p + q) / 2; at most log 2.

    The arguments and errors are those of `kl`; half of the draws come from each density.
    """

    def integrand(log_p: Array, log_q: Array) -> Array:
        terms = (jnp.exp(x) * jnp.where(x > -jnp.inf, x, 0) for x in (log_p, log_q))
        return 0.5 * jnp.add(*terms)

    return _between(key, p, q, integrand, n)


@jit_on_meshes("n")
def total_variation(key: PRNGKeyArray, p: ParzenEstimator, q: ParzenEstimator, *, n: int = 4096) -> Estimate:
    """Total variation, half the integral of |p - q|; at most 1.

    The arguments and errors are those of `kl`; half of the draws come from each density. The integrand has
    kinks where p = q, so a quadrature is right to some 1e-5, which the error of 0 does not say.
    """
    return _between(key, p, q, lambda log_p, log_q: 0.5 * jnp.abs(jnp.exp(log_p) - jnp.exp(log_q)), n)


@jit_on_meshes("n")
def pearson(key: PRNGKeyArray, p: ParzenEstimator, q: ParzenEstimator, *, n: int = 4096) -> Estimate:
    """Pearson divergence, the integral of (p / q - 1)^2 q (PED-ANOVA, arXiv 2304.10255, Eq. 6).

    The arguments and errors are those of `kl`; half of the draws come from each density. Where q is small
    and p is not, few draws decide, and the standard error is itself uncertain.
    """

    def integrand(log_p: Array, log_q: Array) -> Array:
        return jnp.square(jnp.exp(log_p) - jnp.exp(log_q)) * jnp.exp(-log_q)

    return _between(key, p, q, integrand, n)


@jit_on_meshes("a", "b", "n", "rows")
def mutual_information(
    key: PRNGKeyArray,
    p: ParzenEstimator,
    a: str | tuple[str, ...],
    b: str | tuple[str, ...],
    *,
    n: int = 4096,
    rows: bool = False,
) -> Estimate:
    """Mutual information of two sets of parameters, E[log p(a, b) / (p(a) p(b))]; 0 if they are independent.

    Args:
        key: a typed PRNG key for the draws.
        p: the density.
        a, b: names of parameters, as a text or a tuple; static. Parents of a conditional parameter belong to
            its set.
        n: number of draws.
        rows: take the mean over the rows of p instead, each with the densities of all others.

    Raises:
        ValueError: an unknown name, or a parameter that is in both sets, such as a common parent.
    """
    sets = [with_ancestors(p.space, (names,) if isinstance(names, str) else names) for names in (a, b)]
    common = [name for name in sets[0] if name in sets[1]]
    if common:
        raise ValueError(f"a and b must not share parameters or their parents, both have {common[0]!r}.")
    joint = p.marginal(*sets[0], *sets[1])
    of_joint = _log_density(joint, rows)
    of_sets = [_log_density(p.marginal(*names), rows) for names in sets]
    columns = [np.array([j for j, name in enumerate(joint.space.names) if name in names]) for names in sets]

    def integrand(at: Points) -> Float[Array, " j"]:
        apart = [of_set(at[:, which]) for of_set, which in zip(of_sets, columns, strict=True)]
        return of_joint(at) - jnp.add(*apart)

    return _mean_over_rows(joint, integrand) if rows else _mean(key, (joint,), integrand, n)


def _on_same_space(p: ParzenEstimator, q: ParzenEstimator) -> ParzenEstimator:
    if not p.space.agrees_with(q.space):
        raise ValueError(f"p and q must have the same space, got {p.space!r} and {q.space!r}.")
    if p.permitted is not q.permitted:
        raise ValueError(
            "p and q must be in the same regimes, but arrays or traced values of conditional(values) select "
            "those of one; give one concrete value of each parameter."
        )
    return q


def _log_density(p: ParzenEstimator, rows: bool = False) -> LogDensity:
    """log density in unit coordinates; with ``rows`` at each of the rows of p, from the other rows."""
    p.check_single()
    return partial(p.mixture.left_out if rows else p.mixture.log_prob, p.arrays())


def _between(
    key: PRNGKeyArray,
    p: ParzenEstimator,
    q: ParzenEstimator,
    integrand: Callable[[Array, Array], Array],
    n: int,
) -> Estimate:
    """Mean over m = (p + q) / 2 of a function of log p / m and log q / m."""
    log_p, log_q = _log_density(p), _log_density(_on_same_space(p, q))

    def at_points(at: Points) -> Float[Array, " j"]:
        of_p, of_q = log_p(at), log_q(at)
        log_m = jnp.logaddexp(of_p, of_q) - jnp.log(2)
        log_m = jnp.where(log_m > -jnp.inf, log_m, 0)
        return integrand(of_p - log_m, of_q - log_m)

    return _mean(key, (p, q), at_points, n)


def _mean(
    key: PRNGKeyArray, densities: tuple[ParzenEstimator, ...], integrand: LogDensity, n: int
) -> Estimate:
    """Mean of a function over the mixture of densities with equal weights."""
    _checks.check_key(key)
    n, dtype = _checks.whole_number("n", n, 2 * len(densities)), densities[0].scale.dtype
    is_smooth = not any(isinstance(p.mixture.rows, CutRows) for p in densities)
    nodes = jax.tree.map(jnp.asarray, quadrature(densities[0].space, dtype)) if is_smooth else None
    means, variances = [], []
    for p, of_draws in zip(densities, jax.random.split(key, len(densities)), strict=True):
        if nodes is not None:
            at, log_weight = nodes
            weight = jnp.exp(_log_density(p)(at) + log_weight)
            means.append(jnp.where(weight > 0, weight * integrand(at), 0).sum())
            variances.append(jnp.zeros((), dtype))
            continue
        at = jax.lax.stop_gradient(p.mixture.sample(of_draws, p.arrays(), n // len(densities)))
        log_p = _log_density(p)(at)
        terms = integrand(at) * jnp.exp(log_p - jax.lax.stop_gradient(log_p))
        means.append(terms.mean())
        variances.append(terms.var(ddof=1) / len(terms))
    return Estimate(jnp.stack(means).mean(), jnp.sqrt(jnp.stack(variances).sum()) / len(densities))


def _mean_over_rows(p: ParzenEstimator, integrand: LogDensity) -> Estimate:
    """Mean of a function over the rows of a density, by their weights."""
    weight = p.weight / divisor(p.weight.sum())
    terms = jnp.where(weight > 0, integrand(p.mixture.rows), 0)
    mean = weight @ terms
    return Estimate(mean, jnp.sqrt(jnp.square(weight) @ jnp.square(terms - mean)))
