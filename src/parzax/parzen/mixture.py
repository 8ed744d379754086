"""ParzenEstimator: a density over configurations of a search space."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from parzax import _checks
from parzax._numerics import masked_logsumexp
from parzax.kernels import FixedTop, OptunaTop
from parzax.kernels.bandwidth import Bandwidth, scott
from parzax.observations.encoding import capacity
from parzax.observations.validation import checked_regimes
from parzax.parzen.evaluation import FORMS, Form, Mixture, choose_form
from parzax.parzen.points import Points, check_dtype, points, slots
from parzax.parzen.prior import NativePrior, Prior, priors
from parzax.parzen.product import kernel_log_prob, prior_log_prob
from parzax.parzen.restriction import given_rest, given_values, with_ancestors
from parzax.parzen.sampling import sample_one
from parzax.space import INACTIVE, Space
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
        kernels: (n, d) rows on the kernel axes; absent rows are anything finite.
        scale: (n, d) bandwidth on the kernel axis; of a category the probability of another one.
        weight: (n,) mixture weights, 0 for absent rows.
        prior_weight: weight of the prior; all weights sum to 1.
        priors: the prior of each regime.
        status: int32 bits of `parzax.Status`: NO_ROWS, INVALID_ROWS.
        space: static.
        peak: bound on the log of kernel / wide kernel, which decides the form of evaluation; static.
        safe_prior: whether the prior's weight is known to be large enough to anchor sums; static.
    """

    kernels: Points
    scale: Float[Array, "n d"]
    weight: Float[Array, " n"]
    prior_weight: Float[Array, ""]
    priors: tuple[Prior, ...]
    status: Int[Array, ""]
    space: Space = eqx.field(static=True)
    peak: float | None = eqx.field(static=True)
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
            x: (n, d) native values, NaN where inactive, categories as codes.
            weight: (n,) frequency weights: a row of weight 2 is two rows, one of weight 0 is absent
                (whatever its values). None counts every row once.
            bandwidth: a rule of `parzax.bandwidth`; Scott's by default. It sees, for each regime of each
                parameter, the rows in that regime.
            top: probability that an Aitchison-Aitken kernel gives its own category, in (0, 1], or
                `parzax.bandwidth.optuna_top()`.
            prior_weight: weight of the prior, where a row has weight 1; 0 for none. Without any row the
                prior alone is left, whatever its weight.
            prior: name -> density in native units in place of the wide kernel, with elementwise
                ``log_prob(x)`` and ``sample(key, shape)``, one per domain (a tuple) or one for all.
            mixture_weight: (n,) weights of the kernels in the mixture, such as those by age; they
                multiply ``weight`` and do not enter the bandwidth.

        Raises:
            ValueError: on the host, for values outside the space, and weights that are negative or not
                finite.

        >>> import jax, numpy as np, parzax as px
        >>> space = px.Space({"lr": px.Float(1e-4, 1.0, log=True), "opt": px.Categorical(["sgd", "adam"])})
        >>> pe = px.ParzenEstimator.fit(space, np.array([[1e-2, 0], [2e-2, 0], [1e-1, 1]]))
        >>> bool(pe.prob(np.array([1e-2, 0])) > pe.prob(np.array([1e-2, 1])))
        True
        >>> pe.sample(jax.random.key(0), (5,)).shape
        (5, 2)
        """
        bandwidth = scott() if bandwidth is None else bandwidth
        top = FixedTop(top) if isinstance(top, (int, float, jax.Array)) else top
        _check_settings(space, bandwidth, top, prior_weight)
        rows, weight, mixture_weight = _rows(space, x, weight, mixture_weight)
        return _fit(rows, weight, mixture_weight, bandwidth, top, prior_weight, prior, space=space, cls=cls)

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
        return _log_prob(self, _configurations(self.space, x), measure=measure, form=form)

    def prob(self, x: Any, measure: Measure = "native") -> Float[Array, "..."]:
        """Density of configurations, exp of `log_prob`; 0 outside the space."""
        return jnp.exp(self.log_prob(x, measure))

    def prepare(self, n_points: int, form: Form | None = None) -> Mixture:
        """Coefficients of all kernels, for many evaluations of one estimator at about ``n_points`` points."""
        if form is None:
            weight = 1.0 if self.safe_prior else 0.0
            form = choose_form(n_points, len(self.scale), self.scale.dtype, self.peak, weight)
        _checks.one_of("form", form, FORMS)
        return Mixture.prepare(
            self.kernels, self.scale, self.weight, self.prior_weight, self.priors, slots(self.space), form
        )

    # --- parts -----------------------------------------------------------------------------------

    def marginal(self, *names: str) -> "ParzenEstimator":
        """The joint density of some parameters, all others integrated out.

        A conditional parameter comes with the parameters that decide on its regime: without them there
        is no saying what its values mean. Exact: the factors left out integrate to 1.

        Args:
            *names: parameters to keep.
        """
        kept = with_ancestors(self.space, names)
        columns = np.array([self.space.index(name) for name in kept])
        pairs = zip(slots(self.space), self.priors, strict=True)
        return _of_columns(
            self,
            Space({name: self.space[name] for name in kept}),
            jax.tree.map(lambda a: a[:, columns], self.kernels),
            self.scale[:, columns],
            tuple(prior for slot, prior in pairs if slot.parameter in columns),
        )

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
        given = given_values(self.space, values)
        space, kept = given_rest(self.space, given)
        if space is None:
            raise ValueError(
                "values: no other parameter can be active; use log_prob for the density of these."
            )
        return _conditional(self, given, space, kept)

    # --- samples ---------------------------------------------------------------------------------

    def sample(self, key: jax.Array, shape: tuple[int, ...] | int = ()) -> Float[Array, "... d"]:
        """Draw configurations, shape + (d,), in native units, NaN where inactive, categories as codes.

        Ancestral: a component by its weight, then every parameter given its parents, so conditions hold.
        """
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        check_dtype(self.space, self.scale.dtype, native=True)
        return _sample(self, key, shape)

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


def _check_settings(space: Any, bandwidth: Any, top: Any, prior_weight: Any) -> None:
    if not isinstance(space, Space):
        raise TypeError(f"space must be a parzax.Space, got {type(space).__name__}.")
    if not isinstance(bandwidth, Bandwidth):
        raise TypeError(f"bandwidth must be a rule of parzax.bandwidth, got {bandwidth!r}.")
    if not isinstance(top, (FixedTop, OptunaTop)):
        raise TypeError(f"top must be a number or parzax.bandwidth.optuna_top(), got {top!r}.")
    if isinstance(top, FixedTop) and isinstance(top.top, (int, float)) and not 0 < top.top <= 1:
        raise ValueError(f"top must lie in (0, 1], got {top.top!r}.")
    if isinstance(prior_weight, jax.Array):
        return
    if not isinstance(prior_weight, (int, float, np.number, np.ndarray)):
        raise TypeError(f"prior_weight must be a number, got {prior_weight!r}.")
    if not 0 <= prior_weight < math.inf:
        raise ValueError(f"prior_weight must be finite and at least 0, got {prior_weight!r}.")


def _rows(space: Space, x: Any, weight: Any, mixture_weight: Any) -> tuple[Points, Any, Any]:
    """Encoded rows and weights; checked and padded when on the host."""
    if isinstance(x, jax.Array):
        if x.ndim != 2 or x.shape[1] != len(space):
            raise ValueError(f"x must have shape (n, {len(space)}), got {x.shape}; use jax.vmap for a batch.")
        x = x.astype(jnp.result_type(float)) if not jnp.issubdtype(x.dtype, jnp.floating) else x
        for name, own in (("weight", weight), ("mixture_weight", mixture_weight)):
            if own is not None and jnp.shape(own) != (len(x),):
                raise ValueError(f"{name} must have shape ({len(x)},), got {jnp.shape(own)}.")
        if not len(x):
            # One absent row, so that there is something to draw an index of.
            return points(space, jnp.full((1, len(space)), jnp.nan, x.dtype)), jnp.zeros(1, x.dtype), None
        weight = jnp.ones(len(x), x.dtype) if weight is None else jnp.asarray(weight)
        return points(space, x), weight, None if mixture_weight is None else jnp.asarray(mixture_weight)
    x = _checks.float_array("x", x)
    if x.ndim != 2 or x.shape[1] != len(space):
        raise ValueError(f"x must have shape (n, {len(space)}), got {x.shape}; use jax.vmap for a batch.")
    weight = _host_weight("weight", weight, len(x))
    mixture_weight = _host_weight("mixture_weight", mixture_weight, len(x))
    # A row of weight 0 may hold anything.
    x = np.where((weight > 0)[:, None], x, np.nan)
    checked_regimes(space, x, None, weight > 0)
    extra = capacity(len(x)) - len(x)
    padded = np.concatenate([x, np.full((extra, len(space)), np.nan)])
    dtype = jnp.result_type(float)
    check_dtype(space, dtype, native=False)
    rows = _on_device(points(space, padded), dtype)
    pad = partial(np.pad, pad_width=(0, extra))
    return rows, jnp.asarray(pad(weight), dtype), jnp.asarray(pad(mixture_weight), dtype)


def _host_weight(name: str, weight: Any, n: int) -> np.ndarray:
    if weight is None:
        return np.ones(n)
    weight = _checks.float_array(name, weight)
    if weight.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {weight.shape}.")
    bad = np.flatnonzero(~((weight >= 0) & (weight < np.inf)))
    if len(bad):
        raise ValueError(
            f"{name}: row {bad[0]} is {float(weight[bad[0]])!r}; weights must be finite and at least 0."
        )
    return weight


@eqx.filter_jit
def _fit(
    rows: Points,
    weight: Array,
    mixture_weight: Array | None,
    bandwidth: Bandwidth,
    top: FixedTop | OptunaTop,
    prior_weight: Any,
    prior: Mapping[str, Any] | None,
    *,
    space: Space,
    cls: type[ParzenEstimator],
) -> ParzenEstimator:
    dtype = rows.unit.dtype
    usable = rows.valid.all(axis=-1)
    weight = weight.astype(dtype)
    known = (weight >= 0) & (weight < jnp.inf)
    if mixture_weight is not None:
        mixture_weight = mixture_weight.astype(dtype)
        known &= (weight == 0) | ((mixture_weight >= 0) & (mixture_weight < jnp.inf))
    # A row of weight 0 may hold anything.
    invalid = (~known | ((weight > 0) & ~usable)).any()
    weight = jnp.where(usable & known, weight, 0)
    present = weight > 0
    rows = jax.tree.map(lambda a: jnp.where(present[:, None], a, jnp.zeros_like(a)), rows)
    rows = eqx.tree_at(lambda r: r.regime, rows, jnp.where(present[:, None], rows.regime, -1))
    has_prior = not (isinstance(prior_weight, (int, float)) and prior_weight == 0)
    scale = _scales(rows, weight, bandwidth, top, prior_weight, has_prior, space)
    mixed = weight if mixture_weight is None else weight * jnp.where(present, mixture_weight, 0)
    total = mixed.sum()
    anchor = jnp.asarray(prior_weight, dtype)
    usable_prior = (anchor >= 0) & (anchor < jnp.inf)
    invalid |= ~usable_prior
    anchor = jnp.where(total > 0, jnp.where(usable_prior, anchor, 0), 1)
    whole = total + anchor
    status = jnp.where(total > 0, 0, int(Status.NO_ROWS)) | jnp.where(invalid, int(Status.INVALID_ROWS), 0)
    own = priors(space, prior, dtype)
    return cls(
        kernels=rows,
        scale=scale,
        weight=mixed / whole,
        prior_weight=anchor / whole,
        priors=own,
        status=status.astype(jnp.int32),
        space=space,
        peak=None if any(isinstance(p, NativePrior) for p in own) else _peak(space, bandwidth),
        safe_prior=isinstance(prior_weight, (int, float)) and prior_weight >= 1e-3,
    )


def _scales(
    rows: Points,
    weight: Array,
    bandwidth: Bandwidth,
    top: FixedTop | OptunaTop,
    prior_weight: Any,
    has_prior: bool,
    space: Space,
) -> Float[Array, "n d"]:
    """Bandwidth of every kernel and parameter, regime by regime; 1 where inactive."""
    dtype = rows.unit.dtype
    columns = [jnp.ones_like(rows.unit[:, 0])] * len(space)
    for slot in slots(space):
        j, axis = slot.parameter, slot.axis
        here = rows.regime[:, j] == slot.regime
        own = jnp.where(here, weight, 0)
        if axis.kind == "categorical":
            n_kernels = own.sum() + has_prior
            own_scale: Any = top(
                jnp.where(n_kernels > 0, n_kernels, 1), jnp.asarray(prior_weight, dtype), axis.n_values
            )
        elif axis.kind == "point":
            continue
        else:
            own_scale = bandwidth(
                rows.unit[:, j],
                own,
                prior_position=0.5 if has_prior else None,
                n_parameters=len(space),
                n_values=axis.n_values or None,
            )
        columns[j] = jnp.where(here, own_scale, columns[j])
    return jnp.stack(columns, axis=-1)


def _peak(space: Space, bandwidth: Bandwidth) -> float | None:
    """Bound on the log of kernel / wide kernel: each numeric factor's is below log(1 / scale) + 1/2."""
    smallest = bandwidth.smallest
    if smallest is None:
        return None
    out = 0.0
    for j in range(len(space)):
        widths = [slot.axis.narrowest or smallest for slot in slots(space) if slot.parameter == j]
        out += 0.5 - math.log(min(widths))
    return out


