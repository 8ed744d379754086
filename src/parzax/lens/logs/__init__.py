"""Logs of a search: `Observations`, level sets, and the encoder on the host."""

from parzax.lens.logs.observations import Observations as Observations
from parzax.lens.logs.report import ImportReport as ImportReport
