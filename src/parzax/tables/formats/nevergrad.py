"""Nevergrad's ``ParametersLogger``: JSON lines in which what is no parameter has "#" in its name."""

from parzax.tables.formats.format import Format

NEVERGRAD = Format("Nevergrad", needs=("#loss", "#optimizer|#parametrization|#uid"), others=r".*#.*")
