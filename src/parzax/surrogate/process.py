"""`GaussianProcess`: the losses of a log as functions of the configuration, and what the log leaves open."""

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled
from parzax.space import INACTIVE, Categorical, Points, Space
from parzax.surrogate.factors import deviance, eigh, solve, whitening

# Variance of the constant, in units of the variance of the warped losses: its prior is hardly informative.
_CONSTANT = 1.0
# Variance of the noise of rows that are left out: they say nothing, and no number loses digits.
_NO_INFORMATION = 1e8
# Least variance of the noise. Many rows near an optimum without noise would make a matrix that is singular.
_LEAST_NOISE = 1e-4
# Priors of the logarithms of amplitude and noise, both standard deviations, and of the place of the offset
# between its ends: means and spreads.
_AMPLITUDE, _NOISE, _OFFSET = (0.0, 0.7), (float(np.log(0.1)), 1.0), (0.0, 0.5)
# Probability that a draw has a length from the prior instead of the posterior; see `GaussianProcess`.
ELSEWHERE = 0.05
# Degrees of freedom of the deviations of draws from the posterior mean.
_DEVIATIONS = 5


class GaussianProcess(eqx.Module):
    """A Gaussian process on the logarithm of the distance of a loss to the best loss.

    The losses of a search have a heavy tail, which no stationary process can follow. The process therefore
    has w = log(y - min y + c (median y - min y)), standardised. The offset c is a parameter of the process
    like the others (Snelson, Rasmussen and Ghahramani 2003): a small one spreads the best losses, and under a
    large one w is nearly linear. Median, mean and standard deviation are taken over the space: the weight of
    a row is the share of the space to which it is the nearest row, because the rows of a search crowd where
    losses are low.

    Its covariance is a Matern 5/2 function of the distance between two configurations, with one length for
    each parameter, plus a constant and noise. A number is on its unit axis (the logarithm, if the domain has
    ``log``), so that a length of 1 is the range of the domain; on a circle distances are along chords. Two
    different categories are at distance 1.
    An inactive parameter stands in the middle: at 1/2, or at equal distance to all categories. So its
    absence brings two rows no nearer to each other, and a row with it is at most half the largest distance
    away from a row without it (0.71 of this distance for many categories). The matrix of covariances is
    positive definite for every set of rows, because configurations are points of a Euclidean space.

    Lengths, amplitude and noise have log-normal priors; log c = a + b tanh v with a normal v. Draws of the
    posterior take their values from the normal approximation around the mode (Laplace), so the draws differ
    where the log does not determine these values. Two things make draws differ more, because a log says
    little of the part of the space that a search left early: with probability 0.05 a draw has a length from
    the prior, since the function may change faster there than among the rows; and deviations from the
    posterior mean have the tails of Student's t with 5 degrees of freedom.

    Attributes:
        offsets: least and largest c.
        length: prior median of a length.
        spread: standard deviation of the logarithm of a length under the prior.
        max_rows: of a longer log only so many rows are used, evenly spread; the cost grows with their cube.
    """

    offsets: tuple[float, float] = eqx.field(default=(0.01, 3.0), static=True)
    length: float = eqx.field(default=1.35, static=True)
    spread: float = eqx.field(default=1.0, static=True)
    max_rows: int = eqx.field(default=2000, static=True)

    def fit(self, space: Space, x: Any, losses: Any) -> "Posterior":
        """The posterior of the losses, given a log.

        Pure and unbatched for JAX arrays; `jax.jit` and `jax.vmap` apply. NumPy arrays are computed in
        float64.

        Args:
            space: the search space.
            x: (n, d) native values, NaN = inactive, categories as codes. Equal rows are repeats.
            losses: (n,) lower is better. Rows with NaN or +inf are failed and left out; -inf counts as the
                best finite loss.

        Raises:
            TypeError, ValueError: shapes that do not fit.
        """
        _checks.instance("space", space, Space, "a parzax.Space")
        space.check_bounded("a surrogate needs bounds")
        _checks.check_shape("x", x, "n", len(space), hint="; use jax.vmap for a batch")
        _checks.check_shape("losses", losses, len(x))
        if len(x) > self.max_rows:
            rows = np.linspace(0, len(x) - 1, self.max_rows).round().astype(int)
            x, losses = x[rows], losses[rows]
        if not len(x):  # one row that failed
            x, losses = (
                a.__array_namespace__().full((1, *a.shape[1:]), np.nan, a.dtype) for a in (x, losses)
            )
        if isinstance(x, jax.Array) or isinstance(losses, jax.Array):
            return _fit(self, space, jnp.asarray(x), jnp.asarray(losses))
        with jax.enable_x64(True):
            posterior = _fit(self, space, jnp.asarray(x, float), jnp.asarray(losses, float))
        return jax.tree.map(np.asarray, posterior)


