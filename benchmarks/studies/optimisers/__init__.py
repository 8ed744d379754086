"""Samplers beside what people use, on problems of which one half is for choosing settings."""
