"""Base class of acquisition functions: a score from the densities of the groups below and above."""

import abc

import equinox as eqx
from jaxtyping import Array, Float

# Log densities at j candidates (one row for the objective, then one for each of c constraints), the share of
# each group below, and one score per candidate.
GroupLogs = Float[Array, "c1 j"]
Shares = Float[Array, " c1"]
Scores = Float[Array, " j"]


class AbstractAcquisition(eqx.Module):
    """A score of candidates, to be maximised. To write a new one, implement ``__call__``."""

    @abc.abstractmethod
    def __call__(self, below: GroupLogs, above: GroupLogs, gamma: Shares) -> Scores:
        """Scores of j candidates.

        Args:
            below, above: log densities of the groups below and above; the objective first, then constraints.
            gamma: share of each group below, in [0, 1].

        Returns:
            (j,) scores; -inf for a candidate that must not be chosen.
        """