class Warp(eqx.Module):
    """w = (log(y - best + offset) - mean) / deviation; see `GaussianProcess`."""

    best: Float[Any, ""]
    offset: Float[Any, ""]
    mean: Float[Any, ""]
    deviation: Float[Any, ""]

    @classmethod
    def of_place(cls, place: Any, offsets: tuple[float, float], losses: Any, share: Any) -> "Warp":
        """The warp of losses (n,) with shares of the space (n,), given the place of the offset."""
        best, order = losses.min(), jnp.argsort(losses)
        # Where half of the space is tied with the best, the scale is the mean distance.
        middle = losses[order[(jnp.cumsum(share[order]) < 0.5).sum()]] - best
        scale = jnp.where(middle > 0, middle, share @ (losses - best))
        middle, half = np.log(offsets).mean(), np.diff(np.log(offsets))[0] / 2
        offset = jnp.exp(middle + half * jnp.tanh(place)) * scale
        offset = jnp.maximum(offset, float(jnp.finfo(losses.dtype).tiny) ** 0.5)
        logs = jnp.log(losses - best + offset)
        mean = share @ logs
        variance = share @ (logs - mean) ** 2
        deviation = jnp.where(variance > 0, jnp.sqrt(jnp.where(variance > 0, variance, 1)), 1)
        return cls(best, offset, mean, deviation)

    def __call__(self, losses: Any) -> Any:
        """Warped losses."""
        return (jnp.log(losses - self.best + self.offset) - self.mean) / self.deviation

    def log_slope(self, losses: Any) -> Any:
        """Logarithm of the derivative."""
        return -jnp.log(losses - self.best + self.offset) - jnp.log(self.deviation)

    def losses(self, w: Any) -> Any:
        """Losses of warped losses."""
        return self.best + jnp.exp(self.mean + self.deviation * w) - self.offset


class Posterior(eqx.Module):
    """The losses of a space's configurations, given a log; made by `GaussianProcess.fit`.

    Predictions and draws have derivatives of both modes with respect to configurations, and of the forward
    mode (`jax.jvp`) with respect to these arrays.

    Attributes:
        z: (n, p) the rows as points of a Euclidean space.
        losses: (n,) their losses; the best one in rows that are left out.
        used: (n,) whether a row has a usable loss.
        share: (n,) share of the space to which a row is the nearest.
        mode: (h,) logarithms of the inverse lengths, of the amplitude and of the noise, and the place of the
            offset, at the posterior mode.
        spread: (h, h) a root of their covariance in the normal approximation.
        quality: () part of the variance of the warped losses over the space that the process predicts for
            left-out rows: 1 at best, 0 or less if it predicts no better than their mean.
        process: the `GaussianProcess`.
    """

    z: Float[Any, "n p"]
    losses: Float[Any, " n"]
    used: Bool[Any, " n"]
    share: Float[Any, " n"]
    mode: Float[Any, " h"]
    spread: Float[Any, "h h"]
    quality: Float[Any, ""]
    process: GaussianProcess
    space: Space = eqx.field(static=True)

    def warp(self, values: Any) -> Warp:
        """The warp for values of the parameters, as in ``mode``."""
        return Warp.of_place(values[-1], self.process.offsets, self.losses, self.share)

    def predict(self, x: Any, quantiles: tuple[float, ...] = (0.05, 0.5, 0.95)) -> Float[Any, "q m"]:
        """Quantiles of the loss without noise at (m, d) configurations, (q, m), in units of the loss.

        Lengths, amplitude and noise have their values at the posterior mode.
        """
        _checks.check_shape("x", x, "m", len(self.space))
        return evaluate(_predict, self, x, quantiles=quantiles)

    def draws(self, key: PRNGKeyArray, x: Any, n: int) -> Float[Any, "n m"]:
        """n joint draws of the losses without noise at (m, d) configurations: (n, m), in their units."""
        _checks.check_shape("x", x, "m", len(self.space))
        return evaluate(_draws, self, x, key, n=n)

    def functions(
        self, key: PRNGKeyArray, n: int, n_features: int = 1024, *, elsewhere: float = ELSEWHERE
    ) -> "Draw":
        """n draws of functions, each of which gives the loss of any configuration; see `Draw`.

        Args:
            key: random key.
            n: number of draws.
            n_features: number of random waves that make up a draw from the prior (Rahimi and Recht 2007).
            elsewhere: probability that a draw has a length from the prior; see `GaussianProcess`.

        Returns:
            A `Draw` whose arrays have a leading axis of n, for `jax.vmap`.
        """
        _checks.check_key(key)
        return evaluate(_functions, self, key, elsewhere, n=n, n_features=n_features)


