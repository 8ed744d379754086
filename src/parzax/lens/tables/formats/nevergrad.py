"""Nevergrad's ``ParametersLogger``: JSON lines in which every name with "#" is no parameter."""

from parzax.lens.tables.formats.format import Format

NEVERGRAD = Format(
    "Nevergrad",
    needs=("#loss", "#optimizer|#parametrization|#uid"),
    others=r".*#.*",
    results="#loss",
    directions={"#loss": "minimize"},
)
