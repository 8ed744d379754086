"""What runs on the host around a pure loop: chunks kept in files, progress."""

from parzax.lens.run.chunks import map_chunks as map_chunks
from parzax.lens.run.runs import optimize_many as optimize_many