class Draw(eqx.Module):
    """A function drawn from a posterior: ``draw(x)`` is the loss without noise of a configuration x (d,).

    It is a draw from the prior, a sum of random waves, plus kernels at the rows that make it agree with their
    losses (Wilson et al. 2020, arXiv 2002.09309, Eq. 9). It is a pure function, so
    `parzax.importance.of_function` and `jax.vmap` take it. Importances of several draws, from separate random
    configurations, show how much the log leaves open::

        def importances(key, draw):
            return px.importance.of_function(key, space, draw, levels=0.1)

        draws = posterior.functions(jax.random.key(0), 24)
        jax.vmap(importances)(jax.random.split(jax.random.key(1), 24), draws)

    Attributes:
        scale: (p,) inverse length of each axis of `embed`.
        z: (n, p) the rows, scaled.
        waves: (f, p) their frequencies, in turns per unit.
        phases, weights: (f,) of the waves, phases in turns.
        constant: () the draw of the constant.
        amplitude: () standard deviation of the function.
        correction: (n,) weight of each row's kernel.
        warp: from losses to what the process has.
        worst: () the worst loss of the log.
    """

    scale: Float[Any, " p"]
    z: Float[Any, "n p"]
    waves: Float[Any, "f p"]
    phases: Float[Any, " f"]
    weights: Float[Any, " f"]
    constant: Float[Any, ""]
    amplitude: Float[Any, ""]
    correction: Float[Any, " n"]
    warp: Warp
    worst: Float[Any, ""]
    space: Space = eqx.field(static=True)

    def __call__(self, x: Float[Array, " d"]) -> Float[Array, ""]:
        """The loss of one configuration."""
        return self.losses(embed(self.space, x[None]))[0]

    def losses(self, z: Float[Array, "m p"]) -> Float[Array, " m"]:
        """Losses of configurations, given as points of `embed`."""
        at = z * self.scale[None]
        return self.warp.losses(self.prior(at) + _kernel(self.amplitude, at, self.z) @ self.correction)

    def prior(self, at: Float[Array, "m p"]) -> Float[Array, " m"]:
        """The draw from the prior at scaled points, without the correction by the rows."""
        waves = _cosine_of_turns(at @ self.waves.T + self.phases[None])
        size = self.amplitude * (2 / len(self.phases)) ** 0.5
        return size * (waves @ self.weights) + _CONSTANT**0.5 * self.constant


# cos(2 pi u) as a polynomial in u^2 (Taylor); its error is below 1e-10 for |u| <= 1/2.
_COSINE = [(-1) ** k * (2 * math.pi) ** (2 * k) / math.factorial(2 * k) for k in range(11)]


def _cosine_of_turns(turns: Float[Array, "..."]) -> Float[Array, "..."]:
    """cos(2 pi turns). On a CPU it takes a thirtieth of the time of `jnp.cos`."""
    part = turns - jnp.round(turns)
    squared, value = part * part, jnp.zeros_like(part)
    for coefficient in reversed(_COSINE):
        value = value * squared + coefficient
    return value


