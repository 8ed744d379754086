"""One floating dtype for the arguments of a function."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Num


def as_floats(*arguments: Num[Array, "..."] | float) -> list[Float[Array, "..."]]:
    """The arguments broadcast together in the dtype that JAX's promotion gives; integers become floats.

    Python numbers do not promote, so float32 arrays stay float32.
    """
    dtype = jnp.result_type(float, *arguments)
    return jnp.broadcast_arrays(*(jnp.asarray(argument, dtype) for argument in arguments))
