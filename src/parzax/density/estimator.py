"""ParzenEstimator: a density over configurations of a search space."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax._compile import compiled
from parzax._words import plural
from parzax.density import ascent, events, fitting, restriction, rows, univariate, widths
from parzax.density.basis import Basis, Families, basis_of, check_name, families_of, on_device
from parzax.density.cut import CutRows
from parzax.density.mixture import Mixture
from parzax.density.quadrature import quadrature
from parzax.kernels import AbstractKernel
from parzax.kernels.bandwidth import AbstractBandwidth, Scott
from parzax.kernels.bandwidth.categorical import as_categorical_bandwidth
from parzax.space import Categorical, Points, Space

Measure = Literal["native", "unit"]
_prepared = compiled(Mixture.prepared)
# In float32 up to this many pairs of a point and a kernel are evaluated one by one: a product loses digits.
_FEW_PAIRS = 1 << 14


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False, repr=False)
class ParzenEstimator:
    """A Parzen (kernel density) estimator on a mixed, bounded, conditional search space.

    p(x) = sum_n w_n prod_d k_nd(x_d) + w_0 prod_d q_d(x_d), with one kernel per row and a prior q
    ("Algorithms for hyper-parameter optimization", Bergstra et al. 2011; arXiv 2304.11127). A continuous
    parameter has normal kernels truncated to its domain, on the log axis if it is a log parameter. A stepped
    or ordinal parameter has the masses of these kernels in the cells of its values. A categorical parameter
    has Aitchison-Aitken kernels. On a circle kernels are wrapped and the prior is uniform. On an open axis
    kernels are truncated at the finite bound, if there is one, and the prior is a normal around the middle of
    the rows' quartiles, with twice their distance as its scale.

    In a conditional space the values of a parameter's parents choose its regime or make it inactive. The
    factor of the parameter is the row's kernel if the row is in the same regime, the prior of the regime if
    the row is in another one, and 1 if the parameter is inactive. Each factor integrates to 1 given the
    parents, so p is a normalised density over configurations.

    Build it with `fit`. It is a pytree: it works under jit, vmap and grad and as the carry of a scan. Methods
    hash and compare by the identity of the estimator, so ``jax.jit(pe.log_prob)`` works; the arrays of the
    estimator are then constants of the program, also under `equinox.filter_jit`. As an argument its arrays
    are data: ``jax.jit(lambda pe, x: pe.log_prob(x))`` serves all estimators of the same shapes.

    Attributes:
        mixture: kernels, bandwidths and weights, on the axes of the space.
        status: int32 bits of `parzax.Status`: NO_DATA, INVALID_ROWS, INVALID_BANDWIDTH, and, after
            `conditional`, IMPOSSIBLE_EVENT.
        families: kernel classes other than the defaults, by parameter name; static.
        smallest: lower bound on bandwidths of continuous parameters, None if it is unknown; static.
        permitted: which domains can apply given arrays of values, after `conditional`; None is all.
    """

    mixture: Mixture
    status: Int[Array, ""]
    space: Space = field(metadata={"static": True})
    families: Families = field(metadata={"static": True})
    smallest: float | None = field(metadata={"static": True})
    permitted: Bool[Array, " s"] | None = None

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
        mixture_weight: Any = None,
        kernels: Mapping[str, type[AbstractKernel]] | None = None,
    ) -> "ParzenEstimator":
        """Fit an estimator with one kernel per row.

        NumPy rows are checked and encoded in float64 on the host. They are padded to a capacity (64, 256,
        1024, 4096, then doubling), so that few shapes are compiled. JAX arrays stay on their device, where
        the same checks run; the device returns one number, the status. Traced arrays are not checked: a row
        outside the space, or with an invalid weight, gets weight 0 and sets INVALID_ROWS.

        Args:
            space: the search space, without `Recorded` conditions.
            x: (n, d) native values, NaN where inactive, categories as codes; or a data frame with such
                values, whose columns are matched by name (`parzax.Observations.from_dataframe` turns labels
                into codes).
            weight: (n,) frequency weights, 1 by default. A row of weight 2 equals two rows; a row of weight 0
                is absent, whatever its values. Weights are not normalised: rows whose weights sum to 1 equal
                a single row, and a prior of weight 1 then has half of the mixture. For a row inside the space
                the derivative at weight 0 is one-sided, and it leaves out the effect on the bandwidth.
            bandwidth: a rule of `parzax.bandwidth`, Scott's by default. For each regime of each parameter it
                uses the rows in that regime. Its settings are numbers, or arrays (d,) with one number per
                parameter, such as ``Constant(jnp.array([0.1, 0.3]))``; they may be traced.
            top: probability that an Aitchison-Aitken kernel gives to its category, in (0, 1], or an array
                (d,) of probabilities. It does not depend on the number of rows;
                `parzax.bandwidth.OptunaTop()` is a rule that grows with it.
            prior_weight: weight of the prior, in rows; 0 removes it. Without rows the prior is the whole
                density, whatever its weight.
            mixture_weight: (n,) weights of the kernels in the mixture, for example by age. They multiply
                ``weight`` and do not affect the bandwidth. Derivatives at 0 are one-sided.
            kernels: name -> kernel class (`parzax.kernels.AbstractKernel`) that replaces the default.

        Raises:
            ValueError: unless traced, if a value is outside the space, or if a weight is negative or not
                finite.

        Warns:
            UserWarning: on the host, if weights look normalised.

        >>> import jax, numpy as np, parzax as px
        >>> space = px.Space({"lr": px.Float(1e-4, 1.0, log=True), "opt": px.Categorical(["sgd", "adam"])})
        >>> pe = px.ParzenEstimator.fit(space, np.array([[1e-2, 0], [2e-2, 0], [1e-1, 1]]))
        >>> bool(pe.prob(np.array([1e-2, 0])) > pe.prob(np.array([1e-2, 1])))
        True
        >>> pe.sample(jax.random.key(0), (5,)).shape
        (5, 2)
        """
        bandwidth = Scott() if bandwidth is None else bandwidth
        # Plain numbers stay static when the fit is compiled.
        prior_weight = prior_weight.item() if isinstance(prior_weight, np.generic) else prior_weight
        fitting.check_rules(bandwidth, prior_weight)
        families = families_of(space, kernels)
        x, weight, mixture_weight = rows.checked_rows(space, x, weight, mixture_weight)
        dtype = x.unit.dtype if isinstance(x, Points) else x.dtype
        basis = on_device(basis_of(space, dtype, families, bandwidth.smallest), x)
        settings = bandwidth, as_categorical_bandwidth(top), prior_weight
        mixture, status = fitting.fit(basis, x, weight, mixture_weight, settings)
        rows.refuse_invalid(status, space, basis.frame, x, weight, mixture_weight, settings)
        return cls(mixture, status, space, families, bandwidth.smallest)

    @property
    def weight(self) -> Float[Array, "*s n"]:
        """(n,) mixture weights of the rows, 0 for absent rows. They and the prior's weight sum to 1."""
        return self.mixture.weight

    @property
    def prior_weight(self) -> Float[Array, ""]:
        """Weight of the prior in the mixture."""
        return self.mixture.prior_weight

    @property
    def scale(self) -> Float[Array, "*s n d"]:
        """(n, d) bandwidths on the axes; for categories, the probability of all other categories."""
        return self.mixture.scale

    @property
    def basis(self) -> Basis:
        """The arrays of the space that densities at many points need."""
        return basis_of(self.space, self.scale.dtype, self.families, self.smallest)

    def arrays(self, *values: Any) -> Basis:
        """`basis` for a call with these values, with the domains that given values allow."""
        return on_device(self.basis, self, *values, permitted=self.permitted)

    def log_prob(self, x: Any, measure: Measure = "native") -> Float[Array, "..."]:
        """log density of configurations.

        Args:
            x: (..., d) native values, NaN where inactive, categories as codes.
            measure: "native" gives a density per native unit of the active continuous parameters (for a log
                parameter, per unit of its value, not of its logarithm). "unit" gives a density per unit of
                the kernel axes. Discrete parameters have masses under both.

        Returns:
            (...,) log densities; -inf outside the space, that is for a value out of bounds or off its steps,
            an unknown category, NaN in an active parameter, or a value in an inactive parameter.
        """
        _checks.one_of("measure", measure, ("native", "unit"))
        self.check_single()
        x, shape = rows.configurations(self.space, x)
        basis = self.arrays(x)
        # A symbolic number of points counts as many.
        few = isinstance(x.shape[0], int) and x.shape[0] * self.scale.shape[0] <= _FEW_PAIRS
        if few and self.scale.dtype.itemsize <= 4:
            basis = replace(basis, pairwise=True)
        log_prob = partial(rows.log_prob_at, basis, self.mixture, measure == "native")
        if isinstance(x, np.ndarray) and self.permitted is None and not _checks.is_traced(self):
            return rows.in_buckets(log_prob, self.space, x, self.scale.dtype).reshape(shape)
        # JAX values are compared with bounds rounded to the dtype of x.
        x = jnp.asarray(x)
        frame = on_device(basis_of(self.space, x.dtype), self, x, permitted=self.permitted).frame
        return log_prob((frame, x)).reshape(shape)

    def prob(self, x: Any, measure: Measure = "native") -> Float[Array, "..."]:
        """Density of configurations: exp of `log_prob`, 0 outside the space."""
        return jnp.exp(self.log_prob(x, measure))

    def prepared(self) -> "ParzenEstimator":
        """The same density with a faster `log_prob` for many calls: it keeps what depends on its rows alone.

        These are the masses of integers and ordinals, values times rows, if they are at most four million,
        and some coefficients of each row.
        """
        self.check_single()
        return replace(self, mixture=_prepared(self.mixture, self.arrays()))

    def adapted(self, sensitivity: Any = 0.5) -> "ParzenEstimator":
        """The same rows with wider kernels where rows are sparse, and narrower ones where they are dense.

        The width of row i is multiplied by (p(x_i) / g)^-sensitivity, where g is the geometric mean of p at
        the rows (Abramson 1982); this estimator is the pilot p. Categories keep their widths. A sensitivity
        of 0 changes nothing.
        """
        self.check_single()
        basis, sensitivity = self.arrays(), jnp.asarray(sensitivity, self.scale.dtype)
        return replace(self, mixture=widths.adapted(basis, self.mixture, sensitivity), smallest=None)

    def tuned(self) -> "ParzenEstimator":
        """The same rows with the widths of each parameter times a factor, from 1/8 to 8.

        An ascent raises the leave-one-out likelihood of the rows under the joint density, from the best
        common factor. Categories have a factor too. It takes 54 evaluations of n^2 kernels, 40 of them with
        slopes. Gradients treat the factors as constants.
        """
        self.check_single()
        return replace(self, mixture=widths.tuned(self.arrays(), self.mixture), smallest=None)

    def marginal(self, *names: str) -> "ParzenEstimator":
        """The joint density of the named parameters, all others integrated out.

        If a named parameter is conditional, the parameters that decide on its regime are included too:
        without them its values have no meaning. The result is exact, because the removed factors integrate
        to 1.
        """
        self.check_single()
        return self._restricted(*restriction.marginal(self.space, self.mixture, self.permitted, names))

    def conditional(self, values: Mapping[str, Any]) -> "ParzenEstimator":
        """The density of the other parameters, given the values of some.

        p(rest | given): each kernel's weight is multiplied by its factors at the given values. Parameters
        that the given values make inactive are removed, and regimes that they decide on are fixed.

        Args:
            values: name -> native value (choice or code of a category; NaN or None = inactive). Where a
                parent of a given parameter is not given, it has density only at values that make the
                parameter active, or inactive, as given: its kernels are cut there, and there are as many rows
                as before for each of these ranges. A new value of the same parameters compiles nothing. An
                array (n,) of values gives a batch of n densities, for `jax.vmap`. Values may be traced:
                numbers, and codes of categories. Where parameters depend on an array, on a traced value, or
                on a value whose parents are not given, all of them keep their columns, and are NaN where they
                are inactive.

        Returns:
            A density, or a batch. Where the values have no density, it is 0 everywhere and the status has
            IMPOSSIBLE_EVENT; so too for a traced value outside its domain.

        Raises:
            ValueError: unknown names, values outside their domains, or no parameter left; a code that stands
                for different choices in different domains, if others depend on the choice and the parents
                that select the domain are not given.

        >>> import jax, numpy as np, parzax as px
        >>> space = px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)})
        >>> pe = px.ParzenEstimator.fit(space, np.array([[0.2, 0.1], [0.7, 0.9]]))
        >>> y = np.array([0.9])
        >>> prob = jax.vmap(lambda x: pe.conditional({"x": x}).prob(y))(np.array([0.2, 0.5, 0.7]))
        >>> print(np.asarray(prob).round(2))
        [0.27 1.43 1.99]
        """
        self.check_single()
        fitted = self.mixture, self.status, self.permitted
        space, rest = restriction.conditional(self.space, fitted, self.families, values)
        mixture, status, permitted = rest
        return replace(self._restricted(space, mixture, permitted), status=status)

    def mass(self, values: Mapping[str, Any]) -> Float[Array, ""]:
        """Probability that parameters have values in a box; exact.

        Args:
            values: name -> a range (low, high) with both ends, which may be infinite, a value (choice of a
                category), a list of values, or None for an inactive parameter. On a circle low may exceed
                high, as in (22, 4) for hours. Other conditional parameters of the box must be active.

        Raises:
            ValueError: an unknown name or choice; too many parameters whose conditions depend on each other.

        >>> import numpy as np, parzax as px
        >>> pe = px.ParzenEstimator.fit(px.Space({"x": px.Float(0, 1)}), np.array([[0.3], [0.5]]))
        >>> print(f"{pe.mass({'x': (0, 1)}):.2f}")
        1.00
        """
        logs, part = self._log_masses(events.box_of(self.space, values))
        return jnp.exp(restriction.log_total(part.mixture, logs, part.basis.n_slots))

    def univariate(self, name: str, regime: int = 0) -> "ParzenEstimator":
        """The density of one parameter where it is active, in one of its domains.

        A parameter that is never active there sets IMPOSSIBLE_EVENT.

        Raises:
            ValueError: as in `mass`, and for a regime that the parameter does not have.
        """
        check_name("", name, self.space)
        regime = _checks.whole_number("regime", regime, 0, len(self.space[name]) - 1)
        logs, part = self._log_masses({name: regime})
        space = Space({name: replace(self.space[name][regime], when=())})
        mixture, status = restriction.reweighted(part.mixture, self.status, logs, part.basis.n_slots)
        mixture = restriction.select_columns(mixture, {part.space.index(name): (regime,)})
        return replace(self._restricted(space, mixture), status=status)

    def cdf(self, x: Any) -> Float[Array, "..."]:
        """P(X <= x) of a density of one number, at native values of any shape."""
        return self._of_values(univariate.cdf, _checks.floats("x", x))

    def quantile(self, level: Any) -> Float[Array, "..."]:
        """The smallest native value x with P(X <= x) >= level, for levels of any shape in [0, 1].

        Derivatives on a continuous axis are those of the inverse function.
        """
        return self._of_values(univariate.quantile, _checks.floats("level", level))

    def moments(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Mean and variance of a density of one number, by quadrature.

        On a circle these are the direction of the mean vector E[exp(2 pi i u)], and the variance that a
        wrapped normal with the same mean vector has before it is wrapped (infinite if it is uniform).

        Raises:
            ValueError: several parameters, a category, or more than 2^18 values.
        """
        is_smooth = not isinstance(self.mixture.rows, CutRows)
        nodes = quadrature(self.space, self.scale.dtype) if is_smooth else None
        if nodes is None and len(self.space) == 1:
            reason = f"moments need bounds, few values and kernels that are not cut ({self.space!r})"
            raise ValueError(f"{reason}; use those of draws.")
        return self._of_number(univariate.moments, nodes)

    def mode(self) -> Float[Array, " d"]:
        """The configuration with the highest density in unit coordinates that ascents from the rows reach.

        Discrete values are those of a row. NaN without rows.
        """
        self.check_single()
        return ascent.mode(self.arrays(), self.mixture)[0]

    def sample(self, key: jax.Array, shape: tuple[int, ...] | int = ()) -> Float[Array, "... d"]:
        """Draw configurations, shape + (d,), in native units, NaN where inactive, categories as codes.

        Sampling is ancestral: it draws a component by weight, then each parameter given its parents, so
        all conditions hold.
        """
        _checks.check_key(key)
        self.check_single()
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in shape):
            raise ValueError(f"shape must consist of integers of at least 0, got {shape!r}.")
        self.space.check_dtype(self.scale.dtype, native=True)
        basis = self.arrays(key)
        drawn = rows.draws(basis, self.mixture, key, math.prod(shape))
        return drawn.reshape(*shape, len(self.space))

    def __repr__(self) -> str:
        # JAX may put other objects than arrays into the leaves of a pytree.
        *batch, n, _ = getattr(getattr(self.mixture, "scale", None), "shape", (0, 0))
        of = f"{' x '.join(map(str, batch))} estimators, " if batch else ""
        return f"ParzenEstimator({of}{', '.join(self.space.names)}; room for {plural(n, 'row')})"

    def _log_masses(
        self, event: Mapping[str, events.Wanted]
    ) -> tuple[Float[Array, " n1"], "ParzenEstimator"]:
        """log probability of an event under each kernel and the prior, and the marginal of its parameters."""
        self.check_single()
        part = self.marginal(*event)
        return events.log_masses(part.space, part.arrays(), part.mixture, event), part

    def _of_number(self, function: Callable[..., Any], given: Any) -> Any:
        """function(basis, mixture, given) for a density of one number."""
        self.check_single()
        slots: Any = self.space.slots
        if len(slots) > 1 or isinstance(slots[0].domain, Categorical):
            raise ValueError(
                f"this needs a density of one number; use univariate(name) of {self.space.names}."
            )
        return function(self.arrays(given), self.mixture, given)

    def _of_values(self, function: Callable[..., Array], x: Any) -> Float[Array, "..."]:
        """The same for an array of values of any shape."""
        return self._of_number(function, jnp.asarray(x, self.scale.dtype).ravel()).reshape(x.shape)

    def _restricted(
        self, space: Space, mixture: Mixture, permitted: Bool[Array, "*j s"] | None = None
    ) -> "ParzenEstimator":
        """This estimator with a smaller space, the mixture over it, and which of its domains can apply."""
        families = tuple(item for item in self.families if item[0] in space)
        return replace(self, space=space, mixture=mixture, families=families, permitted=permitted)

    def check_single(self) -> None:
        """Raise ValueError for a batch, and for a float64 estimator while JAX computes in float32."""
        if self.scale.ndim != 2:
            raise ValueError(f"this is a batch of estimators of shape {self.scale.shape[:-2]}; use jax.vmap.")
        if self.scale.dtype == np.float64:
            _checks.check_precision("this estimator", self.scale.dtype, jnp.result_type(float))
