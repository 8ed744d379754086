"""From distances between tasks to what their densities weigh."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float


def similarity(variation: Any) -> Float[Array, "..."]:
    """s = (1 - d) / (1 + d) of a total variation d: what the two densities share over their union.

    With p and q normalised, 1 - d is the integral of min(p, q) and 1 + d that of max(p, q)
    (arXiv 2212.06751).

    >>> float(similarity(0.0)), float(similarity(1.0))
    (1.0, 0.0)
    """
    d = jnp.clip(jnp.asarray(variation), 0, 1)
    return (1 - d) / (1 + d)


def task_kernel(similarities: Any, present: Bool[Array, "*b t"] | None = None) -> Float[Array, "*b t+1"]:
    """k(1, m): s_m / T of the sources, and what is left, 1 - sum_m s_m / T, of the target itself.

    Args:
        similarities: (..., T - 1) of the target to each source task, within [0, 1].
        present: (..., T - 1) source tasks that have rows; the others weigh nothing, and T does not count
            them. All by default.

    Returns:
        (..., T), the target first; sums to 1 (arXiv 2212.06751).

    Raises:
        ValueError: on the host, for similarities outside [0, 1]; compiled code does not look.

    >>> import jax.numpy as jnp
    >>> task_kernel(jnp.array([1.0, 0.5, 0.0])).tolist()
    [0.625, 0.25, 0.125, 0.0]
    """
    similarities = jnp.asarray(similarities)
    similarities = similarities.astype(jnp.promote_types(similarities.dtype, jnp.float32))
    if similarities.ndim == 0:
        raise ValueError("similarities must have an axis of source tasks, got a number.")
    if not isinstance(similarities, Tracer):
        wrong = ~((np.asarray(similarities) >= 0) & (np.asarray(similarities) <= 1))
        if wrong.any():
            found = np.asarray(similarities)[wrong][0]
            raise ValueError(f"similarities must lie in [0, 1], got {found}.")
    if present is None:
        shares = similarities / (similarities.shape[-1] + 1)
    else:
        n_tasks = 1 + present.sum(axis=-1, keepdims=True)
        shares = jnp.where(present, similarities, 0) / n_tasks.astype(similarities.dtype)
    return jnp.concatenate([1 - shares.sum(axis=-1, keepdims=True), shares], axis=-1)
