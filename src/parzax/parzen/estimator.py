"""ParzenEstimator: a density over configurations of a search space."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MethodType
from typing import TYPE_CHECKING, Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from parzax import _checks
from parzax.kernels import AbstractKernel
from parzax.kernels.bandwidth import AbstractBandwidth, as_categorical_bandwidth, scott
from parzax.parzen import restriction, rows
from parzax.parzen.basis import Basis, Families, basis_for, basis_of, families_of
from parzax.parzen.evaluation import Prepared
from parzax.parzen.fitting import check_rules
from parzax.parzen.forms import LEAST_PRIOR, Form
from parzax.parzen.methods import EstimatorMethod
from parzax.parzen.mixture import KernelMixture
from parzax.parzen.prior import check_masses, user_priors
from parzax.space import Points, Space, check_dtype
from parzax.status import Status

Measure = Literal["native", "unit"]


class ParzenEstimator(eqx.Module):
    """A Parzen (kernel density) estimator on a mixed, bounded, conditional search space.

    p(x) = sum_n w_n prod_d k_nd(x_d) + w_0 prod_d q_d(x_d), with one kernel per row and a prior q
    ("Algorithms for hyper-parameter optimization", Bergstra et al. 2011; arXiv 2304.11127). Kernels are
    normals truncated to the domain (on the log axis where it has one), their masses over the cells of
    stepped and ordinal domains, and Aitchison-Aitken kernels of categories.

    In a conditional space the product goes through the parameters with parents first. Given the parents'
    values a parameter has a regime; its factor is the row's kernel if the row had that regime, the prior
    of the regime if not, and 1 if it is inactive. Every factor integrates to 1 given the parents, so p is a
    normalised density over configurations.

    Build it with `fit`. It is a pytree: it works under jit, vmap and grad and as the carry of a scan.

    Attributes:
        mixture: kernels, bandwidths and weights, on the axes of the space.
        status: int32 bits of `parzax.Status`: NO_ROWS, INVALID_ROWS, INVALID_BANDWIDTH, and IMPOSSIBLE_EVENT
            of `conditional`.
        families: of kernels, by parameter, that are not the usual ones; static.
        safe_prior: whether the prior's weight is surely large enough to anchor sums; static.
        smallest: lower bound on bandwidths of continuous parameters, None where it is unknown; static.
    """

    mixture: KernelMixture
    status: Int[Array, ""]
    space: Space = eqx.field(static=True)
    families: Families = eqx.field(static=True)
    safe_prior: bool = eqx.field(static=True)
    smallest: float | None = eqx.field(static=True)

    @classmethod
    def fit(
        cls,
        space: Space,
        x: Any,
        weight: Any = None,
        *,
        bandwidth: AbstractBandwidth | None = None,
        top: Any = 0.8,
        prior_weight: Any = 1.0,
        prior: Mapping[str, Any] | None = None,
        mixture_weight: Any = None,
        kernels: Mapping[str, type[AbstractKernel]] | None = None,
    ) -> "ParzenEstimator":
        """One kernel per row.

        NumPy rows are checked and encoded in float64 on the host and padded to a capacity (64, 256, 1024,
        4096, then doubling), so that few shapes are compiled. JAX arrays stay on their device, which
        says by one number whether they pass the same checks. Traced arrays are not checked: there a row that
        is not of the space, or has an invalid weight, gets weight 0 and sets INVALID_ROWS.

        Args:
            space: the search space, without `Recorded` conditions.
            x: (n, d) native values, NaN where inactive, categories as codes; or a data frame of them, whose
                columns go by name (`parzax.Observations.from_dataframe` turns labels into codes).
            weight: (n,) frequency weights, once each by default: a row of weight 2 is two rows, one of weight
                0 is absent (whatever its values). They are not normalised: rows whose weights sum to 1 are
                one row together, and the prior weighs as much as all of them.
            bandwidth: a rule of `parzax.bandwidth`, Scott's by default. It sees, for each regime of each
                parameter, the rows in that regime. Its settings are numbers, or arrays (d,) with one for each
                parameter, such as ``constant(jnp.array([0.1, 0.3]))``; they may be traced.
            top: probability that an Aitchison-Aitken kernel gives its own category, in (0, 1], however many
                rows there are, or an array (d,); `parzax.bandwidth.optuna_top()` for one that grows with
                them.
            prior_weight: weight of the prior, where a row has weight 1; 0 for none. Without any row the
                prior alone is left, whatever its weight.
            prior: name -> density in native units in place of the wide kernel, or a tuple with one per
                domain: ``log_prob(x)``, elementwise and normalised over it, and ``sample(key, shape)``, with
                jax.numpy. An equinox module (a pytree) may have traced parameters.
            mixture_weight: (n,) weights of the kernels in the mixture, such as those by age; they multiply
                ``weight`` and do not enter the bandwidth.
            kernels: name -> class of kernels (`parzax.kernels.AbstractKernel`) other than the usual ones.

        Raises:
            ValueError: unless traced, for values outside the space, weights that are negative or not finite,
                and a prior of a discrete parameter whose masses do not sum to 1.

        Warns:
            UserWarning: on the host, for weights that look normalised, and a prior of a continuous parameter
                that does not integrate to 1.

        >>> import jax, numpy as np, parzax as px
        >>> space = px.Space({"lr": px.Float(1e-4, 1.0, log=True), "opt": px.Categorical(["sgd", "adam"])})
        >>> pe = px.ParzenEstimator.fit(space, np.array([[1e-2, 0], [2e-2, 0], [1e-1, 1]]))
        >>> bool(pe.prob(np.array([1e-2, 0])) > pe.prob(np.array([1e-2, 1])))
        True
        >>> pe.sample(jax.random.key(0), (5,)).shape
        (5, 2)
        """
        bandwidth = scott() if bandwidth is None else bandwidth
        # Plain numbers stay static when the fit is compiled.
        prior_weight = prior_weight.item() if isinstance(prior_weight, np.generic) else prior_weight
        check_rules(bandwidth, prior_weight)
        families = families_of(space, kernels)
        x, weight, mixture_weight = rows.checked_rows(space, x, weight, mixture_weight)
        dtype = x.unit.dtype if isinstance(x, Points) else x.dtype
        priors = user_priors(space, prior, dtype, families)
        check_masses(space, priors, dtype)
        basis = basis_for(x, space, dtype, families)
        settings = bandwidth, as_categorical_bandwidth(top), prior_weight
        mixture, status = rows.fit_program(basis, x, weight, mixture_weight, settings)
        rows.refuse_invalid(status, space, basis.frame, x, weight, mixture_weight, settings)
        safe = isinstance(prior_weight, (int, float)) and bool(prior_weight >= LEAST_PRIOR)
        return cls(replace(mixture, priors=priors), status, space, families, safe, bandwidth.smallest)

    @property
    def weight(self) -> Float[Array, " n"]:
        """(n,) mixture weights of the rows, 0 for absent ones; with the prior's they sum to 1."""
        return self.mixture.weight

    @property
    def prior_weight(self) -> Float[Array, ""]:
        """Weight of the prior in the mixture."""
        return self.mixture.prior_weight

    @property
    def scale(self) -> Float[Array, "n d"]:
        """(n, d) bandwidths on the axes; of categories the probability of another one."""
        return self.mixture.scale

    @property
    def basis(self) -> Basis:
        """The arrays of the space that densities need."""
        return basis_of(self.space, self.scale.dtype, self.families, self.smallest, self.safe_prior)

    def log_prob(
        self, x: Any, measure: Measure = "native", *, form: Form | None = None
    ) -> Float[Array, "..."]:
        """log density of configurations.

        Args:
            x: (..., d) native values, NaN where inactive, categories as codes.
            measure: "native" for a density per native unit of the active continuous parameters (of a log
                parameter over its value, not its logarithm), "unit" for one per unit of the kernel axes.
                Discrete parameters have masses under both.
            form: how to evaluate, see `parzax.parzen.forms`; by size when None.

        Returns:
            (...,); -inf outside the space: values out of bounds or off their steps, unknown categories, a
            missing value of an active parameter, a value of an inactive one.
        """
        _checks.one_of("measure", measure, ("native", "unit"))
        self._check()
        x, shape = rows.configurations(self.space, x)
        traced, dtype = _checks.is_traced(self, x), self.scale.dtype
        basis = basis_for((self, x), self.space, dtype, self.families, self.smallest, self.safe_prior)
        # Few numbers of points are compiled; the form is that of the true number.
        form = self.mixture.form(basis, len(x), form)
        log_prob = partial(rows.log_prob_at, basis, self.mixture, measure == "native", form)
        if isinstance(x, np.ndarray) and not traced:
            return rows.in_buckets(log_prob, self.space, x, dtype).reshape(shape)
        # By what their own dtype can hold.
        x = jnp.asarray(x)
        return log_prob((basis_for((self, x), self.space, x.dtype).frame, x)).reshape(shape)

    def prob(self, x: Any, measure: Measure = "native") -> Float[Array, "..."]:
        """Density of configurations, exp of `log_prob`; 0 outside the space."""
        return jnp.exp(self.log_prob(x, measure))

    def prepare(self, n_points: int, form: Form | None = None) -> Prepared:
        """What depends on the kernels alone, for many evaluations at about ``n_points`` points.

        Its ``log_prob(pe.basis, points)`` is in unit coordinates, at `parzax.space.Points`.
        """
        self._check()
        return self.mixture.prepare(self.basis, n_points, form)

    def marginal(self, *names: str) -> "ParzenEstimator":
        """The joint density of the named parameters, all others integrated out.

        A conditional parameter comes with the parameters that decide on its regime: without them there
        is no saying what its values mean. Exact: the factors left out integrate to 1.
        """
        self._check()
        return self._restricted(*restriction.marginal(self.space, self.mixture, names))

    def conditional(self, values: Mapping[str, Any]) -> "ParzenEstimator":
        """The density of the other parameters, given the values of some.

        p(rest | given): every kernel's weight is multiplied by its factors at the given values.
        Parameters that the given values make inactive drop out, regimes they decide on are settled.

        Args:
            values: name -> native value (choice or code of a category; NaN or None = inactive), concrete.
                What a given parameter depends on must be given too.

        Raises:
            ValueError: unknown names or values outside their domains, a missing parent, or nothing left.
        """
        self._check()
        space, mixture, possible = restriction.conditional(self.space, self.basis, self.mixture, values)
        status = self.status | jnp.where(possible, 0, jnp.int32(Status.IMPOSSIBLE_EVENT))
        # Kernels close by may have taken the prior's weight, so sums are not anchored at it.
        return replace(self._restricted(space, mixture), status=status, safe_prior=False)

    def sample(
        self, key: jax.Array, shape: tuple[int, ...] | int = (), *, joint: bool = True
    ) -> Float[Array, "... d"]:
        """Draw configurations, shape + (d,), in native units, NaN where inactive, categories as codes.

        Ancestral: a component by its weight, then every parameter given its parents, so conditions hold.
        ``joint=False`` draws a component for each parameter anew, so that parameters are independent given
        their regimes: not draws from this density, but the candidates of the papers' TPE.
        """
        _checks.check_key(key)
        self._check()
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in shape):
            raise ValueError(f"shape must hold whole numbers of at least 0, got {shape!r}.")
        check_dtype(self.space, self.scale.dtype, native=True)
        # What only evaluation needs would make programs of its own.
        basis = basis_for((self, key), self.space, self.scale.dtype, self.families)
        joint = _checks.flag("joint", joint)
        drawn = rows.draws(basis, self.mixture, key, math.prod(shape), joint)
        return drawn.reshape(*shape, len(self.space))

    if not TYPE_CHECKING:

        def __getattribute__(self, name: str) -> Any:
            value = object.__getattribute__(self, name)
            is_public_method = isinstance(value, MethodType) and not name.startswith("_")
            if is_public_method and value.__self__ is self:
                return EstimatorMethod(value.__func__, self)
            return value

    def __repr__(self) -> str:
        # Parts of a pytree may hold anything in the place of arrays.
        *batch, n, _ = getattr(getattr(self.mixture, "scale", None), "shape", (0, 0))
        of = f"{' x '.join(map(str, batch))} estimators, " if batch else ""
        return f"ParzenEstimator({of}{', '.join(self.space.names)}; room for {n} rows)"

    def _restricted(self, space: Space, mixture: KernelMixture) -> "ParzenEstimator":
        """This estimator on a part of its space."""
        families = tuple(item for item in self.families if item[0] in space)
        return replace(self, space=space, mixture=mixture, families=families)

    def _check(self) -> None:
        """Raise for a batch, and for an estimator of float64 where JAX computes in float32."""
        shape = self.scale.shape[:-2]
        if self.scale.ndim != 2:
            raise ValueError(f"this is a batch of estimators of shape {shape}; use jax.vmap over them.")
        _checks.check_precision("this estimator", self.scale.dtype)
