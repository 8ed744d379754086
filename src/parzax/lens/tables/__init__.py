"""Tables of configurations and results: data frames, files, and the formats that tools write."""

from parzax.lens.tables.formats import PLAIN as PLAIN
from parzax.lens.tables.formats import Format as Format
from parzax.lens.tables.formats import recognise as recognise
