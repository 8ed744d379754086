"""Public names, for type checkers; `__init__.py` has them at run time."""

from parzax.lens import cli as cli
from parzax.lens import logs as logs
from parzax.lens import page as page
from parzax.lens import plotting as plotting
from parzax.lens import results as results
from parzax.lens import run as run
from parzax.lens import similarity as similarity
from parzax.lens import tables as tables
from parzax.lens.tables.large import count as count
