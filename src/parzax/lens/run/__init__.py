"""What runs on the host: many runs in chunks kept in files, a search over any Python function, progress."""

from parzax.lens.run.chunks import map_chunks as map_chunks
from parzax.lens.run.runs import optimize_many as optimize_many
from parzax.lens.run.search import minimize as minimize
