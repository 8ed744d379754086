"""ParzenEstimator: a density over configurations of a search space."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from parzax import _checks
from parzax.kernels import FixedTop, OptunaTop
from parzax.kernels.bandwidth import Bandwidth, scott
from parzax.parzen import parts, scoring
from parzax.parzen.evaluation import FORMS, LEAST_PRIOR, Form, Mixture, choose_form
from parzax.parzen.fitting import check_settings, compiled_fit, encoded_rows, peak_of
from parzax.parzen.points import Points, check_dtype, slots
from parzax.parzen.prior import NativePrior, Prior, check_masses
from parzax.parzen.sampling import sample_one, uniforms
from parzax.space import Space

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
        kernels: (n, d) rows on the kernel axes; absent rows are anything finite.
        scale: (n, d) bandwidth on the kernel axis; of a category the probability of another one.
        weight: (n,) mixture weights, 0 for absent rows.
        prior_weight: weight of the prior; all weights sum to 1.
        priors: the prior of each regime.
        status: int32 bits of `parzax.Status`: NO_ROWS, INVALID_ROWS, IMPOSSIBLE_EVENT (of `conditional`).
        space: static.
        smallest: no scale of a continuous parameter is below this, None where it is not known; it
            decides the form of evaluation; static.
        safe_prior: whether the prior's weight is known to be large enough to anchor sums; static.
    """

    kernels: Points
    scale: Float[Array, "n d"]
    weight: Float[Array, " n"]
    prior_weight: Float[Array, ""]
    priors: tuple[Prior, ...]
    status: Int[Array, ""]
    space: Space = eqx.field(static=True)
    smallest: float | None = eqx.field(static=True)
    safe_prior: bool = eqx.field(static=True)

    @classmethod
    def fit(
        cls,
        space: Space,
        x: Any,
        weight: Any = None,
        *,
        bandwidth: Bandwidth | None = None,
        top: Any = 0.8,
        prior_weight: Any = 1.0,
        prior: Mapping[str, Any] | None = None,
        mixture_weight: Any = None,
    ) -> "ParzenEstimator":
        """One kernel per row.

        NumPy rows are checked and encoded in float64 on the host and padded to a capacity (64, 256, 1024,
        4096, then doubling), so that few shapes are compiled. JAX arrays, traced or not, are taken as they
        are: there a row that is not of the space gets weight 0 and sets INVALID_ROWS.

        Args:
            space: the search space, without `Recorded` conditions.
            x: (n, d) native values, NaN where inactive, categories as codes; or a data frame of them, whose
                columns go by name (`parzax.Observations.from_dataframe` turns labels into codes).
            weight: (n,) frequency weights: a row of weight 2 is two rows, one of weight 0 is absent
                (whatever its values). None counts every row once. They are not normalised: rows whose
                weights sum to 1 are one row together, and the prior weighs as much as all of them.
            bandwidth: a rule of `parzax.bandwidth` (scott, neighbours, hyperopt, dimension, constant,
                leave_one_out); Scott's by default. It sees, for each regime of each parameter, the rows in
                that regime.
            top: probability that an Aitchison-Aitken kernel gives its own category, in (0, 1], however many
                rows there are; `parzax.bandwidth.optuna_top()` for one that grows with them.
            prior_weight: weight of the prior, where a row has weight 1; 0 for none. Without any row the
                prior alone is left, whatever its weight.
            prior: name -> density in native units in place of the wide kernel, or a tuple with one per
                domain: ``log_prob(x)``, elementwise and normalised over the domain, and
                ``sample(key, shape)``, written with jax.numpy. An equinox module (a pytree) may have traced
                parameters.
            mixture_weight: (n,) weights of the kernels in the mixture, such as those by age; they
                multiply ``weight`` and do not enter the bandwidth.

        Raises:
            ValueError: on the host, for values outside the space, weights that are negative or not
                finite, and a prior of a discrete parameter whose masses do not sum to 1.

        Warns:
            UserWarning: on the host, for weights that look normalised, and a prior of a continuous
                parameter that does not integrate to 1.

        >>> import jax, numpy as np, parzax as px
        >>> space = px.Space({"lr": px.Float(1e-4, 1.0, log=True), "opt": px.Categorical(["sgd", "adam"])})
        >>> pe = px.ParzenEstimator.fit(space, np.array([[1e-2, 0], [2e-2, 0], [1e-1, 1]]))
        >>> bool(pe.prob(np.array([1e-2, 0])) > pe.prob(np.array([1e-2, 1])))
        True
        >>> pe.sample(jax.random.key(0), (5,)).shape
        (5, 2)
        """
        bandwidth = scott() if bandwidth is None else bandwidth
        # Plain numbers stay known when the fit is compiled.
        prior_weight, top = (x.item() if isinstance(x, np.generic) else x for x in (prior_weight, top))
        top = FixedTop(top) if isinstance(top, (int, float, jax.Array)) else top
        check_settings(space, bandwidth, top, prior_weight)
        check_masses(space, prior, jnp.result_type(float))
        rows, weight, mixture_weight = encoded_rows(space, x, weight, mixture_weight)
        return cls.fit_points(
            space,
            rows,
            weight,
            bandwidth=bandwidth,
            top=top,
            prior_weight=prior_weight,
            prior=prior,
            mixture_weight=mixture_weight,
        )

    @classmethod
    def fit_points(
        cls,
        space: Space,
        rows: Points,
        weight: Array,
        *,
        bandwidth: Bandwidth,
        top: FixedTop | OptunaTop,
        prior_weight: Any = 1.0,
        prior: Mapping[str, Any] | None = None,
        mixture_weight: Array | None = None,
        order: Array | None = None,
    ) -> "ParzenEstimator":
        """`fit` of rows that are encoded already; ``order`` (d, n) has their indices by unit coordinate."""
        fitted = compiled_fit(
            rows, weight, mixture_weight, bandwidth, top, prior_weight, prior, order, space=space
        )
        return cls(
            **fitted._asdict(),
            space=space,
            smallest=bandwidth.smallest,
            safe_prior=isinstance(prior_weight, (int, float)) and bool(prior_weight >= LEAST_PRIOR),
        )

    # --- densities -------------------------------------------------------------------------------

    def log_prob(
        self, x: Any, measure: Measure = "native", *, form: Form | None = None
    ) -> Float[Array, "..."]:
        """log density of configurations.

        Args:
            x: (..., d) native values, NaN where inactive, categories as codes.
            measure: "native" for a density per native unit of the active continuous parameters (the
                density of a log parameter is then over its value, not its logarithm), "unit" for one per
                unit of the kernel axes. Discrete parameters have masses under both.
            form: how to evaluate, see `choose_form`; by size when None.

        Returns:
            (...,); -inf outside the space: values out of bounds or off their steps, unknown categories, a
            missing value of an active parameter, a value of an inactive one.
        """
        _checks.one_of("measure", measure, ("native", "unit"))
        self._check_single()
        return scoring.log_prob(self, x, measure, form)

    def prob(self, x: Any, measure: Measure = "native") -> Float[Array, "..."]:
        """Density of configurations, exp of `log_prob`; 0 outside the space."""
        return jnp.exp(self.log_prob(x, measure))

    def prepare(self, n_points: int, form: Form | None = None) -> Mixture:
        """Coefficients of all kernels, for many evaluations of one estimator at about ``n_points`` points."""
        if form is None:
            form = self.form(n_points)
        _checks.one_of("form", form, FORMS)
        return Mixture.prepare(
            self.kernels,
            self.scale,
            self.weight,
            self.prior_weight,
            self.priors,
            slots(self.space),
            form,
            n_points,
        )

    def form(self, n_points: int) -> Form:
        """How this estimator is evaluated at ``n_points`` points, see `choose_form`."""
        # Nothing is known of the peaks of a user's prior.
        own_prior = any(isinstance(own, NativePrior) for own in self.priors)
        return choose_form(
            n_points,
            self.scale.shape[-2],
            self.scale.dtype,
            n_continuous=sum(slot.axis.kind == "continuous" for slot in slots(self.space)),
            smallest=self.smallest,
            peak=None if own_prior else peak_of(self.space, self.smallest),
            safe_prior=self.safe_prior,
        )

    # --- parts -----------------------------------------------------------------------------------

    def marginal(self, *names: str) -> "ParzenEstimator":
        """The joint density of some parameters, all others integrated out.

        A conditional parameter comes with the parameters that decide on its regime: without them there
        is no saying what its values mean. Exact: the factors left out integrate to 1.

        Args:
            *names: parameters to keep.
        """
        return parts.marginal(self, names)

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
        return parts.conditional(self, values)

    # --- samples ---------------------------------------------------------------------------------

    def sample(
        self, key: jax.Array, shape: tuple[int, ...] | int = (), *, joint: bool = True
    ) -> Float[Array, "... d"]:
        """Draw configurations, shape + (d,), in native units, NaN where inactive, categories as codes.

        Ancestral: a component by its weight, then every parameter given its parents, so conditions hold.

        Args:
            key: consumed.
            shape: of the draws.
            joint: False draws a component for each parameter anew, so that parameters are independent given
                their regimes: not draws from this density, but the candidates of the papers' TPE.
        """
        self._check_single()
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in shape):
            raise ValueError(f"shape must hold whole numbers of at least 0, got {shape!r}.")
        check_dtype(self.space, self.scale.dtype, native=True)
        # What only evaluation needs would make programs of its own.
        return _sample(replace(self, smallest=None, safe_prior=False), key, shape, joint)

    def from_uniforms(
        self, components: Float[Array, "n k"], levels: Float[Array, "n s"], keys: jax.Array | None = None
    ) -> Float[Array, "n d"]:
        """Configurations in native units from random numbers, see `parzax.parzen.sampling.uniforms`.

        Args:
            components, levels: of n draws.
            keys: (n,) for priors of the user's; None without them.
        """
        draw = partial(
            sample_one,
            space=self.space,
            kernels=self.kernels,
            scale=self.scale,
            running_weight=jnp.cumsum(self.weight),
            prior_weight=self.prior_weight,
            priors=self.priors,
        )
        return jax.vmap(draw)(components, levels, keys)

    def _check_single(self) -> None:
        if self.scale.ndim != 2:
            raise ValueError(
                f"this is a batch of estimators of shape {self.scale.shape[:-2]}; use jax.vmap over them."
            )

    # --- SciPy's names ---------------------------------------------------------------------------

    def logpdf(self, x: Any) -> Float[Array, "..."]:
        """`log_prob`, under SciPy's name; points are rows here."""
        return self.log_prob(x)

    def pdf(self, x: Any) -> Float[Array, "..."]:
        """`prob`, under SciPy's name; points are rows here."""
        return self.prob(x)

    def evaluate(self, x: Any) -> Float[Array, "..."]:
        """`prob`, under SciPy's name; points are rows here."""
        return self.prob(x)

    def resample(self, key: jax.Array, size: int = 1) -> Float[Array, "{size} d"]:
        """`sample`, under SciPy's name; points are rows here."""
        return self.sample(key, (size,))


@eqx.filter_jit
def _sample(
    pe: ParzenEstimator, key: jax.Array, shape: tuple[int, ...], joint: bool = True
) -> Float[Array, "... d"]:
    n, dtype = math.prod(shape), pe.scale.dtype
    own_key, prior_key = jax.random.split(key)
    components, levels = uniforms(own_key, n, pe.space, dtype, joint=joint)
    own_prior = any(isinstance(prior, NativePrior) for prior in pe.priors)
    keys = jax.random.split(prior_key, n) if own_prior else None
    return pe.from_uniforms(components, levels, keys).reshape(*shape, len(pe.space))