def _kernel(amplitude: Any, a: Float[Array, "n p"], b: Float[Array, "m p"]) -> Float[Array, "n m"]:
    """amplitude^2 (1 + r + r^2 / 3) exp(-r) + constant of all pairs; r is sqrt(5) times the distance."""
    # One matrix product, whose memory does not grow with the number of parameters.
    squared = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)[None] - 2 * a @ b.T
    apart = squared > float(jnp.finfo(squared.dtype).eps)
    r = jnp.sqrt(5 * jnp.where(apart, squared, 1))
    decay = jnp.where(apart, (1 + r + r * r / 3) * jnp.exp(-r), 1)
    return amplitude**2 * decay + _CONSTANT


def map_draws(
    function: Any, posterior: Posterior, key: PRNGKeyArray, n: int, elsewhere: float = ELSEWHERE
) -> Any:
    """What ``function(key, draw)`` gives for n draws, one after the other, each with a key of its own."""
    of_points, of_draws = jax.random.split(key)
    pairs = jax.random.split(of_points, n), posterior.functions(of_draws, n, elsewhere=elsewhere)
    return jax.lax.map(lambda pair: function(*pair), pairs)


def evaluate(function: Any, posterior: Posterior, *arrays: Any, **static: Any) -> Any:
    """A function of a posterior and arrays: in float64, and answered in NumPy, if the posterior is NumPy."""
    on_host = isinstance(posterior.z, np.ndarray)
    on_device = any(isinstance(a, jax.Array) and jnp.issubdtype(a.dtype, jnp.floating) for a in arrays)
    with jax.enable_x64(on_host or jax.config.read("jax_enable_x64")):
        values = function(*jax.tree.map(jnp.asarray, (posterior, *arrays)), **static)
    keep = on_device or _checks.is_traced(arrays) or not on_host
    return values if keep else jax.tree.map(np.asarray, values)


def embed(space: Space, x: Float[Array, "n d"]) -> Float[Array, "n p"]:
    """Configurations as points of a Euclidean space; see `GaussianProcess`."""
    return embed_points(space, space.frame(np.dtype(x.dtype)).encode(x))


def embed_points(space: Space, at: Points) -> Float[Array, "n p"]:
    """The same for encoded configurations, `parzax.space.Points`."""
    dtype, columns = at.unit.dtype, []
    for j, n_values in enumerate(_n_values(space)):
        column = at.unit[:, j : j + 1]
        if n_values:
            chosen = (at.index[:, j : j + 1] == jnp.arange(n_values, dtype=np.int32)[None]).astype(dtype)
            absent = at.regime[:, j : j + 1] == INACTIVE
            # Two different categories have squared distance 2 (1 / sqrt 2)^2 = 1.
            column = jnp.where(absent, 1 / n_values, chosen) / 2**0.5
        elif all(domain.periodic for domain in space.domains[j]):
            turns = 2 * np.pi * column
            column = jnp.concatenate([jnp.cos(turns), jnp.sin(turns)], axis=1) / (2 * np.pi)
        columns.append(column.astype(dtype))
    return jnp.concatenate(columns, axis=1)


def _n_values(space: Space) -> list[int]:
    """Number of categories of each parameter, 0 for a number."""
    return [
        max(domain.n_values or 0 for domain in domains) if isinstance(domains[0], Categorical) else 0
        for domains in space.domains
    ]


def _axes(space: Space) -> np.ndarray:
    """The parameter of each axis of `embed`."""
    n_axes = [2 if all(domain.periodic for domain in domains) else 1 for domains in space.domains]
    return np.repeat(np.arange(len(space)), np.maximum(_n_values(space), n_axes))


def _covariance(values: Any, z: Any, used: Any, axes: np.ndarray) -> tuple[Any, Any, Any]:
    """For values of the parameters: covariance of the rows, variance of their noise, scale of each axis."""
    scale = jnp.exp(values[:-3])[axes]
    at = z * scale[None]
    noise = jnp.where(used, jnp.exp(2 * values[-2]) + _LEAST_NOISE, _NO_INFORMATION)
    return _kernel(jnp.exp(values[-3]), at, at) + jnp.diag(noise), noise, scale


def _prior(settings: GaussianProcess, n_parameters: int, dtype: Any) -> tuple[Any, Any]:
    """Means and standard deviations of the parameters in `Posterior.mode`."""
    lengths = (-np.log(settings.length), settings.spread)
    mean, spread = zip(*[lengths] * n_parameters, _AMPLITUDE, _NOISE, _OFFSET, strict=True)
    return jnp.array(mean, dtype), jnp.array(spread, dtype)


