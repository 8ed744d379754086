"""NumPyro: a Parzen estimator as a distribution, such as a prior fitted to earlier results."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpyro.distributions import Distribution, constraints

from parzax import ParzenEstimator


class Parzen(Distribution):
    """A Parzen estimator as a NumPyro distribution of configurations (d,), in native units.

    Draws, log densities and predictions work on every space. NUTS and other samplers that move along
    gradients need a space of continuous parameters without conditions; others raise there, with a remedy.

    Args:
        estimator: the density.
        validate_args: as in NumPyro.

    >>> import jax
    >>> import numpy as np
    >>> import parzax as px
    >>> pe = px.ParzenEstimator.fit(px.Space({"x": px.Float(0, 1)}), np.array([[0.2], [0.3]]))
    >>> px.adapters.numpyro.Parzen(pe).sample(jax.random.key(0), (5,)).shape
    (5, 1)
    """

    arg_constraints: dict[str, Any] = {}  # noqa: RUF012
    pytree_data_fields = ("estimator",)

    def __init__(self, estimator: ParzenEstimator, *, validate_args: bool | None = None) -> None:
        self.estimator = estimator
        super().__init__((), (len(estimator.space),), validate_args=validate_args)

    @property
    def support(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The bounds; ValueError if a parameter is discrete or conditional, or some bounds are infinite."""
        space, bounds = self.estimator.space, []
        for name, of_parameter in zip(space.names, space.domains, strict=True):
            domain: Any = of_parameter[-1]
            if len(of_parameter) > 1 or domain.conditions or domain.n_values is not None:
                remedy = "give its value by estimator.conditional({...}), or leave it out by marginal(...)"
                raise ValueError(f"{name!r} is discrete or conditional, without a gradient: {remedy}.")
            bounds.append((domain.low, domain.high))
        low, high = jnp.array(bounds).T
        # NumPy: NumPyro asks for the support while JAX traces.
        kinds = set(map(tuple, np.isinf(bounds).tolist()))
        if len(kinds) > 1:
            raise ValueError(
                f"NumPyro has no support with finite and infinite bounds side by side: {space!r}."
            )
        each = {
            (False, False): constraints.interval(low, high), (False, True): constraints.greater_than(low),
            (True, False): constraints.less_than(high), (True, True): constraints.real,
        }  # fmt: skip
        return constraints.independent(each[kinds.pop()], 1)

    def sample(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, key: Array, sample_shape: tuple[int, ...] = ()
    ) -> Float[Array, "... d"]:
        """Configurations, sample_shape + (d,); NumPyro hands over keys of both kinds."""
        is_typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        return self.estimator.sample(key if is_typed else jax.random.wrap_key_data(key), sample_shape)

    def log_prob(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, value: Float[Array, "... d"]
    ) -> Float[Array, "..."]:
        """log density of configurations; -inf outside the space."""
        return self.estimator.log_prob(value)
