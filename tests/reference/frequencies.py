"""Are draws from a given law? Checks whose false-alarm rates hold at any n, and add up to a stated rate."""

import math

import numpy as np
from scipy import optimize

# Cells with fewer expected draws are put together: they would cost the other cells power.
LEAST_EXPECTED = 10
# Neighbouring values of long domains are put together to about this many cells.
MOST_CELLS = 40
# Draws between two points at which the distribution functions are compared.
STRIDE = 20


class Checks:
    """Checks that share a false-alarm rate: by the union bound each one has ``total / at_most``.

    Every check returns how far the draws are from the law, as a multiple of what is allowed: above 1 it
    fails. The draws must be independent and, under the law, exact but for the stated resolution.

    Attributes:
        level: false-alarm rate of one check.
        count: checks made.
    """

    def __init__(self, total: float, at_most: int) -> None:
        self.total, self.at_most = total, at_most
        self.level = total / at_most
        self.count = 0

    def _spend(self) -> None:
        self.count += 1
        assert self.count <= self.at_most, "more checks than the false-alarm rate allows for"

    def distance(self, n: int) -> float:
        """Largest difference of distribution functions that chance explains.

        P(sup |F_n - F| > e) <= 2 exp(-2 n e^2) for any F (Dvoretzky, Kiefer, Wolfowitz; Massart 1990).
        """
        return math.sqrt(math.log(2 / self.level) / (2 * n))

    def divergence(self, n: int, n_cells: int) -> float:
        """Largest KL(frequencies || probabilities) of ``n_cells`` cells that chance explains.

        P(KL >= e) <= exp(-n e) (e n e / (k - 1))^(k - 1) for n e > k - 1, any n and any probabilities
        (Agrawal, arXiv 1904.02291, Theorem I.2): the likelihood-ratio form of the chi-squared test, with
        twice its degrees of freedom, in return for a bound that is exact at levels like 1e-9.
        """
        k, log_level = n_cells - 1, math.log(self.level)
        if k == 0:
            return math.inf

        def gap(x):
            return k * (1 + math.log(x / k)) - x - log_level

        return optimize.brentq(gap, k, 10 * k - 10 * log_level) / n

    def line(self, draws: np.ndarray, cdf, resolution: float | np.ndarray = 0.0) -> float:
        """Draws of a continuous law against its distribution function, at every 20th draw.

        Each draw may be off by ``resolution``, which costs no false alarms but power.
        """
        self._spend()
        x, n = np.sort(draws), len(draws)
        if not np.isfinite(x[-1]):
            return math.inf
        at = x[STRIDE // 2 :: STRIDE]
        r = resolution(at) if callable(resolution) else resolution
        above = np.searchsorted(x, at, side="right") / n - cdf(at + r)
        below = cdf(at - r) - np.searchsorted(x, at, side="left") / n
        return max(above.max(), below.max()) / self.distance(n)

    def steps(self, counts: np.ndarray, masses: np.ndarray) -> float:
        """Counts of ordered values: the distance of the distribution functions."""
        self._spend()
        n = counts.sum()
        return np.abs(np.cumsum(counts / n - masses / masses.sum())).max() / self.distance(n)

    def cells(self, counts: np.ndarray, masses: np.ndarray) -> float:
        """Counts of cells against their probabilities; rare cells are put together."""
        self._spend()
        n, p = counts.sum(), masses / masses.sum()
        if counts[p == 0].any():
            return math.inf
        rare = n * p < LEAST_EXPECTED
        q = np.append(p[~rare], p[rare].sum())
        f = np.append(counts[~rare], counts[rare].sum()) / n
        f, q = f[q > 0], q[q > 0]
        kl = np.sum(np.where(f > 0, f * np.log(np.where(f > 0, f, 1) / q), 0))
        return kl / self.divergence(n, len(q))

    def summary(self, n: int) -> str:
        """What the checks promise and what they would catch at n draws."""
        two, many = (math.sqrt(self.divergence(n, k) / 2) for k in (2, MOST_CELLS))
        return (
            f"{self.count} checks of {n} draws at level {self.level:.1e}, false alarms of all <= "
            f"{self.count * self.level:.1e}; caught: distribution functions {self.distance(n):.4f} apart, "
            f"a probability of 1/2 off by {two:.4f}, of 0.01 by {two * 2 * math.sqrt(0.01 * 0.99):.4f}, "
            f"10 cells with KL >= {self.divergence(n, 10):.1e} (a scale off by "
            f"{math.sqrt(self.divergence(n, 10)):.3f}), {MOST_CELLS} with {2 * many**2:.1e}"
        )


def pooled(masses: np.ndarray) -> np.ndarray:
    """Cell of every value of an ordered domain, neighbours put together to about MOST_CELLS cells."""
    middle = np.cumsum(masses) - masses / 2
    share = np.floor(np.clip(middle / masses.sum(), 0, 1 - 1e-12) * MOST_CELLS).astype(int)
    return share if len(masses) > MOST_CELLS else np.arange(len(masses))


# Shares of the mass between which a continuous law is cut into cells.
SHARES = np.array([0.002, 0.02, 0.15, 0.35, 0.5, 0.65, 0.85, 0.98, 0.998])


def quantile_cuts(cdf, low: float, high: float, shares: np.ndarray = SHARES) -> np.ndarray:
    """Points with about these shares of the mass below, by bisection; the cells' masses are taken there."""
    below, above = np.full(len(shares), low), np.full(len(shares), high)
    for _ in range(60):
        middle = (below + above) / 2
        less = cdf(middle) < shares
        below, above = np.where(less, middle, below), np.where(less, above, middle)
    return (below + above) / 2
