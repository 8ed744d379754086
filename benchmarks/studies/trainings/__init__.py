"""Samplers on tables of real trainings, whose evaluations have noise."""
