"""Masses of normal distributions in cells of equal width, in float32, from one polynomial per kernel."""

import math
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Numbers of coefficients in t and in q, see `LatticeMasses`. The interpolant has a relative error of 3e-7.
_DEGREES = 18, 16
_SHIFT, _MIDDLE = 6.0, 8.0
# Lower bound on a factor, so that its logarithm is finite. It matters only 10^8 scales away.
_LEAST = 1e-9
# Largest width, so that squares do not overflow. All cells but that of the centre are then empty.
_WIDEST = 1e12


class LatticeMasses(NamedTuple):
    """n normals at centres of cells, prepared for `log_mass`.

    For a cell k >= 1 steps from the centre and of width h (in scales), let r = h^2 and z = (k - 1/2) r. The
    mass is phi((k - 1/2) h) h g(z, r) with g(z, r) = integral_0^1 exp(-z u - r u^2 / 2) du, a factor in
    (0, 1]. The function (z + 6) g(z, r) is smooth in t = 1 - (r + 12) / (z + 6) and q = (r - 8) / (r + 8). A
    Chebyshev interpolant in q gives each kernel a polynomial in t. Nothing cancels, however far or narrow a
    cell is.
    """

    squared_width: Float[Array, " n"]
    centre: Float[Array, " n"]  # mass of the cell at the centre
    coefficients: Float[Array, "c n"]  # of t^0, t^1, ...

    @classmethod
    def of(cls, width: Float[Array, " n"]) -> "LatticeMasses":
        """``width`` is that of the cells, in scales; at most 10^12 is used."""
        width = jnp.minimum(width, _WIDEST)
        q = 1 - 2 * _MIDDLE / (jnp.square(width) + _MIDDLE)
        powers = [jnp.ones_like(q), q]
        for _ in range(_DEGREES[1] - 2):
            powers.append(2 * q * powers[-1] - powers[-2])
        table = jnp.asarray(_interpolant(), width.dtype)
        coefficients = jnp.tensordot(table, jnp.stack(powers), 1, precision="highest")
        centre = jax.lax.erf(width * 8**-0.5)
        return cls(jnp.square(width), centre, coefficients * (width * (2 * math.pi) ** -0.5)[None])

    def log_mass(self, distance: Float[Array, " n"]) -> Float[Array, " n"]:
        """log mass of the cell at a distance of an integer number of steps."""
        at_centre, steps = distance == 0, jnp.maximum(distance, 1) - 0.5
        z = steps * self.squared_width
        inverse = 1 / (z + _SHIFT)
        t, total = 1 - (self.squared_width + 2 * _SHIFT) * inverse, self.coefficients[-1]
        for i in range(_DEGREES[0] - 2, -1, -1):
            total = total * t + self.coefficients[i]
        factor = jnp.where(at_centre, self.centre, jnp.maximum(total * inverse, _LEAST))
        return jnp.log(factor) - jnp.where(at_centre, 0, 0.5 * steps * z)


@lru_cache
def _interpolant() -> np.ndarray:
    """Coefficients of t^i T_j(q), (18, 16), from values at Chebyshev's points."""
    chebyshev = np.polynomial.chebyshev
    t, q = map(chebyshev.chebpts1, _DEGREES)
    r = _MIDDLE * (1 + q) / (1 - q)
    z = ((r + 2 * _SHIFT) / (1 - t)[:, None] - _SHIFT)[..., None]
    # Gauss-Legendre quadrature on the part of [0, 1] where the integrand is not negligible.
    node, weight = np.polynomial.legendre.leggauss(200)
    u, length = 0.5 * (node + 1), np.minimum(1, 45 / np.maximum(z, 1))
    integrand = np.exp(-z * length * u - r[:, None] * np.square(length * u) / 2)
    values = (z[..., 0] + _SHIFT) * (integrand * length @ weight) / 2
    by_q = np.linalg.solve(chebyshev.chebvander(q, len(q) - 1), values.T).T
    return np.linalg.solve(np.vander(t, increasing=True), by_q)