def _shares_of_space(space: Space, z: Any, used: Any, n: int = 1024) -> Any:
    """The share of the space to which each row is the nearest: a search crowds where it found low losses.

    Means with these weights are means over the space, from n random configurations.
    """
    at = embed_points(space, space.frame(np.dtype(z.dtype)).draw(jax.random.key(0), n, z.dtype))
    squared = (z * z).sum(axis=1)[None] - 2 * at @ z.T
    nearest = jnp.argmin(jnp.where(used[None], squared, jnp.inf), axis=1)
    return jnp.where(used, jnp.zeros(len(z), z.dtype).at[nearest].add(1 / n), 0)


@partial(compiled, size="middling")
def _fit(settings: GaussianProcess, space: Space, x: Any, losses: Any) -> Posterior:
    used = losses < jnp.inf
    finite = used & (losses > -jnp.inf)
    best = jnp.where(finite.any(), jnp.min(jnp.where(finite, losses, jnp.inf), initial=jnp.inf), 0)
    losses = jnp.where(used, jnp.maximum(losses, best), best)
    z, axes = embed(space, x), _axes(space)
    share = _shares_of_space(space, z, used)
    dtype = z.dtype
    prior, prior_spread = _prior(settings, len(space), dtype)
    # Short and long lengths, with much and little noise.
    starts = [[0.5] * len(space) + [0, 0.7, 0], [-0.5] * len(space) + [0, -0.7, 0]]
    warp = partial(Warp.of_place, offsets=settings.offsets, losses=losses, share=share)

    def negative_log_posterior(values: Any) -> Any:
        covariance, warped = _covariance(values, z, used, axes)[0], warp(values[-1])
        w, slopes = jnp.where(used, warped(losses), 0), jnp.where(used, warped.log_slope(losses), 0)
        return (((values - prior) / prior_spread) ** 2).sum() / 2 + deviance(covariance, w) - slopes.sum()

    modes, heights = jax.lax.map(
        partial(_minimise, negative_log_posterior), prior[None] + jnp.array(starts, dtype)
    )
    mode = modes[jnp.nanargmin(heights)]
    # The mean error of each row, given the others (Rasmussen and Williams 2006, Eq. 5.12).
    white, w = whitening(_covariance(mode, z, used, axes)[0]), jnp.where(used, warp(mode[-1])(losses), 0)
    error = (white @ w) @ white / (white * white).sum(axis=0)
    quality = 1 - share @ error**2
    slope = jax.grad(negative_log_posterior)
    # Differences of slopes take half the time to compile of second derivatives.
    step = float(jnp.finfo(dtype).eps) ** (1 / 3)
    steps = step * jnp.eye(len(mode), dtype=dtype)
    curvature = jax.lax.map(lambda by: (slope(mode + by) - slope(mode - by)) / (2 * step), steps)
    of_axis, axis = eigh((curvature + curvature.T) / 2)
    # No direction is less certain than under a prior that is half as wide again.
    of_axis = jnp.maximum(of_axis, (1.5 * prior_spread.max()) ** -2)
    return Posterior(z, losses, used, share, mode, axis / jnp.sqrt(of_axis)[None], quality, settings, space)


def _minimise(function: Any, start: Any, n_steps: int = 80) -> tuple[Any, Any]:
    """A local minimum and its height, by BFGS with steps that halve until the function falls.

    Every step evaluates the function once, in one place, so that little is compiled.
    """
    value_and_grad = jax.value_and_grad(function)
    identity = jnp.eye(len(start), dtype=start.dtype)

    def step(carry: Any) -> Any:
        at, height, slope, inverse, length, i = carry
        direction = -inverse @ slope
        # No step is longer than one half in any direction.
        moved = length * direction / jnp.maximum(2 * jnp.abs(direction).max(), 1)
        new_height, new_slope = value_and_grad(at + moved)
        fell = new_height <= height + 1e-4 * (moved @ slope)
        change = new_slope - slope
        product = moved @ change
        rho = 1 / jnp.where(product > 0, product, 1)
        left = identity - rho * jnp.outer(moved, change)
        updated = left @ inverse @ left.T + rho * jnp.outer(moved, moved)
        accepted = at + moved, new_height, new_slope, jnp.where(product > 0, updated, inverse), 1.0, i + 1
        refused = at, height, slope, inverse, length / 2, i + 1
        return jax.tree.map(partial(jnp.where, fell), accepted, refused)

    def goes_on(carry: Any) -> Any:
        _, _, slope, _, length, i = carry
        return (i == 0) | (jnp.abs(slope).max() > 1e-2) & (length > 1e-3) & (i < n_steps)

    # The first step goes nowhere: it evaluates the start, which is accepted.
    nothing = jnp.zeros_like(start)
    first = start, jnp.asarray(jnp.inf, start.dtype), nothing, identity, jnp.ones((), start.dtype), 0
    at, height, *_ = jax.lax.while_loop(goes_on, step, first)
    return at, height


