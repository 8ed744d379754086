"""An acquisition function: a score from the densities of the groups below and above."""

import abc

import equinox as eqx
from jaxtyping import Array, Float

# log densities of the objective's groups, then of each constraint's, at j candidates; and one score for each.
GroupLogs = Float[Array, "c1 j"]
Shares = Float[Array, " c1"]
Scores = Float[Array, " j"]


class AbstractAcquisition(eqx.Module):
    """A score of candidates, to be maximised; your own is written like those here."""

    @abc.abstractmethod
    def __call__(self, below: GroupLogs, above: GroupLogs, gamma: Shares) -> Scores:
        """Scores of j candidates.

        Args:
            below, above: log densities of the objective's groups, then of each constraint's.
            gamma: share of each group below, in [0, 1].

        Returns:
            -inf where a candidate must not be chosen.
        """
