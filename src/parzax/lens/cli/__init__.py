"""The command ``parzax``."""

from parzax.lens.cli.main import main as main