def _configurations(space: Space, x: Any) -> Any:
    """(..., d) values: encoded when they are NumPy's, else floats that are encoded in compiled code."""
    if not isinstance(x, jax.Array):
        x = _checks.float_array("x", x)
    elif not jnp.issubdtype(x.dtype, jnp.floating):
        x = x.astype(jnp.result_type(float))
    if x.ndim < 1 or x.shape[-1] != len(space):
        raise ValueError(f"x must have shape (..., {len(space)}), got {x.shape}.")
    return points(space, x) if isinstance(x, np.ndarray) else x


@eqx.filter_jit
def _log_prob(
    pe: ParzenEstimator, at: Points | Float[Array, "... d"], *, measure: str, form: Form | None
) -> Float[Array, "..."]:
    at = at if isinstance(at, Points) else points(pe.space, at)
    shape, dtype = at.unit.shape[:-1], pe.scale.dtype
    flat = jax.tree.map(lambda a: jnp.asarray(a).reshape(-1, a.shape[-1]), at)
    flat = jax.tree.map(lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, flat)
    out = pe.prepare(len(flat.unit), form).log_prob(flat)
    if measure == "native":
        out = out + flat.log_jacobian.sum(axis=-1)
    return jnp.where(flat.valid.all(axis=-1), out, -jnp.inf).reshape(shape)


