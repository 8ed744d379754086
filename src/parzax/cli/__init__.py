"""The command ``parzax``."""

from parzax.cli.main import main as main
