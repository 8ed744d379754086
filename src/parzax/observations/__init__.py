"""Logs of a search: `Observations`, the reader of tables, level sets, and the encoder on the host."""

from parzax.observations.counting import count_rows as count_rows
from parzax.observations.encode import encode as encode
from parzax.observations.levels import level_sets as level_sets
from parzax.observations.levels import level_weight as level_weight
from parzax.observations.observations import Observations as Observations
from parzax.observations.parquet import count_parquet as count_parquet
from parzax.observations.report import ImportReport as ImportReport
