"""A mixture of product kernels in unit coordinates: the density inside `parzax.ParzenEstimator`."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax.density.basis import Basis
from parzax.density.evaluation import Prepared, pairwise
from parzax.density.forms import FORMS, Form, is_few, shift_of, unit_of
from parzax.density.large_discrete import log_masses
from parzax.density.log_kernels import kernel_coefficients, kernels_of
from parzax.density.prior import UserPrior
from parzax.density.sampling import components, drawn_points, uniforms
from parzax.space import Points

# Number of points to assume when a form is chosen for samplers, because vmapped studies run together.
MANY = 1 << 20


class KernelMixture(eqx.Module):
    """p(x) = sum_n w_n prod_d k_nd(x_d) + w_0 prod_d q_d(x_d), x in unit coordinates.

    The mixture stores no names and no bounds; every method takes the `Basis` of the space.
    """

    rows: Points  # places of the kernels; absent rows hold arbitrary finite values
    scale: Float[Array, "#n d"]  # bandwidth on the axis; for categories, probability of all other categories
    weight: Float[Array, " n"]  # 0 for absent rows; weight.sum() + prior_weight is 1
    prior_weight: Float[Array, ""]
    priors: tuple[UserPrior, ...]  # densities from the user; other regimes have the wide kernel

    # Equinox's wrappers of methods are avoided, as in `parzax.space.Frame`.
    __getattribute__ = object.__getattribute__

    def form(self, basis: Basis, n_points: int, form: Form | None = None) -> Form:
        """Form of evaluation at ``n_points`` points; ``form`` overrides it."""
        if form is not None:
            return _checks.one_of("form", form, FORMS)
        if is_few(self.scale.dtype, basis.n_continuous, n_points * self.scale.shape[-2]):
            return "difference"
        return "max" if basis.form == "product" and self.priors else basis.form

    def prepare(self, basis: Basis, n_points: int, form: Form | None = None) -> Prepared:
        """Precompute everything that depends only on the kernels, for about ``n_points`` points per call."""
        form, rows, scale = self.form(basis, n_points, form), self.rows, self.scale
        kernels, anchor = kernel_coefficients(basis, rows, scale, self.priors, form == "difference")
        shift, present = shift_of(scale.dtype), rows.valid.all(axis=-1)[None]
        # An absent row has coefficients 0 except for a constant so low that its exponential is 0.
        lowered = jnp.where(present, shift if form == "product" else 0.0, 4.0 * shift)
        kernels = jnp.where(present, kernels, 0).at[-1:].add(-lowered.astype(kernels.dtype))
        kernels = kernels * unit_of(form)
        continua = pairwise(basis, form)
        pairs = tuple((kernels_of(part, rows.unit, scale), part.here(rows)) for part in continua)
        large = log_masses(basis, rows, scale, n_points)
        return Prepared(kernels, anchor, pairs, large, self.weight, self.prior_weight, self.priors, form)

    def left_out(self, basis: Basis, at: Points) -> Float[Array, " n"]:
        """log density at n points, where point i is evaluated without kernel i (leave one out).

        Scales and prior do not change. If kernel i is absent, the full mixture is used. The value is -inf if
        neither the prior nor another kernel has density at the point.
        """
        form = self.form(basis, MANY)
        prepared = self.prepare(basis, MANY, "max" if form == "product" else form)
        others = jnp.where(jnp.eye(len(self.weight), dtype=bool), 0, self.weight[None])
        rest, logs = 1 - self.weight, prepared.logs(basis, at)
        return prepared.log_sum(basis, at, logs, others) - jnp.log(jnp.where(rest > 0, rest, 1))

    def sample(self, basis: Basis, key: PRNGKeyArray, n: int, joint: bool = True) -> Points:
        """n draws; see `parzax.ParzenEstimator.sample`."""
        kernel_key, prior_key = jax.random.split(key)
        drawn = uniforms(kernel_key, n, basis, self.scale.dtype, joint=joint)
        return self.from_uniforms(basis, *drawn, jax.random.split(prior_key, n) if self.priors else None)

    def from_uniforms(
        self,
        basis: Basis,
        levels: Float[Array, "k c"],
        places: Float[Array, "k s"],
        keys: Array | None = None,
    ) -> Points:
        """k draws from uniform random numbers, see `uniforms`; ``keys`` are for priors from the user."""
        running = jnp.cumsum(self.weight)
        row, from_prior = jax.vmap(lambda level: components(level, running, self.prior_weight))(levels)
        return drawn_points(basis, places, self.rows, row, from_prior, self.scale, self.priors, keys)