@eqx.filter_jit
def _sample(pe: ParzenEstimator, key: jax.Array, shape: tuple[int, ...]) -> Float[Array, "... d"]:
    keys = jax.random.split(key, math.prod(shape))
    running = jnp.cumsum(pe.weight)
    draw = partial(
        sample_one,
        space=pe.space,
        kernels=pe.kernels,
        scale=pe.scale,
        running_weight=running,
        prior_weight=pe.prior_weight,
        priors=pe.priors,
    )
    return jax.vmap(draw)(keys).reshape(*shape, len(pe.space))


def _of_columns(
    pe: ParzenEstimator,
    space: Space,
    kernels: Points,
    scale: Float[Array, "n d"],
    own: tuple[Prior, ...],
    **changed: Any,
) -> ParzenEstimator:
    """The same mixture over other parameters."""
    kept = {name: getattr(pe, name) for name in ("weight", "prior_weight", "status", "peak", "safe_prior")}
    return type(pe)(kernels=kernels, scale=scale, priors=own, space=space, **(kept | changed))


def _conditional(
    pe: ParzenEstimator, given: dict[str, float], space: Space, kept: list[tuple[int, ...]]
) -> ParzenEstimator:
    pairs = list(zip(slots(pe.space), pe.priors, strict=True))
    row = np.array([given.get(name, np.nan) for name in pe.space.names])[None]
    at = _on_device(points(pe.space, row), pe.scale.dtype)
    known = [pair for pair in pairs if pe.space.names[pair[0].parameter] in given]
    own, priors_of = tuple(slot for slot, _ in known), tuple(prior for _, prior in known)
    logs = kernel_log_prob(own, priors_of, pe.kernels, pe.scale, at)[0]
    wide = prior_log_prob(own, priors_of, at)[0]
    total = masked_logsumexp(jnp.append(logs, wide), jnp.append(pe.weight, pe.prior_weight))
    safe = jnp.where(jnp.isfinite(total), total, 0)
    columns = np.array([pe.space.index(name) for name in space.names])
    regime = jnp.full((len(logs), len(columns)), INACTIVE, jnp.int32)
    left: list[Prior] = []
    for j, column in enumerate(columns):
        for new, old in enumerate(kept[column]):
            regime = regime.at[:, j].set(jnp.where(pe.kernels.regime[:, column] == old, new, regime[:, j]))
            left += [prior for slot, prior in pairs if (slot.parameter, slot.regime) == (column, old)]
    kernels = jax.tree.map(lambda a: a[:, columns], pe.kernels)
    return _of_columns(
        pe,
        space,
        eqx.tree_at(lambda k: k.regime, kernels, regime),
        pe.scale[:, columns],
        tuple(left),
        weight=jnp.where(pe.weight > 0, pe.weight * jnp.exp(logs - safe), 0),
        prior_weight=pe.prior_weight * jnp.exp(wide - safe),
        # Kernels close by may have taken the prior's weight, so sums are not anchored at it.
        safe_prior=False,
    )


def _on_device(at: Points, dtype: Any) -> Points:
    return jax.tree.map(lambda a: jnp.asarray(a, dtype if a.dtype == np.float64 else a.dtype), at)
