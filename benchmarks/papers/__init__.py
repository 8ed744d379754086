"""The papers, statement by statement: ``python -m benchmarks.papers NAME``."""
