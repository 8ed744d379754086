"""Logs of a search: `Observations`, the reader of tables, level sets, and the encoder on the host."""

from parzax.lens.logs.counting import count_rows as count_rows
from parzax.lens.logs.encode import encode as encode
from parzax.lens.logs.levels import level_sets as level_sets
from parzax.lens.logs.levels import level_weight as level_weight
from parzax.lens.logs.observations import Observations as Observations
from parzax.lens.logs.report import ImportReport as ImportReport