@partial(jax.jit, static_argnames="quantiles")
def _predict(self: Posterior, x: Any, quantiles: tuple[float, ...]) -> Any:
    covariance, _, scale = _covariance(self.mode, self.z, self.used, _axes(self.space))
    at, amplitude = embed(self.space, x.astype(self.z.dtype)) * scale[None], jnp.exp(self.mode[-3])
    warp, white = self.warp(self.mode), whitening(covariance)
    w = jnp.where(self.used, warp(self.losses), 0)
    shared = white @ _kernel(amplitude, self.z * scale[None], at)
    mean, variance = (white @ w) @ shared, amplitude**2 + _CONSTANT - (shared * shared).sum(axis=0)
    deviation = jnp.sqrt(jnp.maximum(variance, 0))
    normal = jax.scipy.stats.norm.ppf(jnp.array(quantiles, deviation.dtype))
    return warp.losses(mean[None] + normal[:, None] * deviation[None])


@partial(jax.jit, static_argnames="n")
def _draws(self: Posterior, x: Any, key: Any, n: int) -> Any:
    z = embed(self.space, x.astype(self.z.dtype))
    return jax.lax.map(lambda draw: draw.losses(z), self.functions(key, n))


@partial(jax.jit, static_argnames=("n", "n_features"))
def _functions(self: Posterior, key: Any, elsewhere: Any, n: int, n_features: int) -> Draw:
    dtype, n_rows = self.z.dtype, len(self.z)
    mean, deviation = _prior(self.process, len(self.space), dtype)

    def draw(key: Any) -> Draw:
        of_values, of_waves, of_lengths, of_phases, of_prior, of_noise, of_tail, of_which = jax.random.split(
            key, 8
        )
        normal, from_prior = jax.random.normal(of_values, (2, len(self.mode)), dtype)
        prior_length = (
            jax.random.bernoulli(of_which, elsewhere, normal.shape).at[len(self.space) :].set(False)
        )
        values = jnp.where(prior_length, mean + deviation * from_prior, self.mode + self.spread @ normal)
        tail = jnp.sqrt(_DEVIATIONS / jax.random.chisquare(of_tail, _DEVIATIONS, dtype=dtype))
        covariance, noise, scale = _covariance(values, self.z, self.used, _axes(self.space))
        warp = self.warp(values)
        # The spectral density of the Matern 5/2 kernel is Student's t with 5 degrees of freedom.
        normal = jax.random.normal(of_waves, (n_features, self.z.shape[1]), dtype)
        waves = normal * jnp.sqrt(5 / jax.random.chisquare(of_lengths, 5, (n_features, 1), dtype))
        prior = Draw(
            scale=scale,
            z=self.z * scale[None],
            waves=waves / (2 * np.pi),
            phases=jax.random.uniform(of_phases, (n_features,), dtype),
            weights=tail * jax.random.normal(of_prior, (n_features,), dtype),
            constant=tail * jax.random.normal(jax.random.fold_in(of_prior, 1), (), dtype),
            amplitude=jnp.exp(values[-3]),
            correction=jnp.zeros(n_rows, dtype),
            warp=warp,
            worst=self.losses.max(),
            space=self.space,
        )
        error = tail * jax.random.normal(of_noise, (n_rows,), dtype) * jnp.sqrt(noise)
        gap = jnp.where(self.used, warp(self.losses) - prior.prior(prior.z) - error, 0)
        return eqx.tree_at(lambda d: d.correction, prior, solve(covariance, gap))

    return jax.lax.map(draw, jax.random.split(key, n))
