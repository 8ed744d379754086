"""Which statuses apply to each level and parameter of a sweep; compiled with it."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from parzax._numerics import total
from parzax.observations import Layout
from parzax.parzen import GridEstimator
from parzax.status import Status

# As many target rows or fewer set LOW_DATA: with about ten the debiased variance of a strong parameter
# comes out a third too low.
LOW_DATA_ROWS = 10


def level_status(
    variance: Float[Array, " d"],
    n_target: Shaped[Array, ""],
    n_region: Shaped[Array, ""],
    requested: Float[Array, ""],
    all_equal: Bool[Array, ""],
) -> Int[Array, " d"]:
    """Status bits of one level, for all parameters.

    Args:
        variance: (d,) signed variances.
        n_target, n_region: rows (weight) of the target and of the region.
        requested: weight that the target was asked to reach.
        all_equal: whether all usable losses are equal.
    """
    empty = n_region < 2
    bits = _bit(Status.NO_DATA, empty)
    bits |= _bit(Status.ALL_EQUAL, all_equal & ~empty)
    bits |= _bit(Status.SAME_SETS, n_target == n_region)
    # Counts and requests beyond 2^24 are rounded in float32.
    bits |= _bit(Status.TIED_CUTOFF, n_target > requested * (1 + 1e-6))
    bits |= _bit(Status.LOW_DATA, n_target <= LOW_DATA_ROWS)
    bits |= _bit(Status.ALL_ZERO, ~(variance > 0).any())
    return bits | _bit(Status.NOT_ABOVE_CHANCE, variance < 0)


def parameter_status(
    region: Shaped[Array, " w"], layout: Layout, estimator: GridEstimator
) -> Int[Array, " d"]:
    """Status bits that each parameter has at every level, from the counts (w,) of the region."""
    bits = []
    for j in range(layout.n_parameters):
        slots = [slot for slot in layout.slots if slot.parameter == j]
        kinds = {slot.kind for slot in slots}
        regimes = [region[slot.start : slot.start + slot.n_cells] for slot in slots]
        rows = jnp.stack([total(counts) for counts in regimes])
        occupied = jnp.stack([total((counts > 0).astype(jnp.int32)) for counts in regimes])
        own = _bit(Status.NEVER_ACTIVE, total(rows) == 0)
        own |= _bit(Status.SPARSE_REGIME, ((rows > 0) & (rows < estimator.min_regime_rows)).any())
        if "varying" in kinds:
            own |= jnp.int32(Status.UNIDENTIFIABLE)
        elif kinds == {"point"}:
            own |= jnp.int32(Status.SINGLE_VALUE)
        else:
            own |= _bit(Status.CONSTANT, (occupied.max() == 1))
        bits.append(own)
    return jnp.stack(bits)


def _bit(status: Status, where: Array) -> Array:
    return jnp.where(where, jnp.int32(status), jnp.int32(0))
