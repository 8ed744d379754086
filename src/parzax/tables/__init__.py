"""Tables of configurations and results: data frames, files, and the formats that tools write."""

from parzax.tables.formats import PLAIN as PLAIN
from parzax.tables.formats import Format as Format
from parzax.tables.formats import recognise as recognise
