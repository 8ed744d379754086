"""The papers, statement by statement: ``python -m benchmarks.studies.papers NAME``."""
