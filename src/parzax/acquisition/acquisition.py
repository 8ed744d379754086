"""What an acquisition function is: a score from the densities of the groups below and above."""

import abc

import equinox as eqx
from jaxtyping import Array, Float


class AbstractAcquisition(eqx.Module):
    """A score of candidates, to be maximised; one of your own is like those here."""

    @abc.abstractmethod
    def __call__(
        self, below: Float[Array, "c1 j"], above: Float[Array, "c1 j"], gamma: Float[Array, " c1"]
    ) -> Float[Array, " j"]:
        """Scores of j candidates.

        Args:
            below, above: logs of the densities of the objective's groups, then each constraint's.
            gamma: share of each group below, in [0, 1].

        Returns:
            -inf where a candidate must not be chosen.
        """
